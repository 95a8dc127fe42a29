// Chooses the reader by what the path names.
#include "runtime/loader/open.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/loader/gguf.h"
#include "runtime/loader/safetensors.h"

namespace prenorm {

Result<std::unique_ptr<TensorSource>> OpenModelFile(const std::string& path, FileAccess access) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    Result<SafetensorsFolder> folder = SafetensorsFolder::Open(path, access);
    if (!folder.ok()) return folder.status();
    return std::unique_ptr<TensorSource>(std::make_unique<SafetensorsFolder>(std::move(*folder)));
  }
  Result<GgufFile> file = GgufFile::Open(path, {access});
  if (!file.ok()) return file.status();
  return std::unique_ptr<TensorSource>(std::make_unique<GgufFile>(std::move(*file)));
}

Result<std::unique_ptr<TensorSource>> OpenModelBytes(std::span<const uint8_t> bytes) {
  const std::string name = "bytes in memory";
  Result<MappedFile> copy = MappedFile::Copy(bytes, name);
  if (!copy.ok()) return copy.status();
  Result<GgufFile> file = GgufFile::FromMemory(std::move(*copy), name);
  if (!file.ok()) return file.status();
  return std::unique_ptr<TensorSource>(std::make_unique<GgufFile>(std::move(*file)));
}

}  // namespace prenorm
