// The oracle is scalar, in long double, and computes by other formulas than the kernels: divisions instead of reciprocals,
// no lanes, no scaling, no maximum subtracted. The range of long double needs none of that.
#include "tools/norms_accuracy.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <type_traits>

#include "prenorm/norm.h"
#include "prenorm/target.h"
#include "prenorm/types.h"
#include "tools/common/norm_corpus.h"
#include "tools/common/progress_bar.h"
#include "tools/common/ulp_statistics.h"

namespace prenorm::tools {
namespace {

using Exact = std::vector<long double>;

template <typename T>
constexpr const char* kName = std::is_same_v<T, bf16> ? "bf16" : "f32";
template <typename T>
constexpr int kMantissaBits = std::is_same_v<T, bf16> ? 7 : 23;

float Widen(float x) { return x; }
float Widen(bf16 x) { return ToF32(x); }

template <typename T>
std::vector<T> Narrowed(const std::vector<float>& x) {
  std::vector<T> y;
  for (const float v : x) {
    if constexpr (std::is_same_v<T, bf16>) {
      y.push_back(ToBf16(v));
    } else {
      y.push_back(v);
    }
  }
  return y;
}

// In one rounding, to nearest, ties to even.
template <typename T>
T Rounded(long double x) {
  if constexpr (std::is_same_v<T, bf16>) {
    if (!std::isfinite(x)) return ToBf16(static_cast<float>(x));
    const long double ulp = UlpAt(static_cast<double>(x), 7);
    return ToBf16(static_cast<float>(std::nearbyint(x / ulp) * ulp));
  } else {
    return static_cast<float>(x);
  }
}

bool IsNormal(long double v) { return std::abs(v) >= 0x1p-126L && std::abs(v) <= std::numeric_limits<float>::max(); }

// What rows of one operation, variant and pair of types have shown so far on one target.
class Case {
 public:
  AccuracyRow row;

  // `bound`: the error promised before the rounding to a 16-bit output.
  template <typename Out>
  void Compare(Out actual, long double expected, long double bound) {
    const float value = Widen(actual);
    const auto magnitude = static_cast<double>(std::max(std::abs(expected), static_cast<long double>(std::abs(value))));
    const long double error = std::isfinite(value) ? std::abs(static_cast<long double>(value) - expected) : 1e30L;
    const long double rounding = kMantissaBits<Out> == 7 ? 0.5L * UlpAt(magnitude, 7) : 0.0L;
    statistics_.Add(static_cast<double>(error / UlpAt(static_cast<double>(expected), kMantissaBits<Out>)),
                    value == Widen(Rounded<Out>(expected)));
    row.promise_used = std::max(row.promise_used, static_cast<double>(std::max(0.0L, error - rounding) / bound));
  }

  AccuracyRow Finish() {
    row.values = statistics_.count();
    row.max_ulp = statistics_.max();
    row.p999_ulp = statistics_.Quantile(0.999);
    row.correctly_rounded = statistics_.correctly_rounded();
    double below = 0.0;
    for (size_t i = 0; i < kUlpBins.size(); ++i) {
      const double share = statistics_.ShareBelow(kUlpBins[i]);
      row.histogram[i] = share - below;
      below = share;
    }
    row.histogram.back() = 1.0 - below;
    // Four nines of few values would forbid the one that lies at the middle between two numbers.
    const uint64_t allowed = std::max<uint64_t>(3, statistics_.count() / 10000);
    row.holds = row.promise_used <= 1.0 && (row.out != "bf16" || statistics_.incorrect() <= allowed);
    return row;
  }

 private:
  UlpStatistics statistics_;
};

// All cases, in the order in which they first came up.
class Cases {
 public:
  template <typename In, typename Out>
  Case& At(const std::string& op, const std::string& mode, const std::string& promise, size_t cols) {
    const std::string key = op + "/" + mode + "/" + kName<In> + "/" + kName<Out> + "/" + ActiveTarget();
    const auto [found, is_new] = index_.emplace(key, cases_.size());
    if (is_new) {
      AccuracyRow row;
      row.op = op;
      row.in = kName<In>;
      row.out = kName<Out>;
      row.target = ActiveTarget();
      row.mode = mode;
      row.promise = kMantissaBits<Out> == 7 ? promise + ", then one rounding; 99.99 % correctly rounded" : promise;
      cases_.emplace_back().row = row;
    }
    Case& found_case = cases_[found->second];
    found_case.row.cols_max = std::max(found_case.row.cols_max, cols);
    return found_case;
  }
  std::vector<AccuracyRow> Finish() {
    std::vector<AccuracyRow> rows;
    for (Case& one : cases_) rows.push_back(one.Finish());
    std::stable_sort(rows.begin(), rows.end(), [](const AccuracyRow& a, const AccuracyRow& b) { return a.target < b.target; });
    return rows;
  }

 private:
  std::deque<Case> cases_;
  std::map<std::string, size_t> index_;
};

// x / sqrt(mean square + eps).
Exact ExactRmsNorm(const Exact& x, long double eps) {
  long double squares = 0.0L;
  for (const long double v : x) squares += v * v;
  const long double rms = std::sqrt(squares / static_cast<long double>(x.size()) + eps);
  Exact y;
  for (const long double v : x) y.push_back(v / rms);
  return y;
}

// (x - mean) / sqrt(variance + eps); nothing where the mean is more than 10^6 standard deviations from 0, or where it is 0/0.
Exact ExactLayerNorm(const Exact& x, long double eps) {
  const auto count = static_cast<long double>(x.size());
  long double sum = 0.0L, squares = 0.0L;
  for (const long double v : x) sum += v;
  const long double mean = sum / count;
  for (const long double v : x) squares += (v - mean) * (v - mean);
  const long double stddev = std::sqrt(squares / count + eps);
  if (!(stddev * 1e6L >= std::abs(mean)) || stddev == 0.0L) return {};
  Exact y;
  for (const long double v : x) y.push_back((v - mean) / stddev);
  return y;
}

struct Gains {
  std::vector<float> gain, bias;
};

// One of the forms of a gain with RMSNorm.
struct RmsForm {
  const char* mode;
  Accumulation accumulation;
  bool has_gain;
  GainForm gain_form;
  int ulps;  // Promised.
};
constexpr RmsForm kRmsForms[] = {
    {"lanes", Accumulation::kLanes, false, GainForm::kGain, 3},
    {"lanes, gain", Accumulation::kLanes, true, GainForm::kGain, 3},
    {"lanes, 1 + gain", Accumulation::kLanes, true, GainForm::kOnePlusGain, 4},
    {"exact", Accumulation::kExact, false, GainForm::kGain, 2},
    {"exact, gain", Accumulation::kExact, true, GainForm::kGain, 3},
    {"exact, 1 + gain", Accumulation::kExact, true, GainForm::kOnePlusGain, 4},
};

template <typename Out>
void CompareRms(const std::vector<Out>& y, const Exact& unit, const RmsForm& form, const Gains& gains, Case& found) {
  for (size_t i = 0; i < y.size(); ++i) {
    const long double gain = gains.gain[i];
    const long double factor = !form.has_gain ? 1.0L : form.gain_form == GainForm::kOnePlusGain ? 1.0L + gain : gain;
    const long double expected = unit[i] * factor;
    if (!IsNormal(unit[i]) || !IsNormal(expected)) continue;  // The promise is for normal numbers.
    found.Compare(y[i], expected, form.ulps * static_cast<long double>(UlpAt(static_cast<double>(expected), 23)));
  }
}

template <typename Out>
void CompareLayer(const std::vector<Out>& y, const Exact& unit, const Gains& gains, Case& found) {
  for (size_t i = 0; i < y.size(); ++i) {
    const long double g = gains.gain[i], b = gains.bias[i];
    const long double bound = 0x1p-24L * (8 * std::abs(g * unit[i]) + 24 * std::abs(g) + 2 * std::abs(b));
    found.Compare(y[i], g * unit[i] + b, bound);
  }
}

std::string UlpPromise(int ulps) { return "<= " + std::to_string(ulps) + " ULP of f32"; }
constexpr const char* kLayerPromise = "<= 2^-24 (8 |g x^| + 24 |g| + 2 |b|)";

template <typename In, typename Out>
void RunNorms(const std::vector<In>& x, float eps, const Exact& rms, const Exact& layer, const Gains& gains, Cases& cases) {
  const size_t cols = x.size();
  std::vector<Out> y(cols);
  for (const RmsForm& form : kRmsForms) {
    RmsNormOptions options;
    options.eps = eps;
    options.accumulation = form.accumulation;
    options.gain_form = form.gain_form;
    RmsNorm(x.data(), cols, form.has_gain ? gains.gain.data() : nullptr, y.data(), cols, 1, cols, options);
    CompareRms(y, rms, form, gains, cases.At<In, Out>("rms_norm", form.mode, UlpPromise(form.ulps), cols));
  }
  if (layer.empty()) return;
  for (const VarianceForm variance : {VarianceForm::kTwoPass, VarianceForm::kSinglePass}) {
    LayerNormOptions options;
    options.eps = eps;
    options.variance = variance;
    const char* mode = variance == VarianceForm::kTwoPass ? "two passes" : "single pass";
    LayerNorm(x.data(), cols, gains.gain.data(), gains.bias.data(), y.data(), cols, 1, cols, options);
    CompareLayer(y, layer, gains, cases.At<In, Out>("layer_norm", mode, kLayerPromise, cols));
  }
}

// `expected_sum` is x + f in one rounding.
template <typename Out>
void RunResidual(const std::vector<float>& x, const std::vector<float>& f, const std::vector<float>& expected_sum, float eps,
                 const Exact& rms, const Exact& layer, const Gains& gains, Cases& cases) {
  const size_t cols = x.size();
  std::vector<float> sum(cols);
  std::vector<Out> y(cols);
  RmsNormOptions rms_options;
  rms_options.eps = eps;
  ResidualRmsNorm(x.data(), cols, f.data(), cols, sum.data(), cols, gains.gain.data(), y.data(), cols, 1, cols, Residual(),
                  rms_options);
  Case& rms_case = cases.At<float, Out>("residual_rms_norm", kRmsForms[1].mode, UlpPromise(kRmsForms[1].ulps), cols);
  if (sum != expected_sum) rms_case.row.promise_used = 1e30;
  CompareRms(y, rms, kRmsForms[1], gains, rms_case);
  if (layer.empty()) return;
  LayerNormOptions layer_options;
  layer_options.eps = eps;
  ResidualLayerNorm(x.data(), cols, f.data(), cols, sum.data(), cols, gains.gain.data(), gains.bias.data(), y.data(), cols, 1, cols,
                    Residual(), layer_options);
  Case& layer_case = cases.At<float, Out>("residual_layer_norm", "two passes", kLayerPromise, cols);
  if (sum != expected_sum) layer_case.row.promise_used = 1e30;
  CompareLayer(y, layer, gains, layer_case);
}

void RunSoftmax(const std::vector<float>& x, Cases& cases) {
  const size_t cols = x.size();
  long double sum = 0.0L;
  for (const float v : x) sum += std::exp(static_cast<long double>(v));
  const float max = *std::max_element(x.begin(), x.end());
  std::vector<float> y = x;
  Softmax(y.data(), cols, 1, cols);
  Case& softmax = cases.At<float, float>("softmax", "in place", "<= 2^-24 (6 + |x - max|) relative", cols);
  for (size_t i = 0; i < cols; ++i) {
    const long double expected = std::exp(static_cast<long double>(x[i])) / sum;
    if (IsNormal(expected)) softmax.Compare(y[i], expected, 0x1p-24L * (6 + (max - x[i])) * expected);
  }
  float log_sum = 0.0f;
  LogSumExp(x.data(), cols, &log_sum, 1, cols);
  const long double expected = std::log(sum);
  cases.At<float, float>("log_sum_exp", "rows", "<= 2^-23 relative, 2^-22 near 0", cols)
      .Compare(log_sum, expected, std::max(0x1p-23L * std::abs(expected), 0x1p-22L));
}

template <typename T>
Exact Widened(const std::vector<T>& x) {
  Exact y;
  for (const T v : x) y.push_back(static_cast<long double>(Widen(v)));
  return y;
}

// One row under one eps, on all targets.
void RunRow(const std::vector<float>& x, float eps, const Gains& gains, const std::vector<std::string>& targets, Cases& cases) {
  const std::vector<bf16> x16 = Narrowed<bf16>(x);
  const std::vector<float> f = SpreadRow(x.size(), 3, 0.0f, 1.0f);
  std::vector<float> sum(x.size());
  for (size_t i = 0; i < x.size(); ++i) sum[i] = x[i] + f[i];
  const long double exact_eps = eps;
  const Exact rms = ExactRmsNorm(Widened(x), exact_eps), layer = ExactLayerNorm(Widened(x), exact_eps);
  const Exact rms16 = ExactRmsNorm(Widened(x16), exact_eps), layer16 = ExactLayerNorm(Widened(x16), exact_eps);
  const Exact rms_sum = ExactRmsNorm(Widened(sum), exact_eps), layer_sum = ExactLayerNorm(Widened(sum), exact_eps);
  for (const std::string& target : targets) {
    if (!ForceTarget(target).ok()) continue;
    RunNorms<float, float>(x, eps, rms, layer, gains, cases);
    RunNorms<float, bf16>(x, eps, rms, layer, gains, cases);
    RunNorms<bf16, bf16>(x16, eps, rms16, layer16, gains, cases);
    RunNorms<bf16, float>(x16, eps, rms16, layer16, gains, cases);
    RunResidual<float>(x, f, sum, eps, rms_sum, layer_sum, gains, cases);
    RunResidual<bf16>(x, f, sum, eps, rms_sum, layer_sum, gains, cases);
  }
}

}  // namespace

std::vector<AccuracyRow> MeasureNormAccuracy(size_t cols_max, const std::string& target) {
  constexpr float kEps[] = {0.0f, 1e-12f, 1e-6f, 1e-5f};
  constexpr size_t kAllEps = 1000;  // Longer rows take one eps each, in turn: they have values enough.
  const std::vector<std::string> targets = target.empty() ? RunnableTargets() : std::vector<std::string>{target};
  const std::vector<size_t> lengths = CorpusLengths(cols_max);
  size_t all = 0, done = 0;
  for (const size_t cols : lengths) all += cols;
  ProgressBar bar("comparing", static_cast<double>(all), "columns");
  Cases cases;
  for (const size_t cols : lengths) {
    const Gains gains{SpreadRow(cols, 1, 1.0f, 0.3f), SpreadRow(cols, 2, 0.0f, 1.0f)};
    const std::vector<CorpusRow> rows = CorpusRows(cols);
    for (size_t r = 0; r < rows.size(); ++r) {
      for (size_t e = 0; e < std::size(kEps); ++e) {
        if (cols < kAllEps || (r + cols) % std::size(kEps) == e) RunRow(rows[r].x, kEps[e], gains, targets, cases);
      }
      bar.Update((static_cast<double>(done) + static_cast<double>(cols * (r + 1)) / static_cast<double>(rows.size())) /
                 static_cast<double>(all));
    }
    for (const std::string& name : targets) {
      if (!ForceTarget(name).ok()) continue;
      RunSoftmax(SpreadRow(cols, cols, 3.0f, 5.0f), cases);
      RunSoftmax(SpreadRow(cols, cols, -100.0f, 20.0f), cases);
    }
    done += cols;
  }
  static_cast<void>(ForceTarget(target));
  return cases.Finish();
}

}  // namespace prenorm::tools
