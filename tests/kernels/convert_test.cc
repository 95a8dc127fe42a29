// f32 <-> bf16 in vectors, tails and positions, against the scalar conversion of types.h.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "prenorm/types.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/convert_test.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "hwy/tests/test_util-inl.h"
#include "kernels/convert-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace {

template <typename In, typename Out>
void Copy(const In* in, Out* out, size_t count) {
  MapRow(
      RowTag(), count, out, [](hn::Vec<RowTag> v) HWY_ATTR { return v; }, in);
}

void TestKnownRoundings() {  // N25
  const std::vector<uint32_t> f32 = {0x3E89CCD5u, 0x4048F5C3u, 0x3F808000u, 0x3F818000u, 0x7F7FFFFFu, 0x00010000u};
  const std::vector<uint16_t> expected = {0x3E8A, 0x4049, 0x3F80, 0x3F82, 0x7F80, 0x0001};
  // Each at every position of a row that has whole vectors and a tail.
  const size_t cols = 2 * hn::Lanes(RowTag()) + 3;
  for (size_t k = 0; k < f32.size(); ++k) {
    for (size_t position = 0; position < cols; ++position) {
      std::vector<float> in(cols, 1.0f);
      in[position] = std::bit_cast<float>(f32[k]);
      std::vector<bf16> out(cols);
      Copy(in.data(), out.data(), cols);
      for (size_t i = 0; i < cols; ++i) ASSERT_EQ(out[i].bits, i == position ? expected[k] : 0x3F80) << position;
    }
  }
}

// Every bf16 survives widening and rounding (NaN becomes quiet), in every lane; so do its neighbours halfway.
void TestAllBf16() {
  for (size_t offset = 0; offset < 2 * hn::Lanes(RowTag()); ++offset) {
    std::vector<bf16> in(65536 + offset);
    for (size_t i = 0; i < 65536; ++i) in[offset + i].bits = static_cast<uint16_t>(i);
    std::vector<float> wide(in.size());
    Copy(in.data(), wide.data(), in.size());
    std::vector<bf16> out(in.size());
    Copy(wide.data(), out.data(), in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), uint32_t{in[i].bits} << 16);
      ASSERT_EQ(out[i].bits, ToBf16(ToF32(in[i])).bits) << i;
    }
  }
  for (const uint32_t low : {0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
    std::vector<float> in(65536);
    for (uint32_t i = 0; i < 65536; ++i) in[i] = std::bit_cast<float>((i << 16) | low);
    std::vector<bf16> out(65536);
    Copy(in.data(), out.data(), 65536);
    for (size_t i = 0; i < 65536; ++i) ASSERT_EQ(out[i].bits, ToBf16(in[i]).bits) << i << " " << low;
    // The value form agrees with the stored form.
    const RowTag df;
    std::vector<float> rounded(65536);
    MapRow(
        df, 65536, rounded.data(), [&](hn::Vec<RowTag> v) HWY_ATTR { return RoundToBf16(df, v); },
        static_cast<const float*>(in.data()));
    for (size_t i = 0; i < 65536; ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(rounded[i]), uint32_t{ToBf16(in[i]).bits} << 16) << i;
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {
namespace {
HWY_BEFORE_TEST(ConvertTest);
HWY_EXPORT_AND_TEST_P(ConvertTest, TestKnownRoundings);
HWY_EXPORT_AND_TEST_P(ConvertTest, TestAllBf16);
HWY_AFTER_TEST();
}  // namespace
}  // namespace prenorm
#endif  // HWY_ONCE
