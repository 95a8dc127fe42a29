// Folding: folded and unfolded networks agree, for every consumer; what cannot fold is refused and left as it was.
#include "prenorm/norm_fold.h"

#include <gtest/gtest.h>

#include <array>

#include "prenorm/norm_channels.h"
#include "prenorm/norm_forms.h"
#include "tests/kernels/norm_test_util.h"

namespace prenorm {
namespace {

using Values = std::vector<double>;

// A linear map or 1-D convolution with its storage, in f64 arithmetic.
struct Layer {
  std::vector<float> weight, bias;
  LinearMap map;

  Layer(size_t out, size_t in, size_t taps, size_t groups, uint32_t seed, bool zero_padded = false)
      : weight(RandomRow(out * in / groups * taps, seed)), bias(RandomRow(out, seed + 1)) {
    map = {weight.data(), bias.data(), out, in, taps, groups, zero_padded};
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  // x: [in_channels, length]; without padding the result has length - taps + 1 positions.
  Values operator()(const Values& x, size_t length) const {
    const size_t padding = map.zero_padded ? map.taps / 2 : 0;
    const size_t out_length = length + 2 * padding - map.taps + 1;
    const size_t group_in = map.in_channels / map.groups;
    const size_t group_out = map.out_channels / map.groups;
    Values y;
    for (size_t o = 0; o < map.out_channels; ++o) {
      for (size_t p = 0; p < out_length; ++p) {
        double sum = map.bias == nullptr ? 0.0 : static_cast<double>(bias[o]);
        for (size_t i = 0; i < group_in; ++i) {
          for (size_t t = 0; t < map.taps; ++t) {
            const size_t at = p + t;  // plus padding
            if (at < padding || at >= length + padding) continue;
            sum += static_cast<double>(weight[(o * group_in + i) * map.taps + t]) *
                   x[(o / group_out * group_in + i) * length + at - padding];
          }
        }
        y.push_back(sum);
      }
    }
    return y;
  }
};

struct Norm {
  std::vector<float> gain, bias, mean, variance;

  explicit Norm(size_t channels)
      : gain(RandomRow(channels, 31, 1.0f, 0.3f)),
        bias(RandomRow(channels, 32)),
        mean(RandomRow(channels, 33)),
        variance(RandomRow(channels, 34)) {
    for (float& v : variance) v = v * v + 0.1f;
  }
  FrozenBatchNorm Frozen() const {
    return {gain.data(), bias.data(), mean.data(), variance.data(), gain.size(), 1e-3f};
  }

  Values operator()(const Values& x, size_t length) const {
    std::vector<float> narrow(x.begin(), x.end());
    std::vector<float> y(x.size());
    BatchNormEval(narrow.data(), x.size(), gain.data(), bias.data(), mean.data(), variance.data(), y.data(), x.size(),
                  {1, gain.size(), length, ChannelOrder::kChannelsFirst}, 1e-3f);
    return {y.begin(), y.end()};
  }
};

Values RandomValues(size_t count, uint32_t seed) {
  const std::vector<float> x = RandomRow(count, seed);
  return {x.begin(), x.end()};
}

double Distance(const Values& a, const Values& b) {
  EXPECT_EQ(a.size(), b.size());
  double distance = 0.0;
  for (size_t i = 0; i < a.size(); ++i) distance = std::max(distance, std::abs(a[i] - b[i]));
  return distance;
}

bool Refused(const Status& status, StatusCode code, std::initializer_list<const char*> words) {
  bool all = status.code() == code;
  for (const char* word : words) all = all && status.message().find(word) != std::string::npos;
  if (!all) ADD_FAILURE() << status.message();
  return all;
}

TEST(NormFoldTest, BatchNormAfterALinearMapOrConvolution) {
  const Norm norm(6);
  for (const bool padded : {false, true}) {
    for (const size_t taps : {1u, 3u}) {
      for (const size_t groups : {1u, 2u}) {
        Layer layer(6, 4, taps, groups, 1, padded);
        const Values x = RandomValues(4 * 9, 7);
        const Values plain = layer(x, 9);
        const Values unfolded = norm(plain, plain.size() / 6);
        ASSERT_TRUE(FoldIntoPreceding(norm.Frozen(), &layer.map).ok());
        EXPECT_LT(Distance(layer(x, 9), unfolded), 1e-5);
        EXPECT_GT(Distance(plain, unfolded), 0.1);
      }
    }
  }
}

TEST(NormFoldTest, BatchNormBeforeEveryConsumer) {
  const Norm norm(6);
  Layer a(4, 6, 1, 1, 1), b(8, 6, 3, 2, 3), c(2, 6, 5, 1, 5);
  const Values x = RandomValues(6 * 9, 7);
  const Values normed = norm(x, 9);
  const Values expected[] = {a(normed, 9), b(normed, 9), c(normed, 9)};
  std::array<LinearMap, 3> maps = {a.map, b.map, c.map};
  ASSERT_TRUE(FoldIntoFollowing(norm.Frozen(), maps).ok());
  EXPECT_LT(Distance(a(x, 9), expected[0]), 2e-5);
  EXPECT_LT(Distance(b(x, 9), expected[1]), 2e-5);
  EXPECT_LT(Distance(c(x, 9), expected[2]), 2e-5);
}

TEST(NormFoldTest, ZeroPaddedConvolutionAfterANormIsRefusedUnlessTheShiftIsZero) {
  Norm norm(6);
  Layer linear(4, 6, 1, 1, 1), padded(4, 6, 3, 1, 3, true);
  const Values x = RandomValues(6 * 9, 7);
  const std::vector<float> linear_weight = linear.weight, padded_weight = padded.weight;
  std::array<LinearMap, 2> maps = {linear.map, padded.map};
  EXPECT_TRUE(
      Refused(FoldIntoFollowing(norm.Frozen(), maps), StatusCode::kUnsupported, {"pads with zeros", "channel 0"}));
  EXPECT_TRUE(SameBits(linear.weight, linear_weight) && SameBits(padded.weight, padded_weight));
  std::fill(norm.mean.begin(), norm.mean.end(), 0.0f);
  std::fill(norm.bias.begin(), norm.bias.end(), 0.0f);
  const Values expected = padded(norm(x, 9), 9);
  ASSERT_TRUE(FoldIntoFollowing(norm.Frozen(), maps).ok());
  EXPECT_LT(Distance(padded(x, 9), expected), 2e-5);
}

TEST(NormFoldTest, RmsGainIntoQueryKeyAndValueAndEachMatters) {
  const size_t dim = 40;
  const std::vector<float> x = RandomRow(dim, 1);
  const Values ones(dim, 1.0);
  for (const GainForm form : {GainForm::kGain, GainForm::kOnePlusGain}) {
    const std::vector<float> gain = RandomRow(dim, 2, 1.0f, 0.5f);
    RmsNormOptions options;
    options.eps = 1e-6f;
    options.gain_form = form;
    std::vector<float> with_gain(dim), without(dim);
    RmsNorm(x.data(), dim, gain.data(), with_gain.data(), dim, 1, dim, options);
    RmsNorm(x.data(), dim, nullptr, without.data(), dim, 1, dim, options);
    const Values normed(with_gain.begin(), with_gain.end()), bare(without.begin(), without.end());
    Layer q(32, dim, 1, 1, 11), k(8, dim, 1, 1, 13), v(8, dim, 1, 1, 15);
    k.map.bias = nullptr;
    const Values expected[] = {q(normed, 1), k(normed, 1), v(normed, 1)};
    // An unfolded consumer of a row without gain is far off: forgetting one shows.
    EXPECT_GT(Distance(q(bare, 1), expected[0]), 0.1);
    EXPECT_GT(Distance(k(bare, 1), expected[1]), 0.1);
    EXPECT_GT(Distance(v(bare, 1), expected[2]), 0.1);
    std::array<LinearMap, 3> maps = {q.map, k.map, v.map};
    ASSERT_TRUE(FoldAffineIntoFollowing(gain.data(), nullptr, dim, form, maps).ok());
    EXPECT_LT(Distance(q(bare, 1), expected[0]), 2e-5);
    EXPECT_LT(Distance(k(bare, 1), expected[1]), 2e-5);
    EXPECT_LT(Distance(v(bare, 1), expected[2]), 2e-5);
  }
}

TEST(NormFoldTest, LayerNormGainAndBiasIntoAllThatFollows) {
  const size_t dim = 33;
  const std::vector<float> x = RandomRow(dim, 1, 3.0f), gain = RandomRow(dim, 2, 1.0f, 0.5f), bias = RandomRow(dim, 3);
  const float* none = nullptr;
  LayerNormOptions options;
  options.eps = 1e-5f;
  std::vector<float> affine(dim), bare(dim);
  LayerNorm(x.data(), dim, gain.data(), bias.data(), affine.data(), dim, 1, dim, options);
  LayerNorm(x.data(), dim, none, none, bare.data(), dim, 1, dim, options);
  Layer up(20, dim, 1, 1, 5), gate(20, dim, 1, 1, 7);
  const Values normed(affine.begin(), affine.end()), plain(bare.begin(), bare.end());
  const Values expected[] = {up(normed, 1), gate(normed, 1)};
  std::array<LinearMap, 2> maps = {up.map, gate.map};
  ASSERT_TRUE(FoldAffineIntoFollowing(gain.data(), bias.data(), dim, GainForm::kGain, maps).ok());
  EXPECT_LT(Distance(up(plain, 1), expected[0]), 2e-5);
  EXPECT_LT(Distance(gate(plain, 1), expected[1]), 2e-5);
}

TEST(NormFoldTest, GainOfPowersOfTwoIsLossless) {
  Layer layer(5, 4, 1, 1, 1);
  const std::vector<float> before = layer.weight;
  const std::vector<float> gain = {2.0f, 0.5f, 1.0f, 4.0f}, inverse = {0.5f, 2.0f, 1.0f, 0.25f};
  std::span<LinearMap> maps(&layer.map, 1);
  ASSERT_TRUE(FoldAffineIntoFollowing(gain.data(), nullptr, 4, GainForm::kGain, maps).ok());
  EXPECT_EQ(layer.weight[0], 2.0f * before[0]);
  ASSERT_TRUE(FoldAffineIntoFollowing(inverse.data(), nullptr, 4, GainForm::kGain, maps).ok());
  EXPECT_TRUE(SameBits(layer.weight, before));
}

TEST(NormFoldTest, StatisticsOfARowDoNotFold) {
  const size_t dim = 24;
  const std::vector<float> x = RandomRow(2 * dim, 1);
  std::vector<float> y(2 * dim);
  LayerNorm(x.data(), dim, static_cast<const float*>(nullptr), static_cast<const float*>(nullptr), y.data(), dim, 2,
            dim, {1e-5f, VarianceForm::kTwoPass});
  // A fold would be one slope and one shift for each column. Three rows on one line would have to stay on one.
  std::vector<float> middle(dim), middle_y(dim);
  for (size_t i = 0; i < dim; ++i) middle[i] = 0.5f * (x[i] + x[dim + i]);
  LayerNorm(middle.data(), dim, static_cast<const float*>(nullptr), static_cast<const float*>(nullptr), middle_y.data(),
            dim, 1, dim, {1e-5f, VarianceForm::kTwoPass});
  double distance = 0.0;
  for (size_t i = 0; i < dim; ++i) distance = std::max(distance, std::abs(middle_y[i] - 0.5 * (y[i] + y[dim + i])));
  EXPECT_GT(distance, 0.1);
}

TEST(NormFoldTest, AGainDoesNotFoldPastASecondReader) {
  const size_t dim = 16;
  const std::vector<float> gain = RandomRow(dim, 2, 1.0f, 0.5f), x_hat = RandomRow(dim, 3);
  Values normed(dim), bare(dim);
  for (size_t i = 0; i < dim; ++i) bare[i] = x_hat[i], normed[i] = gain[i] * bare[i];
  Layer branch(dim, dim, 1, 1, 5);
  const Values unfolded = branch(normed, 1);
  ASSERT_TRUE(FoldAffineIntoFollowing(gain.data(), nullptr, dim, GainForm::kGain, {&branch.map, 1}).ok());
  // Post-LN: the residual sum reads what the norm writes, too. The branch is right without the gain, the sum is not.
  const Values folded = branch(bare, 1);
  EXPECT_LT(Distance(folded, unfolded), 2e-5);
  Values sum(dim), folded_sum(dim);
  for (size_t i = 0; i < dim; ++i) sum[i] = normed[i] + unfolded[i], folded_sum[i] = bare[i] + folded[i];
  EXPECT_GT(Distance(folded_sum, sum), 0.1);
}

TEST(NormFoldTest, AGainInATableThatServesTheInputTooChangesTheInput) {
  const size_t dim = 16, vocabulary = 5;
  const std::vector<float> gain = RandomRow(dim, 2, 1.0f, 0.5f);
  Layer table(vocabulary, dim, 1, 1, 5);
  table.map.bias = nullptr;
  const std::vector<float> embedding = table.weight;
  ASSERT_TRUE(FoldAffineIntoFollowing(gain.data(), nullptr, dim, GainForm::kGain, {&table.map, 1}).ok());
  double distance = 0.0;
  for (size_t i = 0; i < embedding.size(); ++i) {
    distance = std::max(distance, static_cast<double>(std::abs(table.weight[i] - embedding[i])));
  }
  EXPECT_GT(distance, 0.1) << "what a token begins with would be another row";
}

// A block of quantized weights is one scale and small integers; bf16 has 8 bits. Neither holds a product with a gain.
TEST(NormFoldTest, AGainInStoredNarrowWeightsLosesBitsUnlessItIsAPowerOfTwoOrOneForABlock) {
  const auto lossless = [](float weight, float gain) { return Widen(Narrow<bf16>(weight * gain)) == weight * gain; };
  EXPECT_TRUE(lossless(Widen(Narrow<bf16>(0.7f)), 0.25f));
  EXPECT_FALSE(lossless(Widen(Narrow<bf16>(0.7f)), 1.7f));
  const float scale = 0.0625f;
  const int codes[] = {-7, -2, 3, 8};
  const auto fits = [&](const std::array<float, 4>& gain) {
    // The best scale for the products takes the largest to its old code; all others must be whole numbers then.
    const float folded_scale = scale * gain[3];
    bool whole = true;
    for (size_t i = 0; i < 4; ++i) {
      const float code = scale * static_cast<float>(codes[i]) * gain[i] / folded_scale;
      whole = whole && std::abs(code - std::nearbyint(code)) < 1e-5f;
    }
    return whole;
  };
  EXPECT_TRUE(fits({1.7f, 1.7f, 1.7f, 1.7f}));
  EXPECT_FALSE(fits({1.7f, 1.1f, 0.9f, 1.3f}));
}

TEST(NormFoldTest, DataDependentFactorsDoNotFold) {
  const size_t dim = 12;
  const std::vector<float> x = RandomRow(dim, 1);
  std::vector<float> negated(dim), y(dim), y_negated(dim);
  // AdaNorm's factor 1 - k x_hat is another one for -x: no fixed gain turns one result into the other.
  AdaNorm(x.data(), dim, 1.0f, 0.1f, y.data(), dim, 1, dim, {1e-5f, VarianceForm::kTwoPass});
  for (size_t i = 0; i < dim; ++i) negated[i] = -x[i];
  AdaNorm(negated.data(), dim, 1.0f, 0.1f, y_negated.data(), dim, 1, dim, {1e-5f, VarianceForm::kTwoPass});
  double distance = 0.0;
  for (size_t i = 0; i < dim; ++i) distance = std::max(distance, static_cast<double>(std::abs(y[i] + y_negated[i])));
  EXPECT_GT(distance, 0.1);
}

TEST(NormFoldTest, ResidualScalesIntoTheMatrixThatWrites) {
  Layer layer(6, 5, 1, 1, 1);
  const Values x = RandomValues(5, 2);
  Values expected = layer(x, 1);
  const std::vector<float> lambda = RandomRow(6, 3, 0.0f, 0.1f);
  for (size_t o = 0; o < 6; ++o) expected[o] *= static_cast<double>(lambda[o]) * 0.5;
  ASSERT_TRUE(FoldScaleIntoPreceding(lambda.data(), 6, &layer.map).ok());
  ASSERT_TRUE(FoldScaleIntoPreceding(0.5f, &layer.map).ok());
  EXPECT_LT(Distance(layer(x, 1), expected), 1e-6);
}

TEST(NormFoldTest, CentredWritersTurnLayerNormIntoRmsNorm) {
  const size_t dim = 24;
  Layer embedding(dim, 10, 1, 1, 1), output(dim, 7, 1, 1, 3);
  const Values token = RandomValues(10, 5), branch = RandomValues(7, 6);
  const auto stream = [&] {
    const Values a = embedding(token, 1), b = output(branch, 1);
    std::vector<float> sum;
    for (size_t i = 0; i < dim; ++i) sum.push_back(static_cast<float>(a[i] + b[i]));
    return sum;
  };
  const float* none = nullptr;
  LayerNormOptions layer;
  layer.eps = 1e-5f;
  RmsNormOptions rms;
  rms.eps = 1e-5f;
  std::vector<float> expected(dim), actual(dim);
  const std::vector<float> before = stream();
  LayerNorm(before.data(), dim, none, none, expected.data(), dim, 1, dim, layer);
  ASSERT_TRUE(CentreOutputs(&embedding.map).ok());
  ASSERT_TRUE(CentreOutputs(&output.map).ok());
  const std::vector<float> after = stream();
  RmsNorm(after.data(), dim, nullptr, actual.data(), dim, 1, dim, rms);
  for (size_t i = 0; i < dim; ++i) EXPECT_NEAR(actual[i], expected[i], 2e-6);
}

TEST(NormFoldTest, StandardizedFiltersHaveMeanZeroAndUnitNormTimesGain) {
  Layer layer(3, 4, 5, 1, 1);
  for (float& w : layer.weight) w = 3.0f * w + 100.0f;
  std::fill_n(&layer.weight[20], 20, 7.0f);
  const std::vector<float> gain = {1.5f, 1.0f, 0.25f};
  ASSERT_TRUE(StandardizeWeights(gain.data(), 1e-4f, &layer.map).ok());
  for (size_t o = 0; o < 3; ++o) {
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < 20; ++i) {
      const double w = layer.weight[o * 20 + i];
      sum += w;
      squares += w * w;
    }
    EXPECT_NEAR(sum, 0.0, 1e-6);
    EXPECT_NEAR(std::sqrt(squares), o == 1 ? 0.0 : gain[o], 1e-6);  // The second is constant.
  }
}

TEST(NormFoldTest, RefusalsNameTheNumbersAndChangeNothing) {
  const Norm norm(6);
  Layer before(5, 4, 1, 1, 1), good(4, 6, 1, 1, 3), narrow(4, 5, 1, 1, 5);
  const std::vector<float> weight = good.weight;
  EXPECT_TRUE(
      Refused(FoldIntoPreceding(norm.Frozen(), &before.map), StatusCode::kInvalidArgument, {"6 channels", "5 output"}));
  std::array<LinearMap, 2> maps = {good.map, narrow.map};
  EXPECT_TRUE(Refused(FoldIntoFollowing(norm.Frozen(), maps), StatusCode::kInvalidArgument, {"6 channels", "5 input"}));
  maps[1] = good.map;
  maps[1].bias = nullptr;
  EXPECT_TRUE(Refused(FoldIntoFollowing(norm.Frozen(), maps), StatusCode::kInvalidArgument, {"no bias", "4 zeros"}));
  maps[1] = good.map;
  maps[1].groups = 4;
  EXPECT_TRUE(Refused(FoldIntoFollowing(norm.Frozen(), maps), StatusCode::kInvalidArgument, {"4 groups", "6 input"}));
  Norm dead(6);
  dead.variance[2] = -1.0f;
  EXPECT_TRUE(Refused(FoldIntoFollowing(dead.Frozen(), maps), StatusCode::kInvalidArgument, {"channel 2"}));
  EXPECT_TRUE(Refused(FoldScaleIntoPreceding(norm.gain.data(), 6, &good.map), StatusCode::kInvalidArgument,
                      {"6 channels", "4 output"}));
  EXPECT_TRUE(Refused(StandardizeWeights(nullptr, -1.0f, &good.map), StatusCode::kInvalidArgument, {"eps is -1"}));
  EXPECT_TRUE(SameBits(good.weight, weight));
}

}  // namespace
}  // namespace prenorm
