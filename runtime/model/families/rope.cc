// Frequencies in f64, rounded once.
#include "runtime/model/families/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace prenorm {
namespace {

std::vector<double> Frequencies(const ModelConfig& config, float theta) {
  std::vector<double> frequencies(config.rope_dim / 2);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(config.rope_dim);
    frequencies[i] = std::pow(static_cast<double>(theta), exponent);
  }
  return frequencies;
}

RopeTable Rounded(const std::vector<double>& frequencies, double magnitude = 1.0) {
  RopeTable table;
  table.inv_freq.assign(frequencies.begin(), frequencies.end());
  table.magnitude = static_cast<float>(magnitude);
  return table;
}

// Wavelengths beyond the original context shrink by the whole factor, short ones stay, those between are blended.
void ScaleLlama3(ConfigReader& reader, double factor, std::vector<double>& frequencies) {
  const double low = reader.Number("rope.scaling.low_freq_factor", /*positive=*/true);
  const double high = reader.Number("rope.scaling.high_freq_factor", /*positive=*/true);
  const double original = reader.Number("rope.scaling.original_context_length", /*positive=*/true);
  for (double& frequency : frequencies) {
    const double turns = original * frequency / (2.0 * std::numbers::pi);
    const double kept = high > low ? std::clamp((turns - low) / (high - low), 0.0, 1.0) : (turns > low ? 1.0 : 0.0);
    frequency = frequency * kept + frequency / factor * (1.0 - kept);
  }
}

// Returns the factor of cos and sin.
double ScaleYarn(ConfigReader& reader, const ModelConfig& config, double factor, std::vector<double>& frequencies) {
  const double original = reader.Number("rope.scaling.original_context_length", /*positive=*/true,
                                        static_cast<float>(config.max_seq_len));
  const double fast = reader.Number("rope.scaling.yarn_beta_fast", /*positive=*/true, 32.0f);
  const double slow = reader.Number("rope.scaling.yarn_beta_slow", /*positive=*/true, 1.0f);
  const auto dims = static_cast<double>(config.rope_dim);
  // Index of the frequency that turns `turns` times within the original context.
  const auto index_of = [&](double turns) {
    return dims * std::log(original / (turns * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(static_cast<double>(config.rope_theta)));
  };
  const bool whole = reader.Flag("rope.scaling.truncate", true);
  double begin = index_of(fast), end = index_of(slow);
  if (whole) begin = std::floor(begin), end = std::ceil(end);
  begin = std::max(begin, 0.0);
  end = std::min(end, dims - 1.0);
  if (begin == end) end += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double scaled = std::clamp((static_cast<double>(i) - begin) / (end - begin), 0.0, 1.0);
    frequencies[i] = frequencies[i] / factor * scaled + frequencies[i] * (1.0 - scaled);
  }
  const double magnitude = factor <= 1.0 ? 1.0 : 0.1 * std::log(factor) + 1.0;
  // GGUF files hold a factor of the usual magnitude, config.json holds the magnitude.
  if (!reader.is_hf()) return magnitude * reader.Number("rope.scaling.attn_factor", /*positive=*/true, 1.0f);
  if (reader.Has("rope.scaling.mscale") || reader.Has("rope.scaling.mscale_all_dim")) {
    reader.Fail(StatusCode::kUnsupported, "yarn with mscale is not supported");
  }
  return reader.Number("rope.scaling.attention_factor", /*positive=*/true, static_cast<float>(magnitude));
}

}  // namespace

RopeTable PlainRope(const ModelConfig& config, float theta) { return Rounded(Frequencies(config, theta)); }

RopeTable ReadRope(ConfigReader& reader, const ModelConfig& config, Binder& binder) {
  std::vector<double> frequencies = Frequencies(config, config.rope_theta);
  double magnitude = 1.0;
  const std::string kind(reader.Text("rope.scaling.type", "none"));
  const auto factor = [&] { return static_cast<double>(reader.Number("rope.scaling.factor", /*positive=*/true)); };
  if (kind == "linear") {
    const double divisor = factor();
    for (double& frequency : frequencies) frequency /= divisor;
  } else if (kind == "llama3") {
    ScaleLlama3(reader, factor(), frequencies);
  } else if (kind == "yarn") {
    magnitude = ScaleYarn(reader, config, factor(), frequencies);
  } else if (kind != "none" && kind != "default") {
    reader.Fail(StatusCode::kUnsupported,
                "rope scaling of type '" + kind + "' is not supported\nsupported: none, linear, llama3, yarn");
  }
  if (!reader.status().ok()) return {};
  const std::vector<float> divisors = binder.OptionalVector("rope_freqs.weight", frequencies.size());
  for (size_t i = 0; i < divisors.size(); ++i) frequencies[i] /= static_cast<double>(divisors[i]);
  for (const double frequency : frequencies) {
    if (std::isfinite(frequency) && std::isfinite(magnitude)) continue;
    reader.Fail(StatusCode::kBadModel, "the rotary frequencies are not finite: rope.freq_base, scaling and rope_freqs "
                                       "do not fit together");
    return {};
  }
  return Rounded(frequencies, magnitude);
}

}  // namespace prenorm
