// Reading and running the cases of a folder.
#include "tests/conformance/conformance.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/loader/gguf.h"
#include "runtime/tokenizer/gguf_spec.h"

namespace prenorm {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> SplitCases(std::string_view text) {
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> cases;
  for (size_t end; (end = text.find(kSeparator)) != std::string_view::npos;) {
    cases.emplace_back(text.substr(0, end));
    text.remove_prefix(end + kSeparator.size());
  }
  return cases;
}

std::string IdsText(const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids) text.append(text.empty() ? "" : " ").append(std::to_string(id));
  return text;
}

ConformanceResult RunFile(const std::string& path) {
  ConformanceResult result;
  result.file = std::filesystem::path(path).filename().string();
  const Result<LoadedTokenizer> loaded = LoadGgufTokenizer(path);
  if (!loaded.ok()) {
    result.error = loaded.status().message();
    return result;
  }
  const std::vector<std::string> cases = SplitCases(ReadText(path + ".inp"));
  std::istringstream lines(ReadText(path + ".out"));
  for (const std::string& text : cases) {
    ++result.cases;
    std::string line;
    std::getline(lines, line);
    std::istringstream numbers(line);
    std::vector<TokenId> expected;
    for (TokenId id; numbers >> id;) expected.push_back(id);
    const Result<std::vector<TokenId>> ids = loaded->tokenizer->Encode(text);
    if (ids.ok() && *ids == expected) {
      ++result.passed;
      continue;
    }
    result.failures.push_back("text: " + text + "\n  expected: " + IdsText(expected) +
                              "\n  found:    " + (ids.ok() ? IdsText(*ids) : ids.status().message()));
  }
  return result;
}

}  // namespace

Result<LoadedTokenizer> LoadGgufTokenizer(const std::string& path) {
  Result<GgufFile> file = GgufFile::Open(path);
  if (!file.ok()) return file.status();
  auto kept = std::make_shared<GgufFile>(*std::move(file));
  Result<TokenizerSpec> spec = SpecFromGguf(kept->metadata(), path);
  if (!spec.ok()) return spec.status();
  Result<std::unique_ptr<Tokenizer>> tokenizer = BuildTokenizer(*std::move(spec));
  if (!tokenizer.ok()) return tokenizer.status();
  return LoadedTokenizer{std::move(kept), *std::move(tokenizer)};
}

std::vector<ConformanceResult> RunConformance(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".inp") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<ConformanceResult> results;
  for (const std::string& path : paths) results.push_back(RunFile(path.substr(0, path.size() - 4)));
  return results;
}

}  // namespace prenorm
