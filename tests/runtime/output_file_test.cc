// Files that appear when they are complete: what others see, and what is in the way.
#include "prenorm/output_file.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  OutputFile Create() const {
    Result<OutputFile> file = OutputFile::Create(path_);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return std::move(file).value();
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  static std::string Read(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static void WriteText(OutputFile& file, std::string_view text) {
    const Status status = file.Write(text.data(), text.size());
    EXPECT_TRUE(status.ok()) << status.message();
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path("file");
};

TEST_F(OutputFileTest, AppearsWhenItIsComplete) {
  {
    OutputFile given_up = Create();
    WriteText(given_up, "half");
    EXPECT_FALSE(fs::exists(path_));
  }
  EXPECT_TRUE(Names().empty());
  OutputFile file = Create();
  WriteText(file, "whole");
  EXPECT_FALSE(fs::exists(path_));
  ASSERT_TRUE(file.Commit().ok());
  EXPECT_EQ(Read(path_), "whole");
  EXPECT_EQ(Names(), std::vector<std::string>{"file"});
}

// A killed process leaves its file, and in a container the next process has the same number.
TEST_F(OutputFileTest, FilesThatAKilledProcessLeftAreInNobodysWay) {
  std::string first;
  {
    const OutputFile file = Create();
    ASSERT_EQ(Names().size(), 1u);
    first = Names()[0];
  }
  const size_t digits = first.rfind('-') + 1, end = first.find(".partial");
  ASSERT_NE(end, std::string::npos) << first;
  const int number = std::stoi(first.substr(digits, end - digits));
  std::vector<std::string> stale;
  for (int next = 1; next <= 3; ++next) {
    stale.push_back(first.substr(0, digits) + std::to_string(number + next) + first.substr(end));
    folder_.Write(stale.back(), "stale");
  }
  OutputFile file = Create();
  WriteText(file, "new");
  ASSERT_TRUE(file.Commit().ok());
  EXPECT_EQ(Read(path_), "new");
  for (const std::string& name : stale) EXPECT_EQ(Read(folder_.path(name)), "stale") << name;
}

TEST_F(OutputFileTest, OfTwoAtOnceTheLastToEndStays) {
  OutputFile a = Create(), b = Create();
  WriteText(a, "first ");
  WriteText(b, "second ");
  WriteText(a, "A");
  WriteText(b, "B");
  ASSERT_TRUE(b.Commit().ok());
  EXPECT_EQ(Read(path_), "second B");
  ASSERT_TRUE(a.Commit().ok());
  EXPECT_EQ(Read(path_), "first A");
  EXPECT_EQ(Names(), std::vector<std::string>{"file"});
}

TEST_F(OutputFileTest, RightsAndLinksOfAnOlderFileStay) {
  folder_.Write("file", "old");
  fs::permissions(path_, fs::perms::owner_all);
  const std::string link = folder_.path("link");
  fs::create_symlink("file", link);
  Result<OutputFile> file = OutputFile::Create(link);
  ASSERT_TRUE(file.ok()) << file.status().message();
  WriteText(*file, "new");
  EXPECT_EQ(Read(path_), "old");
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Read(path_), "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_all);
}

TEST_F(OutputFileTest, WhatCannotBeWrittenIsSaid) {
  for (const std::string& path : {folder_.path(), folder_.path("missing/file")}) {
    const Result<OutputFile> file = OutputFile::Create(path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.status().code(), StatusCode::kIo);
    EXPECT_NE(file.status().message().find(path), std::string::npos) << file.status().message();
  }
}

}  // namespace
}  // namespace prenorm
