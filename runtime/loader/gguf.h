// Reader of GGUF files, versions 2 and 3.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/loader/tensor_source.h"

namespace prenorm {

/// Reads the header in one pass over the mapping, without copying strings. Every count, length, offset and shape is
/// checked once, here: what TensorSource hands out afterwards needs no further check against the file.
///
/// Errors  kNotFound, kIo, kOutOfMemory from the file system; kBadModel for a damaged file or one that is no model;
///         kUnsupported for well-formed files with a version, tensor type or nesting that is not read here.
/// Source  the GGUF specification (ggml, docs/gguf.md), cross-read with the `gguf` Python package.
class GgufFile : public TensorSource {
 public:
  struct Options {
    FileAccess access = FileAccess::kMap;
  };

  /// Any part of a split model (NAME-00001-of-00003.gguf) opens all of them; metadata() is that of the first.
  static Result<GgufFile> Open(const std::string& path, const Options& options);
  static Result<GgufFile> Open(const std::string& path) { return Open(path, Options()); }

  /// A model in memory, which must outlive the result; `name` stands for the path in messages.
  /// bytes.data() must be aligned to 8 bytes.
  static Result<GgufFile> FromMemory(std::span<const uint8_t> bytes, const std::string& name);
  /// The same, but the result owns the bytes.
  static Result<GgufFile> FromMemory(MappedFile bytes, const std::string& name);

  /// Version of the format: 2 or 3.
  uint32_t version() const { return version_; }

 private:
  explicit GgufFile(std::string path) : TensorSource(ModelFormat::kGguf, std::move(path)) {}
  Status AddPart(MappedFile bytes, const std::string& path);
  Status CheckPart(const Metadata& metadata, const std::string& path, uint64_t number) const;

  uint32_t version_ = 0;
  uint64_t n_parts_ = 1;
};

}  // namespace prenorm
