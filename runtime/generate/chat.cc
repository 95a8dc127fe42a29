// RenderChat: messages through the model's template into text and ids.
#include "prenorm/chat.h"

#include <ctime>
#include <string>

#include <simdjson.h>

#include "runtime/loader/json_numbers.h"
#include "runtime/chat_template/system_message.h"
#include "runtime/chat_template/template.h"

namespace prenorm {
namespace {

using chat_template::IsKnownRole;
using chat_template::Rendering;
using chat_template::Template;
using chat_template::TemplateInput;

Status CheckMessages(std::span<const ChatMessage> messages) {
  if (messages.empty()) {
    return Status(StatusCode::kInvalidArgument,
                  "There is no message to render.\nmessages: expected at least 1, found 0\nGive one.");
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    if (IsKnownRole(role)) continue;
    return Status(StatusCode::kInvalidArgument,
                  "A message has an unknown role.\nmessage " + std::to_string(i + 1) +
                      ": expected system, developer, user, assistant, tool, ipython or function, found \"" + role +
                      "\"\nUse one of them.");
  }
  return Status();
}

const ChatTemplate* Named(const Model& model, std::string_view name) {
  for (const ChatTemplate& each : model.chat_templates()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

bool HasTools(const std::string& arguments) {
  simdjson::dom::parser parser;
  simdjson::dom::element parsed, tools;
  return parser.parse(WithLongIntegersAsFloats(arguments)).get(parsed) == simdjson::SUCCESS &&
         parsed["tools"].get(tools) == simdjson::SUCCESS && !tools.is_null();
}

std::tm LocalTime() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return local;
}

}  // namespace

Result<std::string> ChooseChatTemplate(const Model& model, const ChatOptions& options) {
  std::string_view name = options.chat_template;
  if (name.find('{') != std::string_view::npos) return std::string(name);
  if (name.empty() && Named(model, "tool_use") != nullptr && HasTools(options.arguments)) name = "tool_use";
  if (name.empty()) name = "default";
  if (const ChatTemplate* found = Named(model, name)) return found->source;
  std::string names;
  for (const ChatTemplate& each : model.chat_templates()) names.append(names.empty() ? "" : ", ").append(each.name);
  if (!names.empty()) {
    return Status(StatusCode::kInvalidArgument, "The model has no chat template of that name.\ntemplates: expected " +
                                                    names + ", found \"" + std::string(name) +
                                                    "\"\nName one of them: prenorm chat MODEL --chat-template NAME");
  }
  return Status(StatusCode::kUnsupported,
                "The model has no chat template.\n"
                "tokenizer.chat_template: expected Jinja source, found nothing\n"
                "Continue raw text instead: prenorm generate MODEL -p TEXT");
}

Result<ChatPrompt> RenderChat(const Model& model, std::span<const ChatMessage> messages, const ChatOptions& options) {
  if (Status status = CheckMessages(messages); !status.ok()) return status;
  const Result<std::string> source = ChooseChatTemplate(model, options);
  if (!source.ok()) return source.status();
  const Result<Template> chat = Template::Compile(*source);
  if (!chat.ok()) {
    return Status(chat.status().code(),
                  chat.status().message() + "\nWrite the prompt out instead: prenorm generate MODEL --special -p TEXT");
  }
  const Tokenizer& tokenizer = model.tokenizer();
  TemplateInput input;
  input.messages = messages;
  input.add_generation_prompt = options.add_generation_prompt;
  input.arguments = options.arguments;
  if (tokenizer.bos() >= 0) input.bos_token = std::string(tokenizer.TokenText(tokenizer.bos()));
  if (tokenizer.eos() >= 0) input.eos_token = std::string(tokenizer.TokenText(tokenizer.eos()));
  input.now = LocalTime();
  const Result<Rendering> rendering = chat_template::RenderWithSystem(*chat, input);
  if (!rendering.ok()) return rendering.status();

  ChatPrompt prompt;
  prompt.text = rendering->Text();
  std::vector<TextSegment> segments;
  for (const auto& part : rendering->parts)
    segments.push_back({part.text, part.origin == chat_template::Origin::kTemplate});
  // Not add_special: some models would also end the text, and here the assistant is about to speak.
  Result<std::vector<TokenId>> ids = tokenizer.EncodeSegments(segments);
  if (!ids.ok()) return ids.status();
  prompt.ids = std::move(ids).value();
  if (tokenizer.adds_bos() && (prompt.ids.empty() || prompt.ids[0] != tokenizer.bos())) {
    prompt.ids.insert(prompt.ids.begin(), tokenizer.bos());
  }
  return prompt;
}

}  // namespace prenorm
