// Where the text of a command comes from: argument, file, standard input.
#pragma once

#include <optional>
#include <string>

#include "prenorm/status.h"
#include "tools/common/options.h"

namespace prenorm::tools {

/// The text that the options and standard input make together; nothing when none was given at all (a
/// terminal as input).
///
/// --file is taken byte for byte, "-" being standard input. --prompt stays as typed, unless --escape is given. Piped
/// input is the text, byte for byte, or stands before --prompt with one newline between. Input that is empty or closed
/// adds nothing.
/// Errors: kInvalidArgument for both --file and --prompt; kNotFound, kIo.
Result<std::optional<std::string>> ReadPrompt(const Options& options);

/// Whether MODEL is neither there nor in the catalog: it may be a text whose -p was forgotten.
bool IsNoModel(const Options& options);

/// kInvalidArgument where a text is missing. `what` it is, `inputs` where it may come from; the advice is `with_text`
/// before MODEL in quotation marks where that is no model, else `example`.
Status MissingText(const Options& options, const std::string& what, const std::string& inputs,
                   const std::string& with_text, const std::string& example);

/// All bytes of a file. Errors: kNotFound, kIo.
Result<std::string> ReadFile(const std::string& path);

/// Writes a whole file, as OutputFile does. Errors: kIo.
Status WriteFile(const std::string& path, const std::string& content);

/// Turns backslash sequences into the characters they stand for; others stay as they are.
std::string Unescape(const std::string& text);

}  // namespace prenorm::tools
