// What the functions that make answers and vectors refuse.
#include <cmath>
#include <string>

#include "tests/c_api/bad_calls.h"

namespace prenorm::c_test {

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

}  // namespace prenorm::c_test
