// What the tests of the norm layer share: targets, rows of all kinds, errors in units of the last place.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "prenorm/target.h"
#include "prenorm/types.h"
#include "tests/reference/norm_reference.h"

namespace prenorm {

// Calls body() under every target that the host can run, then returns to the best one.
template <class Body>
void ForEachTarget(const Body& body) {
  for (const std::string& target : RunnableTargets()) {
    ASSERT_TRUE(ForceTarget(target).ok());
    SCOPED_TRACE(target);
    body();
  }
  ASSERT_TRUE(ForceTarget("").ok());
}

// The targets that promise the same bits; SSE has no FMA.
inline std::vector<std::string> SameBitsTargets() {
  std::vector<std::string> targets = RunnableTargets();
  std::erase_if(targets, [](const std::string& name) { return !name.starts_with("AVX") && !name.starts_with("NEON"); });
  return targets;
}

inline float Widen(float x) { return x; }
inline float Widen(bf16 x) { return ToF32(x); }

template <typename T>
T Narrow(float x) {
  if constexpr (std::is_same_v<T, bf16>) {
    return ToBf16(x);
  } else {
    return x;
  }
}

template <typename T>
std::vector<T> Narrowed(const std::vector<float>& x) {
  std::vector<T> y;
  for (const float v : x) y.push_back(Narrow<T>(v));
  return y;
}

// The values of a row as the kernel sees them.
template <typename T>
reference::Row Exactly(const T* x, size_t cols) {
  reference::Row row;
  for (size_t i = 0; i < cols; ++i) row.push_back(static_cast<long double>(Widen(x[i])));
  return row;
}
template <typename T>
reference::Row Exactly(const std::vector<T>& x) {
  return Exactly(x.data(), x.size());
}

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

inline bool IsNormalF32(long double v) {
  return std::abs(v) >= 0x1p-126L && std::abs(v) <= static_cast<long double>(std::numeric_limits<float>::max());
}

// |actual - expected| in units of the last place of expected.
inline double UlpError(float actual, long double expected) {
  if (!std::isfinite(actual)) return 1e9;
  const int exponent = expected == 0.0L ? -126 : std::max(std::ilogb(expected), -126);
  return static_cast<double>(std::abs(static_cast<long double>(actual) - expected) / std::ldexp(1.0L, exponent - 23));
}

// long double -> bf16 in one rounding, to nearest, ties to even.
inline bf16 RoundOnce(long double x) {
  if (x == 0.0L || !std::isfinite(x)) return ToBf16(static_cast<float>(x));
  const int exponent = std::max(std::ilogb(x), -126);
  const long double ulp = std::ldexp(1.0L, exponent - 7);
  return ToBf16(static_cast<float>(std::nearbyint(x / ulp) * ulp));
}

// Distance in steps of bf16.
inline int Bf16Steps(bf16 a, bf16 b) {
  const auto order = [](bf16 v) {
    const int magnitude = v.bits & 0x7FFF;
    return (v.bits & 0x8000) != 0 ? -magnitude : magnitude;
  };
  return std::abs(order(a) - order(b));
}

inline std::vector<float> RandomRow(size_t cols, uint32_t seed, float mean = 0.0f, float stddev = 1.0f) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(mean, stddev);
  std::vector<float> row(cols);
  for (float& v : row) v = normal(generator);
  return row;
}

struct NamedRow {
  std::string name;
  std::vector<float> x;
};

inline const std::vector<size_t>& CorpusLengths() {
#if PRENORM_EMULATED  // Where long double is software in an emulator, the longest rows would take minutes.
  static const std::vector<size_t> lengths = {1, 2, 3, 7, 8, 15, 16, 17, 63, 64, 65, 127, 576, 2048};
#else
  static const std::vector<size_t> lengths = {1,  2,   3,   7,   8,    15,   16,   17,    63,   64,
                                              65, 127, 576, 768, 2048, 4096, 8192, 16384, 65537};
#endif
  return lengths;
}

// Rows that have broken norms: extreme magnitudes, outliers, monotone and alternating ones.
inline std::vector<NamedRow> CorpusRows(size_t cols) {
  const float max = std::numeric_limits<float>::max();
  const auto size = static_cast<float>(cols);
  const std::vector<float> normal = RandomRow(cols, static_cast<uint32_t>(cols));
  const auto map = [&](const char* name, auto func) {
    NamedRow row{name, normal};
    for (size_t i = 0; i < cols; ++i) row.x[i] = func(i, normal[i]);
    return row;
  };
  const auto clamped = [](float v) { return std::clamp(v, -1.0f, 1.0f); };
  return {
      map("normal", [](size_t, float v) { return v; }),
      map("1e30", [](size_t, float v) { return v * 1e30f; }),
      map("FLT_MAX/sqrt", [&](size_t i, float) { return (i % 3 == 0 ? -max : max) / std::sqrt(size); }),
      map("FLT_MAX", [&](size_t, float v) { return clamped(v) * max; }),
      map("1e30 and 1", [](size_t i, float v) { return i % 5 == 0 ? 1e30f : v; }),
      map("1e-30", [](size_t, float v) { return v * 1e-30f; }),
      map("1e-38", [](size_t, float v) { return v * 1e-38f; }),
      map("subnormal", [](size_t i, float v) { return std::copysign(static_cast<float>(1 + i % 99) * 0x1p-149f, v); }),
      map("outlier", [](size_t i, float v) { return i == 0 ? 1000.0f : v * 1e-4f; }),
      map("ascending", [&](size_t i, float) { return static_cast<float>(i + 1) / size; }),
      map("descending", [&](size_t i, float) { return static_cast<float>(cols - i) * 0.37f; }),
      map("alternating", [](size_t i, float) { return i % 2 == 0 ? 3.3f : -3.3f; }),
  };
}

// `count` elements that end, or begin, at a page that cannot be touched.
template <typename T>
class GuardedBuffer {
 public:
  GuardedBuffer(size_t count, bool at_end) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = count * sizeof(T);
    size_ = (bytes + page - 1) / page * page + 2 * page;
    map_ = static_cast<char*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(0, mprotect(map_ + page, size_ - 2 * page, PROT_READ | PROT_WRITE));
    data_ = reinterpret_cast<T*>(at_end ? map_ + size_ - page - bytes : map_ + page);
  }
  ~GuardedBuffer() { munmap(map_, size_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  T* data() const { return data_; }

 private:
  char* map_;
  size_t size_;
  T* data_;
};

}  // namespace prenorm
