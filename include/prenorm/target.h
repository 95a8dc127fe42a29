// The SIMD target: which instruction set the kernels use, and how to force another one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "prenorm/status.h"

namespace prenorm {

/// Name of the target that kernel calls use now, e.g. "AVX2" or "AVX3_SPR".
const char* ActiveTarget();

/// Names of the targets that were compiled and that this CPU can run, best first.
std::vector<std::string> RunnableTargets();

/// Names of all targets that were compiled in, best first.
std::vector<std::string> CompiledTargets();

/// Forces every later kernel call of the process to `name` (case-insensitive); empty means the best one again.
/// Errors: kNotFound if the name was not compiled in, kUnsupported if this CPU cannot run it.
/// Threads: not to be called while kernels run. Weights interleaved for one target must be loaded again after a change:
/// sessions and encoders of a model that was loaded before answer kInvalidArgument.
Status ForceTarget(std::string_view name);

}  // namespace prenorm
