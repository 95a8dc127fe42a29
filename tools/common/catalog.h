// From what the user calls a model to its file.
#pragma once

#include <string>

#include "prenorm/status.h"

namespace prenorm::tools {

/// `name` is a path, or the name of a model of the catalog (models/catalog.json), or empty for the default model. Models
/// of the catalog live in ${XDG_CACHE_HOME:-~/.cache}/prenorm/models.
/// Errors: kNotFound, with the command that fetches the model where there is one.
Result<std::string> FindModelFile(const std::string& name);

}  // namespace prenorm::tools
