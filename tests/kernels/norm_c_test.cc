// The C interface and the entries over spans against the C++ functions that they stand for, bit for bit, and refusals.
#include "prenorm/norm_c.h"

#include <gtest/gtest.h>

#include <functional>

#include "prenorm/norm_backward.h"
#include "prenorm/norm_backward_c.h"
#include "prenorm/norm_channels_c.h"
#include "prenorm/norm_fold.h"
#include "prenorm/norm_fold_c.h"
#include "prenorm/norm_forms.h"
#include "prenorm/norm_forms_c.h"
#include "prenorm/norm_span.h"
#include "tests/kernels/norm_test_util.h"

namespace prenorm {
namespace {

constexpr size_t kCols = 100;
constexpr size_t kRows = 6;
constexpr size_t kStride = 103;
constexpr size_t kSize = kRows * kStride;
constexpr float kEps = 1e-5f;

template <typename T>
constexpr int kType = std::is_same_v<T, bf16> ? PRENORM_NORM_BF16 : PRENORM_NORM_F32;

char g_message[160];

prenorm_rms_norm_options RmsC() {
  prenorm_rms_norm_options options = {};
  options.eps = kEps;
  return options;
}
prenorm_layer_norm_options LayerC(int single_pass = 0) { return {kEps, single_pass}; }

RmsNormOptions Rms() {
  RmsNormOptions options;
  options.eps = kEps;
  return options;
}
LayerNormOptions Layer(VarianceForm variance = VarianceForm::kTwoPass) { return {kEps, variance}; }

// Two buffers of the same content, one for each interface.
template <typename T>
struct Twice {
  explicit Twice(size_t size = kSize) : cxx(size, Narrow<T>(-77.0f)), c(cxx) {}
  bool Same() const { return SameBits(cxx, c); }
  std::vector<T> cxx, c;
};

void ExpectOk(int code) {
  EXPECT_EQ(code, PRENORM_NORM_OK) << g_message;
  EXPECT_STREQ(g_message, "");
}

void ExpectRefused(int code, const char* words) {
  EXPECT_EQ(code, PRENORM_NORM_INVALID_ARGUMENT);
  EXPECT_NE(std::string(g_message).find(words), std::string::npos) << g_message;
}

struct Data {
  std::vector<float> x = RandomRow(kSize, 1, 0.5f), f = RandomRow(kSize, 2), gain = RandomRow(2 * kCols, 3),
                     bias = RandomRow(2 * kCols, 4);
};

template <typename X, typename Affine, typename Out>
void ExpectRowNorms() {
  const Data data;
  const std::vector<X> x = Narrowed<X>(data.x);
  const std::vector<Affine> gain = Narrowed<Affine>(data.gain), bias = Narrowed<Affine>(data.bias);
  // Each field of the options by itself, so that none can stand for another.
  for (int field = 0; field < 5; ++field) {
    prenorm_rms_norm_options c_options = RmsC();
    RmsNormOptions options = Rms();
    if (field == 1) c_options.eps_outside_root = 1, options.eps_placement = EpsPlacement::kOutsideRoot;
    if (field == 2) c_options.one_plus_gain = 1, options.gain_form = GainForm::kOnePlusGain;
    if (field == 3) c_options.round_before_gain = 1, options.cast = CastMode::kLlama;
    if (field == 4) c_options.exact_sums = 1, options.accumulation = Accumulation::kExact;
    Twice<Out> y;
    RmsNorm(x.data(), kStride, gain.data(), y.cxx.data(), kStride, kRows, kCols, options);
    ExpectOk(prenorm_rms_norm(kType<X>, x.data(), kStride, kType<Affine>, gain.data(), kType<Out>, y.c.data(), kStride,
                              kRows, kCols, &c_options, 2, g_message, sizeof(g_message)));
    EXPECT_TRUE(y.Same()) << field;
  }
  for (const int single_pass : {0, 1}) {
    const prenorm_layer_norm_options c_options = LayerC(single_pass);
    Twice<Out> y;
    LayerNorm(x.data(), kStride, gain.data(), bias.data(), y.cxx.data(), kStride, kRows, kCols,
              Layer(single_pass != 0 ? VarianceForm::kSinglePass : VarianceForm::kTwoPass));
    ExpectOk(prenorm_layer_norm(kType<X>, x.data(), kStride, kType<Affine>, gain.data(), bias.data(), kType<Out>,
                                y.c.data(), kStride, kRows, kCols, &c_options, 2, g_message, sizeof(g_message)));
    EXPECT_TRUE(y.Same());
  }
}

TEST(NormCTest, RowNormsEqualTheCxxFunctionsForEveryTypeAndOption) {
#define PRENORM_NORM(X, AFFINE, OUT) ExpectRowNorms<X, AFFINE, OUT>();
#include "kernels/variants.inc"
}

template <typename X, typename Affine, typename Out>
void ExpectResidualNorms() {
  const Data data;
  const std::vector<X> x = Narrowed<X>(data.x), f = Narrowed<X>(data.f);
  const std::vector<Affine> gain = Narrowed<Affine>(data.gain), bias = Narrowed<Affine>(data.bias);
  const prenorm_rms_norm_options rms = RmsC();
  const prenorm_layer_norm_options layer = LayerC();
  for (int form = -1; form <= PRENORM_RESIDUAL_LAYER_SCALE; ++form) {
    const prenorm_residual c_residual = {form, 1.75f, data.f.data(), form % 2};
    Residual residual;
    if (form >= 0) {
      residual.form = static_cast<ResidualForm>(form);
      residual.alpha = 1.75f;
      residual.lambda = data.f.data();
      if (form % 2 == 1) residual.statistics = ResidualStatistics::kRoundedSum;
    }
    const prenorm_residual* given = form < 0 ? nullptr : &c_residual;
    Twice<X> sum;
    Twice<Out> y;
    ResidualRmsNorm(x.data(), kStride, f.data(), kStride, sum.cxx.data(), kStride, gain.data(), y.cxx.data(), kStride,
                    kRows, kCols, residual, Rms());
    ExpectOk(prenorm_residual_rms_norm(kType<X>, x.data(), kStride, f.data(), kStride, sum.c.data(), kStride,
                                       kType<Affine>, gain.data(), kType<Out>, y.c.data(), kStride, kRows, kCols, given,
                                       &rms, 2, g_message, sizeof(g_message)));
    EXPECT_TRUE(sum.Same() && y.Same()) << form;
    ResidualLayerNorm(x.data(), kStride, f.data(), kStride, sum.cxx.data(), kStride, gain.data(), bias.data(),
                      y.cxx.data(), kStride, kRows, kCols, residual, Layer());
    ExpectOk(prenorm_residual_layer_norm(kType<X>, x.data(), kStride, f.data(), kStride, sum.c.data(), kStride,
                                         kType<Affine>, gain.data(), bias.data(), kType<Out>, y.c.data(), kStride,
                                         kRows, kCols, given, &layer, 2, g_message, sizeof(g_message)));
    EXPECT_TRUE(sum.Same() && y.Same()) << form;
  }
}

TEST(NormCTest, ResidualNormsEqualTheCxxFunctionsForEveryForm) {
#define PRENORM_RESIDUAL_NORM(X, AFFINE, OUT) ExpectResidualNorms<X, AFFINE, OUT>();
#include "kernels/variants.inc"
}

TEST(NormCTest, SoftmaxLogSumExpAndInvRmsEqualTheCxxFunctions) {
  const Data data;
  Twice<float> soft;
  soft.cxx = soft.c = data.x;
  Softmax(soft.cxx.data(), kStride, kRows, kCols);
  ExpectOk(prenorm_softmax(soft.c.data(), kStride, kRows, kCols, 2, g_message, sizeof(g_message)));
  EXPECT_TRUE(soft.Same());
  Twice<float> sums(kRows);
  LogSumExp(data.x.data(), kStride, sums.cxx.data(), kRows, kCols);
  ExpectOk(prenorm_log_sum_exp(data.x.data(), kStride, sums.c.data(), kRows, kCols, 2, g_message, sizeof(g_message)));
  EXPECT_TRUE(sums.Same());
  const prenorm_rms_norm_options options = RmsC();
  const std::vector<bf16> narrow = Narrowed<bf16>(data.x);
  InvRms(narrow.data(), kStride, sums.cxx.data(), kRows, kCols, Rms());
  ExpectOk(prenorm_inv_rms(PRENORM_NORM_BF16, narrow.data(), kStride, sums.c.data(), kRows, kCols, &options, 2,
                           g_message, sizeof(g_message)));
  EXPECT_TRUE(sums.Same());
}

template <typename X, typename Affine>
void ExpectMaps() {
  const Data data;
  const std::vector<X> x = Narrowed<X>(data.x);
  const std::vector<Affine> gain = Narrowed<Affine>(data.gain), bias = Narrowed<Affine>(data.bias);
  const std::vector<float> given = [&] {
    std::vector<float> v = data.f;
    for (float& e : v) e = e * e + 0.1f;
    return v;
  }();
  const prenorm_layer_norm_options layer = LayerC();
  for (const int last : {0, 1}) {
    const prenorm_channel_shape c_shape = {3, 12, 4, last};
    const ChannelShape shape{3, 12, 4, last != 0 ? ChannelOrder::kChannelsLast : ChannelOrder::kChannelsFirst};
    const size_t stride = last != 0 ? 15 : 50;
    Twice<X> y;
    GroupNorm(x.data(), stride, gain.data(), bias.data(), y.cxx.data(), stride, shape, 4, Layer());
    ExpectOk(prenorm_group_norm(kType<X>, x.data(), stride, kType<Affine>, gain.data(), bias.data(), y.c.data(), stride,
                                &c_shape, 4, &layer, 2, g_message, sizeof(g_message)));
    EXPECT_TRUE(y.Same());
    InstanceNorm(x.data(), stride, gain.data(), bias.data(), y.cxx.data(), stride, shape, Layer());
    ExpectOk(prenorm_instance_norm(kType<X>, x.data(), stride, kType<Affine>, gain.data(), bias.data(), y.c.data(),
                                   stride, &c_shape, &layer, 2, g_message, sizeof(g_message)));
    EXPECT_TRUE(y.Same());
    Twice<float> mean(12), variance(12);
    const prenorm_batch_norm_train_options train = {kEps, 0.25f};
    BatchNormTrain(x.data(), stride, gain.data(), bias.data(), y.cxx.data(), stride, shape, mean.cxx.data(),
                   variance.cxx.data(), {kEps, 0.25f});
    ExpectOk(prenorm_batch_norm_train(kType<X>, x.data(), stride, kType<Affine>, gain.data(), bias.data(), y.c.data(),
                                      stride, &c_shape, mean.c.data(), variance.c.data(), &train, 2, g_message,
                                      sizeof(g_message)));
    EXPECT_TRUE(y.Same() && mean.Same() && variance.Same());
    BatchNormEval(x.data(), stride, gain.data(), bias.data(), data.f.data(), given.data(), y.cxx.data(), stride, shape,
                  kEps);
    ExpectOk(prenorm_batch_norm_eval(kType<X>, x.data(), stride, kType<Affine>, gain.data(), bias.data(), data.f.data(),
                                     given.data(), y.c.data(), stride, &c_shape, kEps, 2, g_message,
                                     sizeof(g_message)));
    EXPECT_TRUE(y.Same());
    PowerNormEval(x.data(), stride, gain.data(), bias.data(), given.data(), y.cxx.data(), stride, shape, kEps);
    ExpectOk(prenorm_power_norm_eval(kType<X>, x.data(), stride, kType<Affine>, gain.data(), bias.data(), given.data(),
                                     y.c.data(), stride, &c_shape, kEps, 2, g_message, sizeof(g_message)));
    EXPECT_TRUE(y.Same());
  }
}

TEST(NormCTest, MapsEqualTheCxxFunctionsForEveryType) {
#define PRENORM_CHANNEL_NORM(X, AFFINE) ExpectMaps<X, AFFINE>();
#include "kernels/variants.inc"
}

template <typename X>
void ExpectForms() {
  const Data data;
  const std::vector<X> x = Narrowed<X>(data.x), f = Narrowed<X>(data.f);
  const prenorm_layer_norm_options layer = LayerC();
  Twice<X> y;
  ScaleNorm(x.data(), kStride, 2.0f, y.cxx.data(), kStride, kRows, kCols, kEps);
  ExpectOk(prenorm_scale_norm(kType<X>, x.data(), kStride, 2.0f, y.c.data(), kStride, kRows, kCols, kEps, 2, g_message,
                              sizeof(g_message)));
  EXPECT_TRUE(y.Same());
  SandwichNorm(x.data(), kStride, f.data(), kStride, data.gain.data(), data.bias.data(), y.cxx.data(), kStride, kRows,
               kCols, Layer());
  ExpectOk(prenorm_sandwich_norm(kType<X>, x.data(), kStride, f.data(), kStride, data.gain.data(), data.bias.data(),
                                 y.c.data(), kStride, kRows, kCols, &layer, 2, g_message, sizeof(g_message)));
  EXPECT_TRUE(y.Same());
  AdaNorm(x.data(), kStride, 1.5f, 0.1f, y.cxx.data(), kStride, kRows, kCols, Layer());
  ExpectOk(prenorm_ada_norm(kType<X>, x.data(), kStride, 1.5f, 0.1f, y.c.data(), kStride, kRows, kCols, &layer, 2,
                            g_message, sizeof(g_message)));
  EXPECT_TRUE(y.Same());
  for (const int one_plus : {0, 1}) {
    AdaptiveLayerNorm(x.data(), kStride, data.gain.data(), data.bias.data(), 4,
                      one_plus != 0 ? GainForm::kOnePlusGain : GainForm::kGain, y.cxx.data(), kStride, kRows, kCols,
                      Layer());
    ExpectOk(prenorm_adaptive_layer_norm(kType<X>, x.data(), kStride, data.gain.data(), data.bias.data(), 4, one_plus,
                                         y.c.data(), kStride, kRows, kCols, &layer, 2, g_message, sizeof(g_message)));
    EXPECT_TRUE(y.Same());
  }
}

TEST(NormCTest, CompositionsEqualTheCxxFunctions) {
#define PRENORM_DATA(NAME, X) ExpectForms<X>();
#include "kernels/variants.inc"
}

TEST(NormCTest, GradientsEqualTheCxxFunctions) {
  const Data data;
  const size_t size = prenorm_backward_workspace_size(kRows, kCols);
  ASSERT_EQ(size, BackwardWorkspaceSize(kRows, kCols));
  std::vector<double> workspace(size);
  Twice<float> dx, dgain(kCols), dbias(kCols);
  RmsNormBackward(data.x.data(), kStride, data.f.data(), kStride, data.gain.data(), dx.cxx.data(), kStride,
                  dgain.cxx.data(), kRows, kCols, kEps, workspace.data());
  ExpectOk(prenorm_rms_norm_backward(data.x.data(), kStride, data.f.data(), kStride, data.gain.data(), dx.c.data(),
                                     kStride, dgain.c.data(), kRows, kCols, kEps, workspace.data(), size, 2, g_message,
                                     sizeof(g_message)));
  EXPECT_TRUE(dx.Same() && dgain.Same());
  LayerNormBackward(data.x.data(), kStride, data.f.data(), kStride, data.gain.data(), dx.cxx.data(), kStride,
                    dgain.cxx.data(), dbias.cxx.data(), kRows, kCols, kEps, workspace.data());
  ExpectOk(prenorm_layer_norm_backward(data.x.data(), kStride, data.f.data(), kStride, data.gain.data(), dx.c.data(),
                                       kStride, dgain.c.data(), dbias.c.data(), kRows, kCols, kEps, workspace.data(),
                                       size, 2, g_message, sizeof(g_message)));
  EXPECT_TRUE(dx.Same() && dgain.Same() && dbias.Same());
  ExpectRefused(prenorm_layer_norm_backward(data.x.data(), kStride, data.f.data(), kStride, nullptr, dx.c.data(),
                                            kStride, dgain.c.data(), nullptr, kRows, kCols, kEps, workspace.data(),
                                            size - 1, 1, g_message, sizeof(g_message)),
                std::to_string(size).c_str());
  const prenorm_channel_shape shape = {kRows, kCols, 1, 1};
  BatchNormTrainBackward(data.x.data(), kStride, data.f.data(), kStride, data.gain.data(), dx.cxx.data(), kStride,
                         dgain.cxx.data(), dbias.cxx.data(), {kRows, kCols, 1, ChannelOrder::kChannelsLast}, kEps);
  ExpectOk(prenorm_batch_norm_train_backward(data.x.data(), kStride, data.f.data(), kStride, data.gain.data(),
                                             dx.c.data(), kStride, dgain.c.data(), dbias.c.data(), &shape, kEps, 2,
                                             g_message, sizeof(g_message)));
  EXPECT_TRUE(dx.Same() && dgain.Same() && dbias.Same());
}

TEST(NormCTest, FoldsEqualTheCxxFunctions) {
  const Data data;
  const FrozenBatchNorm norm{data.gain.data(), data.bias.data(), data.f.data(), data.f.data(), 4, 10.0f};
  const prenorm_frozen_batch_norm c_norm = {data.gain.data(), data.bias.data(), data.f.data(), data.f.data(), 4, 10.0f};
  using Fold = std::function<Status(LinearMap*)>;
  using FoldC = std::function<int(prenorm_linear_map*)>;
  char* m = g_message;
  constexpr size_t kMessage = sizeof(g_message);
  const std::pair<Fold, FoldC> folds[] = {
      {[&](LinearMap* map) { return FoldIntoPreceding(norm, map); },
       [&](prenorm_linear_map* map) { return prenorm_fold_into_preceding(&c_norm, map, m, kMessage); }},
      {[&](LinearMap* map) {
         return FoldIntoFollowing(norm, {map, 1});
       },
       [&](prenorm_linear_map* map) { return prenorm_fold_into_following(&c_norm, map, 1, m, kMessage); }},
      {[&](LinearMap* map) {
         return FoldAffineIntoFollowing(data.gain.data(), nullptr, 4, GainForm::kOnePlusGain, {map, 1});
       },
       [&](prenorm_linear_map* map) {
         return prenorm_fold_affine_into_following(data.gain.data(), nullptr, 4, 1, map, 1, m, kMessage);
       }},
      {[&](LinearMap* map) { return FoldScaleIntoPreceding(data.gain.data(), 4, map); },
       [&](prenorm_linear_map* map) { return prenorm_fold_layer_scale(data.gain.data(), 4, map, m, kMessage); }},
      {[&](LinearMap* map) { return FoldScaleIntoPreceding(0.3f, map); },
       [&](prenorm_linear_map* map) { return prenorm_fold_scale(0.3f, map, m, kMessage); }},
      {[&](LinearMap* map) { return CentreOutputs(map); },
       [&](prenorm_linear_map* map) { return prenorm_centre_outputs(map, m, kMessage); }},
      {[&](LinearMap* map) { return StandardizeWeights(data.gain.data(), 1e-4f, map); },
       [&](prenorm_linear_map* map) { return prenorm_standardize_weights(data.gain.data(), 1e-4f, map, m, kMessage); }},
  };
  for (const auto& [fold, fold_c] : folds) {
    Twice<float> weight, bias(4);
    weight.cxx = weight.c = data.x;
    LinearMap map{weight.cxx.data(), bias.cxx.data(), 4, 4, 9, 1, false};
    prenorm_linear_map c_map = {weight.c.data(), bias.c.data(), 4, 4, 9, 1, 0};
    EXPECT_TRUE(fold(&map).ok());
    ExpectOk(fold_c(&c_map));
    EXPECT_TRUE(weight.Same() && bias.Same());
    EXPECT_FALSE(SameBits(weight.c, data.x)) << "nothing was folded";
    EXPECT_EQ(fold_c(nullptr), PRENORM_NORM_INVALID_ARGUMENT);
  }
  std::vector<float> weight = data.x;
  prenorm_linear_map padded = {weight.data(), weight.data() + 500, 4, 4, 9, 1, 1};
  EXPECT_EQ(prenorm_fold_into_following(&c_norm, &padded, 1, m, kMessage), PRENORM_NORM_UNSUPPORTED);
  EXPECT_TRUE(SameBits(weight, data.x));
}

TEST(NormCTest, RefusalsNameTheNumbersAndTouchNothing) {
  const Data data;
  const prenorm_rms_norm_options rms = RmsC();
  const prenorm_layer_norm_options layer = LayerC();
  const float* x = data.x.data();
  Twice<float> y;
  char* m = g_message;
  constexpr size_t kMessage = sizeof(g_message);
  ExpectRefused(prenorm_rms_norm(0, x, 8, 0, nullptr, 0, y.c.data(), 8, 2, 0, &rms, 1, m, kMessage),
                "RmsNorm: cols is 0, expected at least 1");
  ExpectRefused(prenorm_rms_norm(0, x, 8, 7, nullptr, 0, y.c.data(), 8, 2, 8, &rms, 1, m, kMessage), "gain 7");
  ExpectRefused(prenorm_rms_norm(0, x, 8, 0, nullptr, 0, y.c.data(), 8, 2, 8, nullptr, 1, m, kMessage), "options");
  ExpectRefused(prenorm_layer_norm(0, x, 5, 0, nullptr, nullptr, 0, y.c.data(), 8, 2, 8, &layer, 1, m, kMessage),
                "stride of x is 5");
  prenorm_residual residual = {9, 1.0f, nullptr, 0};
  const auto residual_norm = [&] {
    return prenorm_residual_rms_norm(0, x, 8, x, 8, y.c.data(), 8, 0, nullptr, 0, y.c.data() + 16, 8, 2, 8, &residual,
                                     &rms, 1, m, kMessage);
  };
  ExpectRefused(residual_norm(), "residual form is 9");
  residual.form = PRENORM_RESIDUAL_LAYER_SCALE;
  ExpectRefused(residual_norm(), "lambda is null");
  ExpectRefused(prenorm_softmax(nullptr, 8, 1, 8, 1, m, kMessage), "x is null");
  ExpectRefused(prenorm_log_sum_exp(x, 8, nullptr, 2, 8, 1, m, kMessage), "out is null");
  ExpectRefused(prenorm_inv_rms(30, x, 8, nullptr, 2, 8, &rms, 1, m, kMessage), "inv_rms is null");
  const prenorm_channel_shape shape = {1, 6, 4, 0};
  ExpectRefused(prenorm_group_norm(0, x, 24, 0, nullptr, nullptr, y.c.data(), 24, &shape, 4, &layer, 1, m, kMessage),
                "4 groups do not divide 6 channels");
  ExpectRefused(prenorm_batch_norm_eval(0, x, 24, 0, nullptr, nullptr, nullptr, nullptr, y.c.data(), 24, &shape, kEps,
                                        1, m, kMessage),
                "variance is null, expected 6 elements");
  const prenorm_channel_shape single = {1, 6, 1, 0};
  const prenorm_batch_norm_train_options train = {kEps, 0.1f};
  ExpectRefused(prenorm_batch_norm_train(0, x, 6, 0, nullptr, nullptr, y.c.data(), 6, &single, nullptr, nullptr, &train,
                                         1, m, kMessage),
                "1 value per channel");
  ExpectRefused(
      prenorm_adaptive_layer_norm(0, x, 8, nullptr, nullptr, 0, 0, y.c.data(), 8, 2, 8, &layer, 1, m, kMessage),
      "rows_per_condition is 0");
  ExpectRefused(prenorm_scale_norm(0, x, 8, 1.0f, nullptr, 8, 2, 8, kEps, 1, m, kMessage), "out is null");
  EXPECT_TRUE(y.Same()) << "a refused call has written";
  // A message is cut to fit, and may be left out.
  char small[8];
  EXPECT_EQ(prenorm_softmax(nullptr, 8, 1, 8, 1, small, sizeof(small)), PRENORM_NORM_INVALID_ARGUMENT);
  EXPECT_STREQ(small, "Softmax");
  EXPECT_EQ(prenorm_softmax(nullptr, 8, 1, 8, 1, nullptr, 0), PRENORM_NORM_INVALID_ARGUMENT);
  EXPECT_STREQ(prenorm_norm_target(), ActiveTarget());
}

TEST(NormSpanTest, EqualsThePointerFunctions) {
  const std::vector<float> x = RandomRow(4 * 24, 1), f = RandomRow(4 * 24, 2), gain = RandomRow(24, 3);
  const std::span<const float> none;
  std::vector<float> y(x.size()), expected(x.size()), sum(x.size()), expected_sum(x.size());
  RmsNorm(x.data(), 24, gain.data(), expected.data(), 24, 4, 24, Rms());
  EXPECT_TRUE(SpanRmsNorm(x, gain, y, 24, Rms()).ok());
  EXPECT_TRUE(SameBits(expected, y));
  LayerNorm(x.data(), 24, gain.data(), static_cast<const float*>(nullptr), expected.data(), 24, 4, 24, Layer());
  EXPECT_TRUE(SpanLayerNorm(x, gain, none, y, 24, Layer()).ok());
  EXPECT_TRUE(SameBits(expected, y));
  ResidualRmsNorm(x.data(), 24, f.data(), 24, expected_sum.data(), 24, gain.data(), expected.data(), 24, 4, 24,
                  Residual(), Rms());
  EXPECT_TRUE(SpanResidualRmsNorm(x, f, sum, gain, std::span(y), 24, Residual(), Rms()).ok());
  EXPECT_TRUE(SameBits(expected, y) && SameBits(expected_sum, sum));
  ResidualLayerNorm(x.data(), 24, f.data(), 24, expected_sum.data(), 24, gain.data(), gain.data(), expected.data(), 24,
                    4, 24, Residual(), Layer());
  EXPECT_TRUE(SpanResidualLayerNorm(x, f, sum, gain, gain, y, 24, Residual(), Layer()).ok());
  EXPECT_TRUE(SameBits(expected, y) && SameBits(expected_sum, sum));
  const ChannelShape shape{2, 24, 2, ChannelOrder::kChannelsLast};
  GroupNorm(x.data(), 24, gain.data(), gain.data(), expected.data(), 24, shape, 6, Layer());
  EXPECT_TRUE(SpanGroupNorm(x, gain, gain, y, shape, 6, Layer()).ok());
  EXPECT_TRUE(SameBits(expected, y));
  std::vector<float> mean(24), variance(24, 1.0f), expected_mean(24), expected_variance(24, 1.0f);
  BatchNormTrain(x.data(), 24, gain.data(), gain.data(), expected.data(), 24, shape, expected_mean.data(),
                 expected_variance.data(), {kEps, 0.1f});
  EXPECT_TRUE(SpanBatchNormTrain(x, gain, gain, y, shape, mean, variance, {kEps, 0.1f}).ok());
  EXPECT_TRUE(SameBits(expected, y) && SameBits(expected_mean, mean) && SameBits(expected_variance, variance));
  BatchNormEval(x.data(), 24, gain.data(), gain.data(), mean.data(), variance.data(), expected.data(), 24, shape, kEps);
  EXPECT_TRUE(SpanBatchNormEval(x, gain, gain, mean, variance, y, shape, kEps).ok());
  EXPECT_TRUE(SameBits(expected, y));
  std::vector<float> sums(4), expected_sums(4);
  LogSumExp(x.data(), 24, expected_sums.data(), 4, 24);
  EXPECT_TRUE(SpanLogSumExp(x, sums, 24).ok());
  EXPECT_TRUE(SameBits(expected_sums, sums));
  expected = y = x;
  Softmax(expected.data(), 24, 4, 24);
  EXPECT_TRUE(SpanSoftmax(y, 24).ok());
  EXPECT_TRUE(SameBits(expected, y));
}

TEST(NormSpanTest, RefusesSizesThatDoNotFitAndNamesThem) {
  std::vector<float> x(20), y(20, -77.0f), gain(7);
  const std::span<const float> none;
  const auto expect = [](const Status& status, const char* words) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  };
  expect(SpanRmsNorm(x, none, y, 8, Rms()), "x has 20 elements, expected a multiple of cols = 8");
  expect(SpanRmsNorm(x, none, y, 0, Rms()), "cols is 0");
  expect(SpanRmsNorm(x, gain, y, 10, Rms()), "gain has 7 elements, expected 10");
  expect(SpanRmsNorm(x, none, gain, 10, Rms()), "out has 7 elements, expected 20");
  expect(SpanLayerNorm(x, none, gain, y, 10, Layer()), "bias has 7 elements, expected 10");
  expect(SpanLogSumExp(x, gain, 10), "out has 7 elements, expected 2");
  expect(SpanSoftmax(x, 3), "multiple of cols = 3");
  expect(SpanGroupNorm(x, none, none, y, {1, 6, 4}, 2, Layer()), "x has 20 elements, expected 24");
  expect(SpanBatchNormEval(x, none, none, none, gain, y, {1, 5, 4}, kEps), "variance has 7 elements, expected 5");
  for (const float v : y) EXPECT_EQ(v, -77.0f);
  EXPECT_TRUE(SpanRmsNorm(none, none, std::span<float>(), 8, Rms()).ok()) << "zero rows are valid";
}

}  // namespace
}  // namespace prenorm
