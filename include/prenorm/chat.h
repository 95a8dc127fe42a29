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
  std::string role;         ///< "system", "developer", "user", "assistant", "tool", "ipython" or "function".
  std::string content;      ///< Plain text: markers inside it never become control tokens.
  std::string fields = {};  ///< JSON object of further members that templates read (tool_calls, tool_call_id, name,
                            ///< reasoning_content), or empty. Null members are left out, as in transformers: also
                            ///< the content with {"content": null}.
};

/// What a template is told besides the messages.
struct ChatOptions {
  /// Ends where the assistant begins to speak; otherwise where the last message ends.
  bool add_generation_prompt = true;
  /// JSON object of template variables, or empty: {"tools": [...], "documents": [...], "enable_thinking": false}.
  /// All strings in it are data like a message's content.
  std::string arguments = {};
  /// Name of one of the model's templates (Model::chat_templates), or Jinja source. Empty: "tool_use" where the model
  /// has it and the arguments have tools, else "default", as transformers chooses.
  std::string chat_template = {};
};

struct ChatPrompt {
  std::string text;          ///< As rendered, for people.
  std::vector<TokenId> ids;  ///< Exactly one BOS where the model has one (case T14).
};

/// The Jinja source that RenderChat takes. Errors: kUnsupported where the model has none;
/// kInvalidArgument for a name that none has.
Result<std::string> ChooseChatTemplate(const Model& model, const ChatOptions& options = {});

/// Renders `messages` with the model's template, as transformers does.
///
/// System      where the template refuses a system message or drops it, its text precedes the text of the first user
///             message, with an empty line between (case T24).
/// Markers     only what the template itself writes, special tokens and the role's name can become control tokens.
/// Errors      kTemplate with line and column, and the template's own words, when it raises an error or breaks a limit;
///             kUnsupported when the model has no template, or one that needs what Prenorm does not have: nothing is
///             guessed; kInvalidArgument for no messages, other roles, or ill-formed JSON. The next call starts afresh.
/// Threads     any number at once.
Result<ChatPrompt> RenderChat(const Model& model, std::span<const ChatMessage> messages,
                              const ChatOptions& options = {});

}  // namespace prenorm
