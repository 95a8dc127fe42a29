// One thing to measure: an operator, its extents and types, threads, and what is in the caches when it starts.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tools/norm_bench/norm_peer.h"

namespace prenorm::tools {

enum class CacheMode {
  kHot,          ///< Called again and again on the same operands.
  kColdGain,     ///< Gain and bias out of L1 and L2; x and out in L1 where they fit.
  kDirtyX,       ///< x just written by another core.
  kStream,       ///< Nothing in L1 or L2.
  kAfterMatvec,  ///< x is what a product of 16 MB of weights, split over all threads, has just written.
};
inline constexpr CacheMode kCacheModes[] = {CacheMode::kHot, CacheMode::kColdGain, CacheMode::kDirtyX,
                                            CacheMode::kStream, CacheMode::kAfterMatvec};
const char* CacheModeName(CacheMode mode);

struct NormCase {
  prenorm_peer_op op = PRENORM_PEER_RMS_NORM;
  bool bf16 = false;
  size_t rows = 1;
  size_t cols = 0;  ///< Of a feature map channels * space.
  size_t threads = 1;
  CacheMode cache = CacheMode::kHot;
  size_t channels = 0;  ///< 0 but for feature maps (NCHW).
  size_t groups = 0;

  size_t Space() const { return channels == 0 ? 1 : cols / channels; }
  std::string OpName() const;  ///< "rms_norm", "group_norm", ...
  /// Bytes that must cross between the caches and memory at least, each operand once; x twice in BatchNorm, whose
  /// statistics are complete only after all samples.
  size_t NecessaryBytes() const;
};

/// The cases that the goals of the normalization layer speak of; `threads` is what "all" means.
std::vector<NormCase> GoalCases(size_t threads);

/// Every row operator x 7 widths x 4 row counts x types x {1, threads} where hot, and the other
/// cache modes for one row.
std::vector<NormCase> GridCases(size_t threads);

/// Memory whose first byte begins a page.
class PageBuffer {
 public:
  PageBuffer() = default;
  explicit PageBuffer(size_t bytes);  ///< Zeroed, so that no page is shared with another. std::bad_alloc
  void* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(void* p) const;
  };
  std::unique_ptr<void, Free> data_;
};

/// Operands of a case, as a peer sees them: x normal with mean 0, f 0.25 (in gradients normal), gain around 1, bias 0.
struct Operands {
  explicit Operands(const NormCase& c);
  prenorm_peer_case view = {};
  std::vector<PageBuffer> buffers;
};

}  // namespace prenorm::tools
