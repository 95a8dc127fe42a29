// GroupNorm and InstanceNorm: known values, the error bound in both channel orders, identities, range, same bits.
#include <gtest/gtest.h>

#include <array>

#include "tests/kernels/channel_test_util.h"

namespace prenorm {
namespace {

constexpr const float* kNone = nullptr;

LayerNormOptions Eps(float eps, VarianceForm variance = VarianceForm::kTwoPass) {
  LayerNormOptions options;
  options.eps = eps;
  options.variance = variance;
  return options;
}

// `dense` normalized without gain or bias, in the order [samples, channels, space] again.
std::vector<float> Plain(const std::vector<float>& dense, const ChannelShape& shape, size_t groups,
                         const LayerNormOptions& options) {
  const size_t stride = SmallestStride(shape);
  const std::vector<float> x = Arrange<float>(dense, shape, stride, 0.0f);
  std::vector<float> y(x.size());
  GroupNorm(x.data(), stride, kNone, kNone, y.data(), stride, shape, groups, options);
  return Dense(y, shape, stride);
}

TEST(GroupNormTest, GivesKnownValuesForGroupsOfThree) {  // N18
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
      const std::vector<float> y = Plain({1, 2, 3, 10, 20, 30}, {1, 6, 1, order}, 2, Eps(1e-5f));
      const std::array<double, 6> expected = {-1.2247357, 0, 1.2247357, -1.2247448, 0, 1.2247448};
      for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(y[i], expected[i], 2e-7);
    }
  });
}

struct MapCase {
  size_t samples, channels, space, groups;
};
constexpr MapCase kCases[] = {{2, 6, 1, 2},    {1, 6, 5, 3},   {2, 4, 49, 4},  {1, 1, 7, 1},    {3, 32, 17, 8},
                              {1, 66, 9, 33},  {1, 67, 70, 1}, {1, 130, 3, 1}, {1, 260, 65, 2}, {2, 64, 64, 64},
                              {1, 2, 1500, 1}, {1, 96, 3, 32}, {1, 3, 200, 3}, {1, 140, 2, 70}};

template <typename X, typename Affine>
void ExpectRightForEveryShape(ChannelOrder order) {
  uint32_t seed = 0;
  for (const MapCase& c : kCases) {
    const ChannelShape shape{c.samples, c.channels, c.space, order};
    const size_t x_stride = SmallestStride(shape) + 3;
    const size_t out_stride = SmallestStride(shape) + 5;
    const std::vector<float> values = RandomRow(c.samples * c.channels * c.space, ++seed, 3.0f);
    const std::vector<X> x = Arrange<X>(values, shape, x_stride, std::numeric_limits<float>::quiet_NaN());
    const std::vector<Affine> gain = Narrowed<Affine>(RandomRow(c.channels, 17, 1.0f, 0.5f));
    const std::vector<Affine> bias = Narrowed<Affine>(RandomRow(c.channels, 18));
    const Affine* g = seed % 3 == 0 ? nullptr : gain.data();
    const Affine* b = seed % 4 == 0 ? nullptr : bias.data();
    std::vector<X> y(StridedSize(shape, out_stride), Narrow<X>(-77.0f));
    GroupNorm(x.data(), x_stride, g, b, y.data(), out_stride, shape, c.groups, Eps(1e-5f));
    SCOPED_TRACE("channels " + std::to_string(c.channels) + " space " + std::to_string(c.space));
    ExpectPromise(GroupsOf(Dense(x, shape, x_stride), shape, c.channels / c.groups, false), Dense(y, shape, out_stride),
                  g, b, 1e-5f);
    ExpectGapsUntouched(y, shape, out_stride, -77.0f);
  }
}

TEST(GroupNormTest, EveryShapeStrideAndVariantIsRightAndLeavesGapsAlone) {
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
#define PRENORM_CHANNEL_NORM(X, AFFINE) ExpectRightForEveryShape<X, AFFINE>(order);
#include "kernels/variants.inc"
    }
  });
}

TEST(GroupNormTest, OneGroupIsLayerNormOfTheSample) {  // N18
  ForEachTarget([] {
    const size_t samples = 3;
    for (const size_t space : {1u, 4u, 35u}) {
      const ChannelShape shape{samples, 24, space, ChannelOrder::kChannelsFirst};
      const size_t size = 24 * space;
      const std::vector<float> x = RandomRow(samples * size, 5, 20.0f);
      for (const VarianceForm form : {VarianceForm::kTwoPass, VarianceForm::kSinglePass}) {
        std::vector<float> expected(x.size());
        LayerNorm(x.data(), size, kNone, kNone, expected.data(), size, samples, size, Eps(1e-5f, form));
        ASSERT_TRUE(SameBits(Plain(x, shape, 1, Eps(1e-5f, form)), expected)) << space;
      }
    }
  });
}

TEST(GroupNormTest, OneGroupOfOnePixelIsLayerNormOfARowWithGainAndBias) {
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
      const std::vector<float> x = RandomRow(200, 5, 2.0f);
      const std::vector<float> gain = RandomRow(100, 6);
      const std::vector<float> bias = RandomRow(100, 7);
      std::vector<float> expected(200), y(200);
      LayerNorm(x.data(), 100, gain.data(), bias.data(), expected.data(), 100, 2, 100, Eps(1e-5f));
      GroupNorm(x.data(), 100, gain.data(), bias.data(), y.data(), 100, {2, 100, 1, order}, 1, Eps(1e-5f));
      for (size_t i = 0; i < 200; ++i) ASSERT_NEAR(y[i], expected[i], 2e-6);
      ASSERT_TRUE(order == ChannelOrder::kChannelsLast || SameBits(y, expected));
    }
  });
}

TEST(GroupNormTest, AsManyGroupsAsChannelsIsInstanceNorm) {  // N18
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
      const ChannelShape shape{2, 70, 33, order};
      const size_t stride = SmallestStride(shape);
      const std::vector<float> x = Arrange<float>(RandomRow(2 * 70 * 33, 1), shape, stride, 0.0f);
      std::vector<float> y(x.size());
      InstanceNorm(x.data(), stride, kNone, kNone, y.data(), stride, shape, Eps(1e-5f));
      ExpectPromise(GroupsOf(Dense(x, shape, stride), shape, 1, false), Dense(y, shape, stride), kNone, kNone, 1e-5f);
      std::vector<float> grouped(x.size());
      GroupNorm(x.data(), stride, kNone, kNone, grouped.data(), stride, shape, 70, Eps(1e-5f));
      ASSERT_TRUE(SameBits(y, grouped));
    }
  });
}

TEST(GroupNormTest, ChannelOrdersAgree) {  // N20
  ForEachTarget([] {
    for (const MapCase& c : kCases) {
      const std::vector<float> x = RandomRow(c.samples * c.channels * c.space, 3);
      const std::vector<float> first =
          Plain(x, {c.samples, c.channels, c.space, ChannelOrder::kChannelsFirst}, c.groups, Eps(1e-5f));
      const std::vector<float> last =
          Plain(x, {c.samples, c.channels, c.space, ChannelOrder::kChannelsLast}, c.groups, Eps(1e-5f));
      for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(first[i], last[i], 1e-6) << c.channels << " " << c.space;
    }
  });
}

TEST(GroupNormTest, ErrorDoesNotGrowWithTheMeanAndAnyMagnitudeIsRight) {
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
      const ChannelShape shape{1, 12, 150, order};
      const size_t count = 12 * 150;
      for (const float kappa : {1.0f, 1e2f, -1e4f, 1e6f}) {
        const std::vector<float> x = RandomRow(count, 9, kappa);
        ExpectPromise(GroupsOf(x, shape, 4, false), Plain(x, shape, 3, Eps(1e-5f)), kNone, kNone, 1e-5f);
      }
      for (const NamedRow& row : CorpusRows(count)) {
        SCOPED_TRACE(row.name);
        for (const float eps : {0.0f, 1e-5f}) {
          for (const size_t groups : {1u, 3u, 12u}) {
            const std::vector<float> y = Plain(row.x, shape, groups, Eps(eps));
            ExpectPromise(GroupsOf(row.x, shape, 12 / groups, false), y, kNone, kNone, eps);
          }
        }
      }
    }
  });
}

TEST(GroupNormTest, ConstantGroupGivesExactlyTheBias) {
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
      for (const size_t space : {1u, 100u}) {
        const ChannelShape shape{1, 70, space, order};
        const size_t stride = SmallestStride(shape);
        const std::vector<float> bias = RandomRow(70, 7);
        for (const float value : {1234.0f, 0.1f, -3.3e30f, 3e38f, 0.0f, 0x1p-149f}) {
          const std::vector<float> x(70 * space, value);
          std::vector<float> y(x.size());
          GroupNorm(x.data(), stride, kNone, bias.data(), y.data(), stride, shape, 35, Eps(1e-5f));
          ForEachElement(shape, [&](size_t n, size_t c, size_t s) {
            ASSERT_EQ(y[IndexOf(shape, stride, n, c, s)], bias[c]) << value;
          });
          for (const float v : Plain(x, shape, 35, Eps(0.0f))) ASSERT_TRUE(std::isnan(v));
        }
      }
    }
  });
}

TEST(GroupNormTest, NanOrInfMakesItsGroupNanAndNoOther) {
  ForEachTarget([] {
    const float inf = std::numeric_limits<float>::infinity();
    for (const ChannelOrder order : kOrders) {
      const ChannelShape shape{2, 12, 20, order};
      const std::vector<float> good = RandomRow(2 * 12 * 20, 4);
      const std::vector<float> good_out = Plain(good, shape, 3, Eps(1e-5f));
      for (const float bad : {std::nanf(""), inf, -inf}) {
        for (const size_t position : {0u, 85u, 239u, 240u, 479u}) {
          std::vector<float> x = good;
          x[position] = bad;
          const std::vector<float> y = Plain(x, shape, 3, Eps(1e-5f));
          for (size_t i = 0; i < x.size(); ++i) {
            if (i / 80 == position / 80) {  // 4 channels of 20.
              ASSERT_TRUE(std::isnan(y[i]));
            } else {
              ASSERT_EQ(y[i], good_out[i]);
            }
          }
        }
      }
    }
  });
}

TEST(GroupNormTest, TargetsThreadsAndAliasingChangeNoBit) {
  for (const ChannelOrder order : kOrders) {
    for (const size_t groups : {1u, 4u, 100u, 200u}) {
      const ChannelShape shape{3, 200, 301, order};
      const size_t stride = SmallestStride(shape);
      const std::vector<float> x = RandomRow(StridedSize(shape, stride), 1, 5.0f);
      const std::vector<float> gain = RandomRow(200, 2);
      const std::vector<float> bias = RandomRow(200, 3);
      std::vector<float> expected;
      for (const std::string& target : SameBitsTargets()) {
        ASSERT_TRUE(ForceTarget(target).ok());
        std::vector<float> y(x.size());
        GroupNorm(x.data(), stride, gain.data(), bias.data(), y.data(), stride, shape, groups, Eps(1e-5f));
        if (expected.empty()) expected = y;
        ASSERT_TRUE(SameBits(expected, y)) << target << " " << groups;
        for (const size_t threads : {1u, 2u, 3u, 8u}) {
          std::vector<float> z(x.size() + 1);
          std::copy(x.begin(), x.end(), &z[1]);
          ParallelGroupNorm(&z[1], stride, gain.data(), bias.data(), &z[1], stride, shape, groups, Eps(1e-5f), threads);
          ASSERT_EQ(0, std::memcmp(&z[1], expected.data(), expected.size() * sizeof(float)))
              << target << " " << threads;
        }
      }
      ASSERT_TRUE(ForceTarget("").ok());
    }
  }
}

template <typename X, typename Affine>
void ExpectNoOverRead(ChannelOrder order) {
  for (const MapCase& c : kCases) {
    for (const bool at_end : {false, true}) {
      const ChannelShape shape{c.samples, c.channels, c.space, order};
      const size_t stride = SmallestStride(shape);
      const size_t count = StridedSize(shape, stride);
      GuardedBuffer<X> x(count, at_end), out(count, at_end);
      GuardedBuffer<Affine> gain(c.channels, at_end), bias(c.channels, at_end);
      std::fill_n(x.data(), count, Narrow<X>(1.0f));
      std::fill_n(gain.data(), c.channels, Narrow<Affine>(2.0f));
      std::fill_n(bias.data(), c.channels, Narrow<Affine>(3.0f));
      GroupNorm(x.data(), stride, gain.data(), bias.data(), out.data(), stride, shape, c.groups, Eps(1e-5f));
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(Widen(out.data()[i]), 3.0f);
      std::fill_n(x.data(), count, Narrow<X>(1e30f));  // The path that scales.
      x.data()[count - 1] = Narrow<X>(-1e30f);
      GroupNorm(x.data(), stride, gain.data(), bias.data(), out.data(), stride, shape, c.groups, Eps(1e-5f));
      ASSERT_TRUE(std::isfinite(Widen(out.data()[count - 1])));
    }
  }
}

TEST(GroupNormTest, TouchesNothingOutsideOfTheMap) {
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
#define PRENORM_CHANNEL_NORM(X, AFFINE) ExpectNoOverRead<X, AFFINE>(order);
#include "kernels/variants.inc"
    }
  });
}

void ExpectRefused(const Status& status, std::initializer_list<const char*> words) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  for (const char* word : words) EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
}

TEST(GroupNormTest, CheckedEntryRefusesBadGroupsAndMapsAndNamesTheNumbers) {  // N19
  std::vector<float> x(24, 1.0f);
  std::vector<float> y(24, -77.0f);
  const auto run = [&](ChannelShape shape, size_t groups, size_t x_stride, float* out, float eps = 1e-5f) {
    return CheckedGroupNorm(x.data(), x_stride, kNone, kNone, out, SmallestStride(shape), shape, groups, Eps(eps));
  };
  const ChannelShape first{2, 6, 2, ChannelOrder::kChannelsFirst};
  const ChannelShape last{2, 6, 2, ChannelOrder::kChannelsLast};
  ExpectRefused(run(first, 4, 12, y.data()), {"GroupNorm", "4 groups", "6 channels"});
  ExpectRefused(run(first, 0, 12, y.data()), {"0 groups", "6 channels"});
  ExpectRefused(run(first, 7, 12, y.data()), {"7 groups", "6 channels"});
  ExpectRefused(run({2, 0, 2, ChannelOrder::kChannelsFirst}, 1, 12, y.data()), {"channels is 0"});
  ExpectRefused(run({2, 6, 0, ChannelOrder::kChannelsLast}, 1, 12, y.data()), {"space is 0"});
  ExpectRefused(run(first, 2, 11, y.data()), {"stride of x is 11", "12"});
  ExpectRefused(run(last, 2, 5, y.data()), {"stride of x is 5", "6"});
  ExpectRefused(run(first, 2, 12, nullptr), {"out is null"});
  ExpectRefused(run(first, 2, 12, y.data(), -1.0f), {"eps is -1.0"});
  ExpectRefused(run(first, 2, 12, x.data() + 1), {"overlap"});
  ExpectRefused(run({2, 6, SIZE_MAX / 4, ChannelOrder::kChannelsFirst}, 2, 12, y.data()), {"overflows"});
  ExpectRefused(CheckedInstanceNorm(x.data(), 11, kNone, kNone, y.data(), 12, first, Eps(1e-5f)),
                {"InstanceNorm", "stride of x is 11"});
  for (const float v : y) EXPECT_EQ(v, -77.0f);
  EXPECT_TRUE(run({0, 6, 2, ChannelOrder::kChannelsFirst}, 2, 0, nullptr).ok());
  EXPECT_TRUE(run(last, 2, 6, x.data()).ok());
  for (const float v : x) EXPECT_EQ(v, 0.0f);
}

}  // namespace
}  // namespace prenorm
