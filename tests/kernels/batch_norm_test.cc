// BatchNorm in training and eval: known values, values of torch, the error bound in both channel orders, identities.
#include <gtest/gtest.h>

#include "prenorm/norm_fold.h"
#include "tests/kernels/channel_test_util.h"

namespace prenorm {
namespace {

#include "tests/golden/batch_norm_golden.inc"

constexpr const float* kNone = nullptr;

BatchNormTrainOptions Options(float eps, float momentum = 0.1f) {
  BatchNormTrainOptions options;
  options.eps = eps;
  options.momentum = momentum;
  return options;
}

// `dense` normalized without gain or bias, in the order [samples, channels, space] again.
std::vector<float> PlainTrain(const std::vector<float>& dense, const ChannelShape& shape, float eps,
                              float* running_mean = nullptr, float* running_variance = nullptr) {
  const size_t stride = SmallestStride(shape);
  const std::vector<float> x = Arrange<float>(dense, shape, stride, 0.0f);
  std::vector<float> y(x.size());
  BatchNormTrain(x.data(), stride, kNone, kNone, y.data(), stride, shape, running_mean, running_variance, Options(eps));
  return Dense(y, shape, stride);
}

TEST(BatchNormTest, NormalizesWithTheBiasedVarianceAndKeepsTheUnbiasedOne) {  // N21, N22
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
      for (const float momentum : {0.1f, 0.01f}) {
        const ChannelShape shape{4, 3, 4, order};
        std::vector<float> dense;
        ForEachElement(shape,
                       [&](size_t n, size_t c, size_t s) { dense.push_back(static_cast<float>(n + 4 * c + s + 1)); });
        const size_t stride = SmallestStride(shape);
        const std::vector<float> x = Arrange<float>(dense, shape, stride, 0.0f);
        std::vector<float> y(x.size()), mean(3, 0.0f), variance(3, 1.0f);
        BatchNormTrain(x.data(), stride, kNone, kNone, y.data(), stride, shape, mean.data(), variance.data(),
                       Options(1e-5f, momentum));
        EXPECT_NEAR(y[0], -1.8973628, 1e-6);
        for (size_t c = 0; c < 3; ++c) {
          EXPECT_NEAR(mean[c], momentum * 4 * static_cast<float>(c + 1), 1e-6);
          EXPECT_NEAR(variance[c], momentum == 0.1f ? 1.1666667 : 1.0166667, 1e-6);
        }
      }
    }
  });
}

TEST(BatchNormTest, OneValuePerChannelIsRefusedAndRunningStatisticsStay) {  // N26
  const std::vector<float> x = {1, 2, 3};
  std::vector<float> y(3, -77.0f), mean(3, 0.5f), variance(3, 2.0f);
  for (const ChannelOrder order : kOrders) {
    const Status status = CheckedBatchNormTrain(x.data(), 3, kNone, kNone, y.data(), 3, {1, 3, 1, order}, mean.data(),
                                                variance.data(), Options(1e-5f));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("1 value per channel"), std::string::npos) << status.message();
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(y[c], -77.0f);
      EXPECT_EQ(mean[c], 0.5f);
      EXPECT_EQ(variance[c], 2.0f);
    }
  }
}

struct MapCase {
  size_t samples, channels, space;
};
constexpr MapCase kCases[] = {{2, 1, 1},   {17, 70, 1}, {130, 64, 1}, {3, 5, 7},           {2, 67, 49},
                              {4, 3, 300}, {1, 2, 65},  {2, 2, 1500}, {300, 3, 2000 / 300}};

template <typename X, typename Affine>
void ExpectRightForEveryShape(ChannelOrder order) {
  uint32_t seed = 0;
  for (const MapCase& c : kCases) {
    SCOPED_TRACE("samples " + std::to_string(c.samples) + " channels " + std::to_string(c.channels));
    const ChannelShape shape{c.samples, c.channels, c.space, order};
    const size_t x_stride = SmallestStride(shape) + 3;
    const size_t out_stride = SmallestStride(shape) + 5;
    const std::vector<float> values = RandomRow(c.samples * c.channels * c.space, ++seed, 3.0f);
    const std::vector<X> x = Arrange<X>(values, shape, x_stride, std::nanf(""));
    const std::vector<X> dense = Dense(x, shape, x_stride);
    const std::vector<Affine> gain = Narrowed<Affine>(RandomRow(c.channels, 17, 1.0f, 0.5f));
    const std::vector<Affine> bias = Narrowed<Affine>(RandomRow(c.channels, 18));
    const Affine* g = seed % 3 == 0 ? nullptr : gain.data();
    const Affine* b = seed % 4 == 0 ? nullptr : bias.data();
    std::vector<X> y(StridedSize(shape, out_stride), Narrow<X>(-77.0f));
    std::vector<float> mean(c.channels, 1.0f), variance(c.channels, 2.0f);
    BatchNormTrain(x.data(), x_stride, g, b, y.data(), out_stride, shape, mean.data(), variance.data(), Options(1e-5f));
    const std::vector<Group> groups = GroupsOf(dense, shape, 1, true);
    ExpectPromise(groups, Dense(y, shape, out_stride), g, b, 1e-5f);
    ExpectGapsUntouched(y, shape, out_stride, -77.0f);

    std::vector<float> batch_mean, batch_variance;
    for (size_t channel = 0; channel < c.channels; ++channel) {
      const reference::Row& row = groups[channel].values;
      const auto count = static_cast<long double>(row.size());
      long double sum = 0.0L, squares = 0.0L;
      for (const long double v : row) sum += v;
      for (const long double v : row) squares += (v - sum / count) * (v - sum / count);
      const long double m = static_cast<long double>(0.1f);
      const long double new_mean = (1 - m) + m * sum / count;
      const long double new_variance = 2 * (1 - m) + m * squares / (count - 1);
      ASSERT_NEAR(mean[channel], static_cast<double>(new_mean), 1e-6 * (1 + std::abs(static_cast<double>(new_mean))));
      ASSERT_NEAR(variance[channel], static_cast<double>(new_variance), 1e-6 * static_cast<double>(new_variance));
      batch_mean.push_back(static_cast<float>(sum / count));
      batch_variance.push_back(static_cast<float>(squares / count));
    }
    // Eval with the statistics of this very batch is training without its update.
    std::vector<X> eval(y.size(), Narrow<X>(-77.0f));
    BatchNormEval(x.data(), x_stride, g, b, batch_mean.data(), batch_variance.data(), eval.data(), out_stride, shape,
                  1e-5f);
    for (size_t i = 0; i < eval.size(); ++i) {
      ASSERT_NEAR(Widen(eval[i]), Widen(y[i]), (std::is_same_v<X, bf16> ? 0x1p-7 : 2e-6) * (1 + std::abs(Widen(y[i]))));
    }
  }
}

TEST(BatchNormTest, EveryShapeStrideAndVariantIsRightAndLeavesGapsAlone) {
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
#define PRENORM_CHANNEL_NORM(X, AFFINE) ExpectRightForEveryShape<X, AFFINE>(order);
#include "kernels/variants.inc"
    }
  });
}

TEST(BatchNormTest, RecomputationWithoutRunningStatisticsHasTheSameBits) {
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
      const ChannelShape shape{6, 70, 5, order};
      const std::vector<float> x = RandomRow(6 * 70 * 5, 1);
      std::vector<float> mean(70, 0.0f), variance(70, 1.0f);
      const std::vector<float> first = PlainTrain(x, shape, 1e-5f, mean.data(), variance.data());
      ASSERT_NE(mean[0], 0.0f);
      ASSERT_TRUE(SameBits(first, PlainTrain(x, shape, 1e-5f)));
      // Eval with running statistics after one batch is something else.
      std::vector<float> eval(x.size());
      const size_t stride = SmallestStride(shape);
      const std::vector<float> arranged = Arrange<float>(x, shape, stride, 0.0f);
      BatchNormEval(arranged.data(), stride, kNone, kNone, mean.data(), variance.data(), eval.data(), stride, shape,
                    1e-5f);
      double distance = 0.0;
      const std::vector<float> dense_eval = Dense(eval, shape, stride);
      for (size_t i = 0; i < x.size(); ++i) distance = std::max<double>(distance, std::abs(first[i] - dense_eval[i]));
      ASSERT_GT(distance, 0.01);
    }
  });
}

TEST(BatchNormTest, TrainingOfTheTransposeIsLayerNorm) {
  ForEachTarget([] {
    const size_t rows = 70;
    const size_t cols = 130;
    const std::vector<float> x = RandomRow(rows * cols, 1, 5.0f);
    std::vector<float> transposed(x.size()), layer(x.size());
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < cols; ++c) transposed[c * rows + r] = x[r * cols + c];
    }
    LayerNormOptions options;
    options.eps = 1e-5f;
    LayerNorm(x.data(), cols, kNone, kNone, layer.data(), cols, rows, cols, options);
    const std::vector<float> batch = PlainTrain(transposed, {cols, rows, 1, ChannelOrder::kChannelsFirst}, 1e-5f);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < cols; ++c) ASSERT_NEAR(batch[c * rows + r], layer[r * cols + c], 2e-6);
    }
  });
}

TEST(BatchNormTest, ErrorDoesNotGrowWithTheMeanAndAnyMagnitudeIsRight) {
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
      for (const size_t space : {1u, 50u}) {
        const ChannelShape shape{30, 3, space, order};
        const size_t count = 90 * space;
        for (const float kappa : {1.0f, 1e2f, -1e4f, 1e6f}) {
          const std::vector<float> x = RandomRow(count, 9, kappa);
          ExpectPromise(GroupsOf(x, shape, 1, true), PlainTrain(x, shape, 1e-5f), kNone, kNone, 1e-5f);
        }
        for (const NamedRow& row : CorpusRows(count)) {
          SCOPED_TRACE(row.name);
          for (const float eps : {0.0f, 1e-5f}) {
            ExpectPromise(GroupsOf(row.x, shape, 1, true), PlainTrain(row.x, shape, eps), kNone, kNone, eps);
          }
        }
      }
    }
  });
}

TEST(BatchNormTest, ConstantChannelGivesExactlyTheBias) {
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
      for (const size_t space : {1u, 70u}) {
        for (const float value : {1234.0f, 0.1f, -3.3e30f, 3e38f, 0.0f, 0x1p-149f}) {
          const std::vector<float> x(100 * space * 3, value);
          for (const float v : PlainTrain(x, {100, 3, space, order}, 1e-5f)) ASSERT_EQ(v, 0.0f) << value;
          for (const float v : PlainTrain(x, {100, 3, space, order}, 0.0f)) ASSERT_TRUE(std::isnan(v)) << value;
        }
      }
    }
  });
}

TEST(BatchNormTest, NanOrInfMakesItsChannelNanAndNoOther) {
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
      for (const size_t space : {1u, 9u}) {
        const ChannelShape shape{20, 5, space, order};
        std::vector<float> x = RandomRow(100 * space, 4);
        std::vector<float> mean(5, 0.0f), variance(5, 1.0f);
        const std::vector<float> good = PlainTrain(x, shape, 1e-5f);
        for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
          x[2 * space] = bad;
          const std::vector<float> y = PlainTrain(x, shape, 1e-5f, mean.data(), variance.data());
          for (size_t i = 0; i < x.size(); ++i) {
            if (i / space % 5 == 2) {
              ASSERT_TRUE(std::isnan(y[i]));
            } else {
              ASSERT_EQ(y[i], good[i]);
            }
          }
          for (size_t c = 0; c < 5; ++c) ASSERT_EQ(std::isnan(mean[c]), c == 2);
          for (size_t c = 0; c < 5; ++c) ASSERT_EQ(std::isnan(variance[c]), c == 2);
        }
      }
    }
  });
}

TEST(BatchNormTest, EvalIsRightForAnyFiniteMagnitude) {
  ForEachTarget([] {
    const float max = std::numeric_limits<float>::max();
    const std::vector<float> x = {max, -max, 1e-38f, 0.0f, 1.0f, -3e38f};
    const std::vector<float> mean = {-max, max, 0.0f, 0.0f, 1e30f, 3e38f};
    const std::vector<float> variance = {max, max, 1e-38f, 0.0f, 1e38f, max};
    for (const size_t space : {1u, 2u}) {
      std::vector<float> wide, y(6 * space);
      for (const float v : x) wide.insert(wide.end(), space, v);
      const ChannelShape shape{1, 6, space, ChannelOrder::kChannelsFirst};
      BatchNormEval(wide.data(), 6 * space, kNone, kNone, mean.data(), variance.data(), y.data(), 6 * space, shape,
                    0.0f);
      for (size_t c = 0; c < 6; ++c) {
        const long double expected = (static_cast<long double>(x[c]) - static_cast<long double>(mean[c])) /
                                     std::sqrt(static_cast<long double>(variance[c]));
        if (c == 3) {
          ASSERT_TRUE(std::isnan(y[c * space]));  // No variance, eps = 0.
        } else {
          ASSERT_LE(UlpError(y[c * space], expected), 4.0) << c;
        }
      }
    }
  });
}

TEST(BatchNormTest, TargetsThreadsAndAliasingChangeNoBit) {
  for (const ChannelOrder order : kOrders) {
    for (const size_t space : {1u, 40u, 1100u}) {
      const size_t samples = space == 1 ? 2000 : 5;
      const ChannelShape shape{samples, 130, space, order};
      const size_t stride = SmallestStride(shape);
      const std::vector<float> x = RandomRow(StridedSize(shape, stride), 1, 5.0f);
      const std::vector<float> gain = RandomRow(130, 2);
      const std::vector<float> bias = RandomRow(130, 3);
      std::vector<float> expected, expected_eval, expected_variance;
      for (const std::string& target : SameBitsTargets()) {
        ASSERT_TRUE(ForceTarget(target).ok());
        for (const size_t threads : {1u, 2u, 3u, 8u}) {
          std::vector<float> y = x, eval = x, mean(130, 0.0f), variance(130, 1.0f);
          ParallelBatchNormTrain(y.data(), stride, gain.data(), bias.data(), y.data(), stride, shape, mean.data(),
                                 variance.data(), Options(1e-5f), threads);
          ParallelBatchNormEval(eval.data(), stride, gain.data(), bias.data(), mean.data(), variance.data(),
                                eval.data(), stride, shape, 1e-5f, threads);
          if (expected.empty()) expected = y, expected_eval = eval, expected_variance = variance;
          ASSERT_TRUE(SameBits(expected, y) && SameBits(expected_eval, eval) && SameBits(expected_variance, variance))
              << target << " " << threads;
        }
        std::vector<float> y(x.size());
        BatchNormTrain(x.data(), stride, gain.data(), bias.data(), y.data(), stride, shape, nullptr, nullptr,
                       Options(1e-5f));
        ASSERT_TRUE(SameBits(expected, y)) << target;
      }
      ASSERT_TRUE(ForceTarget("").ok());
    }
  }
}

TEST(BatchNormTest, TouchesNothingOutsideOfTheMap) {
  ForEachTarget([] {
    for (const ChannelOrder order : kOrders) {
      for (const MapCase& c : kCases) {
        for (const bool at_end : {false, true}) {
          const ChannelShape shape{c.samples, c.channels, c.space, order};
          const size_t stride = SmallestStride(shape);
          const size_t count = StridedSize(shape, stride);
          GuardedBuffer<bf16> x(count, at_end), out(count, at_end);
          GuardedBuffer<float> gain(c.channels, at_end), bias(c.channels, at_end), mean(c.channels, at_end);
          GuardedBuffer<float> variance(c.channels, at_end);
          std::fill_n(x.data(), count, ToBf16(1.0f));
          std::fill_n(gain.data(), c.channels, 2.0f);
          std::fill_n(bias.data(), c.channels, 3.0f);
          std::fill_n(mean.data(), c.channels, 1.0f);
          std::fill_n(variance.data(), c.channels, 1.0f);
          BatchNormTrain(x.data(), stride, gain.data(), bias.data(), out.data(), stride, shape, mean.data(),
                         variance.data(), Options(1e-5f));
          for (size_t i = 0; i < count; ++i) ASSERT_EQ(ToF32(out.data()[i]), 3.0f);
          BatchNormEval(x.data(), stride, gain.data(), bias.data(), mean.data(), variance.data(), out.data(), stride,
                        shape, 1e-5f);
          for (size_t i = 0; i < count; ++i) ASSERT_EQ(ToF32(out.data()[i]), 3.0f);
        }
      }
    }
  });
}

TEST(BatchNormTest, CheckedEntriesNameTheNumbers) {
  std::vector<float> x(24, 1.0f), y(24, -77.0f), mean(6, 0.5f), variance(6, 1.0f);
  const ChannelShape shape{4, 6, 1, ChannelOrder::kChannelsFirst};
  const auto refused = [](const Status& status, std::initializer_list<const char*> words) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    for (const char* word : words) EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  };
  const auto train = [&](size_t stride, float* m, float* v, BatchNormTrainOptions options) {
    return CheckedBatchNormTrain(x.data(), stride, kNone, kNone, y.data(), 6, shape, m, v, options);
  };
  refused(train(5, mean.data(), variance.data(), Options(1e-5f)), {"BatchNormTrain", "stride of x is 5"});
  refused(train(6, nullptr, variance.data(), Options(1e-5f)), {"running_mean is null"});
  refused(train(6, mean.data(), nullptr, Options(1e-5f)), {"running_variance is null"});
  refused(train(6, mean.data(), variance.data(), Options(1e-5f, 1.5f)), {"momentum is 1.5"});
  refused(train(6, mean.data(), variance.data(), Options(-1e-5f)), {"eps"});
  const auto eval = [&](const float* v) {
    return CheckedBatchNormEval(x.data(), 6, kNone, kNone, mean.data(), v, y.data(), 6, shape, 1e-5f);
  };
  refused(eval(nullptr), {"BatchNormEval", "variance is null", "6 elements"});
  variance[4] = -2.0f;
  refused(eval(variance.data()), {"variance of channel 4 is -2.0"});
  for (const float v : y) EXPECT_EQ(v, -77.0f);
  for (const float v : mean) EXPECT_EQ(v, 0.5f);
  const ChannelShape no_samples{0, 6, 1, ChannelOrder::kChannelsFirst};
  const Status nothing = CheckedBatchNormTrain(x.data(), 6, kNone, kNone, y.data(), 6, no_samples, mean.data(),
                                               mean.data(), Options(1e-5f));
  EXPECT_TRUE(nothing.ok());
  for (const float v : mean) EXPECT_EQ(v, 0.5f);
}

// ---- Torch's values

std::vector<float> GoldenInput(size_t count, size_t seed) {
  std::vector<float> v(count);
  for (size_t i = 0; i < count; ++i) v[i] = (static_cast<float>((i * 7919 + seed * 104729) % 257) - 128.0f) / 128.0f;
  return v;
}

template <size_t kCount>
void ExpectNearGolden(const std::vector<float>& actual, const double (&expected)[kCount], double tolerance = 2e-6) {
  ASSERT_EQ(actual.size(), kCount);
  for (size_t i = 0; i < kCount; ++i) EXPECT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
}

struct Linear {
  size_t inputs, outputs;
  std::vector<float> weight, bias;

  Linear(size_t in, size_t out, size_t seed)
      : inputs(in), outputs(out), weight(GoldenInput(in * out, seed)), bias(GoldenInput(out, seed + 1)) {}

  LinearMap Map() { return {weight.data(), bias.data(), outputs, inputs}; }

  std::vector<float> operator()(const std::vector<float>& x) const {
    std::vector<float> y;
    for (size_t row = 0; row < x.size() / inputs; ++row) {
      for (size_t o = 0; o < outputs; ++o) {
        double sum = bias[o];
        for (size_t i = 0; i < inputs; ++i) {
          sum += static_cast<double>(weight[o * inputs + i]) * static_cast<double>(x[row * inputs + i]);
        }
        y.push_back(static_cast<float>(sum));
      }
    }
    return y;
  }
};

struct BatchNormLayer {
  std::vector<float> gain, bias, running_mean, running_variance;

  BatchNormLayer(size_t channels, size_t seed)
      : gain(GoldenInput(channels, seed)),
        bias(GoldenInput(channels, seed + 1)),
        running_mean(channels, 0.0f),
        running_variance(channels, 1.0f) {
    for (float& g : gain) g = 1.0f + g / 2.0f;
  }

  ChannelShape Shape(size_t size, size_t space) const {
    return {size / gain.size() / space, gain.size(), space, ChannelOrder::kChannelsFirst};
  }
  std::vector<float> Train(std::vector<float> x, size_t space = 1) {
    const size_t stride = gain.size() * space;
    BatchNormTrain(x.data(), stride, gain.data(), bias.data(), x.data(), stride, Shape(x.size(), space),
                   running_mean.data(), running_variance.data(), Options(1e-5f));
    return x;
  }
  std::vector<float> Eval(std::vector<float> x, size_t space = 1) const {
    const size_t stride = gain.size() * space;
    BatchNormEval(x.data(), stride, gain.data(), bias.data(), running_mean.data(), running_variance.data(), x.data(),
                  stride, Shape(x.size(), space), 1e-5f);
    return x;
  }
  FrozenBatchNorm Frozen() const {
    return {gain.data(), bias.data(), running_mean.data(), running_variance.data(), gain.size(), 1e-5f};
  }
};

std::vector<float> Relu(std::vector<float> x) {
  for (float& v : x) v = std::max(v, 0.0f);
  return x;
}

TEST(BatchNormTest, RowsAndMapsAgreeWithTorch) {
  ForEachTarget([] {
    BatchNormLayer rows(3, 11);
    ExpectNearGolden(rows.Train(GoldenInput(15, 13)), kRowsTrain);
    ExpectNearGolden(rows.running_mean, kRowsRunningMean);
    ExpectNearGolden(rows.running_variance, kRowsRunningVariance);
    ExpectNearGolden(rows.Eval(GoldenInput(15, 14)), kRowsEval);
    BatchNormLayer maps(3, 11);
    ExpectNearGolden(maps.Train(GoldenInput(36, 13), 6), kMapsTrain);
    ExpectNearGolden(maps.running_mean, kMapsRunningMean);
    ExpectNearGolden(maps.running_variance, kMapsRunningVariance);
    ExpectNearGolden(maps.Eval(GoldenInput(36, 14), 6), kMapsEval);
  });
}

TEST(BatchNormTest, PerceptronAgreesWithTorchInTrainingEvalAndFolded) {
  ForEachTarget([] {
    Linear first(20, 16, 1), second(16, 8, 5), third(8, 4, 9);
    BatchNormLayer norm1(16, 3), norm2(8, 7);
    std::vector<float> trained;
    for (size_t step = 0; step < 3; ++step) {
      trained = third(Relu(norm2.Train(second(Relu(norm1.Train(first(GoldenInput(120, 20 + step))))))));
    }
    ExpectNearGolden(trained, kPerceptronTrain, 1e-5);
    ExpectNearGolden(norm1.running_mean, kFirstRunningMean);
    ExpectNearGolden(norm1.running_variance, kFirstRunningVariance);
    ExpectNearGolden(norm2.running_mean, kSecondRunningMean, 1e-5);
    ExpectNearGolden(norm2.running_variance, kSecondRunningVariance, 1e-5);
    const std::vector<float> x = GoldenInput(60, 30);
    ExpectNearGolden(third(Relu(norm2.Eval(second(Relu(norm1.Eval(first(x))))))), kPerceptronEval, 1e-5);
    LinearMap first_map = first.Map();
    LinearMap second_map = second.Map();
    ASSERT_TRUE(FoldIntoPreceding(norm1.Frozen(), &first_map).ok());
    ASSERT_TRUE(FoldIntoPreceding(norm2.Frozen(), &second_map).ok());
    ExpectNearGolden(third(Relu(second(Relu(first(x))))), kPerceptronEval, 1e-5);
  });
}

}  // namespace
}  // namespace prenorm
