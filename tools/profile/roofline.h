// The limits of the machine in the run at hand, by the means of the engine itself.
#pragma once

#include "prenorm/model.h"
#include "tools/profile/report.h"

namespace prenorm::tools {

/// Measures all rates with `threads`; about half a second. `probe_mb`: memory that the bandwidth probe reads.
Roofline MeasureRoofline(const Model& model, int threads, int64_t probe_mb);

}  // namespace prenorm::tools
