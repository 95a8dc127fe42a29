// Calls of the functions of prenorm.h with arguments that they refuse, and a fixture with all that they need.
#pragma once

#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "tests/c_api/c_helpers.h"

namespace prenorm::c_test {

inline constexpr size_t kHuge = std::numeric_limits<size_t>::max();

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

}  // namespace prenorm::c_test
