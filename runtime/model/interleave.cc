// Brings the weights into memory in the layout of the active target. Every group is permuted inside its own bytes; a
// mapped file's groups are read right before that, by the thread that permutes them, while they are still in its cache.
#include "runtime/model/interleave.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "prenorm/matmul.h"
#include "prenorm/session.h"
#include "runtime/model/panels.h"
#include "runtime/parallel/buffer.h"
#include "runtime/parallel/team.h"

namespace prenorm {
namespace {

// The first error of any thread.
class SharedStatus {
 public:
  bool ok() const { return ok_.load(std::memory_order_relaxed); }
  void Set(Status status) {
    const std::lock_guard lock(mutex_);
    if (status_.ok()) status_ = std::move(status);
    ok_.store(status_.ok(), std::memory_order_relaxed);
  }
  Status status() const { return status_; }  // When the threads are done.

 private:
  std::atomic<bool> ok_{true};
  std::mutex mutex_;
  Status status_;
};

class WeightPreparation {
 public:
  /// `tables`: matrices of which only single rows are read, or that are packed otherwise. They stay in the mapping as
  /// they are, and of a large vocabulary only the pages of the words in use get into memory.
  WeightPreparation(const std::vector<const TensorInfo*>& matrices, std::span<const TensorInfo* const> tables,
                    TensorSource& source, const std::function<bool(float)>& progress)
      : tables_(tables), source_(source), progress_(progress) {
    for (const TensorInfo* tensor : matrices) {
      if (CanInterleave(tensor->dtype) && !IsTable(*tensor)) matrices_.push_back(tensor);
    }
  }

  Status Run() {
    size_t group_bytes = 0;
    for (const TensorInfo* tensor : matrices_) {
      group_bytes = std::max(group_bytes, RowGroup() * tensor->row_bytes());
    }
    for (const TensorInfo& tensor : source_.tensors()) total_bytes_ += tensor.bytes;
    // Plain weights too: in the small pages of a mapped file BF16 decoded at half the speed (22 against 45 tokens a
    // second, SmolLM2 on one thread of a virtual Sapphire Rapids), for all that processes could share them there.
    detached_ = source_.is_private_mapping();
    if (detached_) {
      if (Status status = source_.DetachTensors(tables_); !status.ok()) return status;
    }
    const int threads = DefaultThreads().threads;
    Team team(CheckThreadsStart(threads - 1).ok() ? threads : 1);
    scratch_bytes_ = (group_bytes + 63) / 64 * 64;
    Result<Buffer> scratch =
        Buffer::Allocate(scratch_bytes_ * static_cast<size_t>(team.threads()), "re-ordering of the weights");
    if (!scratch.ok()) return scratch.status();
    scratch_ = scratch->as<uint8_t>();
    team.Run([&](Worker& worker) { RunThread(worker); });
    return shared_.status();
  }

 private:
  void RunThread(Worker& worker) {
    size_t done_bytes = 0;
    const auto report = [&](const TensorInfo& tensor) {
      done_bytes += tensor.bytes;
      if (worker.thread() == 0 && progress_ &&
          !progress_(static_cast<float>(done_bytes) / static_cast<float>(total_bytes_))) {
        shared_.Set({StatusCode::kCancelled, "loading was cancelled"});
      }
    };
    // A matrix may be a part of a tensor: one of several experts, or of a fused map.
    std::set<std::pair<uint32_t, uint64_t>> interleaved;  // file, offset
    for (const TensorInfo* matrix : matrices_) {
      if (!shared_.ok()) return;
      Interleave(worker, *matrix);
      interleaved.emplace(matrix->file, matrix->offset);
      report(*matrix);
    }
    for (const TensorInfo& tensor : source_.tensors()) {
      const auto next = interleaved.lower_bound({tensor.file, tensor.offset});
      const bool done = next != interleaved.end() && next->first == tensor.file &&
                        next->second < tensor.offset + std::max<uint64_t>(tensor.bytes, 1);
      if (done || IsTable(tensor)) continue;
      if (!shared_.ok()) return;
      const Range mine = worker.Share(tensor.bytes);
      Fill(tensor, mine.begin, mine.end);
      report(tensor);
    }
  }

  void Interleave(Worker& worker, const TensorInfo& tensor) {
    uint8_t* scratch = scratch_ + static_cast<size_t>(worker.thread()) * scratch_bytes_;
    const size_t group = RowGroup(), row_bytes = tensor.row_bytes(), groups = tensor.rows() / group;
    const Range mine = worker.Share(groups);
    // A few groups at a time: they come from the file into the cache and leave it permuted.
    const size_t step = std::max<size_t>(1, kStepBytes / (group * row_bytes));
    for (size_t begin = mine.begin; begin < mine.end && shared_.ok(); begin += step) {
      const size_t end = std::min(mine.end, begin + step);
      Fill(tensor, begin * group * row_bytes, end * group * row_bytes);
      InterleaveRows(tensor.dtype, tensor.cols(), source_.writable(tensor), begin, end, scratch);
    }
    if (worker.thread() == 0)
      Fill(tensor, groups * group * row_bytes, tensor.bytes);  // Rows past the last whole group.
  }

  void Fill(const TensorInfo& tensor, size_t begin, size_t end) {
    if (!detached_ || begin >= end) return;
    if (Status status = source_.Fill(tensor, begin, end); !status.ok()) shared_.Set(std::move(status));
  }

  bool IsTable(const TensorInfo& tensor) const {
    return std::any_of(tables_.begin(), tables_.end(), [&](const TensorInfo* table) {
      return table->file == tensor.file && table->offset == tensor.offset;
    });
  }

  static constexpr size_t kStepBytes = size_t{256} * 1024;

  std::span<const TensorInfo* const> tables_;
  std::vector<const TensorInfo*> matrices_;  // Those that interleave.
  TensorSource& source_;
  const std::function<bool(float)>& progress_;
  bool detached_ = false;
  size_t total_bytes_ = 0;
  uint8_t* scratch_ = nullptr;
  size_t scratch_bytes_ = 0;  // Of one thread.
  SharedStatus shared_;
};

}  // namespace

std::vector<const TensorInfo*> TensorsKeptAsStored(const ModelParts& parts) {
  std::vector<const TensorInfo*> tables;
  const ModelWeights& weights = parts.weights;
  std::vector<const WeightMatrix*> matrices = PackedMatrices(parts);
  for (const WeightMatrix* table : {&weights.token_embd, &weights.position_embd, &weights.token_types}) {
    if (weights.output.data != table->data) matrices.push_back(table);  // Tied embeddings serve a product.
  }
  for (const WeightMatrix* table : matrices) {
    if (table->rows == 0) continue;
    for (const TensorInfo& tensor : parts.source->tensors()) {
      if (tensor.data == table->data && tensor.bytes == table->rows * RowBytes(table->type, table->cols)) {
        tables.push_back(&tensor);
      }
    }
  }
  return tables;
}

void MarkInterleaved(const std::vector<const TensorInfo*>& tables, ModelParts& parts) {
  parts.weights.ForEachMatrix([&](WeightMatrix& w) {
    w.interleaved = std::none_of(tables.begin(), tables.end(), [&](const TensorInfo* t) { return t->data == w.data; });
  });
}

Status InterleaveWeights(const std::vector<const TensorInfo*>& matrices, ModelParts& parts,
                         const std::function<bool(float)>& progress) {
  const std::vector<const TensorInfo*> tables = TensorsKeptAsStored(parts);
  if (Status status = WeightPreparation(matrices, tables, *parts.source, progress).Run(); !status.ok()) return status;
  MarkInterleaved(tables, parts);
  return {};
}

}  // namespace prenorm
