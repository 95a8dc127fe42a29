// Each allocation of a load, a step, a chat and a stored session fails once, through the C interface.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/c_api/c_helpers.h"
#include "tests/support/fail_each.h"
#include "tests/support/temporary_folder.h"

namespace prenorm::c_test {
namespace {

class FaultsTest : public CTest {
 protected:
  void FailEach(const std::function<prenorm_status()>& run) {
    const auto outcome = [&] {
      const prenorm_status status = run();
      FaultOutcome made(status == PRENORM_OK, status == PRENORM_E_OUT_OF_MEMORY || status == PRENORM_E_IO,
                        prenorm_error_message(error()));
      made.met = met_;
      return made;
    };
    prenorm::FailEach(outcome, [&] { error_.reset(prenorm_error_new()); });  // It holds the text.
  }

  // For the end of a run: the outcome of its last call, kept over what is freed afterwards.
  prenorm_status Done(prenorm_status status) {
    met_ = FailingMalloc::Failed();
    return status;
  }

 private:
  bool met_ = false;
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

TEST_F(FaultsTest, Vectors) {
  const char* const texts[] = {"Once there was a fox.", "Mia"};
  FailEach([&] {
    prenorm_encoder_options options = PRENORM_ENCODER_OPTIONS_INIT;
    options.threads = 2;
    prenorm_encoder* encoder = nullptr;
    prenorm_encoder_info info = PRENORM_ENCODER_INFO_INIT;
    static float vectors[2 * 4096];
    prenorm_status status = prenorm_encoder_new(model_.get(), &options, &encoder, error());
    if (status == PRENORM_OK) status = prenorm_encoder_get_info(encoder, &info, error());
    if (status == PRENORM_OK)
      status = prenorm_encoder_embed(encoder, texts, nullptr, 2, vectors, 2 * info.dim, error());
    prenorm_encoder_free(encoder);
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
