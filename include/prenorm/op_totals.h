// Sums of operator times: what profiles show, and the norm share of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "prenorm/profile.h"

namespace prenorm {

/// One row of a profile. Times are sums over the threads.
struct OpRow {
  OpKind kind;
  OpSite site;
  int32_t layer;  ///< -1 outside the layers, and where layers are added up.
  uint64_t calls = 0;
  uint64_t ns = 0;
  uint64_t most_calls = 0;  ///< Of the thread with most of them.
};

/// Adds events up, one table a thread, so that Record neither locks nor allocates.
class OpTotals : public OpObserver {
 public:
  static constexpr size_t kKinds = static_cast<size_t>(OpKind::kCount);
  static constexpr size_t kSites = static_cast<size_t>(OpSite::kCount);

  OpTotals(int threads, size_t layers);

  void Record(const OpEvent& event) override;
  void Clear();

  int threads() const { return static_cast<int>(tables_.size()); }
  /// Every kind, site and layer that occurred, layers ascending.
  std::vector<OpRow> Rows() const;
  /// Nanoseconds of one kind, summed over the threads.
  uint64_t NsOf(OpKind kind) const;

 private:
  struct Cell {
    uint64_t calls = 0;
    uint64_t ns = 0;
  };
  struct alignas(64) Table {
    std::vector<Cell> cells;  // [layers + 1][kKinds][kSites]; the last layer stands for none.
  };
  size_t layers_;
  std::vector<Table> tables_;  // [threads]
};

}  // namespace prenorm
