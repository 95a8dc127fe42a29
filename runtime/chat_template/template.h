// Chat templates: Jinja source compiled once, rendered as transformers does.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/chat.h"
#include "prenorm/status.h"
#include "runtime/limits.h"
#include "runtime/chat_template/text.h"

namespace prenorm::chat_template {

/// What a template sees.
struct TemplateInput {
  std::span<const ChatMessage> messages;
  bool add_generation_prompt = true;
  /// Texts of the special tokens; undefined for the template where the model has none.
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;
  /// JSON object of further variables, or empty; null stands for `none`. `tools` and `documents` are none if not given.
  std::string_view arguments;
  /// Local time, for strftime_now.
  std::tm now{};
};

/// A part of the rendered text that the template wrote (its markers count), or that came with the caller's data.
struct RenderedPart {
  std::string text;
  Origin origin;
};

struct Rendering {
  std::vector<RenderedPart> parts;  ///< Neighbours differ in origin; none is empty.
  std::string Text() const;
};

/// What went wrong, and whether the template itself said so by raise_exception.
struct RenderError {
  Status status;
  bool raised = false;
};

/// An immutable template: any number of threads may render it.
///
/// The language is Jinja 2 as transformers sets it up: sandboxed and immutable, trim_blocks, lstrip_blocks, loop
/// controls, `raise_exception`, `strftime_now`, `tojson` without HTML escapes, {% generation %} without effect. Refused
/// by name when compiled: include, import, extends, do, debug, autoescape, trans, and every filter, test or method that
/// the tables of this folder do not list.
class Template {
 public:
  /// Errors: kUnsupported for a construct that Prenorm does not have; kTemplate for a template that breaks Jinja's
  /// grammar or a limit. The message gives line and column.
  static Result<Template> Compile(std::string_view source, const Limits& limits = {});
  ~Template();
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;

  /// Errors: kTemplate with line and column where the template raises an error or breaks a limit; kUnsupported;
  /// kOutOfMemory; kInvalidArgument for arguments that are no JSON object. `error`, if not null, then tells more.
  Result<Rendering> Render(const TemplateInput& input, RenderError* error = nullptr) const;

 private:
  struct Impl;
  explicit Template(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Whether templates may make markers of this role's name, as "<|" + role + "|>": it is one of a fixed
/// list, not free text.
bool IsKnownRole(std::string_view role);

}  // namespace prenorm::chat_template
