// Index of tensors by name, and the checks that concern all tensors of a model together.
#include "runtime/loader/tensor_source.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace prenorm {

std::string ShapeText(const TensorInfo& tensor) {
  std::string text = "[";
  for (uint32_t i = 0; i < tensor.n_dims; ++i) text += (i == 0 ? "" : ", ") + std::to_string(tensor.dims[i]);
  return text + "]";
}

const TensorInfo* TensorSource::Find(std::string_view name) const {
  const auto less = [this](uint32_t i, std::string_view n) { return tensors_[i].name < n; };
  const auto place = std::lower_bound(sorted_.begin(), sorted_.end(), name, less);
  if (place == sorted_.end() || tensors_[*place].name != name) return nullptr;
  return &tensors_[*place];
}

Result<const TensorInfo*> TensorSource::Require(std::string_view name) const {
  const TensorInfo* tensor = Find(name);
  if (tensor != nullptr) return tensor;
  return Status(StatusCode::kBadModel, "a tensor is missing\n'" + path_ + "' has no '" + std::string(name) +
                                           "'\nDownload or convert the model again.");
}

uint8_t* TensorSource::writable(const TensorInfo& tensor) const {
  uint8_t* base = files_[tensor.file].writable();
  return base == nullptr || tensor.bytes == 0 ? nullptr : base + tensor.offset;
}

Status TensorSource::DetachTensors(std::span<const TensorInfo* const> kept) {
  std::vector<const TensorInfo*> order;
  for (const TensorInfo& tensor : tensors_) {
    if (tensor.bytes != 0) order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const TensorInfo* a, const TensorInfo* b) {
    return std::tuple(a->file, a->offset) < std::tuple(b->file, b->offset);
  });
  // Neighbours go together.
  for (size_t i = 0; i < order.size();) {
    const TensorInfo& first = *order[i];
    uint64_t end = first.offset;
    for (; i < order.size() && order[i]->file == first.file; ++i) {
      if (std::find(kept.begin(), kept.end(), order[i]) != kept.end()) break;
      end = order[i]->offset + order[i]->bytes;
    }
    if (end == first.offset) {
      ++i;  // Kept.
      continue;
    }
    const Status status = files_[first.file].Detach(static_cast<size_t>(first.offset), static_cast<size_t>(end));
    if (!status.ok()) return status;
  }
  return Status();
}

Status TensorSource::CheckUnchanged() const {
  for (const MappedFile& file : files_) {
    if (Status status = file.CheckUnchanged(); !status.ok()) return status;
  }
  return Status();
}

Status TensorSource::Fill(const TensorInfo& tensor, size_t begin, size_t end) {
  return files_[tensor.file].Fill(static_cast<size_t>(tensor.offset) + begin, static_cast<size_t>(tensor.offset) + end);
}

Status TensorSource::FinishTensors() {
  sorted_.resize(tensors_.size());
  std::iota(sorted_.begin(), sorted_.end(), 0u);

  const auto place = [this](uint32_t i) { return std::tuple(tensors_[i].file, tensors_[i].offset, tensors_[i].bytes); };
  std::sort(sorted_.begin(), sorted_.end(), [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
  const TensorInfo* previous = nullptr;
  for (const uint32_t i : sorted_) {
    const TensorInfo& tensor = tensors_[i];
    if (tensor.bytes == 0) continue;
    if (previous != nullptr && previous->file == tensor.file && previous->offset + previous->bytes > tensor.offset) {
      return Status(StatusCode::kBadModel, "two tensors overlap\n'" + path_ + "': '" + std::string(tensor.name) +
                                               "' starts at byte " + std::to_string(tensor.offset) + ", inside '" +
                                               std::string(previous->name) + "'");
    }
    previous = &tensor;
  }

  std::sort(sorted_.begin(), sorted_.end(),
            [this](uint32_t a, uint32_t b) { return tensors_[a].name < tensors_[b].name; });
  for (size_t i = 1; i < sorted_.size(); ++i) {
    if (tensors_[sorted_[i - 1]].name == tensors_[sorted_[i]].name) {
      return Status(StatusCode::kBadModel, "two tensors have the same name\n'" + path_ + "': '" +
                                               std::string(tensors_[sorted_[i]].name) + "'");
    }
  }
  return Status();
}

}  // namespace prenorm
