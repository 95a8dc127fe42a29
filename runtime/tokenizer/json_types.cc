// Every member of these names has one type, wherever it stands.
#include "runtime/tokenizer/json_types.h"

#include <algorithm>
#include <string_view>

namespace prenorm {
namespace {

using simdjson::dom::element;

constexpr std::string_view kSwitches[] = {
    "add_prefix_space", "byte_fallback", "clean_text", "cleanup", "fuse_unk",      "handle_chinese_chars",
    "ignore_merges",    "invert",        "lowercase",  "lstrip",  "normalized",    "individual_digits",
    "rstrip",           "single_word",   "special",    "split",   "strip_accents", "strip_left",
    "strip_right",      "use_regex"};
constexpr std::string_view kTexts[] = {
    "behavior",       "content",     "continuing_subword_prefix", "delimiter", "prepend",  "end_of_word_suffix",
    "prepend_scheme", "replacement", "precompiled_charsmap",      "type",      "unk_token"};

template <size_t n>
bool IsOf(const std::string_view (&names)[n], std::string_view name) {
  return std::find(names, names + n, name) != names + n;
}

}  // namespace

std::string WrongJsonType(element value) {
  if (simdjson::dom::array items; value.get(items) == simdjson::SUCCESS) {
    for (const element item : items) {
      if (std::string wrong = WrongJsonType(item); !wrong.empty()) return wrong;
    }
    return "";
  }
  simdjson::dom::object members;
  if (value.get(members) != simdjson::SUCCESS) return "";
  for (const auto& [name, member] : members) {
    // The first two have tokens for names; merges are checked as they are read.
    if (name == "special_tokens" || name == "vocab" || name == "merges" || member.is_null()) continue;
    if (IsOf(kSwitches, name) && !member.is_bool()) return "\"" + std::string(name) + "\" is neither true nor false";
    if (IsOf(kTexts, name) && !member.is_string()) return "\"" + std::string(name) + "\" is no text";
    if (std::string wrong = WrongJsonType(member); !wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace prenorm
