// RMSNorm, LayerNorm, both with a residual sum, softmax and log-sum-exp of one row against the oracle.
#include <algorithm>

#include "tools/norms_measure.h"

namespace prenorm::tools {
namespace {

// One way to call RMSNorm.
struct RmsForm {
  const char* mode;
  int ulps;  // Promised.
  bool f32_gain, bf16_gain, no_gain;
  RmsNormOptions options;
};

std::vector<RmsForm> RmsForms() {
  RmsNormOptions lanes, exact, one_plus, exact_one_plus, outside, llama, gemma;
  exact.accumulation = exact_one_plus.accumulation = Accumulation::kExact;
  one_plus.gain_form = exact_one_plus.gain_form = GainForm::kOnePlusGain;
  outside.eps_placement = EpsPlacement::kOutsideRoot;
  llama.cast = CastMode::kLlama;
  gemma.cast = CastMode::kGemma;
  return {
      {"lanes", 3, true, true, true, lanes},
      {"exact, no gain", 2, false, false, true, exact},
      {"exact", 3, true, true, false, exact},
      {"lanes, 1 + gain", 4, true, true, false, one_plus},
      {"exact, 1 + gain", 4, true, false, false, exact_one_plus},
      {"eps outside", 3, true, false, false, outside},
      {"cast llama", 3, true, true, false, llama},
      {"cast gemma", 4, true, true, false, gemma},
  };
}

long double FactorOf(const RmsNormOptions& options, long double gain) {
  const bool one_plus = options.gain_form == GainForm::kOnePlusGain || options.cast == CastMode::kGemma;
  return one_plus ? 1.0L + gain : gain;
}

template <typename In, typename Gain, typename Out>
void RunRms(const std::vector<In>& x, float eps, const RmsForm& form, const Exact& unit, const std::vector<Gain>* gain,
            Cases& cases) {
  const size_t cols = x.size();
  RmsNormOptions options = form.options;
  options.eps = eps;
  std::vector<Out> y(cols);
  RmsNorm(x.data(), cols, gain == nullptr ? nullptr : gain->data(), y.data(), cols, 1, cols, options);
  // The type of the output is where the mode rounds: it says nothing new of f32.
  const bool rounds = options.cast == CastMode::kLlama && std::is_same_v<Out, bf16>;
  if (options.cast == CastMode::kLlama && !rounds) return;
  Case& found = cases.At<In, Out>(
      "rms_norm", form.mode, gain == nullptr ? "none" : kTypeName<Gain>,
      rounds ? "x^ rounded to bf16, one step off at most" : "<= " + std::to_string(form.ulps) + " ULP of f32", cols);
  for (size_t i = 0; i < cols; ++i) {
    const long double factor = gain == nullptr ? 1.0L : FactorOf(options, static_cast<long double>(Widen((*gain)[i])));
    if (!IsNormal(unit[i]) || !IsNormal(unit[i] * factor)) continue;  // The promise is for normal numbers.
    if (rounds) {
      const auto rounded = static_cast<long double>(Widen(Rounded<bf16>(unit[i])));
      const long double step = UlpAt(static_cast<double>(rounded), 7);
      found.Compare(y[i], rounded * factor, 1.001L * step * std::abs(factor));
    } else {
      const long double expected = unit[i] * factor;
      found.Compare(y[i], expected, form.ulps * static_cast<long double>(UlpAt(static_cast<double>(expected), 23)));
    }
  }
}

template <typename In, typename Out>
void RunRmsForms(const std::vector<In>& x, float eps, const RowOracle& oracle, const Gains& gains, Cases& cases) {
  static const std::vector<RmsForm> forms = RmsForms();
  for (const RmsForm& form : forms) {
    const Exact& unit = form.options.eps_placement == EpsPlacement::kInsideRoot ? oracle.rms : oracle.rms_outside;
    if (form.no_gain) RunRms<In, float, Out>(x, eps, form, unit, nullptr, cases);
    if (form.f32_gain) RunRms<In, float, Out>(x, eps, form, unit, &gains.gain, cases);
    if (form.bf16_gain) RunRms<In, bf16, Out>(x, eps, form, unit, &gains.gain16, cases);
  }
}

template <typename Out, typename Affine>
void CompareLayer(const std::vector<Out>& y, const Exact& unit, const std::vector<Affine>& gain,
                  const std::vector<Affine>& bias, Case& found) {
  for (size_t i = 0; i < y.size(); ++i) {
    const long double g = Widen(gain[i]), b = Widen(bias[i]);
    found.Compare(y[i], g * unit[i] + b, LayerBound(unit[i], g, b));
  }
}

template <typename In, typename Affine, typename Out>
void RunLayer(const std::vector<In>& x, float eps, VarianceForm variance, const Exact& unit,
              const std::vector<Affine>& gain, const std::vector<Affine>& bias, Cases& cases) {
  const size_t cols = x.size();
  std::vector<Out> y(cols);
  LayerNorm(x.data(), cols, gain.data(), bias.data(), y.data(), cols, 1, cols, {eps, variance});
  const char* mode = variance == VarianceForm::kTwoPass ? "two passes" : "single pass";
  CompareLayer(y, unit, gain, bias, cases.At<In, Out>("layer_norm", mode, kTypeName<Affine>, kLayerPromise, cols));
}

template <typename Out>
void RunResidual(const std::vector<float>& x, float eps, const Gains& gains, Cases& cases) {
  const size_t cols = x.size();
  const std::vector<float> f = SpreadRow(cols, 3, 0.0f, 1.0f);
  std::vector<float> expected_sum(cols), sum(cols);
  for (size_t i = 0; i < cols; ++i) expected_sum[i] = x[i] + f[i];  // In one rounding.
  const Exact wide = Widened(expected_sum);
  const Exact rms = ExactRmsNorm(wide, eps, EpsPlacement::kInsideRoot), layer = ExactLayerNorm(wide, eps);
  std::vector<Out> y(cols);
  RmsNormOptions rms_options;
  rms_options.eps = eps;
  ResidualRmsNorm(x.data(), cols, f.data(), cols, sum.data(), cols, gains.gain.data(), y.data(), cols, 1, cols,
                  Residual(), rms_options);
  Case& rms_case = cases.At<float, Out>("residual_rms_norm", "lanes", "f32", "<= 3 ULP of f32", cols);
  if (sum != expected_sum) rms_case.row.promise_used = 1e30;
  for (size_t i = 0; i < cols; ++i) {
    const long double expected = rms[i] * gains.gain[i];
    if (!IsNormal(rms[i]) || !IsNormal(expected)) continue;
    rms_case.Compare(y[i], expected, 3 * static_cast<long double>(UlpAt(static_cast<double>(expected), 23)));
  }
  if (layer.empty()) return;
  ResidualLayerNorm(x.data(), cols, f.data(), cols, sum.data(), cols, gains.gain.data(), gains.bias.data(), y.data(),
                    cols, 1, cols, Residual(), {eps, VarianceForm::kTwoPass});
  Case& layer_case = cases.At<float, Out>("residual_layer_norm", "two passes", "f32", kLayerPromise, cols);
  if (sum != expected_sum) layer_case.row.promise_used = 1e30;
  CompareLayer(y, layer, gains.gain, gains.bias, layer_case);
}

template <typename In, typename Out>
void RunTypes(const std::vector<In>& x, float eps, const RowOracle& oracle, const Gains& gains, Cases& cases) {
  RunRmsForms<In, Out>(x, eps, oracle, gains, cases);
  if (oracle.layer.empty()) return;
  RunLayer<In, float, Out>(x, eps, VarianceForm::kTwoPass, oracle.layer, gains.gain, gains.bias, cases);
  RunLayer<In, float, Out>(x, eps, VarianceForm::kSinglePass, oracle.layer, gains.gain, gains.bias, cases);
  RunLayer<In, bf16, Out>(x, eps, VarianceForm::kTwoPass, oracle.layer, gains.gain16, gains.bias16, cases);
}

}  // namespace

void RunRowNorms(const std::vector<float>& x, float eps, const RowOracle& oracle, const Gains& gains, Cases& cases) {
  RunTypes<float, float>(x, eps, oracle, gains, cases);
  RunTypes<float, bf16>(x, eps, oracle, gains, cases);
  RunResidual<float>(x, eps, gains, cases);
  RunResidual<bf16>(x, eps, gains, cases);
}

void RunRowNorms(const std::vector<bf16>& x, float eps, const RowOracle& oracle, const Gains& gains, Cases& cases) {
  RunTypes<bf16, bf16>(x, eps, oracle, gains, cases);
  RunTypes<bf16, float>(x, eps, oracle, gains, cases);
}

void RunSoftmax(const std::vector<float>& x, Cases& cases) {
  const size_t cols = x.size();
  long double sum = 0.0L;
  for (const float v : x) sum += std::exp(static_cast<long double>(v));
  const float max = *std::max_element(x.begin(), x.end());
  std::vector<float> y = x;
  Softmax(y.data(), cols, 1, cols);
  Case& softmax = cases.At<float, float>("softmax", "in place", "none", "<= 2^-24 (6 + |x - max|) relative", cols);
  for (size_t i = 0; i < cols; ++i) {
    const long double expected = std::exp(static_cast<long double>(x[i])) / sum;
    if (IsNormal(expected)) softmax.Compare(y[i], expected, 0x1p-24L * (6 + (max - x[i])) * expected);
  }
  float log_sum = 0.0f;
  LogSumExp(x.data(), cols, &log_sum, 1, cols);
  const long double expected = std::log(sum);
  cases.At<float, float>("log_sum_exp", "rows", "none", "<= 2^-23 relative, 2^-22 near 0", cols)
      .Compare(log_sum, expected, std::max(0x1p-23L * std::abs(expected), 0x1p-22L));
}

}  // namespace prenorm::tools
