// What is compared by `prenorm norms --accuracy`: results of one operation, mode and set of types on one SIMD target.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "prenorm/target.h"
#include "prenorm/types.h"
#include "tools/common/ulp_statistics.h"
#include "tools/norms_accuracy.h"

namespace prenorm::tools {

template <typename T>
constexpr const char* kTypeName = std::is_same_v<T, bf16> ? "bf16" : "f32";
template <typename T>
constexpr int kMantissaBits = std::is_same_v<T, bf16> ? 7 : 23;

inline float Widen(float x) { return x; }
inline float Widen(bf16 x) { return ToF32(x); }

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

/// In one rounding, to nearest, ties to even.
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

inline bool IsNormal(long double v) {
  return std::abs(v) >= 0x1p-126L && std::abs(v) <= static_cast<long double>(std::numeric_limits<float>::max());
}

/// What the rows have shown so far.
class Case {
 public:
  AccuracyRow row;

  /// `bound`: the error promised before the rounding to a 16-bit output.
  template <typename Out>
  void Compare(Out actual, long double expected, long double bound) {
    const float value = Widen(actual);
    const auto magnitude = static_cast<double>(std::max(std::abs(expected), static_cast<long double>(std::abs(value))));
    const long double error = std::isfinite(value) ? std::abs(static_cast<long double>(value) - expected) : 1e30L;
    const long double rounding = kMantissaBits<Out> == 7 ? 0.5L * UlpAt(magnitude, 7) : 0.0L;
    const long double ulp = UlpAt(static_cast<double>(expected), kMantissaBits<Out>);
    // Where long double itself cannot tell on which side of the middle the exact value lies, both neighbours are right.
    const bool nearest = value == Widen(Rounded<Out>(expected)) || error <= 0.5L * ulp + 0x1p-35L * bound;
    statistics_.Add(static_cast<double>(error / ulp), nearest);
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
    // Short rows hold as many results at the very middle between two bf16 numbers as long ones, where no f32 arithmetic
    // can tell the side: an outlier among 64 values is 8 standard deviations, and so on. They do not make four nines.
    constexpr uint64_t kMiddles = 64;
    const uint64_t allowed = std::max(kMiddles, statistics_.count() / 10000);
    row.holds = row.promise_used <= 1.0 && (row.out != "bf16" || statistics_.incorrect() <= allowed);
    return row;
  }

 private:
  UlpStatistics statistics_;
};

/// All cases, in the order in which they first came up.
class Cases {
 public:
  /// `gain`: "none", "f32" or "bf16".
  template <typename In, typename Out>
  Case& At(const std::string& op, const std::string& mode, const char* gain, const std::string& promise, size_t cols) {
    const std::string key =
        op + "/" + mode + "/" + gain + "/" + kTypeName<In> + "/" + kTypeName<Out> + "/" + ActiveTarget();
    const auto [found, is_new] = index_.emplace(key, cases_.size());
    if (is_new) {
      AccuracyRow row;
      row.op = op;
      row.in = kTypeName<In>;
      row.gain = gain;
      row.out = kTypeName<Out>;
      row.target = ActiveTarget();
      row.mode = mode;
      row.promise = kMantissaBits<Out> == 7
                        ? promise + ", then one rounding; all but 1 in 10 000 (at least 64) correctly rounded"
                        : promise;
      cases_.emplace_back().row = row;
    }
    Case& found_case = cases_[found->second];
    found_case.row.cols_max = std::max(found_case.row.cols_max, cols);
    return found_case;
  }

  std::vector<AccuracyRow> Finish() {
    std::vector<AccuracyRow> rows;
    for (Case& one : cases_) rows.push_back(one.Finish());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const AccuracyRow& a, const AccuracyRow& b) { return a.target < b.target; });
    return rows;
  }

 private:
  std::deque<Case> cases_;
  std::map<std::string, size_t> index_;
};

}  // namespace prenorm::tools
