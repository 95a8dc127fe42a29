// A token without norms that computes with the values of one with them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tools/common/norm_choice.h"

namespace prenorm::tools {

/// No norm: what the first step's norms gave is copied instead, so that all else computes with the values that it
/// always has. (Rows left as they are would grow from layer to layer, and steps take longer with values that leave the
/// range.) x is still touched, as it must come from the thread that wrote it. For steps of one and the same token.
class ReplayedNorm : public NormStandIn {
 public:
  explicit ReplayedNorm(int threads) : threads_(static_cast<size_t>(threads)) {}

  bool reads_weights() const override { return false; }
  void Normalize(const NormCall& call) override {
    OfThread& own = threads_[static_cast<size_t>(call.thread)];
    if (!own.complete && own.records.size() > 1 && own.records.front().IsOf(call) && !own.records.back().IsOf(call)) {
      own.complete = true;
    }
    const size_t count = call.rows * call.cols;
    if (!own.complete) {
      NormalizeAs(call, OwnChoice(call));
      own.records.push_back({call.site, call.layer, call.gain, std::vector<float>(call.out, call.out + count)});
      return;
    }
    const Record& record = own.records[own.next];
    own.next = (own.next + 1) % own.records.size();
    if (!record.IsOf(call) || record.rows.size() != count) return NormalizeAs(call, OwnChoice(call));
    for (size_t i = 0; i < count; i += 16) own.touched ^= std::bit_cast<uint32_t>(call.x[i]);
    std::memcpy(call.out, record.rows.data(), count * sizeof(float));
    // The engine fetches gains ahead; these rows would otherwise be waited for as a gain is not.
    const std::vector<float>& next = own.records[own.next].rows;
    for (size_t i = 0; i < next.size(); i += 16) __builtin_prefetch(next.data() + i);
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

}  // namespace prenorm::tools
