// Gradients of RMSNorm, LayerNorm and BatchNorm-train: against complex step and finite differences, bounds, identities,
// range, same bits for every thread count and target.
#include "prenorm/norm_backward.h"

#include <gtest/gtest.h>

#include "tests/kernels/channel_test_util.h"
#include "tests/reference/norm_backward_reference.h"

namespace prenorm {
namespace {

using reference::NormKind;

std::vector<double> Wide(const float* x, size_t count) { return {x, x + count}; }

struct RowGradients {
  std::vector<float> dx, dgain, dbias;
};

RowGradients Gradients(NormKind kind, const std::vector<float>& x, const std::vector<float>& dy, const float* gain,
                       size_t rows, size_t cols, float eps, size_t threads = 1) {
  RowGradients g{std::vector<float>(x.size()), std::vector<float>(cols, -77.0f), std::vector<float>(cols, 0.0f)};
  std::vector<double> workspace(BackwardWorkspaceSize(rows, cols));
  if (kind == NormKind::kRms) {
    RmsNormBackward(x.data(), cols, dy.data(), cols, gain, g.dx.data(), cols, g.dgain.data(), rows, cols, eps,
                    workspace.data(), threads);
  } else {
    LayerNormBackward(x.data(), cols, dy.data(), cols, gain, g.dx.data(), cols, g.dgain.data(), g.dbias.data(), rows,
                      cols, eps, workspace.data(), threads);
  }
  return g;
}

// What the bound on dx of one row (or channel) is made of, in f64.
struct DxBound {
  double inv_stddev = 0.0, max_dy = 0.0, max_x_hat = 0.0, mean_product = 0.0;
  double Value(size_t count) const {
    return (static_cast<double>(count) / 128.0 + 8.0) * 0x1p-24 * inv_stddev * (max_dy + max_x_hat * mean_product);
  }
};

DxBound BoundOf(NormKind kind, const std::vector<double>& x, const std::vector<double>& gain,
                const std::vector<double>& dy, double eps) {
  DxBound bound;
  const std::vector<double> ones(x.size(), 1.0), zeros(x.size(), 0.0);
  const std::vector<double> x_hat = reference::Forward<double>(kind, x, ones, zeros, eps);
  double mean = 0.0, squares = 0.0;
  if (kind == NormKind::kLayer) {
    for (const double v : x) mean += v / static_cast<double>(x.size());
  }
  for (const double v : x) squares += (v - mean) * (v - mean) / static_cast<double>(x.size());
  bound.inv_stddev = 1.0 / std::sqrt(squares + eps);
  for (size_t i = 0; i < x.size(); ++i) {
    bound.max_dy = std::max(bound.max_dy, std::abs(gain[i] * dy[i]));
    bound.max_x_hat = std::max(bound.max_x_hat, std::abs(x_hat[i]));
    bound.mean_product += std::abs(gain[i] * dy[i] * x_hat[i]) / static_cast<double>(x.size());
  }
  return bound;
}

TEST(NormBackwardTest, FiniteDifferencesAgreeWithComplexStep) {
  const std::vector<float> values = RandomRow(15, 1);
  const std::vector<double> x = Wide(values.data(), 15);
  const std::vector<double> gain = Wide(RandomRow(15, 2).data(), 15);
  const std::vector<double> bias = Wide(RandomRow(15, 3).data(), 15);
  const std::vector<double> dy = Wide(RandomRow(15, 4).data(), 15);
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    const std::vector<double> a = reference::ComplexStep(kind, x, gain, bias, dy, 1e-3).dx;
    const std::vector<double> b = reference::FiniteDifferences(kind, x, gain, bias, dy, 1e-3, 1e-5);
    for (size_t i = 0; i < 15; ++i) EXPECT_NEAR(a[i], b[i], 1e-8);
  }
}

TEST(NormBackwardTest, RowsAgreeWithComplexStepAtEveryLength) {
  ForEachTarget([] {
    for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
      for (const size_t cols : {1u, 2u, 3u, 7u, 16u, 17u, 63u, 64u, 65u, 100u, 130u}) {
        for (const float mean : {0.0f, 100.0f}) {
          if (kind == NormKind::kLayer && cols == 1) continue;  // Zero variance.
          const size_t rows = 5;
          const float eps = 1e-5f;
          const std::vector<float> x = RandomRow(rows * cols, 1, mean);
          const std::vector<float> dy = RandomRow(rows * cols, 2);
          const std::vector<float> gain = RandomRow(cols, 3, 1.0f, 0.5f);
          const bool with_gain = cols % 3 != 0;
          const RowGradients actual = Gradients(kind, x, dy, with_gain ? gain.data() : nullptr, rows, cols, eps);
          const std::vector<double> wide_gain = with_gain ? Wide(gain.data(), cols) : std::vector<double>(cols, 1.0);
          std::vector<double> dgain(cols), dbias(cols), dgain_size(cols);
          for (size_t r = 0; r < rows; ++r) {
            const std::vector<double> row = Wide(&x[r * cols], cols), row_dy = Wide(&dy[r * cols], cols);
            const std::vector<double> zeros(cols);
            const reference::Gradients expected =
                reference::ComplexStep(kind, row, wide_gain, zeros, row_dy, static_cast<double>(eps));
            const double bound = BoundOf(kind, row, wide_gain, row_dy, static_cast<double>(eps)).Value(cols);
            for (size_t i = 0; i < cols; ++i) {
              ASSERT_NEAR(actual.dx[r * cols + i], expected.dx[i], bound)
                  << "row " << r << " col " << i << " of " << cols;
              dgain[i] += expected.dgain[i];
              dgain_size[i] += std::abs(row_dy[i]);
              dbias[i] += expected.dbias[i];
            }
          }
          for (size_t i = 0; i < cols; ++i) {
            ASSERT_NEAR(actual.dgain[i], dgain[i], 0x1p-24 * (16 * std::abs(dgain[i]) + 64 * dgain_size[i]));
            if (kind == NormKind::kRms) continue;
            ASSERT_NEAR(actual.dbias[i], dbias[i], 0x1p-24 * 32 * dgain_size[i]);
          }
        }
      }
    }
  });
}

TEST(NormBackwardTest, SumsOverManyRowsAreRight) {
  ForEachTarget([] {
    const size_t cols = 70;
    for (const size_t rows : {1u, 15u, 16u, 64u, 65u, 1025u, 3000u}) {
      const std::vector<float> x = RandomRow(rows * cols, 1, 3.0f);
      const std::vector<float> dy = RandomRow(rows * cols, 2);
      const RowGradients actual = Gradients(NormKind::kLayer, x, dy, nullptr, rows, cols, 1e-5f);
      std::vector<long double> dgain(cols), dbias(cols), size(cols);
      for (size_t r = 0; r < rows; ++r) {
        const reference::Row x_hat = reference::LayerNorm(Exactly(&x[r * cols], cols), 1e-5L);
        for (size_t i = 0; i < cols; ++i) {
          const long double d = static_cast<long double>(dy[r * cols + i]);
          dgain[i] += d * x_hat[i];
          dbias[i] += d;
          size[i] += std::abs(d) * (1 + std::abs(x_hat[i]));
        }
      }
      for (size_t i = 0; i < cols; ++i) {
        ASSERT_LE(std::abs(actual.dgain[i] - dgain[i]), 0x1p-24L * 24 * size[i]) << rows;
        ASSERT_LE(std::abs(actual.dbias[i] - dbias[i]), 0x1p-24L * 24 * size[i]) << rows;
      }
    }
  });
}

// The gradient of LayerNorm is orthogonal to 1 and (with eps = 0) to x; that of RMSNorm to x alone. Each rank-1 term
// makes one of these true.
TEST(NormBackwardTest, GradientIsOrthogonalToWhatTheNormIgnores) {
  ForEachTarget([] {
    const size_t cols = 300;
    const std::vector<float> x = RandomRow(cols, 1, 2.0f);
    const std::vector<float> dy = RandomRow(cols, 2, 1.0f);
    const auto dots = [&](NormKind kind) {
      const std::vector<float> dx = Gradients(kind, x, dy, nullptr, 1, cols, 0.0f).dx;
      double with_one = 0.0, with_x = 0.0;
      for (size_t i = 0; i < cols; ++i) with_one += dx[i], with_x += static_cast<double>(dx[i]) * x[i];
      return std::pair(std::abs(with_one), std::abs(with_x));
    };
    const auto layer = dots(NormKind::kLayer);
    EXPECT_LT(layer.first, 1e-4);
    EXPECT_LT(layer.second, 1e-4);
    const auto rms = dots(NormKind::kRms);
    EXPECT_GT(rms.first, 1.0);
    EXPECT_LT(rms.second, 1e-4);
  });
}

TEST(NormBackwardTest, NeverStretchesTheGradientBeyondGainOverStddev) {
  ForEachTarget([] {
    const size_t cols = 200;
    const std::vector<float> gain = RandomRow(cols, 9);
    double max_gain = 0.0;
    for (const float g : gain) max_gain = std::max(max_gain, std::abs(static_cast<double>(g)));
    for (uint32_t seed = 1; seed < 20; ++seed) {
      const std::vector<float> x = RandomRow(cols, seed, 1.0f, 0.1f * static_cast<float>(seed));
      const std::vector<float> dy = RandomRow(cols, 50 + seed);
      for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
        const double inv_stddev =
            BoundOf(kind, Wide(x.data(), cols), std::vector<double>(cols, 1.0), Wide(dy.data(), cols), 1e-5).inv_stddev;
        double dx_square = 0.0, dy_square = 0.0;
        for (const float v : Gradients(kind, x, dy, gain.data(), 1, cols, 1e-5f).dx)
          dx_square += static_cast<double>(v) * v;
        for (const float v : dy) dy_square += static_cast<double>(v) * v;
        ASSERT_LE(std::sqrt(dx_square), max_gain * inv_stddev * std::sqrt(dy_square) * (1 + 1e-5));
      }
    }
  });
}

TEST(NormBackwardTest, AnyMagnitudeOfXIsRight) {
  ForEachTarget([] {
    const size_t cols = 48;
    const std::vector<float> unit = RandomRow(cols, 1, 0.3f);
    const std::vector<float> dy = RandomRow(cols, 2);
    for (const float scale : {0x1p100f, 0x1p-100f}) {
      std::vector<float> x = unit;
      for (float& v : x) v *= scale;
      for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
        const RowGradients a = Gradients(kind, unit, dy, nullptr, 1, cols, 0.0f);
        const RowGradients b = Gradients(kind, x, dy, nullptr, 1, cols, 0.0f);
        for (size_t i = 0; i < cols; ++i) {
          ASSERT_NEAR(b.dx[i] * scale, a.dx[i], 1e-5);
          ASSERT_NEAR(b.dgain[i], a.dgain[i], 1e-5);
        }
      }
    }
  });
}

// Constant rows have x_hat = 0 (LayerNorm), or +-r x (RMSNorm): the gradient is known without any reference. At 3e38
// 1 / sqrt(eps) is beyond f32 once the row is scaled; at 1e-40 r itself is close to the end of f32.
TEST(NormBackwardTest, ConstantRowsAndChannelsOfAnyMagnitudeAreRight) {
  ForEachTarget([] {
    const size_t cols = 48;
    const std::vector<float> dy = RandomRow(cols, 2);
    double mean = 0.0, largest = 0.0;
    for (const float v : dy) {
      mean += static_cast<double>(v) / cols;
      largest = std::max(largest, std::abs(static_cast<double>(v)));
    }
    for (const float magnitude : {3e38f, std::numeric_limits<float>::max(), 1e20f, 1.0f, 1e-30f, 1e-40f, 0.0f}) {
      for (const float eps : {1e-5f, 1e-12f, 1e-30f}) {
        SCOPED_TRACE(testing::Message() << magnitude << " with eps " << eps);
        const std::vector<float> x(cols, -magnitude);
        const double r = 1.0 / std::sqrt(static_cast<double>(eps));
        const RowGradients layer = Gradients(NormKind::kLayer, x, dy, nullptr, 1, cols, eps);
        std::vector<float> channel(cols), plane(cols), dgain(1), dbias(1);
        BatchNormTrainBackward(x.data(), 1, dy.data(), 1, nullptr, channel.data(), 1, dgain.data(), dbias.data(),
                               {cols, 1, 1, ChannelOrder::kChannelsLast}, eps);
        BatchNormTrainBackward(x.data(), cols / 2, dy.data(), cols / 2, nullptr, plane.data(), cols / 2, dgain.data(),
                               dbias.data(), {2, 1, cols / 2, ChannelOrder::kChannelsFirst}, eps);
        const double bound = 16 * 0x1p-24 * r * largest;
        for (size_t i = 0; i < cols; ++i) {
          ASSERT_NEAR(layer.dx[i], r * (dy[i] - mean), bound);
          ASSERT_NEAR(channel[i], r * (dy[i] - mean), bound);
          ASSERT_NEAR(plane[i], r * (dy[i] - mean), bound);
          ASSERT_EQ(layer.dgain[i], 0.0f);
        }
        ASSERT_EQ(dgain[0], 0.0f);
        ASSERT_NEAR(dbias[0], mean * cols, 16 * 0x1p-24 * largest * cols);
        // RMSNorm: x_hat = -m r with r = 1 / sqrt(m^2 + eps).
        const RowGradients rms = Gradients(NormKind::kRms, x, dy, nullptr, 1, cols, eps);
        const double m = static_cast<double>(magnitude);
        const double rms_r = 1.0 / std::sqrt(m * m + static_cast<double>(eps));
        const double x_hat = -m * rms_r;
        for (size_t i = 0; i < cols; ++i) {
          const double expected = rms_r * (dy[i] - x_hat * (x_hat * mean));
          ASSERT_NEAR(rms.dx[i], expected, 16 * 0x1p-24 * rms_r * largest + 0x1p-149);
          ASSERT_NEAR(rms.dgain[i], dy[i] * x_hat, 4 * 0x1p-24 * std::abs(dy[i]));
        }
      }
    }
  });
}

TEST(NormBackwardTest, TargetsThreadsAliasingAndRepetitionChangeNoBit) {
  const size_t rows = 1500;
  const size_t cols = 101;
  const std::vector<float> x = RandomRow(rows * cols, 1, 4.0f);
  const std::vector<float> dy = RandomRow(rows * cols, 2);
  const std::vector<float> gain = RandomRow(cols, 3);
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    RowGradients expected;
    for (const std::string& target : SameBitsTargets()) {
      ASSERT_TRUE(ForceTarget(target).ok());
      for (const size_t threads : {1u, 2u, 3u, 8u}) {
        const RowGradients actual = Gradients(kind, x, dy, gain.data(), rows, cols, 1e-5f, threads);
        if (expected.dx.empty()) expected = actual;
        ASSERT_TRUE(SameBits(expected.dx, actual.dx) && SameBits(expected.dgain, actual.dgain) &&
                    SameBits(expected.dbias, actual.dbias))
            << target << " " << threads;
      }
      std::vector<float> in_place = dy;
      std::vector<double> workspace(BackwardWorkspaceSize(rows, cols));
      if (kind == NormKind::kLayer) {
        std::vector<float> dbias(cols);
        LayerNormBackward(x.data(), cols, in_place.data(), cols, gain.data(), in_place.data(), cols, nullptr,
                          dbias.data(), rows, cols, 1e-5f, workspace.data());
        ASSERT_TRUE(SameBits(dbias, expected.dbias));
      } else {
        RmsNormBackward(x.data(), cols, in_place.data(), cols, gain.data(), in_place.data(), cols, nullptr, rows, cols,
                        1e-5f, nullptr);
      }
      ASSERT_TRUE(SameBits(in_place, expected.dx));
    }
    ASSERT_TRUE(ForceTarget("").ok());
  }
}

TEST(NormBackwardTest, TheWorkspaceHasItsBound) {
  size_t most = 0;
  for (const size_t rows : {0, 1, 2, 15, 16, 17, 31, 33, 255, 256, 257, 1000, 4096, 1000000}) {
    const size_t size = BackwardWorkspaceSize(rows, 7);
    EXPECT_LE(size, size_t{48} * 7) << rows;
    most = std::max(most, size);
  }
  EXPECT_EQ(most, size_t{48} * 7) << "so that the bound says what to reserve";
}

TEST(NormBackwardTest, BatchNormAgreesWithComplexStepInBothOrders) {
  struct Case {
    size_t samples, channels, space;
  };
  ForEachTarget([] {
    for (const Case& c : {Case{2, 1, 1}, Case{20, 70, 1}, Case{3, 5, 7}, Case{2, 3, 60}}) {
      for (const ChannelOrder order : kOrders) {
        const ChannelShape shape{c.samples, c.channels, c.space, order};
        const size_t stride = SmallestStride(shape) + 2;
        const size_t size = c.samples * c.channels * c.space;
        const std::vector<float> dense_x = RandomRow(size, 1, 10.0f);
        const std::vector<float> dense_dy = RandomRow(size, 2);
        const std::vector<float> x = Arrange<float>(dense_x, shape, stride, std::nanf(""));
        const std::vector<float> dy = Arrange<float>(dense_dy, shape, stride, std::nanf(""));
        const std::vector<float> gain = RandomRow(c.channels, 3, 1.0f, 0.5f);
        std::vector<float> dx(x.size(), -77.0f), dgain(c.channels), dbias(c.channels);
        BatchNormTrainBackward(x.data(), stride, dy.data(), stride, gain.data(), dx.data(), stride, dgain.data(),
                               dbias.data(), shape, 1e-3f);
        ExpectGapsUntouched(dx, shape, stride, -77.0f);
        const std::vector<float> dense_dx = Dense(dx, shape, stride);
        for (const Group& group : GroupsOf(dense_x, shape, 1, true)) {
          std::vector<double> row, row_dy;
          for (const size_t i : group.dense_index) row.push_back(dense_x[i]), row_dy.push_back(dense_dy[i]);
          const size_t channel = group.channels[0];
          const std::vector<double> gains(row.size(), gain[channel]), zeros(row.size());
          const double eps = static_cast<double>(1e-3f);
          const reference::Gradients expected =
              reference::ComplexStep(NormKind::kLayer, row, gains, zeros, row_dy, eps);
          const double bound = BoundOf(NormKind::kLayer, row, gains, row_dy, eps).Value(row.size());
          double dgain_sum = 0.0, dbias_sum = 0.0, dy_size = 0.0;
          for (size_t i = 0; i < row.size(); ++i) {
            ASSERT_NEAR(dense_dx[group.dense_index[i]], expected.dx[i], bound);
            dgain_sum += expected.dgain[i];
            dbias_sum += expected.dbias[i];
            dy_size += std::abs(row_dy[i]);
          }
          ASSERT_NEAR(dgain[channel], dgain_sum, 0x1p-24 * 64 * dy_size);
          ASSERT_NEAR(dbias[channel], dbias_sum, 0x1p-24 * 16 * dy_size);
        }
      }
    }
  });
}

TEST(NormBackwardTest, BatchNormBitsDependOnNeitherThreadsNorTargetNorAliasing) {
  for (const ChannelOrder order : kOrders) {
    const ChannelShape shape{4, 130, 333, order};
    const size_t stride = SmallestStride(shape);
    const std::vector<float> x = RandomRow(StridedSize(shape, stride), 1, 4.0f);
    const std::vector<float> dy = RandomRow(x.size(), 2);
    std::vector<float> expected_dx, expected_dgain;
    for (const std::string& target : SameBitsTargets()) {
      ASSERT_TRUE(ForceTarget(target).ok());
      for (const size_t threads : {1u, 2u, 3u, 8u}) {
        std::vector<float> dx = x, dgain(130);
        BatchNormTrainBackward(dx.data(), stride, dy.data(), stride, nullptr, dx.data(), stride, dgain.data(), nullptr,
                               shape, 1e-5f, threads);
        if (expected_dx.empty()) expected_dx = dx, expected_dgain = dgain;
        ASSERT_TRUE(SameBits(expected_dx, dx) && SameBits(expected_dgain, dgain)) << target << " " << threads;
      }
    }
    ASSERT_TRUE(ForceTarget("").ok());
  }
}

TEST(NormBackwardTest, NanStaysInItsRow) {
  ForEachTarget([] {
    const size_t cols = 37;
    std::vector<float> x = RandomRow(3 * cols, 1);
    const std::vector<float> dy = RandomRow(3 * cols, 2);
    const RowGradients good = Gradients(NormKind::kLayer, x, dy, nullptr, 3, cols, 1e-5f);
    x[cols + 5] = std::nanf("");
    const RowGradients bad = Gradients(NormKind::kLayer, x, dy, nullptr, 3, cols, 1e-5f);
    for (size_t i = 0; i < 3 * cols; ++i) {
      if (i / cols == 1) {
        ASSERT_TRUE(std::isnan(bad.dx[i]));
      } else {
        ASSERT_EQ(bad.dx[i], good.dx[i]);
      }
    }
  });
}

TEST(NormBackwardTest, CheckedEntriesNameTheNumbers) {
  std::vector<float> x(32, 1.0f), dy(32, 1.0f), dx(32, -77.0f), dgain(8, -77.0f);
  std::vector<double> workspace(24);
  const auto refused = [](const Status& status, std::initializer_list<const char*> words) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    for (const char* word : words) EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  };
  const auto rms = [&](size_t stride, float* out, size_t size, float eps = 1e-5f) {
    return CheckedRmsNormBackward(x.data(), stride, dy.data(), 8, nullptr, out, 8, dgain.data(), 4, 8, eps,
                                  workspace.data(), size);
  };
  refused(rms(7, dx.data(), 24), {"RmsNormBackward", "stride of x is 7"});
  refused(rms(8, x.data() + 1, 24), {"overlap"});
  refused(rms(8, dx.data(), 23), {"workspace holds 23", "expected 24"});
  refused(rms(8, dx.data(), 24, -1.0f), {"eps is -1"});
  const ChannelShape one{1, 8, 1, ChannelOrder::kChannelsFirst};
  refused(CheckedBatchNormTrainBackward(x.data(), 8, dy.data(), 8, nullptr, dx.data(), 8, dgain.data(), nullptr, one,
                                        1e-5f),
          {"BatchNormTrainBackward", "1 value per channel"});
  for (const float v : dx) EXPECT_EQ(v, -77.0f);
  for (const float v : dgain) EXPECT_EQ(v, -77.0f);
  EXPECT_TRUE(rms(8, x.data(), 24).ok());
  EXPECT_TRUE(CheckedLayerNormBackward(x.data(), 8, dy.data(), 8, nullptr, dy.data(), 8, nullptr, nullptr, 4, 8, 1e-5f,
                                       nullptr, 0)
                  .ok());
  EXPECT_TRUE(
      CheckedRmsNormBackward(nullptr, 8, nullptr, 8, nullptr, nullptr, 8, dgain.data(), 0, 8, 1e-5f, nullptr, 0).ok());
  for (const float v : dgain) EXPECT_EQ(v, 0.0f);
}

}  // namespace
}  // namespace prenorm
