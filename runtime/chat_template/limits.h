// What a template may ask for. Templates come with models from strangers: each limit stops one way to exhaust a host.
#pragma once

#include <cstddef>
#include <cstdint>

namespace prenorm::chat_template {

struct Limits {
  size_t template_bytes = size_t{1} << 20;  ///< Source; the longest published template has about 2^15.
  size_t nesting = 100;                     ///< Blocks, brackets, operators and constants inside each other, in the source.
  size_t depth = 400;                       ///< Evaluations inside each other, macros included: bounds the stack.
  uint64_t steps = uint64_t{4} << 20;       ///< Expressions and statements evaluated, elements visited: about a second.
  uint64_t work_bytes = uint64_t{1} << 30;  ///< All strings and containers ever made, together.
  size_t string_bytes = size_t{64} << 20;   ///< One string.
  size_t output_bytes = size_t{64} << 20;   ///< The rendered text.
  size_t range_items = 100000;              ///< range(), as in Jinja's sandbox.
  size_t value_depth = 100;                 ///< Lists and dicts inside each other, also in the caller's JSON.
};

}  // namespace prenorm::chat_template
