// prenorm norms --bench: the speed of the normalization layer beside copies and other implementations.
#pragma once

#include "tools/common/options.h"

namespace prenorm::tools {

/// Measures, prints a table or one JSON object, and returns the exit code: 0 whether the goals hold or not.
int RunNormsBench(const Options& options);

}  // namespace prenorm::tools
