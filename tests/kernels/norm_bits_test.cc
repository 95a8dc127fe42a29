// The promise of equal bits across machines: every target that makes it (AVX2, AVX-512, NEON) must give the bits whose
// hashes are stored here. Inputs come from integer arithmetic, so that no mathematical library has a say in them.
//
// A change of the summation tree or of a formula changes hashes: then every target must change alike, and the new ones,
// which a failure of this test prints, are stored below. LogSumExp is left out: its logarithm is the C library's.
#include <gtest/gtest.h>

#include <functional>

#include "prenorm/norm.h"
#include "prenorm/norm_backward.h"
#include "prenorm/norm_channels.h"
#include "prenorm/norm_forms.h"
#include "tests/kernels/norm_test_util.h"

namespace prenorm {
namespace {

// Lengths with tails, of one chunk and of several.
constexpr size_t kLengths[] = {1, 7, 63, 65, 576, 1031, 4099};
constexpr float kEps = 1e-5f;

// Values in [-4, 4) around `mean`, every eighth of them 1000 times as large.
std::vector<float> IntegerRow(size_t cols, uint32_t seed, float mean = 0.0f) {
  std::vector<float> row(cols);
  uint32_t state = seed * 2654435761u + 12345u;
  for (float& v : row) {
    state = state * 1664525u + 1013904223u;
    v = mean +
        static_cast<float>(static_cast<int32_t>(state) >> 8) * 0x1p-21f * ((state & 0x700u) == 0 ? 1000.0f : 1.0f);
  }
  return row;
}

class Hash {
 public:
  template <typename T>
  void Add(const std::vector<T>& values) {
    for (const T& value : values) {
      unsigned char bytes[sizeof(T)];
      std::memcpy(bytes, &value, sizeof(T));
      for (const unsigned char byte : bytes) hash_ = (hash_ ^ byte) * 0x100000001B3u;
    }
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xCBF29CE484222325u;
};

// Calls run(cols, x, f, gain) for each length and hashes what it returns.
template <class Run>
uint64_t OverLengths(const Run& run) {
  Hash hash;
  for (const size_t cols : kLengths) {
    const std::vector<float> x = IntegerRow(cols, 1, 3.0f), f = IntegerRow(cols, 2), gain = IntegerRow(cols, 3);
    run(cols, x, f, gain, hash);
  }
  return hash.value();
}

uint64_t RmsHash() {
  return OverLengths([](size_t cols, const auto& x, const auto&, const auto& gain, Hash& hash) {
    for (const Accumulation accumulation : {Accumulation::kLanes, Accumulation::kExact}) {
      RmsNormOptions options;
      options.eps = kEps;
      options.accumulation = accumulation;
      std::vector<float> y(cols), inv(1);
      std::vector<bf16> narrow(cols);
      RmsNorm(x.data(), cols, gain.data(), y.data(), cols, 1, cols, options);
      options.cast = CastMode::kLlama;
      RmsNorm(x.data(), cols, gain.data(), narrow.data(), cols, 1, cols, options);
      InvRms(narrow.data(), cols, inv.data(), 1, cols, options);
      hash.Add(y), hash.Add(narrow), hash.Add(inv);
    }
  });
}

uint64_t LayerHash() {
  return OverLengths([](size_t cols, const auto& x, const auto& f, const auto& gain, Hash& hash) {
    for (const VarianceForm variance : {VarianceForm::kTwoPass, VarianceForm::kSinglePass}) {
      std::vector<float> y(cols);
      std::vector<bf16> narrow(cols);
      LayerNorm(x.data(), cols, gain.data(), f.data(), y.data(), cols, 1, cols, {kEps, variance});
      LayerNorm(x.data(), cols, gain.data(), f.data(), narrow.data(), cols, 1, cols, {kEps, variance});
      hash.Add(y), hash.Add(narrow);
    }
  });
}

uint64_t ResidualHash() {
  return OverLengths([](size_t cols, const auto& x, const auto& f, const auto& gain, Hash& hash) {
    Residual residual;
    residual.form = ResidualForm::kLayerScale;
    residual.lambda = gain.data();
    RmsNormOptions options;
    options.eps = kEps;
    std::vector<float> sum(cols), y(cols);
    ResidualRmsNorm(x.data(), cols, f.data(), cols, sum.data(), cols, gain.data(), y.data(), cols, 1, cols, residual,
                    options);
    hash.Add(sum), hash.Add(y);
    const std::vector<bf16> x16 = Narrowed<bf16>(x), f16 = Narrowed<bf16>(f);
    std::vector<bf16> sum16(cols), y16(cols);
    ResidualLayerNorm(x16.data(), cols, f16.data(), cols, sum16.data(), cols, gain.data(), gain.data(), y16.data(),
                      cols, 1, cols, residual, {kEps, VarianceForm::kTwoPass});
    hash.Add(sum16), hash.Add(y16);
  });
}

uint64_t MapHash() {
  Hash hash;
  for (const ChannelOrder order : {ChannelOrder::kChannelsFirst, ChannelOrder::kChannelsLast}) {
    for (const size_t space : {1u, 35u}) {
      const ChannelShape shape{3, 70, space, order};
      const size_t size = shape.samples * shape.channels * shape.space;
      const size_t stride = order == ChannelOrder::kChannelsFirst ? shape.channels * space : shape.channels;
      const std::vector<float> x = IntegerRow(size, 1, 3.0f), gain = IntegerRow(70, 2);
      std::vector<float> y(size), mean(70), variance(70, 1.0f);
      GroupNorm(x.data(), stride, gain.data(), gain.data(), y.data(), stride, shape, 7, {kEps, {}});
      hash.Add(y);
      BatchNormTrain(x.data(), stride, gain.data(), gain.data(), y.data(), stride, shape, mean.data(), variance.data(),
                     {kEps, 0.1f});
      hash.Add(y), hash.Add(mean), hash.Add(variance);
      BatchNormEval(x.data(), stride, gain.data(), gain.data(), mean.data(), variance.data(), y.data(), stride, shape,
                    kEps);
      hash.Add(y);
    }
  }
  return hash.value();
}

uint64_t BackwardHash() {
  Hash hash;
  for (const size_t cols : {63u, 70u, 1031u}) {
    const size_t rows = 70;
    const std::vector<float> x = IntegerRow(rows * cols, 1, 3.0f), dy = IntegerRow(rows * cols, 2),
                             gain = IntegerRow(cols, 3);
    std::vector<float> dx(x.size()), dgain(cols), dbias(cols);
    std::vector<double> workspace(BackwardWorkspaceSize(rows, cols));
    RmsNormBackward(x.data(), cols, dy.data(), cols, gain.data(), dx.data(), cols, dgain.data(), rows, cols, kEps,
                    workspace.data());
    hash.Add(dx), hash.Add(dgain);
    LayerNormBackward(x.data(), cols, dy.data(), cols, gain.data(), dx.data(), cols, dgain.data(), dbias.data(), rows,
                      cols, kEps, workspace.data());
    hash.Add(dx), hash.Add(dgain), hash.Add(dbias);
    BatchNormTrainBackward(x.data(), cols, dy.data(), cols, gain.data(), dx.data(), cols, dgain.data(), dbias.data(),
                           {rows, cols, 1, ChannelOrder::kChannelsLast}, kEps);
    hash.Add(dx), hash.Add(dgain), hash.Add(dbias);
  }
  return hash.value();
}

uint64_t FormsHash() {
  return OverLengths([](size_t cols, const auto& x, const auto& f, const auto& gain, Hash& hash) {
    std::vector<float> y(cols);
    ScaleNorm(x.data(), cols, 3.0f, y.data(), cols, 1, cols, kEps);
    hash.Add(y);
    SandwichNorm(x.data(), cols, f.data(), cols, gain.data(), gain.data(), y.data(), cols, 1, cols, {kEps, {}});
    hash.Add(y);
    AdaNorm(x.data(), cols, 1.5f, 0.1f, y.data(), cols, 1, cols, {kEps, {}});
    hash.Add(y);
    AdaptiveLayerNorm(x.data(), cols, gain.data(), f.data(), 1, GainForm::kOnePlusGain, y.data(), cols, 1, cols,
                      {kEps, {}});
    hash.Add(y);
  });
}

uint64_t SoftmaxHash() {
  return OverLengths([](size_t cols, const auto& x, const auto&, const auto&, Hash& hash) {
    std::vector<float> y = x;
    for (float& v : y) v *= 0x1p-4f;
    Softmax(y.data(), cols, 1, cols);
    hash.Add(y);
  });
}

struct Stored {
  const char* name;
  uint64_t hash;
  std::function<uint64_t()> compute;
};

TEST(NormBitsTest, EveryTargetThatPromisesThemGivesTheStoredBits) {
  const Stored all[] = {
      {"RMSNorm", 0x4b7bd39abfafdfd6, RmsHash},
      {"LayerNorm", 0x7800c5936451d003, LayerHash},
      {"with residual", 0x6f74868f6d48f7be, ResidualHash},
      {"feature maps", 0xe10f3aeebab85d84, MapHash},
      {"gradients", 0x6733cb11fa91d6f9, BackwardHash},
      {"compositions", 0xbd6a3ee98bf1b138, FormsHash},
      {"softmax", 0xc1c75d845dd0b0e5, SoftmaxHash},
  };
  const std::vector<std::string> targets = SameBitsTargets();
  if (targets.empty()) GTEST_SKIP() << "no target of this machine promises these bits";
  for (const std::string& target : targets) {
    ASSERT_TRUE(ForceTarget(target).ok());
    for (const Stored& one : all) {
      const uint64_t hash = one.compute();
      EXPECT_EQ(hash, one.hash) << one.name << " on " << target << " has 0x" << std::hex << hash;
    }
  }
  ASSERT_TRUE(ForceTarget("").ok());
}

}  // namespace
}  // namespace prenorm
