// Writes GGUF files, version 3.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "prenorm/status.h"
#include "runtime/loader/tensor_source.h"

namespace prenorm {

/// Takes all keys and tensor descriptions, then the data of the tensors in the same order. The file has a temporary
/// name until Finish(), and is removed if that is never reached.
class GgufFileWriter {
 public:
  static Result<GgufFileWriter> Create(const std::string& path);
  ~GgufFileWriter();
  GgufFileWriter(GgufFileWriter&&) noexcept = default;

  void AddEntry(const MetaEntry& entry);
  void AddU32(std::string_view key, uint32_t value);
  /// name, n_dims and dims are taken from `tensor`.
  void AddTensor(const TensorInfo& tensor, DType dtype);

  /// After all AddTensor: the header, on the first call, then the next tensor's bytes.
  Status WriteTensor(std::span<const uint8_t> bytes);
  /// Moves the file to its place, over an older one.
  Status Finish();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  explicit GgufFileWriter(std::string path) : path_(std::move(path)) {}
  std::string temporary() const { return path_ + ".part"; }
  Status WriteHeader();
  Status Write(std::span<const uint8_t> bytes);
  Status WritePadding();

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::vector<uint8_t> entries_, tensors_;
  uint64_t n_entries_ = 0;
  uint64_t n_tensors_ = 0;
  uint64_t data_bytes_ = 0;  // described so far
  uint64_t written_ = 0;
  bool has_header_ = false;
};

}  // namespace prenorm
