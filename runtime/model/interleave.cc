// Interleaves row groups of all matrices on all threads; every group is permuted inside its own bytes.
#include "runtime/model/interleave.h"

#include <algorithm>
#include <atomic>

#include "prenorm/matmul.h"
#include "prenorm/session.h"
#include "runtime/parallel/buffer.h"
#include "runtime/parallel/team.h"

namespace prenorm {

Status InterleaveWeights(const std::vector<const TensorInfo*>& matrices, ModelParts& parts,
                         const std::function<bool(float)>& progress) {
  Team team(DefaultThreads().threads);
  const size_t group = RowGroup();
  size_t scratch_bytes = 0, total_bytes = 0;
  for (const TensorInfo* tensor : matrices) {
    scratch_bytes = std::max(scratch_bytes, group * tensor->row_bytes());
    total_bytes += tensor->bytes;
  }
  scratch_bytes = (scratch_bytes + 63) / 64 * 64;
  Result<Buffer> scratch =
      Buffer::Allocate(scratch_bytes * static_cast<size_t>(team.threads()), "re-ordering of the weights");
  if (!scratch.ok()) return scratch.status();

  std::atomic<bool> cancelled{false};
  team.Run([&](Worker& worker) {
    auto* own_scratch = scratch->as<uint8_t>() + static_cast<size_t>(worker.thread()) * scratch_bytes;
    size_t done_bytes = 0;
    for (const TensorInfo* tensor : matrices) {
      if (cancelled.load(std::memory_order_relaxed)) return;
      const Range groups = worker.Share(tensor->rows() / group);
      InterleaveRows(tensor->dtype, tensor->cols(), parts.source->writable(*tensor), groups.begin, groups.end,
                     own_scratch);
      done_bytes += tensor->bytes;
      if (worker.thread() == 0 && progress &&
          !progress(static_cast<float>(done_bytes) / static_cast<float>(total_bytes))) {
        cancelled.store(true, std::memory_order_relaxed);
      }
    }
  });
  if (cancelled) return {StatusCode::kCancelled, "loading was cancelled"};
  parts.weights.ForEachMatrix([](WeightMatrix& w) { w.interleaved = true; });
  return {};
}

}  // namespace prenorm
