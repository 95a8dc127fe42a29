// The small files beside the weights of a Hugging Face folder.
#pragma once

#include <optional>
#include <string>

#include "prenorm/status.h"

namespace prenorm {

/// All bytes of a file. Errors: kNotFound, kIo, kInvalidArgument (a folder or device), kBadModel for more than
/// kMaxFolderJson bytes.
Result<std::string> ReadFolderFile(const std::string& path);

/// The same, and no value where there is no such file.
Result<std::optional<std::string>> ReadFolderFileIfThere(const std::string& path);

/// kBadModel: the file `path` is no JSON, for the reason that the parser gives.
Status NotJson(const std::string& path, const char* reason);

}  // namespace prenorm
