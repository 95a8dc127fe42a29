// The ChatML family of chat templates, recognised by the shape of its Jinja source.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/chat.h"
#include "prenorm/tokenizer.h"

namespace prenorm {

/// What a template of this shape writes:
///
///   for each message: an optional default system text before the first one, if that is not a system message;
///                     then a fixed sequence of literals, the role and the content
///   at the end:       an optional literal with which the assistant begins
struct ChatMlTemplate {
  enum class PartKind { kLiteral, kRole, kContent };
  struct Part {
    PartKind kind;
    std::string text;  ///< Of a literal.
  };
  std::string default_system;     ///< Written before the first message unless that has the role "system".
  std::vector<Part> message;      ///< In order; holds the content once.
  std::string generation_prompt;  ///< Where the assistant begins to speak.
};

/// Reads a template; nothing if its shape is another one, however small the difference: a guess would change what the
/// model sees. White space follows Jinja with trim_blocks and lstrip_blocks, as in transformers.
std::optional<ChatMlTemplate> ParseChatMl(std::string_view source);

/// The rendered conversation in order. Markers count only in what the template wrote, never in what people wrote.
/// The segments point into `chat` and `messages`.
std::vector<TextSegment> ChatMlSegments(const ChatMlTemplate& chat, std::span<const ChatMessage> messages);

}  // namespace prenorm
