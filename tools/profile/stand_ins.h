// Norms in the engine's place.
#pragma once

#include <vector>

#include "prenorm/norm.h"
#include "prenorm/norm_experiment.h"
#include "tools/common/norm_choice.h"

namespace prenorm::tools {

/// Tells of which kind the model's norms are; normalizes as they do.
class KindProbe : public NormStandIn {
 public:
  void Normalize(const NormCall& call) override {
    NormalizeAs(call, OwnChoice(call));
    if (call.thread == 0) layer_norm_ = call.layer_norm;
  }
  bool layer_norm() const { return layer_norm_; }

 private:
  bool layer_norm_ = false;
};

/// RMSNorm whatever the model has, with or without the gain, and without its bias.
class RmsStandIn : public NormStandIn {
 public:
  explicit RmsStandIn(bool with_gain) : with_gain_(with_gain) {}
  bool reads_weights() const override { return with_gain_; }
  void Normalize(const NormCall& call) override {
    NormCall plain = call;
    plain.bias = nullptr;
    NormalizeAs(plain, {.gain = with_gain_, .eps = call.eps});
  }

 private:
  bool with_gain_;
};

/// LayerNorm whatever the model has; its bias where it has one.
class LayerStandIn : public NormStandIn {
 public:
  explicit LayerStandIn(VarianceForm variance) : variance_(variance) {}
  void Normalize(const NormCall& call) override {
    NormalizeAs(call, {.layer_norm = true, .eps = call.eps, .variance = variance_});
  }

 private:
  VarianceForm variance_;
};

/// The model's own kind with a result of bf16, which is widened for what follows.
class Bf16StandIn : public NormStandIn {
 public:
  explicit Bf16StandIn(int threads) : rows_(static_cast<size_t>(threads)) {}
  void Normalize(const NormCall& call) override {
    std::vector<bf16>& row = rows_[static_cast<size_t>(call.thread)].values;
    const size_t count = call.rows * call.cols;
    if (row.size() < count) row.resize(count);
    if (call.layer_norm) {
      LayerNorm(call.x, call.cols, call.gain, call.bias, row.data(), call.cols, call.rows, call.cols,
                LayerNormOptions{.eps = call.eps});
    } else {
      RmsNormOptions options;
      options.eps = call.eps;
      RmsNorm(call.x, call.cols, call.gain, row.data(), call.cols, call.rows, call.cols, options);
    }
    for (size_t i = 0; i < count; ++i) call.out[i] = ToF32(row[i]);
  }

 private:
  struct alignas(64) OfThread {
    std::vector<bf16> values;
  };
  std::vector<OfThread> rows_;
};

}  // namespace prenorm::tools
