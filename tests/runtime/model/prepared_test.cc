// Prepared weights: the same bits as without, shared pages, and files that are missing, damaged, foreign or under way.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "prenorm/quantize.h"
#include "prenorm/session.h"
#include "prenorm/target.h"
#include "runtime/model/prepared_file.h"
#include "tests/support/hashed_model.h"
#include "tests/support/mapped_kilobytes.h"
#include "tests/support/session_helpers.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

class PreparedTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_.path("model.gguf");
    fs::copy_file(TinyModelPath(), path_);
    options_.prepared_folder = folder_.path("a/folder of weights");
  }
  std::shared_ptr<const Model> Load(const LoadOptions& options) {
    Result<std::shared_ptr<const Model>> model = Model::Load(path_, options);
    EXPECT_TRUE(model.ok()) << model.status().message();
    return model.ok() ? *model : nullptr;
  }
  // The tiny model in another type, at path_.
  void WriteQuantized(const std::string& recipe) const {
    QuantizeOptions options;
    options.recipe = recipe;
    const Result<QuantizeReport> report = QuantizeFile(TinyModelPath(), path_, options);
    ASSERT_TRUE(report.ok()) << report.status().message();
  }
  static std::string Content(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(options_.prepared_folder, error)) files.push_back(entry.path());
    return files;
  }
  static std::vector<float> Logits(const std::shared_ptr<const Model>& model) {
    SessionOptions options;
    options.threads = 2;
    const auto session = MakeSession(model, options);
    return AllLogits(*session, SomeTokens(20, *model));
  }

  TemporaryFolder folder_;
  std::string path_;
  LoadOptions options_;
};

TEST_F(PreparedTest, GivesTheSameLogitsAndIsMadeOnce) {
  const auto plain = Load({});
  EXPECT_EQ(plain->prepared_path(), "");
  const auto first = Load(options_);
  ASSERT_EQ(Files().size(), 1u);
  EXPECT_EQ(first->prepared_path(), Files()[0]);
  const auto time = fs::last_write_time(Files()[0]);
  const auto second = Load(options_);
  EXPECT_EQ(fs::last_write_time(Files()[0]), time);
  EXPECT_TRUE(SameBytes(Logits(first), Logits(plain)));
  EXPECT_TRUE(SameBytes(Logits(second), Logits(plain)));
  EXPECT_EQ(second->warnings(), plain->warnings());
}

TEST_F(PreparedTest, FilesOfAModelAreItsOwn) {
  const auto files_of = [&](const std::string& path) {
    Result<std::vector<std::string>> files = PreparedFilesOf(path, options_.prepared_folder);
    EXPECT_TRUE(files.ok()) << files.status().message();
    std::sort(files->begin(), files->end());
    return *files;
  };
  EXPECT_TRUE(files_of(path_).empty()) << "without the folder";
  // One for each layout, and that of a model of the same name that is an hour older.
  std::vector<std::string> own;
  for (const std::string& target : RunnableTargets()) {
    ASSERT_TRUE(ForceTarget(target).ok());
    own.push_back(Load(options_)->prepared_path());
  }
  ASSERT_TRUE(ForceTarget("").ok());
  std::sort(own.begin(), own.end());
  own.erase(std::unique(own.begin(), own.end()), own.end());
  const std::string mine = path_;
  path_ = folder_.path("other/model.gguf");
  fs::create_directories(folder_.path("other"));
  fs::copy_file(mine, path_);
  fs::last_write_time(path_, fs::last_write_time(mine) - std::chrono::hours(1));
  const std::string of_other = Load(options_)->prepared_path();
  EXPECT_EQ(files_of(mine), own);
  EXPECT_EQ(files_of(path_), std::vector<std::string>{of_other});
  EXPECT_EQ(PreparedFilesOf(folder_.path("none.gguf"), options_.prepared_folder).status().code(),
            StatusCode::kNotFound);
  fs::last_write_time(path_, fs::last_write_time(mine) - std::chrono::hours(2));
  EXPECT_TRUE(files_of(path_).empty()) << "an earlier state";
}

// Every layout in turn: each target's, and types that no target interleaves.
TEST_F(PreparedTest, EveryTypeOfWeightsUnderEveryTarget) {
  for (const char* recipe : {"F32", "BF16", "Q8_0", "Q4_1", "Q5_0"}) {
    path_ = folder_.path(std::string("model-") + recipe + ".gguf");
    WriteQuantized(recipe);
    for (const std::string& target : RunnableTargets()) {
      ASSERT_TRUE(ForceTarget(target).ok());
      const std::vector<float> wanted = Logits(Load({}));
      EXPECT_TRUE(SameBytes(Logits(Load(options_)), wanted)) << recipe << " " << target;
      EXPECT_TRUE(SameBytes(Logits(Load(options_)), wanted)) << recipe << " " << target;
    }
    ASSERT_TRUE(ForceTarget("").ok());
  }
}

// Experts are parts of tensors, GPT-2's matrices are transposed when they are loaded, tables stay in the model's file.
TEST_F(PreparedTest, ModelsOfOtherForms) {
  std::ifstream file(PRENORM_SOURCE_DIR "/tests/golden/families.json");
  const nlohmann::json all = nlohmann::json::parse(file);
  for (const nlohmann::json& golden : all) {
    const std::string family = golden.at("name");
    if (family != "mixtral" && family != "gpt2" && family != "gemma3" && family != "qwen2") continue;
    HashedModel(golden).WriteFolder(folder_.path(family));
    path_ = folder_.path(family);
    const std::vector<float> wanted = Logits(Load({}));
    EXPECT_TRUE(SameBytes(Logits(Load(options_)), wanted)) << family;
    EXPECT_TRUE(SameBytes(Logits(Load(options_)), wanted)) << family;
  }
}

TEST_F(PreparedTest, AnyDamageIsFoundAndMadeGood) {
  const std::vector<float> wanted = Logits(Load({}));
  Load(options_);
  const fs::path file = Files().at(0);
  const std::string good = Content(file);
  const auto expect_refused = [&](const std::string& bad, const std::string& what) {
    fs::remove(file);
    std::ofstream(file, std::ios::binary) << bad;
    const auto model = Load(options_);
    ASSERT_EQ(model->warnings().size(), 1u) << what;
    EXPECT_NE(model->warnings()[0].find("made again"), std::string::npos) << model->warnings()[0];
    EXPECT_TRUE(SameBytes(Logits(model), wanted)) << what;
  };
  // Each field of the header, and some of hashes and weights; the zeros between them may be what they like.
  for (size_t at = 0; at < good.size(); at = at < 48 ? at + 4 : at + good.size() / 8 + 1) {
    if (at >= 48 && at < 4096) continue;
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    expect_refused(bad, "byte " + std::to_string(at));
  }
  for (const size_t bytes : {size_t{0}, size_t{7}, size_t{40}, size_t{4096}, good.size() - 1}) {
    expect_refused(good.substr(0, bytes), std::to_string(bytes) + " bytes");
  }
  expect_refused(good + "x", "too long");
}

// A disk that damages what is written, here each file while it is checked, would do so again.
TEST_F(PreparedTest, WhatWasWrittenDamagedIsNotWrittenAgain) {
  Load(options_);
  const fs::path file = Files().at(0);
  PreparedHeader header;
  std::memcpy(&header, Content(file).data(), sizeof header);
  fs::remove(file);
  int checks = 0;
  options_.progress = [&](float share) {
    if (share != 0.0f || !fs::exists(file)) return true;
    ++checks;
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekp(static_cast<std::streamoff>(PreparedDataBegin(header.data_bytes)));
    stream << std::string(4096, 'x');  // Of the first matrix, behind the place that was checked.
    return true;
  };
  cpu_set_t old_mask, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof old_mask, &old_mask), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // So that this thread checks the first place.
  const Result<std::shared_ptr<const Model>> model = Model::Load(path_, options_);
  ASSERT_EQ(sched_setaffinity(0, sizeof old_mask, &old_mask), 0);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), StatusCode::kBadModel);
  EXPECT_EQ(checks, 1);
}

TEST_F(PreparedTest, ADamagedFileThatAnotherProcessMakesMeanwhileIsNoSecondWarning) {
  const std::vector<float> wanted = Logits(Load({}));
  Load(options_);
  const fs::path file = Files().at(0), part = file.string() + ".part";
  const std::string bad = Content(file).substr(1);
  fs::remove(file);
  std::ofstream(file, std::ios::binary) << bad;
  const int fd = open(part.c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  bool published = false;
  options_.progress = [&](float) {
    if (published || fs::exists(file)) return true;
    published = true;  // It waits for the lock.
    std::ofstream(part, std::ios::binary) << bad;
    fs::rename(part, file);
    close(fd);
    return true;
  };
  const auto model = Load(options_);
  EXPECT_TRUE(published);
  ASSERT_NE(model, nullptr);
  ASSERT_EQ(model->warnings().size(), 1u);
  EXPECT_TRUE(SameBytes(Logits(model), wanted));
}

TEST_F(PreparedTest, AChangedModelGetsAnother) {
  Load(options_);
  fs::last_write_time(path_, fs::last_write_time(path_) + std::chrono::seconds(1));
  Load(options_);
  EXPECT_EQ(Files().size(), 2u);
  for (const fs::path& file : Files()) EXPECT_TRUE(file.filename().string().starts_with("model.gguf-")) << file;
}

// Whole and consistent, but of other weights: as after a change of the layout without a new version.
TEST_F(PreparedTest, AnotherModelsFileUnderThisNameIsRefused) {
  const std::vector<float> wanted = Logits(Load({}));
  Load(options_);
  const fs::path file = Files().at(0);
  std::vector<uint8_t> bytes(fs::file_size(file));
  std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes));
  PreparedHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::span front = std::span(bytes).first(PreparedDataBegin(header.data_bytes));
  const std::span data = std::span(bytes).subspan(front.size());
  std::reverse(data.begin(), data.begin() + 4096);  // Of the first matrix, the first row among them.
  for (size_t piece = 0; piece < PreparedPieces(header.data_bytes); ++piece) {
    const uint64_t hash = PreparedHash(data, piece);
    std::memcpy(front.data() + sizeof header + 8 * piece, &hash, 8);
  }
  header = MakePreparedHeader(header.row_group, header.key, header.data_bytes, front);
  std::memcpy(front.data(), &header, sizeof header);
  fs::remove(file);
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  const auto model = Load(options_);
  ASSERT_EQ(model->warnings().size(), 1u);
  EXPECT_NE(model->warnings()[0].find("are not those of"), std::string::npos) << model->warnings()[0];
  EXPECT_TRUE(SameBytes(Logits(model), wanted));
}

TEST_F(PreparedTest, WhatCannotBeWrittenIsSaidAndNothingStays) {
  folder_.Write("occupied", "no folder");
  LoadOptions options;
  options.prepared_folder = folder_.path("occupied");
  Result<std::shared_ptr<const Model>> model = Model::Load(path_, options);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), StatusCode::kIo);
  EXPECT_NE(model.status().message().find("occupied"), std::string::npos) << model.status().message();

  options_.use_mmap = false;
  model = Model::Load(path_, options_);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(fs::exists(options_.prepared_folder));

  options_.use_mmap = true;
  options_.progress = [](float) { return false; };
  model = Model::Load(path_, options_);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), StatusCode::kCancelled);
  EXPECT_TRUE(Files().empty());
}

TEST_F(PreparedTest, APipeOrALinkInThePlaceOfTheDraftIsRefused) {
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

TEST_F(PreparedTest, AnotherUsersDraftIsWaitedForAndRemoved) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
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

TEST_F(PreparedTest, ManyAtOnceMakeOne) {
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
TEST_F(PreparedTest, ProcessesShareThePages) {
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
