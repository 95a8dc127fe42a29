// PCRE2 behind Regex.
#include "runtime/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <new>

#include "runtime/limits.h"
#include "runtime/tokenizer/regex_dialect.h"

namespace prenorm {
namespace {

constexpr size_t kJitStackStart = size_t{32} << 10;
constexpr size_t kJitStackMax = size_t{64} << 20;

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
  size_t bytes = 0;         // That matches went over.
  size_t long_matches = 0;  // That took more than the usual steps.
  ~Impl() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

RegexScratch::RegexScratch() : impl_(std::make_unique<Impl>()) {
  if (impl_->context == nullptr) return;  // Find reports it.
  pcre2_set_depth_limit(impl_->context, kMaxRegexDepth);
  pcre2_set_heap_limit(impl_->context, kMaxRegexHeapKib);
  if (impl_->stack != nullptr) pcre2_jit_stack_assign(impl_->context, nullptr, impl_->stack);
}

RegexScratch::~RegexScratch() = default;

Result<Regex> Regex::Compile(std::string_view pattern) {
  const Result<std::string> translated = ToPcre2(pattern);
  if (!translated.ok()) return translated.status();
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated->data()), translated->size(),
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
  RegexScratch::Impl& memory = *scratch->impl_;
  if (memory.data == nullptr || memory.context == nullptr) {
    return Status(StatusCode::kOutOfMemory, "no memory for matching a regular expression");
  }
  const auto run = [&](uint32_t steps) {
    pcre2_set_match_limit(memory.context, steps);
    return pcre2_match(static_cast<const pcre2_code*>(code_.get()), reinterpret_cast<PCRE2_SPTR>(text.data()),
                       text.size(), from, PCRE2_NO_UTF_CHECK, memory.data, memory.context);
  };
  int rc = run(kUsualRegexSteps);
  // PCRE2 counts from every place of the text anew: with the larger number at each, a hostile expression would take
  // hours. Who needs it matches long runs of text.
  if (rc == PCRE2_ERROR_MATCHLIMIT && memory.long_matches < kLongRegexMatches + memory.bytes / kBytesOfLongMatch) {
    ++memory.long_matches;
    rc = run(kMaxRegexSteps);
  }
  match->found = false;
  if (rc == PCRE2_ERROR_NOMATCH) {
    memory.bytes += text.size() - from;
    return Status();
  }
  // 0: more groups than the match data has room for, which only wants the whole match.
  if (rc < 0) {
    return Status(rc == PCRE2_ERROR_NOMEMORY ? StatusCode::kOutOfMemory : StatusCode::kUnsupported,
                  "regular expression of the tokenizer: " + ErrorText(rc) + "\ntext of " + std::to_string(text.size()) +
                      " bytes, at byte " + std::to_string(from));
  }
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(memory.data);
  *match = Match{range[0], range[1], true};
  memory.bytes += range[1] - from;
  return Status();
}

}  // namespace prenorm
