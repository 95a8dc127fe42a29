// Mapped files: where they lie, and what they keep in memory.
#include "runtime/loader/mapped_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/support/mapped_kilobytes.h"
#include "tests/support/temporary_folder.h"

namespace prenorm {
namespace {

constexpr size_t kBytes = (size_t{2} << 20) + 12345;

class MappedFileTest : public testing::Test {
 protected:
  MappedFileTest() {
    std::string content(kBytes, '\0');
    for (size_t i = 0; i < kBytes; ++i) content[i] = static_cast<char>(i % 251);
    path_ = folder_.Write("file", content);
  }
  static bool IsAsWritten(const MappedFile& file, size_t begin) {
    const std::span<const uint8_t> bytes = file.bytes();
    for (size_t i = begin; i < kBytes; ++i) {
      if (bytes[i] != i % 251) return false;
    }
    return bytes.size() == kBytes;
  }
  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(MappedFileTest, ReadOnlyMappingsBeginAtALargePage) {
  for (int i = 0; i < 3; ++i) {
    const Result<MappedFile> file = MappedFile::Open(path_, FileAccess::kMap),
                             second = MappedFile::Open(path_, FileAccess::kMap);
    ASSERT_TRUE(file.ok() && second.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(file->bytes().data()) % (2 << 20), 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(second->bytes().data()) % (2 << 20), 0u);
    second->CollectLargePages();
    EXPECT_TRUE(IsAsWritten(*file, 0) && IsAsWritten(*second, 0));
  }
}

TEST_F(MappedFileTest, WhatIsReleasedLeavesMemoryAndComesBack) {
  for (const FileAccess access : {FileAccess::kMap, FileAccess::kMapPrivate}) {
    const Result<MappedFile> file = MappedFile::Open(path_, access);
    ASSERT_TRUE(file.ok()) << file.status().message();
    if (file->writable() != nullptr) file->writable()[5] = 200;
    EXPECT_TRUE(IsAsWritten(*file, 6));
    EXPECT_GE(MappedKilobytes(path_, "Rss:"), kBytes / 1024);
    file->Release(6, kBytes);
    EXPECT_LE(MappedKilobytes(path_, "Rss:"), 2 * 64u) << "the pages of both ends";
    EXPECT_TRUE(IsAsWritten(*file, 6));
    EXPECT_EQ(file->bytes()[5], file->writable() != nullptr ? 200 : 5);
  }
}

TEST_F(MappedFileTest, ACopyHasNothingToRelease) {
  const Result<MappedFile> file = MappedFile::Open(path_, FileAccess::kRead);
  ASSERT_TRUE(file.ok());
  file->Release(0, kBytes);
  EXPECT_TRUE(IsAsWritten(*file, 0));
}

}  // namespace
}  // namespace prenorm
