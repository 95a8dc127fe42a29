// What stderr may look like: notes, colours, and whether a person is watching.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace prenorm::tools {

enum class Style { kError, kDim };

/// "auto", "always" or "never", as --color says; auto looks at NO_COLOR, CLICOLOR_FORCE, TERM and the terminal.
void SetColor(std::string_view when);

/// `text` in a style, or as it is where there are no colours.
std::string Styled(Style style, std::string_view text);

/// One line on stderr.
void Note(std::string_view text);
/// A part of one.
void NotePart(std::string_view text);

/// A line that the next one overwrites: progress, on a terminal only, cut to ProgressWidth(). Empty text clears it.
void Progress(std::string_view text);
/// Columns that such a line may take.
size_t ProgressWidth();

/// Columns of a line on stdout: what COLUMNS says, else what the terminal has, else 100; at most 120, for reading.
size_t LineWidth();

bool StderrIsTerminal();
bool StdinIsTerminal();
bool StdoutIsTerminal();

}  // namespace prenorm::tools
