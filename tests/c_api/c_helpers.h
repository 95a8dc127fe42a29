// Handles of the C interface on the tiny model, freed at the end of a test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "prenorm/prenorm.h"

namespace prenorm::c_test {

inline std::string TinyModelPath() { return PRENORM_SOURCE_DIR "/models/tiny/prenorm-tiny.gguf"; }

struct Free {
  void operator()(prenorm_error* error) const { prenorm_error_free(error); }
  void operator()(prenorm_model* model) const { prenorm_model_free(model); }
  void operator()(prenorm_session* session) const { prenorm_session_free(session); }
  void operator()(prenorm_encoder* encoder) const { prenorm_encoder_free(encoder); }
  void operator()(prenorm_result* result) const { prenorm_result_free(result); }
  void operator()(prenorm_buffer* buffer) const { prenorm_buffer_free(buffer); }
};
using Error = std::unique_ptr<prenorm_error, Free>;
using Model = std::unique_ptr<prenorm_model, Free>;
using Session = std::unique_ptr<prenorm_session, Free>;
using Encoder = std::unique_ptr<prenorm_encoder, Free>;
using Buffer = std::unique_ptr<prenorm_buffer, Free>;
using ResultPtr = std::unique_ptr<prenorm_result, Free>;

/// A model with a session of one or more threads.
class CTest : public testing::Test {
 protected:
  void SetUp() override {
    prenorm_model* model = nullptr;
    ASSERT_EQ(prenorm_model_load(TinyModelPath().c_str(), nullptr, &model, error()), PRENORM_OK) << message();
    model_.reset(model);
    session_ = MakeSession();
  }

  Session MakeSession(int32_t threads = 2) {
    prenorm_session_options options = PRENORM_SESSION_OPTIONS_INIT;
    options.threads = threads;
    prenorm_session* session = nullptr;
    EXPECT_EQ(prenorm_session_new(model_.get(), &options, &session, error()), PRENORM_OK) << message();
    return Session(session);
  }

  std::vector<int32_t> Tokenize(const std::string& text) {
    std::vector<int32_t> tokens(text.size() + 2);
    size_t count = 0;
    EXPECT_EQ(prenorm_tokenize(model_.get(), text.data(), text.size(), PRENORM_ADD_SPECIAL, tokens.data(),
                               tokens.size(), &count, error()),
              PRENORM_OK)
        << message();
    tokens.resize(count);
    return tokens;
  }

  std::vector<float> Logits(prenorm_session* session) {
    size_t count = 0;
    EXPECT_EQ(prenorm_session_logits(session, nullptr, 0, &count, error()), PRENORM_OK) << message();
    std::vector<float> logits(count);
    EXPECT_EQ(prenorm_session_logits(session, logits.data(), count, &count, error()), PRENORM_OK) << message();
    return logits;
  }

  uint64_t Position(prenorm_session* session) {
    prenorm_session_info info = PRENORM_SESSION_INFO_INIT;
    EXPECT_EQ(prenorm_session_get_info(session, &info, error()), PRENORM_OK) << message();
    return info.position;
  }

  prenorm_error* error() { return error_.get(); }
  std::string message() { return prenorm_error_message(error_.get()); }

  Error error_{prenorm_error_new()};
  Model model_;
  Session session_;
};

}  // namespace prenorm::c_test
