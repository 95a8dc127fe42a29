// Chat prompts: messages rendered by the model's own template into ids.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "prenorm/model.h"
#include "prenorm/status.h"
#include "prenorm/tokenizer.h"

namespace prenorm {

struct ChatMessage {
  std::string role;     ///< "system", "user" or "assistant".
  std::string content;  ///< Plain text: markers inside it never become control tokens.
};

struct ChatPrompt {
  std::string text;          ///< As rendered, for people.
  std::vector<TokenId> ids;  ///< Exactly one BOS where the model has one (case T14).
};

/// Renders `messages` with the model's template, ending where the assistant begins to speak.
/// Errors: kTemplate with line and column when the template raises an error; kUnsupported when the model has no template
/// or one that Prenorm cannot render: nothing is guessed.
Result<ChatPrompt> RenderChat(const Model& model, std::span<const ChatMessage> messages);

}  // namespace prenorm
