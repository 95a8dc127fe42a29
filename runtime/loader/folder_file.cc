// Reads whole files, up to a limit.
#include "runtime/loader/folder_file.h"

#include <utility>

#include "runtime/limits.h"
#include "runtime/loader/mapped_file.h"

namespace prenorm {

Result<std::string> ReadFolderFile(const std::string& path) {
  const Result<MappedFile> file = MappedFile::Open(path, FileAccess::kMap);
  if (!file.ok()) return file.status();
  const auto bytes = file->bytes();
  if (bytes.size() > kMaxFolderJson) {
    return Status(StatusCode::kBadModel, "'" + path + "' has " + std::to_string(bytes.size()) +
                                             " bytes: too many\nexpected at most " + std::to_string(kMaxFolderJson) +
                                             "\nDownload the model again.");
  }
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::optional<std::string>> ReadFolderFileIfThere(const std::string& path) {
  Result<std::string> text = ReadFolderFile(path);
  if (text.ok()) return std::optional<std::string>(std::move(text).value());
  if (text.status().code() == StatusCode::kNotFound) return std::optional<std::string>();
  return text.status();
}

Status NotJson(const std::string& path, const char* reason) {
  return Status(StatusCode::kBadModel,
                std::string("not JSON: ") + reason + "\n" + path + "\nDownload or convert the model again.");
}

}  // namespace prenorm
