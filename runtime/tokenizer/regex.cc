// PCRE2 behind Regex.
#include "runtime/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <new>

#include "runtime/limits.h"

namespace prenorm {
namespace {

// PCRE2's \s also takes U+180E, which lost White_Space in Unicode 6.3. As members of a class:
constexpr std::string_view kSpaceMembers =
    "\\x09-\\x0D\\x20\\x85\\xA0\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}"
    "\\x{202F}\\x{205F}\\x{3000}";

// Oniguruma's \w: what is alphabetic, marks, digits, and fractions and superscripts of Latin-1. As members of a class:
constexpr std::string_view kWordMembers =
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}\\x{24B6}-\\x{24E9}"
    "\\x{1F130}-\\x{1F149}\\x{1F150}-\\x{1F169}\\x{1F170}-\\x{1F189}";
constexpr std::string_view kHexMembers = "0-9A-Fa-f";

constexpr size_t kJitStackStart = 32 * 1024;
constexpr size_t kJitStackMax = 64 * 1024 * 1024;

/// Past the "]" of the class that begins at `begin`, or npos; at "&&[" ends before it.
size_t ClassPart(std::string_view pattern, size_t begin) {
  size_t at = begin + 1;
  if (pattern.substr(at).starts_with('^')) ++at;
  if (pattern.substr(at).starts_with(']')) ++at;  // A member.
  for (; at < pattern.size(); ++at) {
    if (pattern[at] == '\\')
      ++at;
    else if (pattern[at] == ']')
      return at + 1;
    else if (pattern.substr(at).starts_with("&&["))
      return at;
  }
  return std::string_view::npos;
}

/// Oniguruma's classes inside of classes, "[a[bc]]", which PCRE2 has not, as one. A negated one inside stays.
std::string FlattenClasses(std::string_view pattern) {
  std::string out;
  size_t depth = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = pattern.substr(i);
    const bool opens = rest[0] == '[' && (depth == 0 || !(rest.starts_with("[:") || rest.starts_with("[^")));
    if (rest[0] == '\\' && rest.size() > 1) {
      out.append(rest.substr(0, 2));
      ++i;
    } else if (depth > 0 && rest.starts_with("&&[")) {  // RewriteIntersections looks after it.
      const size_t end = std::min(ClassPart(pattern, i + 2), pattern.size());
      out.append(pattern.substr(i, end - i));
      i = end - 1;
    } else if (opens) {
      if (depth++ > 0) continue;
      const size_t members = i + (rest.substr(1).starts_with('^') ? 2 : 1);
      const size_t first = members + (pattern.substr(members).starts_with(']') ? 1 : 0);
      out.append(pattern.substr(i, first - i));
      i = first - 1;
    } else if (depth > 0 && rest[0] == '[') {  // "[:alpha:]", "[^..."
      const size_t end = std::min(ClassPart(pattern, i), pattern.size());
      out.append(pattern.substr(i, end - i));
      i = end - 1;
    } else if (depth > 1 && rest[0] == ']') {
      --depth;
    } else {
      if (rest[0] == ']') depth = 0;
      out += rest[0];
    }
  }
  return out;
}

/// Oniguruma's intersections of classes, "[A&&[B]]", which PCRE2 has not: what is in A, and looking ahead in B.
std::string RewriteIntersections(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size();) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      out.append(pattern.substr(i, 2));
      i += 2;
      continue;
    }
    const size_t end = pattern[i] == '[' ? ClassPart(pattern, i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += pattern[i++];
      continue;
    }
    const std::string_view left = pattern.substr(i, end - i);
    i = end;
    if (left.back() == ']') {
      out.append(left);
      continue;
    }
    const size_t close = ClassPart(pattern, end + 2);
    if (close >= pattern.size() || pattern[close] != ']') {  // Nothing simpler is used; the rest is PCRE2's to judge.
      out.append(left);
      continue;
    }
    out.append("(?:(?=").append(pattern.substr(end + 2, close - end - 2)).append(")").append(left).append("])");
    i = close + 1;
  }
  return out;
}

/// What Oniguruma has for "\c" and PCRE2 has not, as members of a class; empty for others.
std::string_view MembersOf(char c) {
  switch (c) {
    case 's':
    case 'S':
      return kSpaceMembers;
    case 'w':
    case 'W':
      return kWordMembers;
    case 'h':
    case 'H':
      return kHexMembers;
    default:
      return {};
  }
}

/// Rewrites classes that mean something else in Oniguruma (inside a class, "\S", "\W", "\H" stay as they are).
std::string Translate(std::string_view pattern) {
  const std::string word = "[" + std::string(kWordMembers) + "]";
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const std::string_view rest = pattern.substr(i);
    if (c == '\\' && rest.size() > 1) {
      const char next = pattern[++i];
      const std::string_view members = MembersOf(next);
      const bool negated = next < 'a';
      if (in_class && !members.empty() && !negated) {
        out += members;
      } else if (!in_class && !members.empty()) {
        out.append(negated ? "[^" : "[").append(members).append("]");
      } else if (!in_class && (next == 'b' || next == 'B')) {  // Where words, in that sense, begin or end.
        const bool at = next == 'b';
        out.append("(?:(?<=" + word + ")(?" + (at ? "!" : "=") + word + ")|(?<!" + word + ")(?" + (at ? "=" : "!") +
                   word + "))");
      } else {
        out += c;
        out += next;
      }
      continue;
    }
    if (in_class && rest.starts_with("[:")) {
      if (const size_t end = rest.find(":]"); end != std::string_view::npos) {
        const std::string_view name = rest.substr(0, end + 2);
        if (name == "[:punct:]")
          out += "\\p{P}\\p{S}";
        else if (name == "[:word:]")
          out += kWordMembers;
        else
          out += name;
        i += end + 1;
        continue;
      }
    }
    if (c == '[' && !in_class)
      in_class = true;
    else if (c == ']' && in_class)
      in_class = false;
    out += c;
  }
  return out;
}

std::string ErrorText(int code) {
  PCRE2_UCHAR buffer[256];
  if (pcre2_get_error_message(code, buffer, sizeof(buffer)) < 0) return "error " + std::to_string(code);
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

struct RegexScratch::Impl {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr);
  ~Impl() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

RegexScratch::RegexScratch() : impl_(std::make_unique<Impl>()) {
  if (impl_->context == nullptr) return;  // Find reports it.
  pcre2_set_match_limit(impl_->context, kMaxRegexSteps);
  pcre2_set_depth_limit(impl_->context, kMaxRegexDepth);
  pcre2_set_heap_limit(impl_->context, kMaxRegexHeapKib);
  if (impl_->stack != nullptr) pcre2_jit_stack_assign(impl_->context, nullptr, impl_->stack);
}

RegexScratch::~RegexScratch() = default;

Result<Regex> Regex::Compile(std::string_view pattern) {
  const std::string translated = Translate(RewriteIntersections(FlattenClasses(pattern)));
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (code == nullptr) {
    const bool no_memory = error == PCRE2_ERROR_HEAP_FAILED;
    return Status(no_memory ? StatusCode::kOutOfMemory : StatusCode::kUnsupported,
                  "regular expression of the tokenizer: " + ErrorText(error) + "\n" + std::string(pattern) +
                      " (at byte " + std::to_string(offset) + " of its translation)");
  }
  // Without JIT (a system that forbids executable memory) pcre2_match interprets: slower, same result.
  (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  Regex regex;
  regex.code_ = std::shared_ptr<const void>(
      code, [](const void* p) { pcre2_code_free(static_cast<pcre2_code*>(const_cast<void*>(p))); });
  return regex;
}

Status Regex::Find(std::string_view text, size_t from, RegexScratch* scratch, Match* match) const {
  const RegexScratch::Impl& memory = *scratch->impl_;
  if (memory.data == nullptr || memory.context == nullptr) {
    return Status(StatusCode::kOutOfMemory, "no memory for matching a regular expression");
  }
  const int rc = pcre2_match(static_cast<const pcre2_code*>(code_.get()), reinterpret_cast<PCRE2_SPTR>(text.data()),
                             text.size(), from, PCRE2_NO_UTF_CHECK, memory.data, memory.context);
  match->found = false;
  if (rc == PCRE2_ERROR_NOMATCH) return Status();
  // 0: more groups than the match data has room for, which only wants the whole match.
  if (rc < 0) {
    return Status(rc == PCRE2_ERROR_NOMEMORY ? StatusCode::kOutOfMemory : StatusCode::kUnsupported,
                  "regular expression of the tokenizer: " + ErrorText(rc) + "\ntext of " + std::to_string(text.size()) +
                      " bytes, at byte " + std::to_string(from));
  }
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(memory.data);
  *match = Match{range[0], range[1], true};
  return Status();
}

}  // namespace prenorm
