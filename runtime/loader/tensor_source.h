// What a model file offers to the model: named tensors and metadata. GGUF files and Hugging Face folders both do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/status.h"
#include "prenorm/types.h"
#include "runtime/limits.h"
#include "runtime/loader/mapped_file.h"
#include "runtime/loader/metadata.h"

namespace prenorm {

/// One tensor. All sizes were checked against the file: [data, data + bytes) is inside it, and no product below wraps.
struct TensorInfo {
  std::string_view name;                                  ///< As in the file; a view into it.
  DType dtype = DType::kF32;                              ///< Always one that InfoOf knows.
  uint32_t n_dims = 0;                                    ///< 0 is a scalar.
  std::array<uint64_t, kMaxTensorDims> dims{1, 1, 1, 1};  ///< dims[0] varies fastest; 1 beyond n_dims.
  uint32_t file = 0;                                      ///< Index of the shard that holds it.
  uint64_t offset = 0;                                    ///< Bytes from the start of that shard.
  uint64_t bytes = 0;
  const uint8_t* data = nullptr;  ///< Aligned to the element type of plain types; null when bytes == 0.

  /// Elements of a row, contiguous in memory and a multiple of the block length.
  size_t cols() const { return static_cast<size_t>(dims[0]); }
  size_t rows() const { return static_cast<size_t>(dims[1] * dims[2] * dims[3]); }
  size_t elements() const { return cols() * rows(); }
  size_t row_bytes() const { return RowBytes(dtype, cols()); }
};

/// "[576, 49152]" in file order, for messages.
std::string ShapeText(const TensorInfo& tensor);

enum class ModelFormat { kGguf, kHuggingFace };

/// Immutable after opening, hence shared between threads freely (but for the memory behind writable()).
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  TensorSource(TensorSource&&) noexcept = default;
  TensorSource& operator=(TensorSource&&) noexcept = default;

  ModelFormat format() const { return format_; }
  const std::string& path() const { return path_; }

  /// GGUF: the file's keys. Hugging Face: config.json with nested keys joined by dots, e.g. "rope_scaling.factor".
  const Metadata& metadata() const { return metadata_; }

  std::span<const TensorInfo> tensors() const { return tensors_; }
  const TensorInfo* Find(std::string_view name) const;

  /// As Find, or a message that names the file and the tensor.
  Result<const TensorInfo*> Require(std::string_view name) const;

  /// The tensor's bytes where they may be changed (FileAccess::kMapPrivate and kRead), else null.
  uint8_t* writable(const TensorInfo& tensor) const;

  /// The files of the tensors.
  std::span<const MappedFile> files() const { return files_; }

  /// Opened with FileAccess::kMapPrivate.
  bool is_private_mapping() const { return !files_.empty() && files_.front().is_private_mapping(); }

  /// Of all files: MappedFile::CheckUnchanged.
  Status CheckUnchanged() const;

  /// kMapPrivate: moves all tensors but those in `kept` out of the mapping (MappedFile::Detach). They must
  /// be filled afterwards.
  Status DetachTensors(std::span<const TensorInfo* const> kept);
  /// Reads bytes [begin, end) of a detached tensor from its file. Different ranges may be read at the same time.
  Status Fill(const TensorInfo& tensor, size_t begin, size_t end);

 protected:
  TensorSource(ModelFormat format, std::string path) : format_(format), path_(std::move(path)) {}

  /// Builds the index of names and refuses names that occur twice and tensors that overlap. Call once, at the end.
  Status FinishTensors();

  ModelFormat format_;
  std::string path_;
  std::vector<MappedFile> files_;
  Metadata metadata_;
  std::vector<TensorInfo> tensors_;

 private:
  std::vector<uint32_t> sorted_;  // indices of tensors_ by name
};

}  // namespace prenorm
