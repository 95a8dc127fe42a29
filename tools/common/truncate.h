// Leaving out a part of a text that is too long: only where the user chose which.
#pragma once

#include <string>
#include <vector>

#include "prenorm/session.h"
#include "tools/common/options.h"

namespace prenorm::tools {

/// Tokens that a prompt may have: the context less what is asked for as an answer, or a quarter where that is open.
size_t PromptRoom(const Session& session, const Options& options);

/// `ids` without as many of them as exceed `room`, at the place of --truncate. The first `kept` stay in any case, e.g.
/// the beginning token. With "never", or if all fit, `ids` as they are. Says on stderr how many were left out.
std::vector<TokenId> Truncate(std::vector<TokenId> ids, size_t room, size_t kept, const Options& options);

}  // namespace prenorm::tools
