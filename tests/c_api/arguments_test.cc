// Case R21: null, empty, wrong and oversized arguments of every function of prenorm.h give a status and a message.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <regex>
#include <set>
#include <sstream>

#include "tests/c_api/c_helpers.h"

namespace prenorm::c_test {
namespace {

constexpr size_t kHuge = std::numeric_limits<size_t>::max();

struct BadCall {
  const char* function;
  const char* what;
  std::function<prenorm_status(prenorm_error*)> call;
  prenorm_status expected = PRENORM_E_INVALID_ARGUMENT;
};

class ArgumentsTest : public CTest {
 protected:
  void SetUp() override {
    CTest::SetUp();
    prenorm_encoder* encoder = nullptr;
    ASSERT_EQ(prenorm_encoder_new(model_.get(), nullptr, &encoder, error()), PRENORM_OK) << message();
    encoder_.reset(encoder);
    wrong_model_ = reinterpret_cast<prenorm_model*>(session_.get());
    wrong_session_ = reinterpret_cast<prenorm_session*>(model_.get());
    wrong_result_ = reinterpret_cast<prenorm_result*>(model_.get());
  }

  // Options whose last byte of a later age is set.
  template <class T>
  static T* FromTheFuture(T init) {
    alignas(8) static unsigned char bytes[4096];
    std::memset(bytes, 0, sizeof(bytes));
    init.size = sizeof(T) + 8;
    std::memcpy(bytes, &init, sizeof(T));
    bytes[sizeof(T) + 7] = 1;
    return reinterpret_cast<T*>(bytes);
  }

  std::vector<BadCall> ModelCalls();
  std::vector<BadCall> TokenCalls();
  std::vector<BadCall> SessionCalls();
  std::vector<BadCall> StateCalls();
  std::vector<BadCall> GenerateCalls();
  std::vector<BadCall> ChatCalls();
  std::vector<BadCall> EncoderCalls();
  std::vector<BadCall> AllCalls() {
    std::vector<BadCall> all;
    for (const auto& calls :
         {ModelCalls(), TokenCalls(), SessionCalls(), StateCalls(), GenerateCalls(), ChatCalls(), EncoderCalls()}) {
      all.insert(all.end(), calls.begin(), calls.end());
    }
    return all;
  }

  prenorm_status Generate(void (*change)(prenorm_generate_options&), prenorm_error* e) {
    prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
    change(options);
    const int32_t token = 1;
    return prenorm_generate(session_.get(), &token, 1, &options, nullptr, e);
  }
  prenorm_status NewSession(void (*change)(prenorm_session_options&), prenorm_error* e) {
    prenorm_session_options options = PRENORM_SESSION_OPTIONS_INIT;
    change(options);
    return prenorm_session_new(model_.get(), &options, &made_session_, e);
  }

  prenorm_model* wrong_model_ = nullptr;
  prenorm_session* wrong_session_ = nullptr;
  prenorm_result* wrong_result_ = nullptr;
  prenorm_model* made_model_ = nullptr;
  prenorm_session* made_session_ = nullptr;
  prenorm_result* made_result_ = nullptr;
  prenorm_encoder* made_encoder_ = nullptr;
  Encoder encoder_;
  prenorm_buffer* made_buffer_ = nullptr;
  const void* bytes_ = nullptr;
  const char* text_ = nullptr;
  size_t count_ = 0;
};

std::vector<BadCall> ArgumentsTest::ModelCalls() {
  const std::string path = TinyModelPath();
  static const char kText[] = "this is no model, but it has more than eight bytes";
  return {
      {"prenorm_model_load", "null path",
       [&](auto* e) { return prenorm_model_load(nullptr, nullptr, &made_model_, e); }},
      {"prenorm_model_load", "empty path", [&](auto* e) { return prenorm_model_load("", nullptr, &made_model_, e); }},
      {"prenorm_model_load", "null model",
       [=](auto* e) { return prenorm_model_load(path.c_str(), nullptr, nullptr, e); }},
      {"prenorm_model_load", "no such file",
       [&](auto* e) { return prenorm_model_load("/no/such/model.gguf", nullptr, &made_model_, e); },
       PRENORM_E_NOT_FOUND},
      {"prenorm_model_load", "long path",
       [&](auto* e) { return prenorm_model_load(std::string(100000, 'x').c_str(), nullptr, &made_model_, e); },
       PRENORM_E_IO},
      {"prenorm_model_load", "options without size",
       [=, this](auto* e) {
         const prenorm_model_options options{};
         return prenorm_model_load(path.c_str(), &options, &made_model_, e);
       }},
      {"prenorm_model_load", "options of a huge size",
       [=, this](auto* e) {
         prenorm_model_options options = PRENORM_MODEL_OPTIONS_INIT;
         options.size = 0xFFFFFFFFu;
         return prenorm_model_load(path.c_str(), &options, &made_model_, e);
       }},
      {"prenorm_model_load", "options of the future",
       [=, this](auto* e) {
         prenorm_model_options init = PRENORM_MODEL_OPTIONS_INIT;
         return prenorm_model_load(path.c_str(), FromTheFuture(init), &made_model_, e);
       }},
      {"prenorm_model_load_memory", "null bytes",
       [&](auto* e) { return prenorm_model_load_memory(nullptr, 100, nullptr, &made_model_, e); }},
      {"prenorm_model_load_memory", "no bytes",
       [&](auto* e) { return prenorm_model_load_memory(kText, 0, nullptr, &made_model_, e); }, PRENORM_E_BAD_MODEL},
      {"prenorm_model_load_memory", "other bytes",
       [&](auto* e) { return prenorm_model_load_memory(kText, sizeof(kText), nullptr, &made_model_, e); },
       PRENORM_E_BAD_MODEL},
      {"prenorm_model_load_memory", "huge size",
       [&](auto* e) { return prenorm_model_load_memory(kText, kHuge, nullptr, &made_model_, e); }},
      {"prenorm_model_load_memory", "more than memory has",
       [&](auto* e) { return prenorm_model_load_memory(kText, size_t{1} << 60, nullptr, &made_model_, e); },
       PRENORM_E_OUT_OF_MEMORY},
      {"prenorm_model_get_info", "null model",
       [](auto* e) {
         prenorm_model_info info = PRENORM_MODEL_INFO_INIT;
         return prenorm_model_get_info(nullptr, &info, e);
       }},
      {"prenorm_model_get_info", "a session",
       [this](auto* e) {
         prenorm_model_info info = PRENORM_MODEL_INFO_INIT;
         return prenorm_model_get_info(wrong_model_, &info, e);
       }},
      {"prenorm_model_get_info", "null info",
       [&](auto* e) { return prenorm_model_get_info(model_.get(), nullptr, e); }},
      {"prenorm_model_get_info", "info without size",
       [&](auto* e) {
         prenorm_model_info info{};
         return prenorm_model_get_info(model_.get(), &info, e);
       }},
      {"prenorm_model_get_text", "null model", [&](auto* e) { return prenorm_model_get_text(nullptr, 0, &text_, e); }},
      {"prenorm_model_get_text", "null text",
       [&](auto* e) { return prenorm_model_get_text(model_.get(), 0, nullptr, e); }},
      {"prenorm_model_get_text", "unknown text",
       [&](auto* e) { return prenorm_model_get_text(model_.get(), 99, &text_, e); }},
  };
}

std::vector<BadCall> ArgumentsTest::TokenCalls() {
  static int32_t token = 0;
  return {
      {"prenorm_tokenize", "null model",
       [&](auto* e) { return prenorm_tokenize(nullptr, "a", 1, 0, nullptr, 0, &count_, e); }},
      {"prenorm_tokenize", "a session",
       [&](auto* e) { return prenorm_tokenize(wrong_model_, "a", 1, 0, nullptr, 0, &count_, e); }},
      {"prenorm_tokenize", "null text",
       [&](auto* e) { return prenorm_tokenize(model_.get(), nullptr, 1, 0, nullptr, 0, &count_, e); }},
      {"prenorm_tokenize", "huge text",
       [&](auto* e) { return prenorm_tokenize(model_.get(), "a", kHuge, 0, nullptr, 0, &count_, e); }},
      {"prenorm_tokenize", "unknown flags",
       [&](auto* e) { return prenorm_tokenize(model_.get(), "a", 1, 0x80, nullptr, 0, &count_, e); }},
      {"prenorm_tokenize", "null count",
       [&](auto* e) { return prenorm_tokenize(model_.get(), "a", 1, 0, nullptr, 0, nullptr, e); }},
      {"prenorm_tokenize", "null buffer with a capacity",
       [&](auto* e) { return prenorm_tokenize(model_.get(), "a", 1, 0, nullptr, 5, &count_, e); }},
      {"prenorm_tokenize", "small buffer",
       [&](auto* e) { return prenorm_tokenize(model_.get(), "hello world", 11, 0, &token, 1, &count_, e); },
       PRENORM_E_BUFFER_TOO_SMALL},
      {"prenorm_detokenize", "null model",
       [&](auto* e) { return prenorm_detokenize(nullptr, &token, 1, 0, nullptr, 0, &count_, e); }},
      {"prenorm_detokenize", "null tokens",
       [&](auto* e) { return prenorm_detokenize(model_.get(), nullptr, 1, 0, nullptr, 0, &count_, e); }},
      {"prenorm_detokenize", "huge number of tokens",
       [&](auto* e) { return prenorm_detokenize(model_.get(), &token, kHuge, 0, nullptr, 0, &count_, e); }},
      {"prenorm_detokenize", "unknown flags",
       [&](auto* e) {
         return prenorm_detokenize(model_.get(), &token, 1, PRENORM_ADD_SPECIAL, nullptr, 0, &count_, e);
       }},
      {"prenorm_detokenize", "null size",
       [&](auto* e) { return prenorm_detokenize(model_.get(), &token, 1, 0, nullptr, 0, nullptr, e); }},
      {"prenorm_token_piece", "null model",
       [&](auto* e) { return prenorm_token_piece(nullptr, 1, 0, nullptr, 0, &count_, e); }},
      {"prenorm_token_piece", "negative token",
       [&](auto* e) { return prenorm_token_piece(model_.get(), -1, 0, nullptr, 0, &count_, e); }},
      {"prenorm_token_piece", "token beyond the vocabulary",
       [&](auto* e) { return prenorm_token_piece(model_.get(), 0x7FFFFFFF, 0, nullptr, 0, &count_, e); }},
      {"prenorm_token_piece", "unknown flags",
       [&](auto* e) { return prenorm_token_piece(model_.get(), 1, 1, nullptr, 0, &count_, e); }},
  };
}

std::vector<BadCall> ArgumentsTest::SessionCalls() {
  static const int32_t kToken = 1, kNegative = -1, kBeyond = 0x7FFFFFFF;
  return {
      {"prenorm_session_new", "null model",
       [&](auto* e) { return prenorm_session_new(nullptr, nullptr, &made_session_, e); }},
      {"prenorm_session_new", "a session",
       [&](auto* e) { return prenorm_session_new(wrong_model_, nullptr, &made_session_, e); }},
      {"prenorm_session_new", "null session",
       [&](auto* e) { return prenorm_session_new(model_.get(), nullptr, nullptr, e); }},
      {"prenorm_session_new", "no size", [&](auto* e) { return NewSession([](auto& o) { o.size = 0; }, e); }},
      {"prenorm_session_new", "negative threads",
       [&](auto* e) { return NewSession([](auto& o) { o.threads = -1; }, e); }},
      {"prenorm_session_new", "too many threads",
       [&](auto* e) { return NewSession([](auto& o) { o.threads = 1 << 30; }, e); }},
      {"prenorm_session_new", "huge context",
       [&](auto* e) { return NewSession([](auto& o) { o.context = ~uint64_t{0}; }, e); }},
      {"prenorm_session_new", "huge chunk",
       [&](auto* e) { return NewSession([](auto& o) { o.chunk = ~uint64_t{0}; }, e); }},
      {"prenorm_session_new", "unknown cache", [&](auto* e) { return NewSession([](auto& o) { o.cache = 17; }, e); }},
      {"prenorm_session_get_info", "null session",
       [](auto* e) {
         prenorm_session_info i = PRENORM_SESSION_INFO_INIT;
         return prenorm_session_get_info(nullptr, &i, e);
       }},
      {"prenorm_session_get_info", "null info",
       [&](auto* e) { return prenorm_session_get_info(session_.get(), nullptr, e); }},
      {"prenorm_session_eval", "null session", [](auto* e) { return prenorm_session_eval(nullptr, &kToken, 1, e); }},
      {"prenorm_session_eval", "a model", [&](auto* e) { return prenorm_session_eval(wrong_session_, &kToken, 1, e); }},
      {"prenorm_session_eval", "null tokens",
       [&](auto* e) { return prenorm_session_eval(session_.get(), nullptr, 1, e); }},
      {"prenorm_session_eval", "no tokens",
       [&](auto* e) { return prenorm_session_eval(session_.get(), &kToken, 0, e); }},
      {"prenorm_session_eval", "negative token",
       [&](auto* e) { return prenorm_session_eval(session_.get(), &kNegative, 1, e); }},
      {"prenorm_session_eval", "token beyond the vocabulary",
       [&](auto* e) { return prenorm_session_eval(session_.get(), &kBeyond, 1, e); }},
      {"prenorm_session_eval", "huge number of tokens",
       [&](auto* e) { return prenorm_session_eval(session_.get(), &kToken, kHuge, e); }, PRENORM_E_CONTEXT_FULL},
      {"prenorm_session_logits", "null session",
       [&](auto* e) { return prenorm_session_logits(nullptr, nullptr, 0, &count_, e); }},
      {"prenorm_session_logits", "nothing evaluated",
       [&](auto* e) { return prenorm_session_logits(session_.get(), nullptr, 0, &count_, e); }},
      {"prenorm_session_logprobs", "null session",
       [&](auto* e) { return prenorm_session_logprobs(nullptr, nullptr, 0, &count_, e); }},
      {"prenorm_session_logprobs", "nothing evaluated",
       [&](auto* e) { return prenorm_session_logprobs(session_.get(), nullptr, 0, &count_, e); }},
      {"prenorm_session_set_profile", "null session",
       [](auto* e) { return prenorm_session_set_profile(nullptr, nullptr, nullptr, e); }},
  };
}

std::vector<BadCall> ArgumentsTest::StateCalls() {
  static const char kBytes[] = "no session";
  const auto* wrong_buffer = reinterpret_cast<const prenorm_buffer*>(model_.get());
  return {
      {"prenorm_session_rewind", "null session", [](auto* e) { return prenorm_session_rewind(nullptr, 0, e); }},
      {"prenorm_session_rewind", "beyond the end",
       [&](auto* e) { return prenorm_session_rewind(session_.get(), ~uint64_t{0}, e); }},
      {"prenorm_session_fork", "null session",
       [&](auto* e) { return prenorm_session_fork(nullptr, session_.get(), 0, e); }},
      {"prenorm_session_fork", "null from",
       [&](auto* e) { return prenorm_session_fork(session_.get(), nullptr, 0, e); }},
      {"prenorm_session_fork", "from a model",
       [&](auto* e) { return prenorm_session_fork(session_.get(), wrong_session_, 0, e); }},
      {"prenorm_session_fork", "from itself",
       [&](auto* e) { return prenorm_session_fork(session_.get(), session_.get(), 0, e); }},
      {"prenorm_session_save", "null session",
       [&](auto* e) { return prenorm_session_save(nullptr, &made_buffer_, e); }},
      {"prenorm_session_save", "null buffer",
       [&](auto* e) { return prenorm_session_save(session_.get(), nullptr, e); }},
      {"prenorm_session_restore", "null session",
       [](auto* e) { return prenorm_session_restore(nullptr, kBytes, 10, e); }},
      {"prenorm_session_restore", "null bytes",
       [&](auto* e) { return prenorm_session_restore(session_.get(), nullptr, 10, e); }},
      {"prenorm_session_restore", "no bytes",
       [&](auto* e) { return prenorm_session_restore(session_.get(), kBytes, 0, e); }, PRENORM_E_BAD_MODEL},
      {"prenorm_session_restore", "other bytes",
       [&](auto* e) { return prenorm_session_restore(session_.get(), kBytes, 10, e); }, PRENORM_E_BAD_MODEL},
      {"prenorm_session_restore", "huge size",
       [&](auto* e) { return prenorm_session_restore(session_.get(), kBytes, kHuge, e); }},
      {"prenorm_session_save_file", "null session", [](auto* e) { return prenorm_session_save_file(nullptr, "x", e); }},
      {"prenorm_session_save_file", "null path",
       [&](auto* e) { return prenorm_session_save_file(session_.get(), nullptr, e); }},
      {"prenorm_session_save_file", "empty path",
       [&](auto* e) { return prenorm_session_save_file(session_.get(), "", e); }},
      {"prenorm_session_save_file", "no such folder",
       [&](auto* e) { return prenorm_session_save_file(session_.get(), "/no/such/folder/session", e); }, PRENORM_E_IO},
      {"prenorm_session_restore_file", "null session",
       [](auto* e) { return prenorm_session_restore_file(nullptr, "x", e); }},
      {"prenorm_session_restore_file", "null path",
       [&](auto* e) { return prenorm_session_restore_file(session_.get(), nullptr, e); }},
      {"prenorm_session_restore_file", "no such file",
       [&](auto* e) { return prenorm_session_restore_file(session_.get(), "/no/such/session", e); },
       PRENORM_E_NOT_FOUND},
      {"prenorm_buffer_get", "null buffer", [&](auto* e) { return prenorm_buffer_get(nullptr, &bytes_, &count_, e); }},
      {"prenorm_buffer_get", "a model",
       [=, this](auto* e) { return prenorm_buffer_get(wrong_buffer, &bytes_, &count_, e); }},
  };
}

std::vector<BadCall> ArgumentsTest::GenerateCalls() {
  static const int32_t kToken = 1;
  static const float kBias = 1.0f;
  static const char* const kStops[] = {nullptr};
  static const char* const kEmptyStops[] = {""};
  const auto with = [this](void (*change)(prenorm_generate_options&)) {
    return [this, change](prenorm_error* e) { return Generate(change, e); };
  };
  return {
      {"prenorm_generate", "null session",
       [&](auto* e) { return prenorm_generate(nullptr, &kToken, 1, nullptr, &made_result_, e); }},
      {"prenorm_generate", "a model",
       [&](auto* e) { return prenorm_generate(wrong_session_, &kToken, 1, nullptr, &made_result_, e); }},
      {"prenorm_generate", "null prompt",
       [&](auto* e) { return prenorm_generate(session_.get(), nullptr, 1, nullptr, &made_result_, e); }},
      {"prenorm_generate", "empty prompt",
       [&](auto* e) { return prenorm_generate(session_.get(), nullptr, 0, nullptr, &made_result_, e); }},
      {"prenorm_generate", "huge prompt",
       [&](auto* e) { return prenorm_generate(session_.get(), &kToken, kHuge, nullptr, &made_result_, e); },
       PRENORM_E_CONTEXT_FULL},
      {"prenorm_generate", "no size", with([](auto& o) { o.size = 3; })},
      {"prenorm_generate", "negative temperature", with([](auto& o) { o.temperature = -1.0f; })},
      {"prenorm_generate", "temperature that is no number", with([](auto& o) { o.temperature = NAN; })},
      {"prenorm_generate", "top_p 0", with([](auto& o) { o.top_p = 0.0f; })},
      {"prenorm_generate", "min_p 2", with([](auto& o) { o.min_p = 2.0f; })},
      {"prenorm_generate", "typical_p -1", with([](auto& o) { o.typical_p = -1.0f; })},
      {"prenorm_generate", "repetition_penalty 0", with([](auto& o) { o.repetition_penalty = 0.0f; })},
      {"prenorm_generate", "max_new_tokens -2", with([](auto& o) { o.max_new_tokens = -2; })},
      {"prenorm_generate", "null stops", with([](auto& o) { o.n_stop = 1; })},
      {"prenorm_generate", "null stop", with([](auto& o) {
         o.stop = kStops;
         o.n_stop = 1;
       })},
      {"prenorm_generate", "empty stop", with([](auto& o) {
         o.stop = kEmptyStops;
         o.n_stop = 1;
       })},
      {"prenorm_generate", "huge number of stops", with([](auto& o) {
         o.stop = kStops;
         o.n_stop = kHuge;
       })},
      {"prenorm_generate", "null biases", with([](auto& o) {
         o.bias_tokens = &kToken;
         o.n_bias = 1;
       })},
      {"prenorm_generate", "huge number of biases", with([](auto& o) {
         o.bias_tokens = &kToken;
         o.bias_values = &kBias;
         o.n_bias = kHuge;
       })},
      {"prenorm_result_get_info", "null result",
       [](auto* e) {
         prenorm_result_info i = PRENORM_RESULT_INFO_INIT;
         return prenorm_result_get_info(nullptr, &i, e);
       }},
      {"prenorm_result_get_info", "a model",
       [&](auto* e) {
         prenorm_result_info i = PRENORM_RESULT_INFO_INIT;
         return prenorm_result_get_info(wrong_result_, &i, e);
       }},
  };
}

std::vector<BadCall> ArgumentsTest::ChatCalls() {
  static const prenorm_chat_message kGood = PRENORM_CHAT_MESSAGE_INIT("user", "hello");
  static const prenorm_chat_message kNoRole = PRENORM_CHAT_MESSAGE_INIT(nullptr, "hello");
  static const prenorm_chat_message kNoContent = PRENORM_CHAT_MESSAGE_INIT("user", nullptr);
  static const prenorm_chat_message kWrongRole = PRENORM_CHAT_MESSAGE_INIT("nobody", "hello");
  static const prenorm_chat_message kNoSize{};
  static const prenorm_chat_message kBadFields = {sizeof(prenorm_chat_message), 0, "user", "hello", "{not json"};
  static const prenorm_chat_options kBadArguments = {sizeof(prenorm_chat_options), 0, "[1, 2"};
  std::vector<BadCall> calls = {
      {"prenorm_render_chat", "null model",
       [&](auto* e) { return prenorm_render_chat(nullptr, &kGood, 1, nullptr, &made_result_, e); }},
      {"prenorm_render_chat", "null result",
       [&](auto* e) { return prenorm_render_chat(model_.get(), &kGood, 1, nullptr, nullptr, e); }},
      {"prenorm_chat", "null session",
       [&](auto* e) { return prenorm_chat(nullptr, &kGood, 1, nullptr, nullptr, &made_result_, e); }},
      {"prenorm_chat", "a model",
       [&](auto* e) { return prenorm_chat(wrong_session_, &kGood, 1, nullptr, nullptr, &made_result_, e); }},
      {"prenorm_chat", "options without size",
       [&](auto* e) {
         const prenorm_generate_options options{};
         return prenorm_chat(session_.get(), &kGood, 1, nullptr, &options, &made_result_, e);
       }},
  };
  struct Messages {
    const char* what;
    const prenorm_chat_message* messages;
    size_t count;
    const prenorm_chat_options* options;
  };
  for (const Messages& m : std::vector<Messages>{{"null messages", nullptr, 1, nullptr},
                                                 {"no messages", &kGood, 0, nullptr},
                                                 {"huge number of messages", &kGood, kHuge, nullptr},
                                                 {"null role", &kNoRole, 1, nullptr},
                                                 {"null content", &kNoContent, 1, nullptr},
                                                 {"unknown role", &kWrongRole, 1, nullptr},
                                                 {"message without size", &kNoSize, 1, nullptr},
                                                 {"fields that are no JSON", &kBadFields, 1, nullptr},
                                                 {"arguments that are no JSON", &kGood, 1, &kBadArguments}}) {
    calls.push_back({"prenorm_render_chat", m.what, [this, m](auto* e) {
                       return prenorm_render_chat(model_.get(), m.messages, m.count, m.options, &made_result_, e);
                     }});
    calls.push_back({"prenorm_chat", m.what, [this, m](auto* e) {
                       return prenorm_chat(session_.get(), m.messages, m.count, m.options, nullptr, &made_result_, e);
                     }});
  }
  return calls;
}

std::vector<BadCall> ArgumentsTest::EncoderCalls() {
  static const char* const kText[] = {"a"};
  static const char* const kNull[] = {nullptr};
  static const char* const kEmpty[] = {""};
  static const char* const kLong[] = {"Once there was"};
  static const size_t kHugeText = kHuge;
  static float vector[4096];
  auto* wrong = reinterpret_cast<prenorm_encoder*>(model_.get());
  const auto create = [this](void (*change)(prenorm_encoder_options&)) {
    return [this, change](prenorm_error* e) {
      prenorm_encoder_options options = PRENORM_ENCODER_OPTIONS_INIT;
      change(options);
      return prenorm_encoder_new(model_.get(), &options, &made_encoder_, e);
    };
  };
  const auto embed = [this](const char* const* texts, const size_t* sizes, size_t count, float* to, size_t capacity) {
    return [=, this](prenorm_error* e) {
      return prenorm_encoder_embed(encoder_.get(), texts, sizes, count, to, capacity, e);
    };
  };
  return {
      {"prenorm_encoder_new", "null model",
       [&](auto* e) { return prenorm_encoder_new(nullptr, nullptr, &made_encoder_, e); }},
      {"prenorm_encoder_new", "null encoder",
       [&](auto* e) { return prenorm_encoder_new(model_.get(), nullptr, nullptr, e); }},
      {"prenorm_encoder_new", "no size", create([](auto& o) { o.size = 0; })},
      {"prenorm_encoder_new", "unknown pooling", create([](auto& o) { o.pooling = 4; })},
      {"prenorm_encoder_new", "unknown normalize", create([](auto& o) { o.normalize = -1; })},
      {"prenorm_encoder_new", "negative threads", create([](auto& o) { o.threads = -1; })},
      {"prenorm_encoder_new", "huge limit", create([](auto& o) { o.max_tokens = ~uint64_t{0}; })},
      {"prenorm_encoder_get_info", "null encoder",
       [](auto* e) {
         prenorm_encoder_info info = PRENORM_ENCODER_INFO_INIT;
         return prenorm_encoder_get_info(nullptr, &info, e);
       }},
      {"prenorm_encoder_get_info", "null info",
       [&](auto* e) { return prenorm_encoder_get_info(encoder_.get(), nullptr, e); }},
      {"prenorm_encoder_embed", "null encoder",
       [](auto* e) { return prenorm_encoder_embed(nullptr, kText, nullptr, 1, vector, 4096, e); }},
      {"prenorm_encoder_embed", "a model",
       [=](auto* e) { return prenorm_encoder_embed(wrong, kText, nullptr, 1, vector, 4096, e); }},
      {"prenorm_encoder_embed", "null texts", embed(nullptr, nullptr, 1, vector, 4096)},
      {"prenorm_encoder_embed", "null text", embed(kNull, nullptr, 1, vector, 4096)},
      {"prenorm_encoder_embed", "no texts", embed(kText, nullptr, 0, vector, 4096)},
      {"prenorm_encoder_embed", "huge number of texts", embed(kText, nullptr, kHuge, vector, 4096)},
      {"prenorm_encoder_embed", "huge text", embed(kText, &kHugeText, 1, vector, 4096)},
      {"prenorm_encoder_embed", "empty text", embed(kEmpty, nullptr, 1, vector, 4096)},
      {"prenorm_encoder_embed", "null vectors", embed(kText, nullptr, 1, nullptr, 4096)},
      {"prenorm_encoder_embed", "small buffer", embed(kLong, nullptr, 1, vector, 3), PRENORM_E_BUFFER_TOO_SMALL},
  };
}

TEST_F(ArgumentsTest, BadArgumentsGiveAStatusAndAMessageAndChangeNothing) {  // R21
  for (const BadCall& bad : AllCalls()) {
    SCOPED_TRACE(std::string(bad.function) + ", " + bad.what);
    EXPECT_EQ(bad.call(error()), bad.expected) << message();
    EXPECT_EQ(prenorm_error_status(error()), bad.expected);
    EXPECT_NE(message(), "");
    EXPECT_EQ(bad.call(nullptr), bad.expected);
  }
  EXPECT_EQ(made_model_, nullptr);
  EXPECT_EQ(made_session_, nullptr);
  EXPECT_EQ(made_result_, nullptr);
  EXPECT_EQ(made_encoder_, nullptr);
  EXPECT_EQ(Position(session_.get()), 0u);
  const std::vector<int32_t> tokens = Tokenize("It still works");
  EXPECT_EQ(prenorm_session_eval(session_.get(), tokens.data(), tokens.size(), error()), PRENORM_OK) << message();
}

TEST_F(ArgumentsTest, TheTableHasEveryFunctionOfTheHeader) {
  std::set<std::string> tested = {"prenorm_abi_version",   "prenorm_version",       "prenorm_status_name",
                                  "prenorm_error_new",     "prenorm_error_free",    "prenorm_error_status",
                                  "prenorm_error_message", "prenorm_model_free",    "prenorm_session_free",
                                  "prenorm_result_free",   "prenorm_buffer_free",   "prenorm_session_cancel",
                                  "prenorm_encoder_free",  "prenorm_encoder_cancel"};  // Cannot fail: the test below.
  for (const BadCall& bad : AllCalls()) tested.insert(bad.function);
  std::stringstream header;
  header << std::ifstream(PRENORM_SOURCE_DIR "/include/prenorm/prenorm.h").rdbuf();
  const std::string text = header.str();
  const std::regex declaration("PRENORM_API [^(;]*?(prenorm_[a-z_]+)\\(");
  size_t declared = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it, ++declared) {
    EXPECT_EQ(tested.count((*it)[1]), 1u) << (*it)[1];
  }
  EXPECT_EQ(declared, tested.size());
}

TEST_F(ArgumentsTest, FunctionsThatCannotFailTakeNull) {
  prenorm_error_free(nullptr);
  prenorm_model_free(nullptr);
  prenorm_session_free(nullptr);
  prenorm_session_cancel(nullptr);
  prenorm_encoder_free(nullptr);
  prenorm_encoder_cancel(nullptr);
  prenorm_result_free(nullptr);
  prenorm_buffer_free(nullptr);
  EXPECT_EQ(prenorm_error_status(nullptr), PRENORM_OK);
  EXPECT_STREQ(prenorm_error_message(nullptr), "");
  EXPECT_STREQ(prenorm_status_name(PRENORM_E_BUSY), "busy");
  EXPECT_STREQ(prenorm_status_name(12345), "unknown");
  EXPECT_STREQ(prenorm_status_name(-1), "unknown");
  EXPECT_EQ(prenorm_abi_version(), static_cast<uint32_t>(PRENORM_ABI_VERSION));
}

TEST_F(ArgumentsTest, StructsOfAnotherAgeAreUnderstood) {
  // An older program's options end early; what it does not know keeps its default.
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.max_new_tokens = 2;
  options.size = offsetof(prenorm_generate_options, seed);
  options.temperature = -5.0f;  // Behind its end: must not be read.
  const std::vector<int32_t> tokens = Tokenize("Once");
  prenorm_result* result = nullptr;
  ASSERT_EQ(prenorm_generate(session_.get(), tokens.data(), tokens.size(), &options, &result, error()), PRENORM_OK)
      << message();
  const ResultPtr owner(result);

  // A newer program's info is larger: the rest becomes zero.
  struct {
    prenorm_result_info info;
    uint64_t later;
  } larger = {PRENORM_RESULT_INFO_INIT, 7};
  larger.info.size = sizeof(larger);
  ASSERT_EQ(prenorm_result_get_info(result, &larger.info, error()), PRENORM_OK) << message();
  EXPECT_EQ(larger.info.n_tokens, 2u);
  EXPECT_EQ(larger.later, 0u);

  // An older program's info is smaller: nothing behind its end is written.
  prenorm_result_info info = PRENORM_RESULT_INFO_INIT;
  info.size = offsetof(prenorm_result_info, prefill_ns);
  info.prefill_ns = 77;
  ASSERT_EQ(prenorm_result_get_info(result, &info, error()), PRENORM_OK) << message();
  EXPECT_EQ(info.n_tokens, 2u);
  EXPECT_EQ(info.prefill_ns, 77u);
}

}  // namespace
}  // namespace prenorm::c_test
