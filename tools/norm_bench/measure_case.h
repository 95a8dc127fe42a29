// Times every runner of a case in turn, in one process and on the same buffers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "prenorm/status.h"
#include "tools/norm_bench/runner.h"

namespace prenorm::tools {

struct Spread {
  double median = 0.0, p10 = 0.0, p90 = 0.0;
};

struct CaseResult {
  NormCase which;
  Spread ns;              ///< Of one call of Prenorm.
  double again = 0.0;     ///< A/A: Prenorm measured as a second runner, over Prenorm; 1 but for noise.
  double copy_ns = 0.0;   ///< The faster copy of the case's bytes.
  double copy_cv = 0.0;   ///< Standard deviation over mean of that copy: above 0.05 the machine was not quiet.
  double loads_ns = 0.0;  ///< The loop with RMSNorm's loads and stores; 0 where there is none.
  std::map<std::string, double> peers;   ///< ns of one call by peer.
  std::map<std::string, double> ratios;  ///< By runner: median over the rounds of its time over Prenorm's.
  std::vector<std::string> instead;      ///< "onednn runs layer_norm" where a peer has no equal operation.
};

/// Runs A B ... B A in each of `rounds` rounds, after comparing each peer's result with Prenorm's.
/// Errors: kVerification where a peer disagrees; kOutOfMemory.
Result<CaseResult> MeasureCase(const NormCase& c, const std::vector<NormPeer>& peers, size_t all_threads,
                               size_t rounds);

}  // namespace prenorm::tools
