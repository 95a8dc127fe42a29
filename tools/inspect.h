// Output of `prenorm inspect`.
#pragma once

#include <string>

#include "prenorm/inspect.h"

namespace prenorm::tools {

/// For people: sections of aligned columns, ending with a newline.
std::string InspectTable(const Inspection& inspection);

/// For scripts: the fields of one JSON object, without "schema" and "host", which every command adds.
std::string InspectJson(const Inspection& inspection);

}  // namespace prenorm::tools
