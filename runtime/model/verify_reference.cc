// Plain loops. What each formula's source is, the kernels' headers say.
#include "runtime/model/verify_reference.h"

#include <algorithm>
#include <cmath>

#include "prenorm/dequantize.h"
#include "prenorm/quantize.h"
#include "prenorm/types.h"

namespace prenorm::reference {
namespace {

double Dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void NormRow(const Decoder& decoder, const float* gain, const std::vector<float>& bias, std::span<double> x) {
  const auto n = static_cast<double>(x.size());
  double mean = 0.0, variance = 0.0;
  if (decoder.block.norm == NormKind::kLayer) {
    for (const double value : x) mean += value / n;
  }
  for (const double value : x) variance += (value - mean) * (value - mean) / n;
  const double factor = 1.0 / std::sqrt(variance + static_cast<double>(decoder.config.norm_eps));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = (x[i] - mean) * factor * static_cast<double>(gain[i]) + (bias.empty() ? 0.0 : static_cast<double>(bias[i]));
  }
}

void SoftmaxRow(std::span<double> x) {
  const double most = *std::max_element(x.begin(), x.end());
  double sum = 0.0;
  for (double& value : x) sum += value = std::exp(value - most);
  for (double& value : x) value /= sum;
}

// The form in which a product of a quantized matrix takes its input: codes of 8 bits, with one scale a block.
void RoundToCodes(std::span<double> x) {
  for (size_t begin = 0; begin < x.size(); begin += kActivationBlock) {
    const std::span<double> block = x.subspan(begin, std::min(kActivationBlock, x.size() - begin));
    float most = 0.0f;
    for (const double value : block) most = std::max(most, std::abs(static_cast<float>(value)));
    if (most < 1e-30f) {
      std::fill(block.begin(), block.end(), 0.0);
      continue;
    }
    const float factor = 127.0f / most;  // In f32: a tie must fall to the same side.
    for (double& value : block) {
      const float code = std::nearbyint(static_cast<float>(value) * factor);
      value = static_cast<double>(code) * static_cast<double>(most) / 127.0;
    }
  }
}

// As the cache stores it.
void RoundToType(DType type, Rows& x) {
  if (type == DType::kF32) return;
  if (type == DType::kQ8_0) {
    const size_t run = InfoOf(type).block_elems;
    std::vector<float> single(x.values.begin(), x.values.end());
    std::vector<uint8_t> block(InfoOf(type).block_bytes);
    for (size_t at = 0; at < single.size(); at += run) {
      QuantizeRow(type, single.data() + at, run, block.data());
      DequantizeRow(type, block.data(), run, single.data() + at);
    }
    x.values.assign(single.begin(), single.end());
    return;
  }
  for (double& value : x.values) {
    const auto single = static_cast<float>(value);
    value = static_cast<double>(type == DType::kF16 ? ToF32(ToF16(single)) : ToF32(ToBf16(single)));
  }
}

// Norm of the heads of each token, or of all heads together.
void NormHeads(const Decoder& decoder, const NormWeights& norm, Rows& x) {
  const QkNorm kind = decoder.block.qk_norm;
  if (kind == QkNorm::kNone) return;
  const size_t width = kind == QkNorm::kRows ? x.width : decoder.config.head_dim;
  for (size_t t = 0; t < x.n; ++t) {
    for (size_t at = 0; at < x.width; at += width) {
      const float* gain = norm.gain.data() + (norm.gain.size() == width ? 0 : at);
      NormRow(decoder, gain, norm.bias, x[t].subspan(at, width));
    }
  }
}

void Rotate(const Decoder& decoder, size_t layer, Rows& x) {
  const size_t index = decoder.block.layers[layer].rope;
  if (index == kNoRope) return;
  const RopeTable& rope = decoder.block.ropes[index];
  const std::vector<float>& inv_freq = rope.Of(decoder.capacity);
  const size_t half = inv_freq.size();
  const bool halves = decoder.block.rope_pairs == RopePairs::kHalves;
  for (size_t t = 0; t < x.n; ++t) {
    for (size_t head = 0; head < x.width; head += decoder.config.head_dim) {
      for (size_t i = 0; i < half; ++i) {
        double& a = x[t][head + (halves ? i : 2 * i)];
        double& b = x[t][head + (halves ? i + half : 2 * i + 1)];
        const double angle = static_cast<double>(t) * static_cast<double>(inv_freq[i]);
        const double c = std::cos(angle) * static_cast<double>(rope.magnitude);
        const double s = std::sin(angle) * static_cast<double>(rope.magnitude);
        const double rotated = a * c - b * s;
        b = b * c + a * s;
        a = rotated;
      }
    }
  }
}

double Capped(double x, float cap) {
  return cap == 0.0f ? x : static_cast<double>(cap) * std::tanh(x / static_cast<double>(cap));
}

}  // namespace

std::vector<double> RowOf(const WeightMatrix& w, size_t row) {
  std::vector<float> values(w.cols);
  DequantizeRow(w.type, static_cast<const uint8_t*>(w.data) + row * RowBytes(w.type, w.cols), w.cols, values.data());
  return {values.begin(), values.end()};
}

Rows Multiply(const WeightMatrix& w, const std::vector<float>& bias, const Rows& input, Team& team) {
  Rows x = input, out(x.n, w.rows);
  if (ActivationFormatOf(w.type) == ActivationFormat::kInt8) {
    for (size_t t = 0; t < x.n; ++t) RoundToCodes(x[t]);
  }
  team.Run([&](Worker& worker) {
    const Range mine = worker.Share(w.rows);
    for (size_t r = mine.begin; r < mine.end; ++r) {
      const std::vector<double> row = RowOf(w, r);
      const double offset = bias.empty() ? 0.0 : static_cast<double>(bias[r]);
      for (size_t t = 0; t < x.n; ++t) out[t][r] = Dot(row, x[t]) + offset;
    }
  });
  return out;
}

Rows Norm(const Decoder& decoder, const NormWeights& norm, const Rows& x) {
  Rows out = x;
  if (!norm) return out;
  for (size_t t = 0; t < out.n; ++t) NormRow(decoder, norm.gain.data(), norm.bias, out[t]);
  return out;
}

Rows Attention(const Decoder& decoder, size_t layer, DType cache, const Rows& q_products, const Rows& k_products,
               const Rows& v_products) {
  const size_t head_dim = decoder.config.head_dim, group = decoder.config.n_heads / decoder.config.n_kv_heads;
  const size_t window = decoder.block.layers[layer].window;
  Rows q = q_products, k = k_products, v = v_products;
  NormHeads(decoder, decoder.weights.layers[layer].q_norm, q);
  NormHeads(decoder, decoder.weights.layers[layer].k_norm, k);
  Rotate(decoder, layer, q);
  Rotate(decoder, layer, k);
  RoundToType(cache, k);
  RoundToType(cache, v);

  Rows out(q.n, q.width);
  for (size_t t = 0; t < q.n; ++t) {
    const size_t first = window == 0 || window > t ? 0 : t + 1 - window;
    for (size_t head = 0; head < decoder.config.n_heads; ++head) {
      const size_t kv = head / group * head_dim;
      std::vector<double> shares;
      for (size_t s = first; s <= t; ++s) {
        const double score = Dot(q[t].subspan(head * head_dim, head_dim), k[s].subspan(kv, head_dim));
        shares.push_back(
            Capped(score * static_cast<double>(decoder.block.attention_scale), decoder.block.attention_soft_cap));
      }
      SoftmaxRow(shares);
      for (size_t s = first; s <= t; ++s) {
        for (size_t i = 0; i < head_dim; ++i) out[t][head * head_dim + i] += shares[s - first] * v[s][kv + i];
      }
    }
  }
  return out;
}

double Activate(Gate act, double x) {
  switch (act) {
    case Gate::kSilu:
      return x / (1.0 + std::exp(-x));
    case Gate::kGeluTanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
    case Gate::kGeluErf:
      return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    case Gate::kRelu:
      return std::max(x, 0.0);
    case Gate::kReluSquared:
      return std::max(x, 0.0) * std::max(x, 0.0);
  }
  return x;
}

Rows Join(const Decoder& decoder, const Rows& x, const NormWeights& norm, const Rows& branch) {
  Rows out = Norm(decoder, norm, branch);
  for (size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] = x.values[i] + static_cast<double>(decoder.block.residual_scale) * out.values[i];
  }
  return out;
}

Rows Router(const LayerWeights& layer, const Rows& normed, Team& team) {
  Rows shares = Multiply(layer.router, {}, normed, team);
  for (size_t t = 0; t < shares.n; ++t) SoftmaxRow(shares[t]);
  return shares;
}

Rows MixExperts(const Decoder& decoder, const LayerWeights& layer, const Rows& normed, const Rows& router, Team& team) {
  Rows out(normed.n, normed.width);
  for (size_t t = 0; t < normed.n; ++t) {
    Rows x(1, normed.width);
    x.values.assign(normed[t].begin(), normed[t].end());
    double sum = 0.0;
    for (const double share : router[t]) sum += std::max(-share, 0.0);
    for (size_t e = 0; e < layer.experts.size(); ++e) {
      if (router[t][e] >= 0.0) continue;
      const Expert& expert = layer.experts[e];
      Rows gate = Multiply(expert.w_gate, {}, x, team);
      const Rows up = Multiply(expert.w_up, {}, x, team);
      for (size_t i = 0; i < gate.width; ++i)
        gate.values[i] = Activate(decoder.block.gate, gate.values[i]) * up.values[i];
      const Rows down = Multiply(expert.w_down, {}, gate, team);
      const double weight = decoder.block.normalize_expert_weights ? -router[t][e] / sum : -router[t][e];
      for (size_t i = 0; i < out.width; ++i) out[t][i] += weight * down.values[i];
    }
    if (!layer.w_up) continue;
    Rows gate = Multiply(layer.w_gate.w, layer.w_gate.bias, x, team);
    const Rows up = Multiply(layer.w_up.w, layer.w_up.bias, x, team);
    double logit = 0.0;
    for (size_t i = 0; i < layer.shared_gate.size(); ++i)
      logit += static_cast<double>(layer.shared_gate[i]) * x.values[i];
    const double weight = layer.shared_gate.empty() ? 1.0 : 1.0 / (1.0 + std::exp(-logit));
    for (size_t i = 0; i < gate.width; ++i) {
      gate.values[i] = Activate(decoder.block.gate, gate.values[i]) * up.values[i] * weight;
    }
    const Rows down = Multiply(layer.w_down.w, layer.w_down.bias, gate, team);
    for (size_t i = 0; i < out.width; ++i) out[t][i] += down.values[i];
  }
  return out;
}

}  // namespace prenorm::reference
