// Ways to normalize, compared on the same model: --norms and --what-if.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "prenorm/session.h"
#include "tools/profile/report.h"

namespace prenorm::tools {

struct VariantOptions {
  std::vector<TokenId> text;  ///< Evaluated token by token for the effect on logits; at least two.
  TokenId token = 0;          ///< Evaluated again and again for the time.
  int64_t runs = 5;           ///< More of them make narrower intervals.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// Costs of every variant at the session's position, by turns, and the effect on the logits of `text`. Fills
/// report.variants and report.claims; reads report.phases. The session holds `text` afterwards.
/// Errors: those of Session::Eval.
Status CompareNorms(Session& session, const VariantOptions& options, ProfileReport& report);

/// Adds the answer to `what`, one of WhatIfNames(), to report.what_if. `apart` is the decode phase with nothing fused,
/// needed for "fused". Errors: those of Session::Eval.
Status AnswerWhatIf(Session& session, const std::string& what, const VariantOptions& options, const ProfilePhase* apart,
                    ProfileReport& report);

std::span<const char* const> WhatIfNames();

}  // namespace prenorm::tools
