// What a model's folder says of sampling, as defaults of the options.
#pragma once

#include "tools/common/options.h"

namespace prenorm::tools {

/// Keys of generation_config.json set the options of the same name that neither a flag nor the environment has set;
/// "do_sample": false means temperature 0. What is there and not used goes to parsed.notes. Without a folder, or
/// without the file in it, nothing changes. Errors: kBadModel for a file that is no JSON object.
Status ApplyModelDefaults(Command command, ParsedOptions& parsed);

}  // namespace prenorm::tools
