// Conversations in the C interface.
#include "prenorm/chat.h"

#include "runtime/c_api/handles.h"
#include "runtime/limits.h"

namespace prenorm::c_api {
namespace {

Outcome MessagesOf(const char* function, const prenorm_chat_message* messages, size_t n_messages,
                   std::vector<ChatMessage>& result) {
  if (messages == nullptr) return IsNull(function, "messages");
  if (n_messages == 0 || n_messages > kMaxMessages) {
    return Invalid(std::string(function) + ": expected 1 to " + std::to_string(kMaxMessages) + " messages, found " +
                   std::to_string(n_messages));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(messages);
  for (size_t i = 0; i < n_messages; ++i) {
    const auto* from = reinterpret_cast<const prenorm_chat_message*>(bytes + i * messages->size);
    const std::string where = std::string(function) + ": message " + std::to_string(i);
    prenorm_chat_message message = PRENORM_CHAT_MESSAGE_INIT(nullptr, nullptr);
    if (Outcome outcome = ReadStruct(where.c_str(), from, message); !outcome.ok()) return outcome;
    if (from->size != messages->size) return Invalid(where + " has another size than the first");
    if (message.role == nullptr || message.content == nullptr) return IsNull(where.c_str(), "role or content");
    result.push_back({message.role, message.content, message.fields == nullptr ? "" : message.fields});
  }
  return {};
}

}  // namespace

Outcome Render(const char* function, const Model& model, const prenorm_chat_message* messages, size_t n_messages,
               const prenorm_chat_options* options, GenerateResult& rendered) {
  prenorm_chat_options c_options = PRENORM_CHAT_OPTIONS_INIT;
  if (Outcome outcome = ReadStruct("prenorm_chat_options", options, c_options); !outcome.ok()) return outcome;
  std::vector<ChatMessage> chat;
  if (Outcome outcome = MessagesOf(function, messages, n_messages, chat); !outcome.ok()) return outcome;
  ChatOptions chat_options;
  chat_options.add_generation_prompt = c_options.no_generation_prompt == 0;
  if (c_options.arguments != nullptr) chat_options.arguments = c_options.arguments;
  Result<ChatPrompt> prompt = RenderChat(model, chat, chat_options);
  if (!prompt.ok()) return prompt.status();
  rendered.text = std::move(prompt->text);
  rendered.ids = std::move(prompt->ids);
  rendered.prompt_tokens = rendered.ids.size();
  return {};
}

}  // namespace prenorm::c_api

using namespace prenorm::c_api;  // NOLINT(google-build-using-namespace): the functions below have C names.

prenorm_status prenorm_render_chat(const prenorm_model* model, const prenorm_chat_message* messages, size_t n_messages,
                                   const prenorm_chat_options* options, prenorm_result** result, prenorm_error* error) {
  return Call(error, [&]() -> Outcome {
    if (Outcome outcome = CheckModel("prenorm_render_chat", model); !outcome.ok()) return outcome;
    if (result == nullptr) return IsNull("prenorm_render_chat", "result");
    auto handle = std::make_unique<prenorm_result>();
    Outcome outcome = Render("prenorm_render_chat", *model->model, messages, n_messages, options, handle->result);
    if (outcome.ok()) *result = handle.release();
    return outcome;
  });
}

prenorm_status prenorm_chat(prenorm_session* session, const prenorm_chat_message* messages, size_t n_messages,
                            const prenorm_chat_options* chat_options, const prenorm_generate_options* options,
                            prenorm_result** result, prenorm_error* error) {
  return LeasedCall("prenorm_chat", session, error, [&]() -> Outcome {
    prenorm::GenerateResult prompt;
    Outcome outcome = Render("prenorm_chat", session->session->model(), messages, n_messages, chat_options, prompt);
    return outcome.ok() ? RunGeneration(session, prompt.ids, true, options, result) : outcome;
  });
}
