// Sixteen sessions of one model on sixteen threads, interrupted and freed at random: bytes as of a serial run, steady
// memory. PRENORM_LOAD_SECONDS (1) says how long; ./test.sh --slow load takes five minutes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/c_api/c_helpers.h"

namespace prenorm::c_test {
namespace {

constexpr int kThreads = 16;
constexpr int64_t kMaxAnswer = 24;  // tokens

using Clock = std::chrono::steady_clock;

size_t ResidentBytes() {
  size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// One answer: when and how it ends early, and what came of it.
struct Answer {
  prenorm_session* session = nullptr;
  int64_t end_after = kMaxAnswer;
  enum { kNever, kReturn, kCancel, kFree } how = kNever;
  int64_t tokens = 0;
  std::string text;

  static int32_t OnToken(void* user, const char* text, size_t bytes, int32_t) {
    auto& self = *static_cast<Answer*>(user);
    self.text.append(text, bytes);
    if (++self.tokens != self.end_after) return PRENORM_CONTINUE;
    if (self.how == kCancel) prenorm_session_cancel(self.session);
    if (self.how == kFree) prenorm_session_free(self.session);
    return self.how == kReturn ? PRENORM_STOP : PRENORM_CONTINUE;
  }
};

class LoadTest : public CTest {
 protected:
  void SetUp() override {
    CTest::SetUp();
    for (const char* text : {"Once there was a fox", "The river", "Mara and Tom went to the", "One day"}) {
      prompts_.push_back(Tokenize(text));
      Answer answer;
      const Session session = MakeSession(1);
      answer.session = session.get();
      EXPECT_EQ(Generate(answer, prompts_.back(), prompts_.size()), PRENORM_OK);
      expected_.push_back(answer.text);
    }
  }

  prenorm_status Generate(Answer& answer, const std::vector<int32_t>& prompt, uint64_t seed) const {
    prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
    options.ignore_end_tokens = 1;
    options.max_new_tokens = kMaxAnswer;
    options.temperature = 0.9f;
    options.seed = seed;
    options.on_token = Answer::OnToken;
    options.on_token_user = &answer;
    return prenorm_generate(answer.session, prompt.data(), prompt.size(), &options, nullptr, nullptr);
  }

  // New sessions until `end`. Counts answers, and those that were not as in the serial run.
  void Work(unsigned seed, Clock::time_point end) {
    std::mt19937 random(seed);
    while (Clock::now() < end) {
      const size_t which = random() % prompts_.size();
      Answer answer;
      prenorm_session_options options = PRENORM_SESSION_OPTIONS_INIT;
      options.threads = 1;
      if (prenorm_session_new(model_.get(), &options, &answer.session, nullptr) != PRENORM_OK) {
        ++wrong_;
        continue;
      }
      answer.end_after = 1 + static_cast<int64_t>(random() % kMaxAnswer);
      answer.how = static_cast<decltype(answer.how)>(random() % 4);
      const bool freed = answer.how == Answer::kFree;
      const prenorm_status status = Generate(answer, prompts_[which], which + 1);
      const std::string_view expected = expected_[which];
      // Freed or cancelled in the last callback, an answer is whole all the same.
      const bool as_expected =
          answer.how == Answer::kNever ? answer.text == expected : expected.starts_with(answer.text);
      if (status != PRENORM_OK || !as_expected || answer.text.empty()) ++wrong_;
      if (!freed) prenorm_session_free(answer.session);
      ++answers_;
    }
  }

  std::vector<std::vector<int32_t>> prompts_;
  std::vector<std::string> expected_;
  std::atomic<size_t> answers_{0}, wrong_{0};
};

TEST_F(LoadTest, SixteenThreadsAnswerAsOneAndKeepNoMemory) {
  const char* const wanted = std::getenv("PRENORM_LOAD_SECONDS");
  const auto seconds = std::chrono::duration<double>(wanted != nullptr ? std::atof(wanted) : 1.0);
  size_t after_start = 0, at_end = 0;
  for (const double share : {0.3, 0.7}) {
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds * share);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { Work(i + 1, end); });
    for (std::thread& thread : threads) thread.join();
    (after_start == 0 ? after_start : at_end) = ResidentBytes();
  }
  EXPECT_EQ(wrong_, 0u);
  EXPECT_GE(answers_, size_t{kThreads});
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // They keep what is freed for a while.
  EXPECT_LT(at_end, after_start + (size_t{16} << 20));
#endif
  std::printf("%zu answers, %zu MiB resident, %zu MiB at the end\n", answers_.load(), after_start >> 20, at_end >> 20);
}

}  // namespace
}  // namespace prenorm::c_test
