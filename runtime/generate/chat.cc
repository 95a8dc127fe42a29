// RenderChat: messages through the model's template into text and ids.
#include "prenorm/chat.h"

#include <optional>

#include "runtime/generate/chatml.h"

namespace prenorm {
namespace {

Status CheckMessages(std::span<const ChatMessage> messages) {
  if (messages.empty()) {
    return Status(StatusCode::kInvalidArgument, "There is no message to render.\nmessages: expected at least 1, found 0\nGive one.");
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    if (role == "system" || role == "user" || role == "assistant") continue;
    return Status(StatusCode::kInvalidArgument, "A message has an unknown role.\nmessage " + std::to_string(i + 1) +
                                                    ": expected system, user or assistant, found \"" + role +
                                                    "\"\nUse one of the three.");
  }
  return Status();
}

}  // namespace

Result<ChatPrompt> RenderChat(const Model& model, std::span<const ChatMessage> messages) {
  if (Status status = CheckMessages(messages); !status.ok()) return status;
  if (model.chat_template().empty()) {
    return Status(StatusCode::kUnsupported,
                  "The model has no chat template.\n"
                  "tokenizer.chat_template: expected Jinja source, found nothing\n"
                  "Continue raw text instead: prenorm generate MODEL -p TEXT");
  }
  const std::optional<ChatMlTemplate> chat = ParseChatMl(model.chat_template());
  if (!chat) {
    return Status(StatusCode::kUnsupported,
                  "The model's chat template is of a kind that Prenorm cannot render.\n"
                  "tokenizer.chat_template: expected the ChatML shape (markers around role and content, as in SmolLM2)\n"
                  "Write the prompt out instead: prenorm generate MODEL --special -p TEXT");
  }

  const std::vector<TextSegment> segments = ChatMlSegments(*chat, messages);
  ChatPrompt prompt;
  for (const TextSegment& segment : segments) prompt.text += segment.text;
  // Not add_special: some models would also end the text, and here the assistant is about to speak.
  const Tokenizer& tokenizer = model.tokenizer();
  Result<std::vector<TokenId>> ids = tokenizer.EncodeSegments(segments);
  if (!ids.ok()) return ids.status();
  prompt.ids = std::move(ids).value();
  if (tokenizer.adds_bos() && (prompt.ids.empty() || prompt.ids[0] != tokenizer.bos())) {
    prompt.ids.insert(prompt.ids.begin(), tokenizer.bos());
  }
  return prompt;
}

}  // namespace prenorm
