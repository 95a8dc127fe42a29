// prenorm perplexity from outside, against `prenorm logits` on windows that the test cuts itself.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/npy_values.h"
#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

using nlohmann::json;

constexpr size_t kVocab = 768;
const std::string kText =
    "Once upon a time there was a small fox. The fox lived near a river and had a red ball. One day the ball fell into "
    "the "
    "water. The fox was sad. A kind bird saw the fox and asked what was wrong. The bird took the ball out of the "
    "river. "
    "The fox said thank you. They played together until the sun went down.";

std::string Bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

json Perplexity(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"perplexity", TinyModel(), "--json"});
  const CommandResult result = RunCommand(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.exit_code == 0 ? json::parse(result.out) : json();
}

TEST(PerplexityCliTest, EqualsWhatTheLogitsOfTheWindowsGive) {
  const TemporaryFolder folder;
  const std::string text = folder.Write("text.txt", kText);
  const CommandResult tokenized = RunCommand({"tokenize", TinyModel(), "-f", text, "--add-special", "--json"});
  ASSERT_EQ(tokenized.exit_code, 0) << tokenized.err;
  const auto ids = json::parse(tokenized.out).at("ids").get<std::vector<int>>();
  constexpr size_t kWindow = 32;
  const size_t windows = ids.size() / kWindow;
  ASSERT_GE(windows, 2u);

  // A beginning token is put before the text by this model or is not: then the window's first token stays.
  const auto plain =
      json::parse(RunCommand({"tokenize", TinyModel(), "-f", text, "--json"}).out).at("ids").get<std::vector<int>>();
  const bool adds_bos = plain.size() < ids.size();
  double nll = 0;
  size_t scored = 0;
  for (size_t w = 0; w < windows; ++w) {
    std::string list;
    for (size_t i = 0; i < kWindow; ++i) {
      list += std::to_string(i == 0 && adds_bos ? ids[0] : ids[w * kWindow + i]) + ",";
    }
    ASSERT_EQ(RunCommand({"logits", TinyModel(), "--tokens", list, "--out", folder.path("x.npy")}).exit_code, 0);
    const std::vector<float> logits = NpyValues(folder.path("x.npy"));
    ASSERT_EQ(logits.size(), kWindow * kVocab);
    for (size_t i = kWindow / 2; i + 1 < kWindow; ++i) {
      long double sum = 0;
      for (size_t v = 0; v < kVocab; ++v) sum += std::exp(static_cast<long double>(logits[i * kVocab + v]));
      nll += static_cast<double>(std::log(sum) - logits[i * kVocab + static_cast<size_t>(ids[w * kWindow + i + 1])]);
      ++scored;
    }
  }
  const json object = Perplexity({"-f", text, "--ctx", "32"});
  EXPECT_EQ(object.at("schema"), 1);
  EXPECT_EQ(object.at("tokens"), scored);
  EXPECT_EQ(object.at("windows"), windows);
  EXPECT_NEAR(object.at("ppl").get<double>(), std::exp(nll / static_cast<double>(scored)), 1e-4);
  EXPECT_FALSE(object.contains("kl"));
  EXPECT_EQ(Perplexity({"-f", text, "--ctx", "32", "--chunks", "1"}).at("windows"), 1);
}

TEST(PerplexityCliTest, ComparesWithAReference) {
  const TemporaryFolder folder;
  const std::string text = folder.Write("text.txt", kText), own = folder.path("own.npy");
  const json alone = Perplexity({"-f", text, "--ctx", "32", "--save-logits", own});
  const json same = Perplexity({"-f", text, "--ctx", "32", "--kl", own});
  EXPECT_EQ(same.at("ppl"), alone.at("ppl"));
  EXPECT_NEAR(same.at("kl").at("max").get<double>(), 0, 1e-12);
  EXPECT_EQ(same.at("kl").at("same_top1"), 1.0);
  EXPECT_NEAR(same.at("kl").at("reference_ppl").get<double>(), alone.at("ppl").get<double>(), 1e-5);

  // A reference that gives every token the same chance: its divergence follows from the log-probabilities saved before.
  const std::vector<float> log_probs = NpyValues(own);
  const std::string header = Bytes(own).substr(0, Bytes(own).find('\n') + 1);
  std::string flat = header;
  flat.append(log_probs.size() * sizeof(float), '\0');  // Logits of 0.
  folder.Write("flat.npy", flat);
  double mean = 0, max = 0;
  const size_t rows = log_probs.size() / kVocab;
  for (size_t r = 0; r < rows; ++r) {
    double kl = -std::log(static_cast<double>(kVocab));
    for (size_t v = 0; v < kVocab; ++v) kl -= static_cast<double>(log_probs[r * kVocab + v]) / kVocab;
    mean += kl / static_cast<double>(rows);
    max = std::max(max, kl);
  }
  const json far = Perplexity({"-f", text, "--ctx", "32", "--kl", folder.path("flat.npy")}).at("kl");
  EXPECT_NEAR(far.at("mean").get<double>(), mean, 1e-4);
  EXPECT_NEAR(far.at("max").get<double>(), max, 1e-4);
  EXPECT_NEAR(far.at("reference_ppl").get<double>(), kVocab, 0.01);
  EXPECT_LE(far.at("p99"), far.at("max"));
  EXPECT_LT(far.at("same_top1"), 0.5);
}

TEST(PerplexityCliTest, RefusesWhatDoesNotFit) {
  const TemporaryFolder folder;
  const std::string text = folder.Write("text.txt", kText), own = folder.path("own.npy");
  Perplexity({"-f", text, "--ctx", "32", "--save-logits", own});
  const auto fails = [&](const std::vector<std::string>& options, int code, const std::string& part) {
    std::vector<std::string> arguments = {"perplexity", TinyModel(), "-f", text};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const CommandResult result = RunCommand(arguments);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  };
  fails({"--ctx", "512"}, 2, "too short");
  fails({"--ctx", "3"}, 2, "--ctx");
  fails({"--ctx", "32", "--kl", own, "--chunks", "1"}, 2, "found");
  fails({"--ctx", "32", "--kl", own, "--save-logits", own}, 2, "overwritten");
  fails({"--ctx", "32", "--kl", text}, 2, ".npy");
  fails({"--ctx", "32", "--kl", folder.path("none.npy")}, 1, "none.npy");
  const std::string cut = folder.Write("cut.npy", Bytes(own).substr(0, Bytes(own).size() - 5));
  fails({"--ctx", "32", "--kl", cut, "--save-logits", folder.path("x.npy")}, 1, "ends too early");
  EXPECT_FALSE(std::filesystem::exists(folder.path("x.npy"))) << "no half file is left";
}

TEST(PerplexityCliTest, PrintsATable) {
  const CommandResult result = RunCommand({"perplexity", TinyModel(), "--ctx", "32"}, {.stdin_text = kText});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("perplexity ")) << result.out;
}

}  // namespace
}  // namespace prenorm
