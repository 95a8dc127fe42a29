// Finding added tokens (control markers, user-defined tokens) in text.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {

/// The tokens of one kind of text (raw or normalized), sorted for the longest match at a position. Immutable.
class AddedTokens {
 public:
  /// Tokens with an empty text are left out. `tokens` must outlive this object.
  explicit AddedTokens(const std::vector<const AddedToken*>& tokens);

  struct Match {
    const AddedToken* token = nullptr;
    size_t begin = 0;  ///< With the white space that the token swallows.
    size_t end = 0;
    size_t next = 0;  ///< Where the search for the next one goes on: white space that is swallowed may begin it.
  };

  /// Says whether a special token at text[begin, end) counts.
  using AllowSpecial = std::function<bool(size_t begin, size_t end)>;

  /// The first match at or after `from`, the longest there; token null if there is none. Of the text before `done`, which
  /// is behind `from` where white space was swallowed, it takes nothing.
  Match Find(std::string_view text, size_t from, size_t done, const AllowSpecial& allow_special) const;

  bool empty() const { return sorted_.empty(); }

 private:
  const AddedToken* LongestAt(std::string_view text, size_t at, const AllowSpecial& allow_special) const;

  std::vector<const AddedToken*> sorted_;  // by text, bytewise
  std::array<bool, 256> starts_{};         // first bytes
};

}  // namespace prenorm
