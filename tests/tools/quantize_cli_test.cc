// prenorm quantize from outside: the file runs, what differs from the recipe is said, and nothing is lost on the way.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "prenorm/quantize.h"
#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

using nlohmann::json;

std::string Bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

TEST(QuantizeCliTest, HelpNamesEveryRecipe) {
  const CommandResult help = RunCommand({"quantize", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.out.find("prenorm quantize IN OUT [RECIPE] [OPTION...]"), std::string::npos) << help.out;
  const size_t begin = help.out.find('[', help.out.find("  RECIPE")), end = help.out.find(';', begin);
  std::string list;
  for (const std::string& name : QuantizeRecipes()) list += (list.empty() ? "" : "|") + name;
  EXPECT_EQ(help.out.substr(begin + 1, end - begin - 1), list);
}

TEST(QuantizeCliTest, TheFileRunsAndStandInsAreSaid) {
  const TemporaryFolder folder;
  const std::string to = folder.path("tiny q4.gguf");
  const CommandResult result = RunCommand({"quantize", TinyModel(), to, "Q4_K_M", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  // Rows of 128 and 224 are no multiple of 256.
  EXPECT_NE(result.err.find("became Q5_0 instead of Q4_K"), std::string::npos) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object.at("schema"), 1);
  EXPECT_EQ(object.at("recipe"), "Q4_K_M");
  EXPECT_GE(object.at("notes").size(), 1u);
  EXPECT_GT(object.at("bits_per_weight"), 5.5);
  EXPECT_LT(object.at("bits_per_weight"), 9.0);
  EXPECT_LT(object.at("bytes_after"), object.at("bytes_before"));

  const std::vector<std::string> prompt = {"-p", "Once upon a time", "-n", "8", "--temp", "0"};
  std::vector<std::string> generate = {"generate", to};
  generate.insert(generate.end(), prompt.begin(), prompt.end());
  const CommandResult text = RunCommand(generate);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out, "");

  const CommandResult again = RunCommand({"quantize", to, folder.path("twice.gguf"), "Q4_0"});
  EXPECT_EQ(again.exit_code, 3) << "it is quantized already";
  EXPECT_FALSE(std::filesystem::exists(folder.path("twice.gguf")));
}

TEST(QuantizeCliTest, AFolderBecomesAFileThatSaysTheSame) {
  const TemporaryFolder folder;
  const std::string to = folder.path("tiny.gguf");
  const CommandResult result = RunCommand({"quantize", PRENORM_SOURCE_DIR "/models/tiny/hf", to, "F32"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> more = {"-p", "Once upon a time", "-n", "12", "--temp", "0"};
  std::vector<std::string> ours = {"generate", to}, expected = {"generate", TinyModel()};
  ours.insert(ours.end(), more.begin(), more.end());
  expected.insert(expected.end(), more.begin(), more.end());
  EXPECT_EQ(RunCommand(ours).out, RunCommand(expected).out);
}

TEST(QuantizeCliTest, NothingIsAnsweredWithoutJson) {
  const TemporaryFolder folder;
  const CommandResult result = RunCommand({"quantize", TinyModel(), folder.path("q8.gguf"), "Q8_0"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("bits a weight"), std::string::npos) << result.err;
  EXPECT_EQ(RunCommand({"quantize", TinyModel(), folder.path("q8.gguf"), "Q8_0", "-q"}).err, "");
}

TEST(QuantizeCliTest, RefusesItsInputAsOutput) {
  const TemporaryFolder folder;
  const std::string model = folder.Write("model.gguf", Bytes(TinyModel()));
  std::filesystem::create_symlink(model, folder.path("other name.gguf"));
  for (const std::string& to : {model, folder.path("other name.gguf")}) {
    const CommandResult result = RunCommand({"quantize", model, to, "Q8_0"});
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_NE(result.err.find(to), std::string::npos) << result.err;
  }
  EXPECT_EQ(Bytes(model), Bytes(TinyModel()));
}

TEST(QuantizeCliTest, ArgumentsAreChecked) {
  const TemporaryFolder folder;
  EXPECT_EQ(RunCommand({"quantize", TinyModel()}).exit_code, 2);
  const CommandResult unknown = RunCommand({"quantize", TinyModel(), folder.path("x.gguf"), "Q9_9"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("Q4_K_M"), std::string::npos) << "lists the recipes: " << unknown.err;
  EXPECT_EQ(RunCommand({"quantize", folder.path("none.gguf"), folder.path("x.gguf")}).exit_code, 3);
  EXPECT_EQ(RunCommand({"quantize", TinyModel(), folder.path("no/folder/x.gguf")}).exit_code, 1);
}

}  // namespace
}  // namespace prenorm
