// Brings the caches into the state that a case asks for, before each timed call.
#pragma once

#include <cstddef>
#include <functional>

#include "tools/norm_bench/norm_case.h"

namespace prenorm::tools {

/// Binds each thread of the OpenMP team to a processor of its own, as far as the process may use that many.
void PinThreads(size_t threads);

/// What to call before each timed call; empty where hot. `all_threads` fill x in kAfterMatvec.
std::function<void()> CachePreparation(const NormCase& c, const Operands& operands, size_t all_threads);

}  // namespace prenorm::tools
