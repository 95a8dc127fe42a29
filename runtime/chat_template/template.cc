// Compile and Render: where the engine's exceptions become statuses.
#include "runtime/chat_template/template.h"

#include <new>

#include "runtime/chat_template/input.h"
#include "runtime/chat_template/interpreter.h"
#include "runtime/chat_template/parser.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

Status StatusOf(const TemplateError& error, const Position& at) {
  const char* what = "The chat template is in error: ";
  switch (error.kind()) {
    case ErrorKind::kTemplate:
      break;
    case ErrorKind::kRaised:
      what = "The chat template refuses these messages: ";
      break;
    case ErrorKind::kUnsupported:
      what = "The chat template needs what Prenorm does not have: ";
      break;
    case ErrorKind::kLimit:
      what = "The chat template breaks a limit: ";
      break;
  }
  return Status(error.kind() == ErrorKind::kUnsupported ? StatusCode::kUnsupported : StatusCode::kTemplate,
                what + error.message() + "\nchat template: line " + std::to_string(at.line) + ", column " +
                    std::to_string(at.column));
}

Status OutOfMemory() {
  return Status(StatusCode::kOutOfMemory, "There is not enough memory to render the chat template.");
}

}  // namespace

struct Template::Impl {
  Limits limits;
  Body body;
};

Template::Template(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

std::string Rendering::Text() const {
  std::string text;
  for (const RenderedPart& part : parts) text += part.text;
  return text;
}

Result<Template> Template::Compile(std::string_view source, const Limits& limits) {
  try {
    if (source.size() > limits.template_bytes) {
      return StatusOf(
          TemplateError("it is longer than " + std::to_string(limits.template_bytes) + " bytes", ErrorKind::kLimit),
          Position());
    }
    auto impl = std::make_unique<Impl>();
    impl->limits = limits;
    impl->body = Parser(Tokenize(ReplaceInvalidUtf8(source)), limits).ParseTemplate();
    return Template(std::move(impl));
  } catch (const TemplateError& error) {
    return StatusOf(error, error.position().value_or(Position()));
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

Result<Rendering> Template::Render(const TemplateInput& input, RenderError* error) const {
  RenderError failure;
  Budget budget(impl_->limits);
  Position at;
  try {
    Result<Dict> variables = MakeVariables(budget, input);
    if (variables.ok()) {
      Interpreter interpreter(budget, input.now);
      for (const auto& [name, value] : variables->entries) interpreter.SetVariable(name.as_text()->bytes(), value);
      Rendering out;
      try {
        const chat_template::Text text = interpreter.Run(impl_->body);
        size_t begin = 0;
        for (const chat_template::Text::Run& run : text.runs()) {
          out.parts.push_back({text.bytes().substr(begin, run.end - begin), run.origin});
          begin = run.end;
        }
        return out;
      } catch (const TemplateError&) {
        at = interpreter.at();
        throw;
      }
    }
    failure.status = variables.status();
  } catch (const TemplateError& caught) {
    failure = {StatusOf(caught, at), caught.kind() == ErrorKind::kRaised};
  } catch (const std::bad_alloc&) {
    failure.status = OutOfMemory();
  }
  if (error != nullptr) *error = failure;
  return failure.status;
}

}  // namespace prenorm::chat_template
