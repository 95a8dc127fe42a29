// Writes GGUF files, version 3.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "prenorm/output_file.h"
#include "prenorm/status.h"
#include "runtime/loader/tensor_source.h"

namespace prenorm {

/// Takes all keys and tensor descriptions, then the data of the tensors in the same order. The file appears with
/// Finish(); see OutputFile.
class GgufFileWriter {
 public:
  static Result<GgufFileWriter> Create(const std::string& path);

  void AddEntry(const MetaEntry& entry);
  void AddU32(std::string_view key, uint32_t value);
  /// name, n_dims and dims are taken from `tensor`.
  void AddTensor(const TensorInfo& tensor, DType dtype);

  /// After all AddTensor: the header, on the first call, then the next tensor's bytes.
  Status WriteTensor(std::span<const uint8_t> bytes);
  /// Moves the file to its place, over an older one.
  Status Finish();

 private:
  explicit GgufFileWriter(OutputFile file) : file_(std::move(file)) {}
  Status WriteHeader();
  Status Write(std::span<const uint8_t> bytes);
  Status WritePadding();

  OutputFile file_;
  std::vector<uint8_t> entries_, tensors_;
  uint64_t n_entries_ = 0;
  uint64_t n_tensors_ = 0;
  uint64_t data_bytes_ = 0;  // described so far
  uint64_t written_ = 0;
  bool has_header_ = false;
};

}  // namespace prenorm
