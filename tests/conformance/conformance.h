// Conformance of tokenizers: vocabularies (GGUF) with texts (.inp) and the ids that a reference gives them (.out).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "prenorm/tokenizer.h"

namespace prenorm {

/// What one vocabulary gave.
struct ConformanceResult {
  std::string file;
  size_t cases = 0;
  size_t passed = 0;
  std::string error;                  ///< Why the cases could not be run; else empty.
  std::vector<std::string> failures;  ///< Text, expected and found ids of each case that failed.

  bool ok() const { return error.empty() && cases > 0 && passed == cases; }
};

/// The tokenizer of a GGUF file, with the file it lives in.
struct LoadedTokenizer {
  std::shared_ptr<const void> file;
  std::unique_ptr<Tokenizer> tokenizer;
};
Result<LoadedTokenizer> LoadGgufTokenizer(const std::string& path);

/// Runs X.gguf with X.gguf.inp (cases between lines "__ggml_vocab_test__") and X.gguf.out (a line of ids for each) for
/// every X of the folder, by name. No BOS, markers not parsed.
std::vector<ConformanceResult> RunConformance(const std::string& folder);

}  // namespace prenorm
