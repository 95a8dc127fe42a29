// One allocation after the other fails: every call says so, holds nothing back, and the next try succeeds.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tests/c_api/c_helpers.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/temporary_folder.h"

namespace prenorm::c_test {
namespace {

class FaultsTest : public CTest {
 protected:
  // Fails each allocation of `run`, from the first on, until it runs through without meeting one.
  void FailEach(const std::function<prenorm_status()>& run) {
    for (int i = 0; i < 2; ++i) ASSERT_EQ(run(), PRENORM_OK) << message();  // What is made once and kept is made now.
    unsigned tried = 0, reported = 0;
    for (uint64_t n = 1;; ++n) {
      Fault fault = FailOne(run, n);
      if (!fault.met) break;
      // A pool of another library may have grown by one block; a leak grows each time.
      if (fault.kept != 0) fault = FailOne(run, n);
      ASSERT_EQ(fault.kept, 0) << fault.said;
      // Some allocations have a second way, in the C library for one: then all is well.
      ASSERT_TRUE(fault.status == PRENORM_OK || fault.status == PRENORM_E_OUT_OF_MEMORY || fault.status == PRENORM_E_IO)
          << fault.said;
      ++tried;
      reported += fault.status != PRENORM_OK;
    }
    ASSERT_EQ(run(), PRENORM_OK) << message();
    EXPECT_GE(reported * 10, tried * 9);
    std::printf("%u allocations failed, %u reported\n", tried, reported);
  }

  // For the end of a run: the outcome of its last call, kept over what is freed afterwards.
  prenorm_status Done(prenorm_status status) {
    failed_ = FailingMalloc::Failed();
    return status;
  }

 private:
  struct Fault {
    bool met;
    prenorm_status status;
    int64_t kept;  // blocks
    char said[256];
  };

  Fault FailOne(const std::function<prenorm_status()>& run, uint64_t n) {
    Fault fault;
    error_.reset(prenorm_error_new());
    const int64_t before = FailingMalloc::Held();
    FailingMalloc::FailAt(n);
    fault.status = run();
    FailingMalloc::FailAt(0);
    fault.met = failed_;
    std::snprintf(fault.said, sizeof(fault.said), "allocation %llu: status %d, %s", static_cast<unsigned long long>(n),
                  fault.status, prenorm_error_message(error()));
    error_.reset(prenorm_error_new());  // It held the text.
    fault.kept = FailingMalloc::Held() - before;
    return fault;
  }

  bool failed_ = false;
};

TEST_F(FaultsTest, Load) {
  const std::string path = TinyModelPath();
  FailEach([&] {
    prenorm_model* model = nullptr;
    const prenorm_status status = prenorm_model_load(path.c_str(), nullptr, &model, error());
    EXPECT_EQ(model == nullptr, status != PRENORM_OK);
    prenorm_model_free(model);
    return Done(status);
  });
}

TEST_F(FaultsTest, SessionPrefillAndDecode) {
  const std::vector<int32_t> prompt = Tokenize("Once there was a fox who lived");
  FailEach([&] {
    prenorm_session_options options = PRENORM_SESSION_OPTIONS_INIT;
    options.threads = 2;
    prenorm_session* session = nullptr;
    prenorm_status status = prenorm_session_new(model_.get(), &options, &session, error());
    if (status == PRENORM_OK) {
      prenorm_generate_options generate = PRENORM_GENERATE_OPTIONS_INIT;
      generate.max_new_tokens = 3;
      generate.temperature = 0.8f;
      generate.top_k = 20;
      prenorm_result* result = nullptr;
      status = prenorm_generate(session, prompt.data(), prompt.size(), &generate, &result, error());
      prenorm_result_free(result);
    }
    prenorm_session_free(session);
    return Done(status);
  });
}

TEST_F(FaultsTest, Chat) {
  const prenorm_chat_message messages[] = {PRENORM_CHAT_MESSAGE_INIT("user", "Tell me of a fox.")};
  FailEach([&] {
    prenorm_result* result = nullptr;
    const prenorm_status status = prenorm_render_chat(model_.get(), messages, 1, nullptr, &result, error());
    prenorm_result_free(result);
    return Done(status);
  });
}

TEST_F(FaultsTest, SaveAndRestore) {
  const std::vector<int32_t> prompt = Tokenize("Once there was a fox who lived");
  ASSERT_EQ(prenorm_session_eval(session_.get(), prompt.data(), prompt.size(), error()), PRENORM_OK) << message();
  const std::vector<float> logits = Logits(session_.get());
  const Session other = MakeSession();
  const TemporaryFolder folder;
  const std::string path = folder.path("session");
  FailEach([&] {
    prenorm_buffer* buffer = nullptr;
    prenorm_status status = prenorm_session_save(session_.get(), &buffer, error());
    const void* bytes = nullptr;
    size_t n_bytes = 0;
    if (status == PRENORM_OK) status = prenorm_buffer_get(buffer, &bytes, &n_bytes, error());
    if (status == PRENORM_OK) status = prenorm_session_restore(other.get(), bytes, n_bytes, error());
    if (status == PRENORM_OK) status = prenorm_session_save_file(session_.get(), path.c_str(), error());
    if (status == PRENORM_OK) status = prenorm_session_restore_file(other.get(), path.c_str(), error());
    prenorm_buffer_free(buffer);
    return Done(status);
  });
  EXPECT_EQ(Logits(session_.get()), logits);
  EXPECT_EQ(Position(other.get()), prompt.size());
}

}  // namespace
}  // namespace prenorm::c_test
