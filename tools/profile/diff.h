// Two profiles beside each other: what became slower or faster.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "prenorm/status.h"

namespace prenorm::tools {

/// Compares two results of `profile --json`: for each phase the token, the shares of norms and residuals, and every
/// kind and site with its time per token before and after, largest change first; a change is called one where it leaves
/// the rows' own spread. With `as_json` one object, else a table. Errors: kInvalidArgument for a file that is no such
/// result, naming it and what it lacks.
Result<std::string> DiffProfiles(const std::string& path_a, const std::string& path_b, bool as_json);

}  // namespace prenorm::tools
