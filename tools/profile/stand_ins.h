// Norms in the engine's place.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "prenorm/norm.h"
#include "prenorm/norm_experiment.h"

namespace prenorm::tools {

/// The model's own norm by the public kernels.
inline void NormalizeAsModel(const NormCall& call, float* out) {
  if (call.layer_norm) {
    LayerNorm(call.x, call.cols, call.gain, call.bias, out, call.cols, call.rows, call.cols,
              LayerNormOptions{.eps = call.eps});
  } else {
    RmsNormOptions options;
    options.eps = call.eps;
    RmsNorm(call.x, call.cols, call.gain, out, call.cols, call.rows, call.cols, options);
  }
}

/// No norm: what the first step's norms gave is copied instead, so that all else computes with the values that it
/// always has. (Rows left as they are would grow from layer to layer, and steps take longer with values that leave the
/// range.) x is still touched, as it must come from the thread that wrote it. For steps of one and the same token.
class ReplayedNorm : public NormStandIn {
 public:
  explicit ReplayedNorm(int threads) : threads_(static_cast<size_t>(threads)) {}

  void Normalize(const NormCall& call) override {
    OfThread& own = threads_[static_cast<size_t>(call.thread)];
    if (!own.complete && own.records.size() > 1 && own.records.front().IsOf(call) && !own.records.back().IsOf(call)) {
      own.complete = true;
    }
    const size_t count = call.rows * call.cols;
    if (!own.complete) {
      Record& record = own.records.emplace_back(Record{call.site, call.layer, call.gain, std::vector<float>(count)});
      NormalizeAsModel(call, record.rows.data());
      std::copy(record.rows.begin(), record.rows.end(), call.out);
      return;
    }
    const Record& record = own.records[own.next];
    own.next = (own.next + 1) % own.records.size();
    if (!record.IsOf(call) || record.rows.size() != count) return NormalizeAsModel(call, call.out);
    for (size_t i = 0; i < count; i += 16) own.touched ^= std::bit_cast<uint32_t>(call.x[i]);
    std::memcpy(call.out, record.rows.data(), count * sizeof(float));
  }

 private:
  struct Record {
    OpSite site;
    int32_t layer;
    const float* gain;  // Tells the norms of q and k of a layer apart.
    std::vector<float> rows;
    bool IsOf(const NormCall& call) const { return site == call.site && layer == call.layer && gain == call.gain; }
  };
  struct alignas(64) OfThread {
    std::vector<Record> records;
    bool complete = false;  // The first norm of a step came a second time.
    size_t next = 0;
    uint32_t touched = 0;
  };
  std::vector<OfThread> threads_;
};

/// Tells of which kind the model's norms are; normalizes as they do.
class KindProbe : public NormStandIn {
 public:
  void Normalize(const NormCall& call) override {
    NormalizeAsModel(call, call.out);
    if (call.thread == 0) layer_norm_ = call.layer_norm;
  }
  bool layer_norm() const { return layer_norm_; }

 private:
  bool layer_norm_ = false;
};

/// RMSNorm whatever the model has, with or without the gain.
class RmsStandIn : public NormStandIn {
 public:
  explicit RmsStandIn(bool with_gain) : with_gain_(with_gain) {}
  void Normalize(const NormCall& call) override {
    RmsNormOptions options;
    options.eps = call.eps;
    RmsNorm(call.x, call.cols, with_gain_ ? call.gain : nullptr, call.out, call.cols, call.rows, call.cols, options);
  }

 private:
  bool with_gain_;
};

/// LayerNorm whatever the model has; its bias where it has one.
class LayerStandIn : public NormStandIn {
 public:
  explicit LayerStandIn(VarianceForm variance) : variance_(variance) {}
  void Normalize(const NormCall& call) override {
    LayerNorm(call.x, call.cols, call.gain, call.bias, call.out, call.cols, call.rows, call.cols,
              LayerNormOptions{.eps = call.eps, .variance = variance_});
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
