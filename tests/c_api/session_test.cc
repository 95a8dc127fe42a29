// Who may use a session when: one call at a time, cancelling and freeing from anywhere, models freed before sessions.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/c_api/c_helpers.h"

namespace prenorm::c_test {
namespace {

using SessionTest = CTest;

prenorm_generate_options Endless() {
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.ignore_end_tokens = 1;
  return options;
}

// A token callback that runs a function.
template <class Function>
void SetCallback(prenorm_generate_options& options, Function& function) {
  options.on_token_user = &function;
  options.on_token = [](void* user, const char*, size_t, int32_t) -> int32_t {
    return (*static_cast<Function*>(user))();
  };
}

TEST_F(SessionTest, EveryCallOnASessionInUseIsBusy) {
  const std::vector<int32_t> tokens = Tokenize("Once upon a time");
  const Session idle = MakeSession();
  std::atomic<bool> in_callback{false}, checked{false};
  std::thread other([&] {
    while (!in_callback) std::this_thread::yield();
    const Error own_error(prenorm_error_new());
    prenorm_error* e = own_error.get();
    float value = 0;
    size_t count = 0;
    prenorm_session_info info = PRENORM_SESSION_INFO_INIT;
    const prenorm_chat_message message = PRENORM_CHAT_MESSAGE_INIT("user", "hello");
    EXPECT_EQ(prenorm_session_eval(session_.get(), tokens.data(), tokens.size(), e), PRENORM_E_BUSY);
    EXPECT_NE(std::string(prenorm_error_message(e)), "");
    EXPECT_EQ(prenorm_session_logits(session_.get(), &value, 1, &count, e), PRENORM_E_BUSY);
    EXPECT_EQ(prenorm_session_logprobs(session_.get(), &value, 1, &count, e), PRENORM_E_BUSY);
    EXPECT_EQ(prenorm_session_get_info(session_.get(), &info, e), PRENORM_E_BUSY);
    EXPECT_EQ(prenorm_session_set_profile(session_.get(), nullptr, nullptr, e), PRENORM_E_BUSY);
    EXPECT_EQ(prenorm_session_rewind(session_.get(), 0, e), PRENORM_E_BUSY);
    EXPECT_EQ(prenorm_session_fork(idle.get(), session_.get(), 0, e), PRENORM_E_BUSY);
    EXPECT_EQ(prenorm_session_fork(session_.get(), idle.get(), 0, e), PRENORM_E_BUSY);
    prenorm_buffer* buffer = nullptr;
    EXPECT_EQ(prenorm_session_save(session_.get(), &buffer, e), PRENORM_E_BUSY);
    EXPECT_EQ(prenorm_session_restore(session_.get(), "x", 1, e), PRENORM_E_BUSY);
    EXPECT_EQ(prenorm_generate(session_.get(), tokens.data(), tokens.size(), nullptr, nullptr, e), PRENORM_E_BUSY);
    EXPECT_EQ(prenorm_chat(session_.get(), &message, 1, nullptr, nullptr, nullptr, e), PRENORM_E_BUSY);
    checked = true;
  });
  prenorm_generate_options options = Endless();
  options.max_new_tokens = 3;
  auto wait = [&] {
    in_callback = true;
    while (!checked) std::this_thread::yield();
    return PRENORM_CONTINUE;
  };
  SetCallback(options, wait);
  EXPECT_EQ(prenorm_generate(session_.get(), tokens.data(), tokens.size(), &options, nullptr, error()), PRENORM_OK)
      << message();
  other.join();
  EXPECT_EQ(Position(session_.get()), tokens.size() + 2);  // Not evaluated: the last of the three.
}

TEST_F(SessionTest, CallsFromItsOwnCallbackAreBusyToo) {
  prenorm_status seen = PRENORM_OK;
  prenorm_generate_options options = Endless();
  options.max_new_tokens = 1;
  auto call = [&] {
    seen = prenorm_generate(session_.get(), nullptr, 0, nullptr, nullptr, nullptr);
    return PRENORM_CONTINUE;
  };
  SetCallback(options, call);
  const int32_t token = 1;
  ASSERT_EQ(prenorm_generate(session_.get(), &token, 1, &options, nullptr, error()), PRENORM_OK) << message();
  EXPECT_EQ(seen, PRENORM_E_BUSY);
}

TEST_F(SessionTest, AModelFreedBeforeItsSessionsStaysAlive) {
  const std::vector<int32_t> tokens = Tokenize("Once upon a time");
  const Session other = MakeSession();
  ASSERT_EQ(prenorm_session_eval(session_.get(), tokens.data(), tokens.size(), error()), PRENORM_OK);
  model_.reset();
  ASSERT_EQ(prenorm_session_eval(other.get(), tokens.data(), tokens.size(), error()), PRENORM_OK) << message();
  EXPECT_EQ(Logits(session_.get()), Logits(other.get()));
}

TEST_F(SessionTest, AModelFreedInACallbackStaysAliveToo) {
  prenorm_generate_options options = Endless();
  options.max_new_tokens = 5;
  size_t calls = 0;
  auto free_model = [&] {
    model_.reset();
    ++calls;
    return PRENORM_CONTINUE;
  };
  SetCallback(options, free_model);
  const int32_t token = 1;
  EXPECT_EQ(prenorm_generate(session_.get(), &token, 1, &options, nullptr, error()), PRENORM_OK) << message();
  EXPECT_EQ(calls, 5u);
}

TEST_F(SessionTest, ASessionFreedInItsOwnCallbackEndsThereAndIsFreedLater) {
  prenorm_generate_options options = Endless();
  size_t calls = 0;
  auto free_session = [&] {
    if (++calls == 2) session_.reset();
    return PRENORM_CONTINUE;
  };
  SetCallback(options, free_session);
  const int32_t token = 1;
  prenorm_result* result = nullptr;
  ASSERT_EQ(prenorm_generate(session_.get(), &token, 1, &options, &result, error()), PRENORM_OK) << message();
  const ResultPtr owner(result);
  prenorm_result_info info = PRENORM_RESULT_INFO_INIT;
  ASSERT_EQ(prenorm_result_get_info(result, &info, error()), PRENORM_OK);
  EXPECT_EQ(info.finish_reason, PRENORM_FINISH_INTERRUPTED);
  EXPECT_EQ(info.n_tokens, 2u);
}

TEST_F(SessionTest, ASessionFreedByAnotherThreadWhileItRunsEnds) {
  std::atomic<bool> running{false};
  prenorm_generate_options options = Endless();
  auto tell = [&] {
    running = true;
    return PRENORM_CONTINUE;
  };
  SetCallback(options, tell);
  prenorm_session* session = session_.release();
  std::thread other([&] {
    while (!running) std::this_thread::yield();
    prenorm_session_free(session);
  });
  const int32_t token = 1;
  EXPECT_EQ(prenorm_generate(session, &token, 1, &options, nullptr, error()), PRENORM_OK) << message();
  other.join();
}

TEST_F(SessionTest, CancelledByAnotherThreadGenerationGivesTheTextSoFar) {
  std::atomic<bool> running{false};
  prenorm_generate_options options = Endless();
  auto tell = [&] {
    running = true;
    return PRENORM_CONTINUE;
  };
  SetCallback(options, tell);
  std::thread other([&] {
    while (!running) std::this_thread::yield();
    prenorm_session_cancel(session_.get());
  });
  const std::vector<int32_t> tokens = Tokenize("Once upon a time");
  prenorm_result* result = nullptr;
  ASSERT_EQ(prenorm_generate(session_.get(), tokens.data(), tokens.size(), &options, &result, error()), PRENORM_OK);
  other.join();
  const ResultPtr owner(result);
  prenorm_result_info info = PRENORM_RESULT_INFO_INIT;
  ASSERT_EQ(prenorm_result_get_info(result, &info, error()), PRENORM_OK);
  EXPECT_EQ(info.finish_reason, PRENORM_FINISH_INTERRUPTED);
  EXPECT_GE(info.n_tokens, 1u);
  // The request went with the call: the session goes on.
  options.max_new_tokens = 1;
  EXPECT_EQ(prenorm_session_eval(session_.get(), tokens.data(), tokens.size(), error()), PRENORM_OK) << message();
}

TEST_F(SessionTest, CancelBetweenCallsEndsTheNextOneOnce) {
  const std::vector<int32_t> tokens = Tokenize("Once upon a time");
  prenorm_session_cancel(session_.get());
  EXPECT_EQ(Position(session_.get()), 0u);
  EXPECT_EQ(prenorm_session_eval(session_.get(), tokens.data(), tokens.size(), error()), PRENORM_E_CANCELLED);
  EXPECT_EQ(Position(session_.get()), 0u);
  EXPECT_EQ(prenorm_session_eval(session_.get(), tokens.data(), tokens.size(), error()), PRENORM_OK) << message();
}

TEST_F(SessionTest, ManySessionsOfOneModelOnManyThreadsAgree) {
  const std::vector<int32_t> tokens = Tokenize("Once upon a time there was");
  ASSERT_EQ(prenorm_session_eval(session_.get(), tokens.data(), tokens.size(), error()), PRENORM_OK);
  const std::vector<float> expected = Logits(session_.get());
  std::vector<std::vector<float>> found(4, std::vector<float>(expected.size()));
  std::vector<std::thread> threads;
  for (std::vector<float>& logits : found) {
    threads.emplace_back([&] {
      prenorm_session* session = nullptr;
      size_t count = 0;
      prenorm_session_new(model_.get(), nullptr, &session, nullptr);
      prenorm_session_eval(session, tokens.data(), tokens.size(), nullptr);
      prenorm_session_logits(session, logits.data(), logits.size(), &count, nullptr);
      prenorm_session_free(session);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& logits : found) EXPECT_EQ(logits, expected);
}

TEST_F(SessionTest, RewoundForkedAndRestoredSessionsGoOnAlike) {
  const std::vector<int32_t> tokens = Tokenize("Once upon a time there was a");
  const std::vector<int32_t> detour = Tokenize("And then");
  const size_t half = tokens.size() / 2;
  ASSERT_EQ(prenorm_session_eval(session_.get(), tokens.data(), tokens.size(), error()), PRENORM_OK);
  const std::vector<float> expected = Logits(session_.get());
  const auto finish = [&](prenorm_session* session) {
    EXPECT_EQ(Position(session), half);
    EXPECT_EQ(prenorm_session_eval(session, tokens.data() + half, tokens.size() - half, error()), PRENORM_OK)
        << message();
    EXPECT_EQ(Logits(session), expected);
  };

  const Session forked = MakeSession();
  ASSERT_EQ(prenorm_session_fork(forked.get(), session_.get(), half, error()), PRENORM_OK) << message();
  finish(forked.get());

  ASSERT_EQ(prenorm_session_rewind(session_.get(), half, error()), PRENORM_OK) << message();
  prenorm_buffer* buffer = nullptr;
  ASSERT_EQ(prenorm_session_save(session_.get(), &buffer, error()), PRENORM_OK) << message();
  const Buffer owner(buffer);
  const std::string path = testing::TempDir() + "prenorm_c_session_" + std::to_string(getpid());
  ASSERT_EQ(prenorm_session_save_file(session_.get(), path.c_str(), error()), PRENORM_OK) << message();
  finish(session_.get());

  const Session restored = MakeSession(), from_file = MakeSession();
  ASSERT_EQ(prenorm_session_eval(restored.get(), detour.data(), detour.size(), error()), PRENORM_OK);
  const void* bytes = nullptr;
  size_t n_bytes = 0;
  ASSERT_EQ(prenorm_buffer_get(buffer, &bytes, &n_bytes, error()), PRENORM_OK) << message();
  EXPECT_EQ(prenorm_session_restore(restored.get(), bytes, n_bytes - 1, error()), PRENORM_E_BAD_MODEL);
  EXPECT_EQ(Position(restored.get()), detour.size());  // Nothing has changed.
  ASSERT_EQ(prenorm_session_restore(restored.get(), bytes, n_bytes, error()), PRENORM_OK) << message();
  finish(restored.get());
  ASSERT_EQ(prenorm_session_restore_file(from_file.get(), path.c_str(), error()), PRENORM_OK) << message();
  finish(from_file.get());
  unlink(path.c_str());
}

TEST_F(SessionTest, LogprobsAreTheLogarithmOfTheSoftmax) {
  const std::vector<int32_t> tokens = Tokenize("Once upon a time");
  ASSERT_EQ(prenorm_session_eval(session_.get(), tokens.data(), tokens.size(), error()), PRENORM_OK);
  const std::vector<float> logits = Logits(session_.get());
  std::vector<float> logprobs(logits.size());
  size_t count = 0;
  ASSERT_EQ(prenorm_session_logprobs(session_.get(), logprobs.data(), logprobs.size(), &count, error()), PRENORM_OK);
  double sum = 0.0;
  for (const float p : logprobs) sum += std::exp(static_cast<double>(p));
  EXPECT_NEAR(sum, 1.0, 1e-5);
  for (size_t i = 1; i < logits.size(); ++i) {
    ASSERT_NEAR(logprobs[i] - logprobs[0], logits[i] - logits[0], 1e-4 * (1.0 + std::abs(logits[i]))) << i;
  }
  // Too small a buffer: the size, and nothing else (T27).
  logprobs[0] = 99.0f;
  EXPECT_EQ(prenorm_session_logprobs(session_.get(), logprobs.data(), 1, &count, error()), PRENORM_E_BUFFER_TOO_SMALL);
  EXPECT_EQ(count, logits.size());
  EXPECT_EQ(logprobs[0], 99.0f);
}

struct ProfileCounts {
  std::atomic<size_t> events{0}, norms{0}, bad{0};
};

TEST_F(SessionTest, TheProfileSinkSeesEveryNorm) {
  ProfileCounts counts;
  const auto sink = [](void* user, const prenorm_profile_event* event) {
    auto& c = *static_cast<ProfileCounts*>(user);
    ++c.events;
    if (std::strcmp(event->kind, "norm") == 0 && event->thread == 0) ++c.norms;
    if (event->size < sizeof(*event) || event->end_ns < event->begin_ns || event->thread > 1) ++c.bad;
  };
  ASSERT_EQ(prenorm_session_set_profile(session_.get(), sink, &counts, error()), PRENORM_OK) << message();
  const int32_t token = 1;
  ASSERT_EQ(prenorm_session_eval(session_.get(), &token, 1, error()), PRENORM_OK) << message();
  prenorm_model_info info = PRENORM_MODEL_INFO_INIT;
  ASSERT_EQ(prenorm_model_get_info(model_.get(), &info, error()), PRENORM_OK);
  EXPECT_GE(counts.norms, 2 * info.n_layers + 1);
  EXPECT_EQ(counts.bad, 0u);
  ASSERT_EQ(prenorm_session_set_profile(session_.get(), nullptr, nullptr, error()), PRENORM_OK);
  const size_t before = counts.events;
  ASSERT_EQ(prenorm_session_eval(session_.get(), &token, 1, error()), PRENORM_OK);
  EXPECT_EQ(counts.events, before);
}

}  // namespace
}  // namespace prenorm::c_test
