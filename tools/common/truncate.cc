// --truncate.
#include "tools/common/truncate.h"

#include <algorithm>

#include "tools/common/terminal.h"

namespace prenorm::tools {

size_t PromptRoom(const Session& session, const Options& options) {
  const size_t capacity = session.capacity();
  const size_t answer = options.max_new_tokens >= 0 ? static_cast<size_t>(options.max_new_tokens) : capacity / 4;
  return capacity - std::min(answer, capacity / 2);
}

std::vector<TokenId> Truncate(std::vector<TokenId> ids, size_t room, size_t kept, const Options& options) {
  if (options.truncate == "never" || ids.size() <= room) return ids;
  const size_t excess = ids.size() - std::max(room, kept);
  size_t begin = kept;  // left
  if (options.truncate == "right") begin = ids.size() - excess;
  if (options.truncate == "middle") begin = kept + (ids.size() - kept - excess) / 2;
  const auto first = ids.begin() + static_cast<std::ptrdiff_t>(begin);
  if (!options.quiet) {
    Note("prenorm: note: " + std::to_string(excess) + " of " + std::to_string(ids.size()) +
         " tokens of the text are left out (--truncate " + options.truncate + ")");
  }
  ids.erase(first, first + static_cast<std::ptrdiff_t>(excess));
  return ids;
}

}  // namespace prenorm::tools
