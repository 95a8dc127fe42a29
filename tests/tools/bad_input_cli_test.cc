// Files and texts that are refused, or stood, by the command.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/bad_models.h"
#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

TEST(BadInputCliTest,
     FilesAreRefusedByName) {  // F1, F2, F3, F4, F5, F6, F7, F8, F9, F10, F12, F13, F14, F15, F29, F30, F31
  const TemporaryFolder folder;
  for (const BadModel& bad : BadModels(folder)) {
    SCOPED_TRACE(bad.name);
    const CommandResult result = RunCommand({"generate", bad.path, "-p", "Once", "-n", "1"});
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_EQ(result.out, "");
    for (const std::string& word : bad.words) EXPECT_NE(result.err.find(word), std::string::npos) << result.err;
  }
}

TEST(BadInputCliTest, BytesThatAreNoUtf8AndLongTextsAreTokenized) {  // T12, T16
  const TemporaryFolder folder;
  for (const std::string& text :
       {std::string("ab\xE2\x80"), std::string("\x61\xFF\x62"), std::string(50'000, 'A'), std::string(131'072, 'Z')}) {
    const CommandResult result = RunCommand({"tokenize", TinyModel(), "-f", folder.Write("text", text), "--ids"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_FALSE(result.out.empty());
  }
}

}  // namespace
}  // namespace prenorm
