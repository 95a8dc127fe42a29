// The messages of a conversation: what was said, and how much of it the model is still told.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "prenorm/chat.h"
#include "prenorm/status.h"

namespace prenorm::tools {

class ChatHistory {
 public:
  /// What the model is told: the system message and all exchanges but the forgotten ones.
  std::vector<ChatMessage> Told() const;

  /// Empty text removes it.
  void SetSystem(const std::string& text);
  void AddQuestion(const std::string& text) { messages_.push_back({"user", text}); }
  /// `reasoning` is kept as the message's reasoning_content.
  void AddAnswer(const std::string& text, const std::string& reasoning);

  /// Takes the last question with its answer back and returns the question; nothing if there is none.
  std::optional<std::string> Undo();
  /// Leaves one more of the oldest exchanges out; false if only the newest question is left.
  bool Forget();
  /// Everything but the system message.
  void Clear();

  size_t exchanges() const;
  size_t forgotten() const { return forgotten_; }

  /// {"schema": 1, "messages": [{"role", "content", ...}]}, in one file. Errors: kIo.
  Status Save(const std::string& path) const;
  /// Replaces everything. Errors: kNotFound, kIo; kInvalidArgument for a file of another form; then
  /// nothing has changed.
  Status Load(const std::string& path);

 private:
  std::string system_;
  std::vector<ChatMessage> messages_;  // Without the system message.
  size_t forgotten_ = 0;               // Exchanges that the model is not told any more.
};

}  // namespace prenorm::tools
