// Prepared weights: the same bits as without, and files that are missing, damaged, or foreign.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "prenorm/target.h"
#include "runtime/model/prepared_file.h"
#include "tests/runtime/model/prepared_fixture.h"
#include "tests/support/hashed_model.h"

namespace prenorm {
namespace {

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

}  // namespace
}  // namespace prenorm
