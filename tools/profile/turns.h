// Ways to run the same step, compared by turns: what drifts in the machine hits all of them alike.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "prenorm/norm_experiment.h"
#include "prenorm/session.h"
#include "tools/profile/report.h"

namespace prenorm::tools {

struct Way {
  OpObserver* observer = nullptr;
  const NormExperiment* norms = nullptr;
};

/// Evaluates `tokens` (as one step after what the session holds) in each way `rounds` times, and leaves the session at
/// the position where it was, without observer and experiment. The order turns round from round to round. Returns
/// nanoseconds: [way][round]. Errors: those of Session::Eval.
Result<std::vector<std::vector<double>>> TakeTurns(Session& session, std::span<const TokenId> tokens,
                                                   std::span<const Way> ways, size_t rounds);

/// Medians of two ways of the same rounds, and the median of their differences with its 95 % interval from order
/// statistics, which asks for no distribution. Requires as many values of both, at least one.
Turns Compare(const std::vector<double>& a, const std::vector<double>& b);

/// Rounds that fill about `seconds`, within [least, most].
size_t RoundsWithin(double seconds, double round_ns, size_t least, size_t most);

}  // namespace prenorm::tools
