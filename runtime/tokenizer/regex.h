// Regular expressions over valid UTF-8: PCRE2 with JIT, Unicode properties, and limits.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "prenorm/status.h"

namespace prenorm {

/// Memory of one matching thread: match data and a JIT stack on the heap, so that the caller's stack may be small.
class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;

 private:
  friend class Regex;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A compiled expression; immutable, shared between threads.
///
/// Dialect  Oniguruma's, for which Hugging Face files are written, as far as regex_dialect.h knows it; $ and ^ match at
///          lines. Other syntax is PCRE2's; ill-formed expressions are kUnsupported.
class Regex {
 public:
  static Result<Regex> Compile(std::string_view pattern);

  struct Match {
    size_t begin = 0;
    size_t end = 0;
    bool found = false;
  };

  /// The first match at or after `from`. kUnsupported where PCRE2 reaches its limits.
  Status Find(std::string_view text, size_t from, RegexScratch* scratch, Match* match) const;

 private:
  std::shared_ptr<const void> code_;
};

}  // namespace prenorm
