// Lays the panels of all matrices into one allocation and fills them on all threads.
#include "runtime/model/panels.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "prenorm/matmul_panels.h"
#include "prenorm/session.h"
#include "runtime/parallel/team.h"

namespace prenorm {
namespace {

bool IsPlain(DType type) { return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16; }

size_t FloatsOf(const WeightMatrix& w) { return PanelCount(w.rows) * kPanelRows * w.cols; }

// The maps of a bidirectional model's blocks that are packed.
template <class Parts>
auto MapsOf(Parts& parts) {
  std::vector<decltype(&parts.weights.layers[0].wq)> maps;
  if (!parts.block.bidirectional) return maps;
  for (auto& layer : parts.weights.layers) {
    for (auto* map : {&layer.wq, &layer.wk, &layer.wv, &layer.wo, &layer.w_up, &layer.w_down}) {
      if (map->w.rows != 0 && IsPlain(map->w.type)) maps.push_back(map);
    }
  }
  return maps;
}

}  // namespace

std::vector<const WeightMatrix*> PackedMatrices(const ModelParts& parts) {
  std::vector<const WeightMatrix*> matrices;
  for (const Linear* map : MapsOf(parts)) matrices.push_back(&map->w);
  return matrices;
}

Status PackEncoderPanels(ModelParts& parts) {
  const std::vector<Linear*> maps = MapsOf(parts);
  if (maps.empty()) return {};
  size_t floats = 0, widest = 0;
  for (const Linear* map : maps) {
    floats += FloatsOf(map->w);
    widest = std::max(widest, map->w.cols);
  }
  const int threads = DefaultThreads().threads;
  Team team(CheckThreadsStart(threads - 1).ok() ? threads : 1);
  const size_t row_floats = PanelRowFloats(widest);
  Result<Buffer> rows =
      Buffer::Allocate(static_cast<size_t>(team.threads()) * row_floats * sizeof(float), "packing of the weights");
  if (!rows.ok()) return rows.status();
  Result<Buffer> memory = Buffer::Allocate(floats * sizeof(float), "panels of the weights");
  if (!memory.ok()) return memory.status();
  parts.panels = std::move(memory).value();
  // A panel is read from its start for every block of tokens: each small page would be looked up again.
  madvise(parts.panels.as<void>(), parts.panels.bytes(), MADV_HUGEPAGE);
  auto* at = parts.panels.as<float>();
  for (Linear* map : maps) map->panels = std::exchange(at, at + FloatsOf(map->w));
  const auto release = [&](const WeightMatrix& w, size_t begin, size_t end) {
    const size_t row_bytes = RowBytes(w.type, w.cols);
    for (const TensorInfo& tensor : parts.source->tensors()) {
      if (tensor.data != w.data || tensor.bytes != w.rows * row_bytes) continue;
      parts.source->files()[tensor.file].Release(tensor.offset + begin * row_bytes, tensor.offset + end * row_bytes);
    }
  };
  team.Run([&](Worker& worker) {
    float* own = rows->as<float>() + static_cast<size_t>(worker.thread()) * row_floats;
    for (const Linear* map : maps) {
      const Range mine = worker.Share(PanelCount(map->w.rows));
      PackPanels(map->w, mine.begin, mine.end, own, const_cast<float*>(map->panels));
      release(map->w, mine.begin * kPanelRows, std::min(mine.end * kPanelRows, map->w.rows));
    }
  });
  return {};
}

}  // namespace prenorm
