// Prepared weights among processes and threads: drafts that others write or left, and pages that are shared.
#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/model/prepared_fixture.h"
#include "tests/support/mapped_kilobytes.h"

namespace prenorm {
namespace {

using PreparedProcessesTest = PreparedTest;

TEST_F(PreparedProcessesTest, APipeOrALinkInThePlaceOfTheDraftIsRefused) {
  Load(options_);
  const std::string file = Files().at(0), part = file + ".part";
  fs::remove(file);
  fs::create_symlink(folder_.path("elsewhere"), part);
  EXPECT_EQ(Model::Load(path_, options_).status().code(), StatusCode::kIo);
  EXPECT_FALSE(fs::exists(folder_.path("elsewhere")));
  fs::remove(part);
  ASSERT_EQ(mkfifo(part.c_str(), 0600), 0);
  EXPECT_EQ(Model::Load(path_, options_).status().code(), StatusCode::kIo);
  fs::remove(part);
  folder_.Write("a/folder of weights/" + fs::path(part).filename().string(), "what a process left that died");
  EXPECT_TRUE(Load(options_)->warnings().empty());
  EXPECT_EQ(Files().size(), 1u);
}

// Loads the model as a user who may write the folder, but not files of others in it; returns whether that went well.
// `waits`: the end of a pipe that gets bytes while it waits, and its end.
bool LoadsAsNobody(const std::string& path, LoadOptions options, int waits = -1) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    if (waits >= 0) dup2(waits, STDIN_FILENO);
    close_range(3, ~0u, 0);  // A lock of the parent's would be the child's, too.
    if (waits >= 0) options.progress = [](float) { return write(STDIN_FILENO, "x", 1) == 1; };
    constexpr uid_t kNobody = 65534;
    const bool is_nobody = setgroups(0, nullptr) == 0 && setgid(kNobody) == 0 && setuid(kNobody) == 0;
    _exit(is_nobody && Model::Load(path, options).ok() ? 0 : 1);
  }
  if (waits >= 0) close(waits);
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(PreparedProcessesTest, AnotherUsersDraftIsWaitedForAndRemoved) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer does not survive a fork beside another thread";
#endif
  Load(options_);
  const fs::path file = Files().at(0), kept = folder_.path("kept"), part = file.string() + ".part";
  fs::permissions(folder_.path(), fs::perms::all);  // mkdtemp made it for one user.
  fs::permissions(options_.prepared_folder, fs::perms::all);
  fs::permissions(fs::path(options_.prepared_folder).parent_path(), fs::perms::all);
  fs::permissions(path_, fs::perms::all);
  fs::rename(file, kept);
  std::ofstream(part) << "what another user's process left that died";
  EXPECT_TRUE(LoadsAsNobody(path_, options_));
  EXPECT_EQ(Files(), std::vector<fs::path>{file});

  fs::remove(file);
  const int fd = open(part.c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  int waits[2];
  ASSERT_EQ(pipe(waits), 0);
  char byte = 0;
  ssize_t told = 0;
  std::thread writer([&] {
    told = read(waits[0], &byte, 1);
    fs::rename(kept, file);
    fs::remove(part);
    close(fd);
  });
  EXPECT_TRUE(LoadsAsNobody(path_, options_, waits[1]));
  writer.join();
  close(waits[0]);
  EXPECT_EQ(told, 1) << "it waits";
  struct stat found {};
  ASSERT_EQ(stat(file.c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, 0u) << "the file of the one that was waited for";

  fs::remove(file);
  fs::permissions(options_.prepared_folder, fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  EXPECT_FALSE(LoadsAsNobody(path_, options_)) << "a folder that cannot be written";
  EXPECT_TRUE(Files().empty());
}

TEST_F(PreparedProcessesTest, ManyAtOnceMakeOne) {
  const std::vector<float> wanted = Logits(Load({}));
  std::vector<std::shared_ptr<const Model>> models(6);
  std::vector<std::thread> threads;
  for (auto& model : models) threads.emplace_back([&] { model = Load(options_); });
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(Files().size(), 1u);
  for (const auto& model : models) {
    EXPECT_TRUE(model->warnings().empty());
    EXPECT_TRUE(SameBytes(Logits(model), wanted));
  }
}

// fork() would share memory by itself, so the second process begins after the first one has loaded nothing.
TEST_F(PreparedProcessesTest, ProcessesShareThePages) {
  int to_child[2], to_parent[2];
  ASSERT_EQ(pipe(to_child) + pipe(to_parent), 0);
  const pid_t child = fork();
  char byte = 0;
  if (child == 0) {
    alarm(30);
    close(to_child[1]);  // So that the end of either process is seen by the other.
    close(to_parent[0]);
    const bool told = read(to_child[0], &byte, 1) == 1;
    const Result<std::shared_ptr<const Model>> model = Model::Load(path_, options_);
    const bool answered = write(to_parent[1], "x", 1) == 1;
    _exit(told && model.ok() && answered && read(to_child[0], &byte, 1) == 1 ? 0 : 1);
  }
  close(to_child[0]);
  close(to_parent[1]);
  const auto model = Load(options_);
  ASSERT_NE(model, nullptr);
  const std::string file = model->prepared_path();
  const size_t kilobytes = fs::file_size(file) / 1024;
  EXPECT_GE(MappedKilobytes(file, "Rss:"), kilobytes) << "the check reads all of it";
  EXPECT_EQ(MappedKilobytes(file, "Shared_Clean:") + MappedKilobytes(file, "Shared_Dirty:"), 0u) << "nobody else yet";
  ASSERT_EQ(write(to_child[1], "x", 1), 1);
  ASSERT_EQ(read(to_parent[0], &byte, 1), 1);
  EXPECT_GE(MappedKilobytes(file, "Shared_Clean:") + MappedKilobytes(file, "Shared_Dirty:"), kilobytes);
  EXPECT_EQ(MappedKilobytes(file, "Private_Clean:") + MappedKilobytes(file, "Private_Dirty:"), 0u);
  EXPECT_EQ(MappedKilobytes(file, "Anonymous:"), 0u);
  EXPECT_EQ(write(to_child[1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace prenorm
