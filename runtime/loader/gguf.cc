// Opening GGUF files: the bytes, the parser, the index.
#include "runtime/loader/gguf.h"

#include <utility>

#include "runtime/loader/gguf_parse.h"

namespace prenorm {

Result<GgufFile> GgufFile::Assemble(MappedFile bytes, const std::string& path) {
  GgufFile file(path);
  Result<ParsedGguf> parsed = ParseGguf(bytes.bytes(), path);
  if (!parsed.ok()) return parsed.status();
  file.version_ = parsed->version;
  file.metadata_ = std::move(parsed->metadata);
  file.tensors_ = std::move(parsed->tensors);
  file.files_.push_back(std::move(bytes));
  if (Status status = file.FinishTensors(); !status.ok()) return status;
  return file;
}

Result<GgufFile> GgufFile::Open(const std::string& path, const Options& options) {
  Result<MappedFile> bytes = MappedFile::Open(path, options.access);
  if (!bytes.ok()) return bytes.status();
  return Assemble(std::move(*bytes), path);
}

Result<GgufFile> GgufFile::FromMemory(std::span<const uint8_t> bytes, const std::string& name) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kMinAlignment != 0) {
    return Status(StatusCode::kInvalidArgument, "the memory of model '" + name + "' is not aligned to 8 bytes");
  }
  return Assemble(MappedFile::Borrow(bytes), name);
}

}  // namespace prenorm
