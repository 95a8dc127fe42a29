// From Oniguruma's regular expressions, which Hugging Face files are written in, to PCRE2's.
#pragma once

#include <string>
#include <string_view>

#include "prenorm/status.h"

namespace prenorm {

/// An expression that means to PCRE2 (with UTF, UCP and MULTILINE) what `pattern` means to Oniguruma: classes by its
/// Unicode properties, classes inside of classes and their intersections, counted repetitions, options.
///
/// Errors: kUnsupported for a class or a repetition whose meaning is not known. What is ill-formed in both stays, and
/// PCRE2 reports it.
Result<std::string> ToPcre2(std::string_view pattern);

}  // namespace prenorm
