// prenorm generate, tokenize and logits from outside.
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/small_llama.h"
#include "tests/tools/generate_helpers.h"

namespace prenorm {
namespace {

TEST(GenerateCliTest, StdoutHoldsTheAnswerAndNothingElse) {
  const json object = GenerateJson({"-p", kPrompt, "-n", "20", "--temp", "0"});
  const CommandResult plain = Generate({"-p", kPrompt, "-n", "20", "--temp", "0"});
  EXPECT_EQ(plain.out, object.at("text").get<std::string>());
  EXPECT_NE(plain.err.find("20 tokens"), std::string::npos) << plain.err;
  EXPECT_EQ(Generate({"-p", kPrompt, "-n", "20", "--temp", "0", "-q"}).err, "");
}

TEST(GenerateCliTest, TheModelsOwnSettingsAreDefaults) {
  TemporaryFolder folder;
  const std::filesystem::path model = folder.path("model");
  std::filesystem::copy(PRENORM_SOURCE_DIR "/models/tiny/hf", model);
  std::ofstream(model / "generation_config.json")
      << R"({"eos_token_id": 2, "temperature": 0.25, "top_k": 7, "num_beams": 4, "_from_model_config": true})";
  const auto config = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", model.string(), "--print-config"});
    return RunCommand(more, {.environment = {"PRENORM_TEMPERATURE"}}).out;
  };
  const auto line = [&](const std::string& text, const std::string& name) {
    const size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? "no " + name + " in " + text
                                   : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  };
  for (const char* word : {"0.25", "model"})
    EXPECT_NE(line(config({}), "temperature").find(word), std::string::npos) << config({});
  EXPECT_NE(line(config({}), "top-k").find("7"), std::string::npos);
  EXPECT_NE(line(config({"--temp", "0.5"}), "temperature").find("flag"), std::string::npos);
  EXPECT_NE(line(config({}), "top-p").find("built-in"), std::string::npos);
  const CommandResult result = RunCommand({"generate", model.string(), "-p", "x", "-n", "1"});
  EXPECT_NE(result.err.find("not used: num_beams"), std::string::npos) << result.err;
  std::ofstream(model / "generation_config.json") << R"({"do_sample": false})";
  EXPECT_NE(line(config({}), "temperature").find("model"), std::string::npos) << config({});
  std::ofstream(model / "generation_config.json") << "[";
  EXPECT_EQ(RunCommand({"generate", model.string(), "-p", "x", "-n", "1"}).exit_code, 3);
}

TEST(GenerateCliTest, JsonHasTheFieldsThatScriptsRelyOn) {
  const json object = GenerateJson({"-p", kPrompt, "-n", "5", "--temp", "0"});
  EXPECT_EQ(object.at("schema"), 1);
  for (const char* key : {"cpu", "target", "threads", "version"}) EXPECT_TRUE(object.at("host").contains(key)) << key;
  EXPECT_EQ(object.at("ids").size(), 5u);
  EXPECT_EQ(object.at("generated_tokens"), 5);
  EXPECT_EQ(object.at("prompt_tokens"), object.at("prompt_ids").size());
  EXPECT_EQ(object.at("finish_reason"), "length");
  EXPECT_TRUE(object.at("seed").is_number());
  for (const char* key : {"load_ns", "prefill_ns", "decode_ns", "ttft_ns", "norm_share"}) {
    EXPECT_GT(object.at("timings").at(key).get<double>(), 0) << key;
  }
}

TEST(GenerateCliTest, JsonlPrintsOneEventATokenAndASummary) {
  const CommandResult result = Generate({"-p", kPrompt, "-n", "6", "--temp", "0", "--jsonl"});
  std::istringstream lines(result.out);
  std::string text;
  std::vector<json> events;
  for (std::string line; std::getline(lines, line);) events.push_back(json::parse(line));
  ASSERT_EQ(events.size(), 7u);
  for (size_t i = 0; i < 6; ++i) text += events[i].at("text").get<std::string>();
  EXPECT_EQ(text, Generate({"-p", kPrompt, "-n", "6", "--temp", "0"}).out);
  EXPECT_EQ(events.back().at("finish_reason"), "length");
}

TEST(GenerateCliTest, NewTokensAreLimited) {  // R2
  EXPECT_EQ(Generate({"-p", kPrompt, "-n", "0"}).out, "");
  EXPECT_EQ(GenerateJson({"-p", kPrompt, "-n", "0"}).at("generated_tokens"), 0);
  EXPECT_LE(GenerateJson({"-p", kPrompt, "-n", "5"}).at("generated_tokens"), 5);
}

TEST(GenerateCliTest, AFullContextEndsWithLength) {  // R3
  const json object = GenerateJson({"-p", kPrompt, "-n", "-1", "-c", "24", "--ignore-end-tokens"});
  EXPECT_EQ(object.at("finish_reason"), "length");
  EXPECT_EQ(object.at("prompt_tokens").get<int>() + object.at("generated_tokens").get<int>(), 24);
}

TEST(GenerateCliTest, TheReportedSeedGivesTheSameText) {  // R9
  const json first = GenerateJson({"-p", kPrompt, "-n", "30", "--temp", "1.2"});
  const json second = GenerateJson({"-p", kPrompt, "-n", "30", "--temp", "1.2", "--seed", first.at("seed").dump()});
  EXPECT_EQ(first.at("ids"), second.at("ids"));
}

TEST(GenerateCliTest, GreedyTokensDoNotDependOnThreads) {  // R10, R13
  const json one = GenerateJson({"-p", kPrompt, "-n", "24", "--temp", "0", "-t", "1"});
  for (const char* threads : {"2", "3", "8"}) {
    EXPECT_EQ(GenerateJson({"-p", kPrompt, "-n", "24", "--temp", "0", "-t", threads}).at("ids"), one.at("ids"))
        << threads;
  }
}

TEST(GenerateCliTest, FiltersAndSeedsDoNotChangeGreedyTokens) {  // R6
  const json plain = GenerateJson({"-p", kPrompt, "-n", "12", "--temp", "0"});
  EXPECT_EQ(GenerateJson({"-p", kPrompt, "-n", "12", "--temp", "0", "--top-k", "5", "--top-p", "0.3", "--min-p", "0.1",
                          "--seed", "99"})
                .at("ids"),
            plain.at("ids"));
}

TEST(GenerateCliTest, TopKOffOrAboveTheVocabularyKeepsEverything) {  // R7
  const auto with = [](const std::string& top_k) {
    return GenerateJson({"-p", kPrompt, "-n", "20", "--temp", "1.5", "--seed", "7", "--top-k", top_k}).at("ids");
  };
  EXPECT_EQ(with("-1"), with("0"));
  EXPECT_EQ(with("1000000000"), with("0"));
  EXPECT_NE(with("1"), with("0"));
}

TEST(GenerateCliTest, ThePenaltyLeadsAwayFromWhatWasSeen) {  // R8
  const auto with = [](const std::string& penalty) {
    return GenerateJson(
               {"-p", kPrompt, "-n", "40", "--temp", "0", "--ignore-end-tokens", "--repetition-penalty", penalty})
        .at("ids")
        .get<std::vector<int>>();
  };
  const auto different = [](std::vector<int> ids) {
    std::sort(ids.begin(), ids.end());
    return std::unique(ids.begin(), ids.end()) - ids.begin();
  };
  EXPECT_EQ(with("1"), GenerateJson({"-p", kPrompt, "-n", "40", "--temp", "0", "--ignore-end-tokens"})
                           .at("ids")
                           .get<std::vector<int>>());
  EXPECT_LT(different(with("1")), 40);
  EXPECT_EQ(different(with("1e6")), 40) << "negative logits too: none comes twice";
}

TEST(GenerateCliTest, ThreadsFollowTheAffinityMask) {  // R12
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // The child has it from this thread.
  const json object = GenerateJson({"-p", kPrompt, "-n", "1"}, {.environment = {"PRENORM_THREADS=0"}});
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(object.at("host").at("threads"), 1);
}

TEST(GenerateCliTest, PathsMayHoldSpacesAndAnyUtf8) {  // R14
  TemporaryFolder folder;
  const std::string nested = folder.path("Модели ü");
  std::filesystem::create_directory(nested);
  std::filesystem::copy(TinyModel(), nested + "/мод ель.gguf");
  std::filesystem::create_symlink(nested + "/мод ель.gguf", folder.path("link.gguf"));
  const std::vector<std::string> more = {"-p", kPrompt, "-n", "8", "--temp", "0", "-q"};
  const std::string expected = Generate(more).out;
  for (const std::string& path :
       {nested + "/мод ель.gguf", std::string("Модели ü/мод ель.gguf"), std::string("link.gguf")}) {
    std::vector<std::string> arguments = {"generate", path};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = RunCommand(arguments, {.working_folder = folder.path("")});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, expected) << path;
  }
}

TEST(GenerateCliTest, NothingIsWrittenAndHomeIsNotNeeded) {  // R22
  TemporaryFolder folder;
  std::filesystem::permissions(folder.path(""),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const CommandResult result = Generate({"-p", kPrompt, "-n", "3"},
                                        {.environment = {"HOME", "XDG_CACHE_HOME"}, .working_folder = folder.path("")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("")));
  std::filesystem::permissions(folder.path(""), std::filesystem::perms::owner_all);
}

TEST(GenerateCliTest, AStopStringEndsTheTextAndIsNotPrinted) {  // R19
  const std::string whole = Generate({"-p", kPrompt, "-n", "30", "--temp", "0"}).out;
  ASSERT_GT(whole.size(), 20u);
  const std::string stop = whole.substr(5, 8);
  const json object = GenerateJson({"-p", kPrompt, "-n", "30", "--temp", "0", "--stop", "never said", "--stop", stop});
  EXPECT_EQ(object.at("text"), whole.substr(0, whole.find(stop)));
  EXPECT_EQ(object.at("finish_reason"), "stop");
}

TEST(GenerateCliTest, ACacheThatDoesNotFitIsRefusedWithTheBytesNeeded) {  // R16
  const TemporaryFolder folder;
  const std::vector<uint8_t> bytes = LlamaWithALargeCache().Build();
  const std::string model = folder.Write("model.gguf", std::string(bytes.begin(), bytes.end()));
  CommandInput input;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  input.address_space_kilobytes = 64 << 20;  // Machines that have the memory are given less of it.
#endif
  const CommandResult result = RunCommand({"generate", model, "-p", "a", "-c", "1048576", "--cache", "f16"}, input);
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_NE(result.err.find("(-c)"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("137438953472 bytes"), std::string::npos) << result.err;
}

TEST(GenerateCliTest, FillingInNeedsAModelForIt) {
  const CommandResult result = Generate({"--prefix", "Once", "--suffix", "end."});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("cannot fill in the middle"), std::string::npos) << result.err;
  EXPECT_EQ(Generate({"--prefix", "Once", "-p", "x"}).exit_code, 2);
}

TEST(GenerateCliTest, AReaderThatGoesAwayIsAQuietSuccess) {
  const CommandResult result = Generate({"-p", kPrompt, "-n", "-1", "--ignore-end-tokens"}, {.close_stdout_after = 5});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err.find("prenorm:"), std::string::npos) << result.err;
}

TEST(GenerateCliTest, InterruptFlushesAndExits130) {  // R5
  // JSON lines are long: the pipe is full long before the context is, so the signal comes in time.
  const CommandResult result =
      Generate({"-p", kPrompt, "-n", "-1", "--ignore-end-tokens", "--jsonl"}, {.interrupt_after = 5});
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
}

TEST(GenerateCliTest, LogitsHaveTheirArgmaxWhereGreedyGenerationGoes) {
  const json object = GenerateJson({"-p", kPrompt, "-n", "16", "--temp", "0", "--ignore-end-tokens"});
  std::vector<int> ids = object.at("prompt_ids").get<std::vector<int>>();
  const size_t prompt = ids.size();
  for (int id : object.at("ids")) ids.push_back(id);
  TemporaryFolder folder;
  const CommandResult result = RunCommand(
      {"logits", TinyModel(), "--tokens-file", folder.Write("ids", json(ids).dump()), "--out", folder.path("x.npy")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::ifstream in(folder.path("x.npy"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  ASSERT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t header = 10 + static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  EXPECT_EQ(header % 64, 0u);
  const size_t vocab_size = (bytes.size() - header) / 4 / ids.size();
  EXPECT_NE(bytes.find("'shape': (" + std::to_string(ids.size()) + ", " + std::to_string(vocab_size) + "), }"),
            std::string::npos);
  ASSERT_EQ(bytes.size(), header + 4 * ids.size() * vocab_size);
  std::vector<float> logits(ids.size() * vocab_size);
  std::memcpy(logits.data(), bytes.data() + header, 4 * logits.size());
  for (size_t i = prompt; i < ids.size(); ++i) {
    const auto row = logits.begin() + static_cast<ptrdiff_t>((i - 1) * vocab_size);
    EXPECT_EQ(std::max_element(row, row + static_cast<ptrdiff_t>(vocab_size)) - row, ids[i]) << "position " << i;
  }
}

TEST(TokenizeCliTest, PiecesJoinToTheTextAndMarkersAreTextUnlessAsked) {
  const CommandResult result = RunCommand({"tokenize", TinyModel(), "-p", "a <|im_end|> b", "--json"});
  const json object = json::parse(result.out);
  std::string joined;
  for (const std::string piece : object.at("pieces")) joined += piece;
  EXPECT_EQ(joined, "a <|im_end|> b");
  const json special =
      json::parse(RunCommand({"tokenize", TinyModel(), "-p", "a <|im_end|> b", "--json", "--special"}).out);
  EXPECT_LT(special.at("ids").size(), object.at("ids").size());
  const CommandResult ids = RunCommand({"tokenize", TinyModel(), "-p", "a <|im_end|> b", "--ids"});
  EXPECT_EQ("[" + ids.out + "]", "[" + object.at("ids").dump().substr(1, object.at("ids").dump().size() - 2) + "\n]");
}

}  // namespace
}  // namespace prenorm
