// An exchange is a question and what follows it up to the next question.
#include "tools/common/chat_history.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tools/common/prompt.h"

namespace prenorm::tools {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const ChatMessage& message) {
  Json json = {{"role", message.role}, {"content", message.content}};
  if (!message.fields.empty()) json.update(Json::parse(message.fields));
  return json;
}

std::optional<ChatMessage> FromJson(Json json) {
  if (!json.is_object() || !json.contains("role") || !json["role"].is_string() || !json.contains("content") ||
      !json["content"].is_string()) {
    return std::nullopt;
  }
  ChatMessage message{json["role"], json["content"]};
  json.erase("role");
  json.erase("content");
  if (!json.empty()) message.fields = json.dump();
  return message;
}

}  // namespace

std::vector<ChatMessage> ChatHistory::Told() const {
  std::vector<ChatMessage> told;
  if (!system_.empty()) told.push_back({"system", system_});
  size_t exchange = 0;
  for (const ChatMessage& message : messages_) {
    exchange += message.role == "user" ? 1 : 0;
    if (exchange > forgotten_) told.push_back(message);
  }
  return told;
}

void ChatHistory::SetSystem(const std::string& text) { system_ = text; }

void ChatHistory::AddAnswer(const std::string& text, const std::string& reasoning) {
  messages_.push_back({"assistant", text});
  if (!reasoning.empty()) messages_.back().fields = Json({{"reasoning_content", reasoning}}).dump();
}

std::optional<std::string> ChatHistory::Undo() {
  const auto last =
      std::find_if(messages_.rbegin(), messages_.rend(), [](const ChatMessage& m) { return m.role == "user"; });
  if (last == messages_.rend()) return std::nullopt;
  std::string question = last->content;
  messages_.erase(std::prev(last.base()), messages_.end());
  forgotten_ = std::min(forgotten_, exchanges());
  return question;
}

bool ChatHistory::Forget() {
  if (forgotten_ + 1 >= exchanges()) return false;
  ++forgotten_;
  return true;
}

void ChatHistory::Clear() {
  messages_.clear();
  forgotten_ = 0;
}

size_t ChatHistory::exchanges() const {
  return static_cast<size_t>(
      std::count_if(messages_.begin(), messages_.end(), [](const ChatMessage& m) { return m.role == "user"; }));
}

Status ChatHistory::Save(const std::string& path) const {
  Json json = {{"schema", 1}, {"messages", Json::array()}};
  if (!system_.empty()) json["messages"].push_back({{"role", "system"}, {"content", system_}});
  for (const ChatMessage& message : messages_) json["messages"].push_back(ToJson(message));
  return WriteFile(path, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

Status ChatHistory::Load(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  const Json json = Json::parse(*text, nullptr, false);
  const Status odd(StatusCode::kInvalidArgument,
                   "The file holds no conversation.\n" + path +
                       ": expected {\"messages\": [{\"role\", \"content\"}]} that begins with a question\n"
                       "Give one that /save has written.");
  if (!json.is_object() || !json.contains("messages") || !json["messages"].is_array()) return odd;
  ChatHistory loaded;
  for (const Json& entry : json["messages"]) {
    std::optional<ChatMessage> message = FromJson(entry);
    if (!message) return odd;
    if (message->role == "system" && loaded.messages_.empty()) {
      loaded.system_ = message->content;
    } else if (loaded.messages_.empty() && message->role != "user") {
      return odd;
    } else {
      loaded.messages_.push_back(std::move(*message));
    }
  }
  *this = std::move(loaded);
  return {};
}

}  // namespace prenorm::tools
