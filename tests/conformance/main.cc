// tokenizer_conformance FOLDER: a line for each vocabulary, its failures below; exit status 0 if all cases pass.
#include <cstdio>

#include "tests/conformance/conformance.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\nFOLDER holds X.gguf, X.gguf.inp and X.gguf.out\n", argv[0]);
    return 2;
  }
  bool all = true;
  size_t files = 0;
  for (const prenorm::ConformanceResult& result : prenorm::RunConformance(argv[1])) {
    ++files;
    all = all && result.ok();
    std::printf("%-4s %4zu of %4zu  %s%s%s\n", result.ok() ? "ok" : "FAIL", result.passed, result.cases,
                result.file.c_str(), result.error.empty() ? "" : ": ", result.error.c_str());
    for (const std::string& failure : result.failures) std::printf("  %s\n", failure.c_str());
  }
  if (files == 0) std::fprintf(stderr, "no .inp files in %s\n", argv[1]);
  return all && files > 0 ? 0 : 1;
}
