// prenorm embed from outside, on a tiny encoder and on the tiny model: every form of input and output, and refusals.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/hashed_model.h"
#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

using nlohmann::json;

// A folder with a WordPiece tokenizer of a few words.
std::string WriteEncoder(const TemporaryFolder& folder) {
  std::ifstream file(PRENORM_SOURCE_DIR "/tests/golden/encoders.json");
  const json goldens = json::parse(file);
  HashedModel(goldens[0]).WriteFolder(folder.path("bert"));
  folder.Write("bert/tokenizer.json", R"({"added_tokens": [{"id": 1, "content": "[CLS]", "special": true},
      {"id": 2, "content": "[SEP]", "special": true}], "normalizer": {"type": "BertNormalizer"},
      "pre_tokenizer": {"type": "BertPreTokenizer"},
      "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
      "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "red": 3, "blue": 4, "##ish": 5, "[": 6, "]": 7, "sep": 8}}})");
  return folder.path("bert");
}

TEST(EmbedCliTest, AForgottenModelIsNoticed) {
  const CommandResult result = RunCommand({"embed", "some text"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("prenorm embed all-minilm-l6-v2 \"some text\""), std::string::npos) << result.err;
  const TemporaryFolder cache;
  const CommandResult named =
      RunCommand({"embed", "all-minilm-l6-v2"}, {.environment = {"XDG_CACHE_HOME=" + cache.path()}});
  EXPECT_EQ(named.exit_code, 2);
  EXPECT_NE(named.err.find("embed MODEL"), std::string::npos)
      << "a model that is not fetched yet is one: " << named.err;
}

TEST(EmbedCliTest, OtherCommandsKnowAnEncoder) {
  const TemporaryFolder folder;
  const std::string model = WriteEncoder(folder);
  const CommandResult verified = RunCommand({"verify", model});
  EXPECT_EQ(verified.exit_code, 3) << verified.err;
  EXPECT_NE(verified.err.find("Only decoders can be verified"), std::string::npos) << verified.err;
  const CommandResult inspected = RunCommand({"inspect", model, "--json"});
  ASSERT_EQ(inspected.exit_code, 0) << inspected.err;
  const json memory = json::parse(inspected.out).at("memory");
  EXPECT_EQ(memory.at("kv_cache"), 0) << "an encoder keeps nothing: " << memory;
  EXPECT_GT(memory.at("total"), 0);
}

TEST(EmbedCliTest, TextsFromArgumentsLinesAndFilesGiveTheSameVectors) {
  const TemporaryFolder folder;
  const std::string model = WriteEncoder(folder);
  const CommandResult direct = RunCommand({"embed", model, "red", "Blueish RED", "", "--json"});
  ASSERT_EQ(direct.exit_code, 0) << direct.err;
  const json object = json::parse(direct.out);
  EXPECT_EQ(object.at("schema"), 1);
  EXPECT_EQ(object.at("dim"), 96);
  EXPECT_EQ(object.at("pooling"), "mean");
  EXPECT_EQ(object.at("normalized"), true);
  EXPECT_EQ(object.at("tokens"), 3 + 5 + 2);
  const auto rows = object.at("embeddings").get<std::vector<std::vector<float>>>();
  ASSERT_EQ(rows.size(), 3u);
  for (const auto& row : rows) {
    double length = 0.0;
    for (const float v : row) length += static_cast<double>(v) * static_cast<double>(v);
    EXPECT_NEAR(length, 1.0, 1e-6);
  }

  const std::string lines = "red\nBlueish RED\r\n\n";
  const CommandResult piped = RunCommand({"embed", model, "--chunk", "1"}, {.stdin_text = lines});
  ASSERT_EQ(piped.exit_code, 0) << piped.err;
  std::istringstream in(piped.out);
  for (const auto& row : rows) {
    std::string line;
    ASSERT_TRUE(std::getline(in, line));
    std::istringstream numbers(line);
    const std::vector<float> found{std::istream_iterator<float>(numbers), {}};
    EXPECT_EQ(found, row);
  }

  const CommandResult file =
      RunCommand({"embed", model, "-f", folder.Write("lines.txt", lines), "-o", folder.path("x.npy"), "-t", "1"});
  ASSERT_EQ(file.exit_code, 0) << file.err;
  EXPECT_EQ(file.out, "");
  std::ifstream npy(folder.path("x.npy"), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(npy), {});
  EXPECT_NE(bytes.find("'shape': (3, 96)"), std::string::npos);
  std::vector<float> all(3 * 96);
  ASSERT_GT(bytes.size(), all.size() * sizeof(float));
  std::memcpy(all.data(), bytes.data() + bytes.size() - all.size() * sizeof(float), all.size() * sizeof(float));
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], rows[i / 96][i % 96]);
}

TEST(EmbedCliTest, MarkersAreTextUnlessAskedFor) {
  const TemporaryFolder folder;
  const std::string model = WriteEncoder(folder);
  const auto tokens = [&](std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const CommandResult result = RunCommand(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out).at("tokens").get<int>();
  };
  EXPECT_EQ(tokens({"embed", model, "[SEP]"}), 2 + 3);
  EXPECT_EQ(tokens({"embed", model, "[SEP]", "--special"}), 2 + 1);
}

TEST(EmbedCliTest, TextsThatAreTooLongAreRefusedOrCutOnRequest) {
  const TemporaryFolder folder;
  const std::string model = WriteEncoder(folder);
  const CommandResult refused = RunCommand({"embed", model, "red", "red blue red blue", "--max-tokens", "5"});
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_NE(refused.err.find("text 2: 6 tokens, at most 5"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("--truncate"), std::string::npos) << refused.err;
  const CommandResult cut = RunCommand({"embed", model, "red blue red blue", "--max-tokens", "5", "--truncate"});
  const CommandResult whole = RunCommand({"embed", model, "red blue red"});
  EXPECT_EQ(cut.exit_code, 0) << cut.err;
  EXPECT_EQ(cut.out, whole.out);
}

TEST(EmbedCliTest, DecodersEmbedByTheirLastToken) {
  const CommandResult result = RunCommand({"embed", TinyModel(), "Once upon a time", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object.at("pooling"), "last");
  EXPECT_EQ(object.at("embeddings").at(0).size(), 128u);
}

TEST(EmbedCliTest, RefusesWhatIsNoRequest) {
  const TemporaryFolder folder;
  const std::string model = WriteEncoder(folder);
  EXPECT_EQ(RunCommand({"embed", model}).exit_code, 2) << "no text";
  EXPECT_EQ(RunCommand({"embed", model, "red", "--pooling", "max"}).exit_code, 2);
  EXPECT_EQ(RunCommand({"embed", folder.path("none"), "red"}).exit_code, 3);
  std::filesystem::remove(folder.path("bert/tokenizer.json"));
  const CommandResult without = RunCommand({"embed", model, "red"});
  EXPECT_EQ(without.exit_code, 3);
  EXPECT_NE(without.err.find("tokenizer.json"), std::string::npos) << without.err;
  const CommandResult generate = RunCommand({"generate", WriteEncoder(folder), "-p", "red"});
  EXPECT_NE(generate.exit_code, 0);
  EXPECT_NE(generate.err.find("prenorm embed"), std::string::npos) << generate.err;
}

TEST(EmbedCliTest, ProfileNamesTheNormsOfAnEncoder) {
  const TemporaryFolder folder;
  const CommandResult result = RunCommand(
      {"profile", WriteEncoder(folder), "--prefill", "16", "--json", "-r", "5", "--probe-mb", "1", "-t", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json phase = json::parse(result.out).at("phases").at("encode");
  EXPECT_EQ(phase.at("tokens"), 16);
  std::map<std::string, int> norms;
  for (const json& row : phase.at("rows")) {
    if (row.at("kind") == "norm") ++norms[row.at("site").get<std::string>()];
  }
  EXPECT_EQ(norms, (std::map<std::string, int>{{"embd_norm", 1}, {"post_attn_norm", 3}, {"post_ffn_norm", 3}}));
}

}  // namespace
}  // namespace prenorm
