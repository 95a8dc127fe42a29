// Hosts of all kinds: processes that fork, threads with small stacks, OpenMP regions, folders that cannot be written.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "tests/c_api/c_helpers.h"
#include "tests/support/small_stack.h"

namespace prenorm::c_test {
namespace {

class HostTest : public CTest {
 protected:
  void SetUp() override {
    CTest::SetUp();
    tokens_ = Tokenize("Once upon a time there was");
  }
  std::vector<float> EvalFresh(int32_t threads) {
    const Session session = MakeSession(threads);
    EXPECT_EQ(prenorm_session_eval(session.get(), tokens_.data(), tokens_.size(), error()), PRENORM_OK) << message();
    return Logits(session.get());
  }
  std::vector<int32_t> tokens_;
};

// Whether body() returns true in a forked child, which gets thirty seconds.
bool TrueInChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) << "the child hung";
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(HostTest, AChildGoesOnAfterFork) {
  const std::vector<float> expected = EvalFresh(2);  // The parent's threads are at work before the fork.
  ASSERT_EQ(prenorm_session_eval(session_.get(), tokens_.data(), 3, error()), PRENORM_OK) << message();
  EXPECT_TRUE(TrueInChild([&] {
    if (EvalFresh(2) != expected) return false;  // A new session,
    if (prenorm_session_eval(session_.get(), tokens_.data() + 3, tokens_.size() - 3, error()) != PRENORM_OK)
      return false;
    if (Logits(session_.get()) != expected) return false;  // its copy of the old one,
    prenorm_model* model = nullptr;                        // and a new model.
    return prenorm_model_load(TinyModelPath().c_str(), nullptr, &model, error()) == PRENORM_OK;
  }));
  EXPECT_EQ(Position(session_.get()), 3u);  // The parent's is another.
  EXPECT_EQ(EvalFresh(2), expected);
}

TEST_F(HostTest, AnEncoderGoesOnAfterFork) {
  const char* const text = "Once there was a fox.";
  const auto vector_of = [&](prenorm_encoder* encoder) {
    prenorm_encoder_info info = PRENORM_ENCODER_INFO_INIT;
    EXPECT_EQ(prenorm_encoder_get_info(encoder, &info, error()), PRENORM_OK) << message();
    std::vector<float> vector(info.dim);
    EXPECT_EQ(prenorm_encoder_embed(encoder, &text, nullptr, 1, vector.data(), vector.size(), error()), PRENORM_OK)
        << message();
    return vector;
  };
  const auto make = [&] {
    prenorm_encoder_options options = PRENORM_ENCODER_OPTIONS_INIT;
    options.threads = 2;
    prenorm_encoder* encoder = nullptr;
    EXPECT_EQ(prenorm_encoder_new(model_.get(), &options, &encoder, error()), PRENORM_OK) << message();
    return Encoder(encoder);
  };
  const Encoder encoder = make();
  const std::vector<float> expected = vector_of(encoder.get());
  EXPECT_TRUE(TrueInChild([&] { return vector_of(encoder.get()) == expected && vector_of(make().get()) == expected; }));
  EXPECT_EQ(vector_of(encoder.get()), expected);
}

TEST_F(HostTest, RunsInsideTheHostsOwnOpenMpRegion) {
  const std::vector<float> expected = EvalFresh(2);
  std::vector<std::vector<float>> found(3, std::vector<float>(expected.size()));
#pragma omp parallel for num_threads(3)
  for (size_t i = 0; i < found.size(); ++i) {
    prenorm_session* session = nullptr;
    size_t count = 0;
    prenorm_session_new(model_.get(), nullptr, &session, nullptr);
    prenorm_session_eval(session, tokens_.data(), tokens_.size(), nullptr);
    prenorm_session_logits(session, found[i].data(), found[i].size(), &count, nullptr);
    prenorm_session_free(session);
  }
  for (const std::vector<float>& logits : found) EXPECT_EQ(logits, expected);
}

TEST_F(HostTest, RunsOnAThreadWithASmallStack) {
  const std::vector<float> expected = EvalFresh(2);
  std::vector<float> found;
  RunOnStack(256 * 1024, [&] { found = EvalFresh(2); });
  EXPECT_EQ(found, expected);
}

TEST_F(HostTest, ASessionMayWanderBetweenThreads) {
  const std::vector<float> expected = EvalFresh(2);
  for (const int32_t token : tokens_) {
    std::function<void()> body = [&] { prenorm_session_eval(session_.get(), &token, 1, nullptr); };
    pthread_t thread;
    ASSERT_EQ(pthread_create(
                  &thread, nullptr,
                  [](void* f) -> void* {
                    (*static_cast<std::function<void()>*>(f))();
                    return nullptr;
                  },
                  &body),
              0);
    pthread_join(thread, nullptr);
  }
  EXPECT_EQ(Logits(session_.get()), expected);
}

TEST_F(HostTest, NeitherWritableFolderNorHomeNorWritableModelIsNeeded) {  // R22
  namespace fs = std::filesystem;
  char name[] = "/tmp/prenorm-host-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const fs::path folder = name, model = folder / "model.gguf";
  fs::copy_file(TinyModelPath(), model);
  ASSERT_EQ(chmod(model.c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder.c_str(), 0555), 0);
  const auto before = fs::last_write_time(model);
  EXPECT_TRUE(TrueInChild([&] {
    // As root the modes say nothing, so the child becomes somebody else.
    if (geteuid() == 0 && (setegid(65534) != 0 || seteuid(65534) != 0)) return false;
    if (chdir(folder.c_str()) != 0 || unsetenv("HOME") != 0) return false;
    if (open("probe", O_CREAT | O_WRONLY, 0600) >= 0) return false;
    prenorm_model* loaded = nullptr;
    if (prenorm_model_load("model.gguf", nullptr, &loaded, error()) != PRENORM_OK) return false;
    prenorm_session* session = nullptr;
    if (prenorm_session_new(loaded, nullptr, &session, error()) != PRENORM_OK) return false;
    return prenorm_session_eval(session, tokens_.data(), tokens_.size(), error()) == PRENORM_OK;
  }));
  EXPECT_EQ(fs::last_write_time(model), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  chmod(folder.c_str(), 0755);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace prenorm::c_test
