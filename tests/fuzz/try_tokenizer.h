// What a fuzzed tokenizer must stand: being built, and any text, id and length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "prenorm/tokenizer.h"
#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {

inline void TryTokenizer(Result<TokenizerSpec> spec, std::string_view text) {
  if (!spec.ok()) return;
  const auto tokenizer = BuildTokenizer(std::move(spec).value());
  if (!tokenizer.ok()) return;
  for (const std::string_view input :
       {std::string_view("Ab c\n1234 \xC3\xA9 \xE4\xBD\xA0\xF0\x9F\x99\x82 it's <s>"), text}) {
    for (const bool markers : {false, true}) {
      const auto ids = (*tokenizer)->Encode(input, {.add_special = markers, .parse_special = markers});
      if (!ids.ok()) continue;
      for (const TokenId id : *ids) {
        if (id < 0 || static_cast<size_t>(id) >= (*tokenizer)->vocab_size()) __builtin_trap();
        (void)(*tokenizer)->Piece(id, true);
      }
    }
  }
  (void)(*tokenizer)->Piece(-1, true);
}

}  // namespace prenorm
