// Measures a prompt and the tokens after it with events, and what the events cost.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "prenorm/encoder.h"
#include "prenorm/session.h"
#include "tools/profile/counters.h"
#include "tools/profile/report.h"

namespace prenorm::tools {

struct PhaseOptions {
  std::vector<TokenId> prompt;  ///< Evaluated at once.
  std::vector<TokenId> decode;  ///< Evaluated one by one.
  size_t depth = 0;             ///< Tokens in the cache before the first of `decode`.
  size_t chunk = 512;           ///< Of the session.
  int64_t runs = 5;             ///< Measured repetitions.
  double overhead_seconds = 3;  ///< Spent on each phase's overhead; 0: not measured.
  const NormExperiment* norms = nullptr;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// The phases "prefill" (if there is a prompt) and "decode" (if there are tokens to decode).
/// Errors: those of Session::Eval.
Result<std::vector<ProfilePhase>> MeasurePhases(Session& session, const PhaseOptions& options, const TimerCost& timer,
                                                const Roofline& roofline, Counters& counters);

/// The phase "encode": the prompt as one text. Errors: those of Encoder::EmbedTokens.
Result<std::vector<ProfilePhase>> MeasureEncoder(Encoder& encoder, const PhaseOptions& options, const TimerCost& timer,
                                                 const Roofline& roofline, Counters& counters);

}  // namespace prenorm::tools
