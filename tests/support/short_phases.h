// A profile that takes moments.
#pragma once

#include "prenorm/model.h"
#include "tools/common/measure.h"
#include "tools/profile/measure_phases.h"

namespace prenorm::tools {

inline PhaseOptions ShortPhases(const Model& model) {
  PhaseOptions options;
  options.prompt = SpreadTokens(12, model.config().vocab_size);
  options.decode = SpreadTokens(4, model.config().vocab_size);
  options.depth = 12;
  options.overhead_seconds = 0.01;
  return options;
}

}  // namespace prenorm::tools
