// C++17 over prenorm.h, in headers only: owners of its handles, strings and vectors, errors as exceptions. A program
// that uses this needs the shared library and its C interface alone, and may be built by any compiler. What the
// functions do, and from which thread, stands in prenorm.h.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "prenorm/prenorm.h"

namespace prenorm::api {

/// What every function below throws. what() says what is wrong; where; what to do.
class Error : public std::runtime_error {
 public:
  Error(prenorm_status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  prenorm_status status() const noexcept { return status_; }  ///< PRENORM_E_...

 private:
  prenorm_status status_;
};

namespace internal {

struct Free {
  void operator()(prenorm_error* error) const { prenorm_error_free(error); }
  void operator()(prenorm_model* model) const { prenorm_model_free(model); }
  void operator()(prenorm_session* session) const { prenorm_session_free(session); }
  void operator()(prenorm_encoder* encoder) const { prenorm_encoder_free(encoder); }
  void operator()(prenorm_result* result) const { prenorm_result_free(result); }
  void operator()(prenorm_buffer* buffer) const { prenorm_buffer_free(buffer); }
};
template <class T>
using Owner = std::unique_ptr<T, Free>;

/// Calls function(arguments..., error) and throws what it reports.
template <class Function, class... Arguments>
void Check(Function function, Arguments... arguments) {
  const Owner<prenorm_error> error(prenorm_error_new());
  const prenorm_status status = function(arguments..., error.get());
  if (status == PRENORM_OK) return;
  throw Error(status, error ? prenorm_error_message(error.get()) : prenorm_status_name(status));
}

}  // namespace internal

/// Called while a model loads, with the share done; false cancels. May throw: the loading ends and throws the same.
using Progress = std::function<bool(float share)>;
/// Called with each piece of text and the token that caused it; false ends the answer. May throw: the call that runs
/// ends and throws the same.
using OnToken = std::function<bool(std::string_view text, int32_t token)>;

/// One message of a conversation.
struct Message {
  std::string role;
  std::string content;
  std::string fields = {};  ///< JSON object of further members, or empty.
};

/// As prenorm_generate_options, with the same defaults.
struct GenerateOptions {
  int64_t max_new_tokens = -1;
  uint64_t seed = 0;
  float temperature = 0.0f;
  float top_p = 1.0f;
  float min_p = 0.0f;
  float typical_p = 1.0f;
  int64_t top_k = 0;
  float repetition_penalty = 1.0f;
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  uint32_t no_repeat_ngram_size = 0;
  bool ignore_end_tokens = false;
  std::vector<std::string> stop = {};
  std::vector<std::pair<int32_t, float>> logit_bias = {};
};

/// As prenorm_result_info.
struct Generation {
  std::string text;
  std::vector<int32_t> tokens;
  int32_t finish_reason = PRENORM_FINISH_STOP;
  uint64_t prompt_tokens = 0;
  uint64_t prefill_ns = 0;
  uint64_t decode_ns = 0;
  uint64_t ttft_ns = 0;
};

namespace internal {

inline Generation TakeResult(prenorm_result* result) {
  const Owner<prenorm_result> owner(result);
  prenorm_result_info info = PRENORM_RESULT_INFO_INIT;
  Check(prenorm_result_get_info, result, &info);
  Generation generation;
  generation.text.assign(info.text, info.n_bytes);
  generation.tokens.assign(info.tokens, info.tokens + info.n_tokens);
  generation.finish_reason = info.finish_reason;
  generation.prompt_tokens = info.prompt_tokens;
  generation.prefill_ns = info.prefill_ns;
  generation.decode_ns = info.decode_ns;
  generation.ttft_ns = info.ttft_ns;
  return generation;
}

inline std::vector<prenorm_chat_message> Messages(const std::vector<Message>& messages) {
  std::vector<prenorm_chat_message> result;
  for (const Message& message : messages) {
    result.push_back({sizeof(prenorm_chat_message), 0, message.role.c_str(), message.content.c_str(),
                      message.fields.empty() ? nullptr : message.fields.c_str()});
  }
  return result;
}

inline prenorm_chat_options ChatOptions(const std::string& arguments) {
  prenorm_chat_options options = PRENORM_CHAT_OPTIONS_INIT;
  if (!arguments.empty()) options.arguments = arguments.c_str();
  return options;
}

/// A progress callback, and what it threw: no exception may pass through the C interface.
struct ProgressCall {
  const Progress& progress;
  std::exception_ptr thrown;

  static int32_t Report(void* user, float share) {
    auto* self = static_cast<ProgressCall*>(user);
    try {
      return self->progress(share) ? PRENORM_CONTINUE : PRENORM_STOP;
    } catch (...) {
      self->thrown = std::current_exception();
      return PRENORM_STOP;
    }
  }
};

/// The C form of options, and what its pointers refer to.
class GenerateCall {
 public:
  GenerateCall(const GenerateOptions& from, const OnToken& on_token) : on_token_(on_token) {
    for (const std::string& text : from.stop) stop_.push_back(text.c_str());
    for (const auto& [token, bias] : from.logit_bias) {
      bias_tokens_.push_back(token);
      bias_values_.push_back(bias);
    }
    options_.ignore_end_tokens = from.ignore_end_tokens ? 1 : 0;
    options_.max_new_tokens = from.max_new_tokens;
    options_.seed = from.seed;
    options_.temperature = from.temperature;
    options_.top_p = from.top_p;
    options_.min_p = from.min_p;
    options_.typical_p = from.typical_p;
    options_.top_k = from.top_k;
    options_.repetition_penalty = from.repetition_penalty;
    options_.presence_penalty = from.presence_penalty;
    options_.frequency_penalty = from.frequency_penalty;
    options_.no_repeat_ngram_size = from.no_repeat_ngram_size;
    options_.stop = stop_.data();
    options_.n_stop = stop_.size();
    options_.bias_tokens = bias_tokens_.data();
    options_.bias_values = bias_values_.data();
    options_.n_bias = bias_tokens_.size();
    if (!on_token) return;
    options_.on_token = &GenerateCall::HandOut;
    options_.on_token_user = this;
  }
  GenerateCall(const GenerateCall&) = delete;
  GenerateCall& operator=(const GenerateCall&) = delete;

  const prenorm_generate_options* options() const { return &options_; }
  void Rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  static int32_t HandOut(void* user, const char* text, size_t bytes, int32_t token) {
    auto* self = static_cast<GenerateCall*>(user);
    try {
      return self->on_token_(std::string_view(text, bytes), token) ? PRENORM_CONTINUE : PRENORM_STOP;
    } catch (...) {  // No exception may pass through the C interface.
      self->thrown_ = std::current_exception();
      return PRENORM_STOP;
    }
  }

  const OnToken& on_token_;
  std::vector<const char*> stop_;
  std::vector<int32_t> bias_tokens_;
  std::vector<float> bias_values_;
  std::exception_ptr thrown_;
  prenorm_generate_options options_ = PRENORM_GENERATE_OPTIONS_INIT;
};

}  // namespace internal

/// A model. Movable; sessions outlive it safely.
class Model {
 public:
  /// `prepared_folder`: of weights that processes share, see prenorm_model_options; empty: none.
  static Model Load(const std::string& path, const Progress& progress = {}, const std::string& prepared_folder = {}) {
    return Model(progress, prepared_folder, [&](const prenorm_model_options* options, prenorm_model** model) {
      internal::Check(prenorm_model_load, path.c_str(), options, model);
    });
  }
  static Model LoadMemory(const void* bytes, size_t n_bytes, const Progress& progress = {}) {
    return Model(progress, {}, [&](const prenorm_model_options* options, prenorm_model** model) {
      internal::Check(prenorm_model_load_memory, bytes, n_bytes, options, model);
    });
  }

  prenorm_model_info info() const {
    prenorm_model_info info = PRENORM_MODEL_INFO_INIT;
    internal::Check(prenorm_model_get_info, get(), &info);
    return info;
  }
  /// `which`: PRENORM_MODEL_ARCHITECTURE, ...
  std::string text(int32_t which) const {
    const char* text = nullptr;
    internal::Check(prenorm_model_get_text, get(), which, &text);
    return text;
  }

  /// `flags`: PRENORM_ADD_SPECIAL, PRENORM_PARSE_SPECIAL.
  std::vector<int32_t> Tokenize(std::string_view text, uint32_t flags = PRENORM_ADD_SPECIAL) const {
    std::vector<int32_t> tokens(text.size() + 8);  // Enough for nearly all; the library says how many otherwise.
    size_t count = 0;
    const prenorm_status status =
        prenorm_tokenize(get(), text.data(), text.size(), flags, tokens.data(), tokens.size(), &count, nullptr);
    if (status != PRENORM_OK) {
      tokens.resize(count);
      internal::Check(prenorm_tokenize, get(), text.data(), text.size(), flags, tokens.data(), tokens.size(), &count);
    }
    tokens.resize(count);
    return tokens;
  }
  /// `flags`: PRENORM_WITH_SPECIAL.
  std::string Detokenize(const std::vector<int32_t>& tokens, uint32_t flags = 0) const {
    size_t bytes = 0;
    internal::Check(prenorm_detokenize, get(), tokens.data(), tokens.size(), flags, nullptr, size_t{0}, &bytes);
    std::string text(bytes, '\0');
    internal::Check(prenorm_detokenize, get(), tokens.data(), tokens.size(), flags, text.data(), bytes + 1, &bytes);
    return text;
  }
  /// The prompt of a conversation, in `text` and `tokens`. `arguments`: JSON object of template variables, or empty.
  Generation RenderChat(const std::vector<Message>& messages, const std::string& arguments = {}) const {
    const std::vector<prenorm_chat_message> c_messages = internal::Messages(messages);
    const prenorm_chat_options options = internal::ChatOptions(arguments);
    prenorm_result* result = nullptr;
    internal::Check(prenorm_render_chat, get(), c_messages.data(), c_messages.size(), &options, &result);
    return internal::TakeResult(result);
  }

  const prenorm_model* get() const { return model_.get(); }

 private:
  template <class Load>
  Model(const Progress& progress, const std::string& prepared_folder, const Load& load) {
    internal::ProgressCall call{progress, nullptr};
    prenorm_model_options options = PRENORM_MODEL_OPTIONS_INIT;
    if (!prepared_folder.empty()) options.prepared_folder = prepared_folder.c_str();
    if (progress) {
      options.progress_user = &call;
      options.progress = &internal::ProgressCall::Report;
    }
    prenorm_model* model = nullptr;
    try {
      load(&options, &model);
    } catch (const Error&) {
      if (call.thrown) std::rethrow_exception(call.thrown);
      throw;
    }
    model_.reset(model);
  }

  internal::Owner<prenorm_model> model_;
};

/// One sequence of tokens. Movable; one thread at a time, but Cancel from any.
class Session {
 public:
  explicit Session(const Model& model, const prenorm_session_options& options = PRENORM_SESSION_OPTIONS_INIT) {
    prenorm_session* session = nullptr;
    internal::Check(prenorm_session_new, model.get(), &options, &session);
    session_.reset(session);
  }

  void Eval(const std::vector<int32_t>& tokens) {
    internal::Check(prenorm_session_eval, get(), tokens.data(), tokens.size());
  }
  std::vector<float> Logits() const { return Values(prenorm_session_logits); }
  std::vector<float> Logprobs() const { return Values(prenorm_session_logprobs); }
  prenorm_session_info info() const {
    prenorm_session_info info = PRENORM_SESSION_INFO_INIT;
    internal::Check(prenorm_session_get_info, get(), &info);
    return info;
  }
  void Rewind(uint64_t position) { internal::Check(prenorm_session_rewind, get(), position); }
  /// Becomes the first `position` tokens of `other`.
  void ForkFrom(const Session& other, uint64_t position) {
    internal::Check(prenorm_session_fork, get(), other.get(), position);
  }
  std::vector<unsigned char> Save() const {
    prenorm_buffer* buffer = nullptr;
    internal::Check(prenorm_session_save, get(), &buffer);
    const internal::Owner<prenorm_buffer> owner(buffer);
    const void* bytes = nullptr;
    size_t n_bytes = 0;
    internal::Check(prenorm_buffer_get, buffer, &bytes, &n_bytes);
    const auto* begin = static_cast<const unsigned char*>(bytes);
    return {begin, begin + n_bytes};
  }
  void Restore(const std::vector<unsigned char>& bytes) {
    internal::Check(prenorm_session_restore, get(), bytes.data(), bytes.size());
  }
  void SaveFile(const std::string& path) const { internal::Check(prenorm_session_save_file, get(), path.c_str()); }
  void RestoreFile(const std::string& path) { internal::Check(prenorm_session_restore_file, get(), path.c_str()); }
  void Cancel() noexcept { prenorm_session_cancel(get()); }

  Generation Generate(const std::vector<int32_t>& prompt, const GenerateOptions& options = {},
                      const OnToken& on_token = {}) {
    internal::GenerateCall call(options, on_token);
    prenorm_result* result = nullptr;
    internal::Check(prenorm_generate, get(), prompt.data(), prompt.size(), call.options(), &result);
    Generation generation = internal::TakeResult(result);
    call.Rethrow();
    return generation;
  }
  /// `messages`: the whole conversation. `arguments`: JSON object of template variables, or empty.
  Generation Chat(const std::vector<Message>& messages, const GenerateOptions& options = {},
                  const OnToken& on_token = {}, const std::string& arguments = {}) {
    internal::GenerateCall call(options, on_token);
    const std::vector<prenorm_chat_message> c_messages = internal::Messages(messages);
    const prenorm_chat_options chat_options = internal::ChatOptions(arguments);
    prenorm_result* result = nullptr;
    internal::Check(prenorm_chat, get(), c_messages.data(), c_messages.size(), &chat_options, call.options(), &result);
    Generation generation = internal::TakeResult(result);
    call.Rethrow();
    return generation;
  }

  prenorm_session* get() const { return session_.get(); }

 private:
  template <class Function>
  std::vector<float> Values(Function function) const {
    size_t count = 0;
    internal::Check(function, get(), static_cast<float*>(nullptr), size_t{0}, &count);
    std::vector<float> values(count);
    internal::Check(function, get(), values.data(), values.size(), &count);
    return values;
  }

  internal::Owner<prenorm_session> session_;
};

/// Texts to vectors. Movable; one thread at a time, but Cancel from any.
class Encoder {
 public:
  explicit Encoder(const Model& model, const prenorm_encoder_options& options = PRENORM_ENCODER_OPTIONS_INIT) {
    prenorm_encoder* encoder = nullptr;
    internal::Check(prenorm_encoder_new, model.get(), &options, &encoder);
    encoder_.reset(encoder);
  }

  prenorm_encoder_info info() const {
    prenorm_encoder_info info = PRENORM_ENCODER_INFO_INIT;
    internal::Check(prenorm_encoder_get_info, get(), &info);
    return info;
  }
  /// [texts.size(), info().dim], one row a text.
  std::vector<float> Embed(const std::vector<std::string>& texts) {
    std::vector<const char*> begins;
    std::vector<size_t> sizes;
    for (const std::string& text : texts) {
      begins.push_back(text.data());
      sizes.push_back(text.size());
    }
    std::vector<float> vectors(texts.size() * info().dim);
    internal::Check(prenorm_encoder_embed, get(), begins.data(), sizes.data(), texts.size(), vectors.data(),
                    vectors.size());
    return vectors;
  }
  void Cancel() noexcept { prenorm_encoder_cancel(get()); }

  prenorm_encoder* get() const { return encoder_.get(); }

 private:
  internal::Owner<prenorm_encoder> encoder_;
};

}  // namespace prenorm::api
