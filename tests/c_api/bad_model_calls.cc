// What the functions of models, tokens and sessions refuse.
#include <string>

#include "tests/c_api/bad_calls.h"

namespace prenorm::c_test {

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

}  // namespace prenorm::c_test
