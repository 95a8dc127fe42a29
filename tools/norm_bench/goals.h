// The speed goals M1 to M8 of the normalization layer, looked up in measured cases.
#pragma once

#include <string>
#include <vector>

#include "tools/norm_bench/measure_case.h"

namespace prenorm::tools {

struct GoalResult {
  std::string id;    ///< "M1"
  std::string text;  ///< What is compared.
  double wanted = 0.0;
  double measured = 0.0;  ///< A ratio; more is better.
  bool holds = false;
};

/// Every goal whose case and peer are among the results; of several cases the worst.
std::vector<GoalResult> GoalResults(const std::vector<CaseResult>& results);

}  // namespace prenorm::tools
