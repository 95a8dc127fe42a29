// Files and texts that are refused, or stood, through the C interface.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/c_api/c_helpers.h"
#include "tests/support/bad_models.h"
#include "tests/support/small_stack.h"

namespace prenorm::c_test {
namespace {

using BadInputTest = CTest;

TEST_F(
    BadInputTest,
    FilesAreRefusedByNameAndTheProcessGoesOn) {  // F1, F2, F3, F4, F5, F6, F7, F8, F9, F10, F12, F13, F14, F15, F29, F30, F31
  const TemporaryFolder folder;
  for (const BadModel& bad : BadModels(folder)) {
    SCOPED_TRACE(bad.name);
    prenorm_model* model = nullptr;
    EXPECT_EQ(prenorm_model_load(bad.path.c_str(), nullptr, &model, error()), bad.status);
    EXPECT_EQ(model, nullptr);
    EXPECT_NE(message().find(bad.path), std::string::npos) << message();
    for (const std::string& word : bad.words) EXPECT_NE(message().find(word), std::string::npos) << message();
  }
  EXPECT_FALSE(Tokenize("Once").empty());
}

std::string RoundTrip(const prenorm_model* model, const std::string& text) {
  std::vector<int32_t> tokens(text.size() + 2);
  size_t count = 0, bytes = 0;
  if (prenorm_tokenize(model, text.data(), text.size(), 0, tokens.data(), tokens.size(), &count, nullptr) !=
      PRENORM_OK) {
    return "refused";
  }
  std::string back(3 * text.size(), '\0');
  const prenorm_status status =
      prenorm_detokenize(model, tokens.data(), count, 0, back.data(), back.size(), &bytes, nullptr);
  return status == PRENORM_OK ? back.substr(0, bytes) : "not decoded";
}

TEST_F(BadInputTest, BytesThatAreNoUtf8AreReplaced) {  // T12
  EXPECT_EQ(RoundTrip(model_.get(), "ab\xE2\x80"), "ab\xEF\xBF\xBD");
  EXPECT_EQ(RoundTrip(model_.get(), "\x61\xFF\x62"),
            "a\xEF\xBF\xBD"
            "b");
}

TEST_F(BadInputTest, LongTextsFitASmallStack) {  // T16
  bool same = false;
  RunOnStack(256 * 1024, [&] {
    const std::string a(50'000, 'A'), z(131'072, 'Z');
    same = RoundTrip(model_.get(), a) == a && RoundTrip(model_.get(), z) == z;
  });
  EXPECT_TRUE(same);
}

}  // namespace
}  // namespace prenorm::c_test
