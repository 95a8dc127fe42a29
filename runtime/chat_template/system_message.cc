// Where a system message goes when the template has no place for one.
#include "runtime/chat_template/system_message.h"

#include <algorithm>

namespace prenorm::chat_template {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool BeginsWithSystem(std::span<const ChatMessage> messages) {
  return messages.size() > 1 && messages[0].role == "system";
}

// Whether what a system message says never comes out. Templates may change it, so a plain word is tried too.
Result<bool> DropsSystem(const Template& chat, const TemplateInput& input, const Rendering& rendering) {
  const std::string_view system = Trimmed(input.messages[0].content);
  if (system.empty() || rendering.Text().find(system) != std::string::npos) return false;
  static constexpr std::string_view kProbe = "aardvark-zyzzyva";
  std::vector<ChatMessage> messages(input.messages.begin(), input.messages.end());
  messages[0].content = kProbe;
  TemplateInput probe = input;
  probe.messages = messages;
  const Result<Rendering> probed = chat.Render(probe);
  if (!probed.ok()) return probed.status();
  return probed->Text().find(kProbe) == std::string::npos;
}

// The system message's text before that of the first user message (case T24).
std::vector<ChatMessage> WithSystemInUser(std::span<const ChatMessage> messages) {
  std::vector<ChatMessage> merged(messages.begin() + 1, messages.end());
  const auto user = std::find_if(merged.begin(), merged.end(), [](const ChatMessage& m) { return m.role == "user"; });
  if (user != merged.end()) user->content = messages[0].content + "\n\n" + user->content;
  return merged;
}

bool HasUser(std::span<const ChatMessage> messages) {
  return std::any_of(messages.begin(), messages.end(), [](const ChatMessage& m) { return m.role == "user"; });
}

}  // namespace

Result<Rendering> RenderWithSystem(const Template& chat, TemplateInput input) {
  RenderError error;
  Result<Rendering> rendering = chat.Render(input, &error);
  if (!BeginsWithSystem(input.messages) || !HasUser(input.messages)) return rendering;
  if (rendering.ok()) {
    const Result<bool> drops = DropsSystem(chat, input, *rendering);
    if (!drops.ok()) return drops.status();
    if (!*drops) return rendering;
  } else if (!error.raised) {
    return rendering;
  }
  const std::vector<ChatMessage> merged = WithSystemInUser(input.messages);
  input.messages = merged;
  return chat.Render(input);
}

}  // namespace prenorm::chat_template
