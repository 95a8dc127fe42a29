// The one exception inside the engine. Evaluation nests deeply, and an error anywhere ends it; Compile and Render turn
// it into a Status, so that none leaves the folder.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace prenorm::chat_template {

/// A place in the source, both from 1; columns count characters.
struct Position {
  size_t line = 1;
  size_t column = 1;
};

enum class ErrorKind {
  kTemplate,     ///< The template is wrong, or wrong for these messages.
  kRaised,       ///< The template itself called raise_exception.
  kUnsupported,  ///< A construct of Jinja that this engine does not have.
  kLimit,        ///< See limits.h.
};

class TemplateError : public std::exception {
 public:
  explicit TemplateError(std::string message, ErrorKind kind = ErrorKind::kTemplate,
                         std::optional<Position> position = std::nullopt)
      : message_(std::move(message)), kind_(kind), position_(position) {}

  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& message() const { return message_; }
  ErrorKind kind() const { return kind_; }
  /// Nothing where only the evaluator knows where it was.
  const std::optional<Position>& position() const { return position_; }

 private:
  std::string message_;
  ErrorKind kind_;
  std::optional<Position> position_;
};

}  // namespace prenorm::chat_template
