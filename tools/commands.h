// The commands of prenorm. Each takes its options and returns the exit code of the process.
#pragma once

#include "tools/common/options.h"

namespace prenorm::tools {

int RunGenerate(const Options& options);
int RunChat(const Options& options);
int RunTokenize(const Options& options);
int RunLogits(const Options& options);
int RunEmbed(const Options& options);
int RunInspect(const Options& options);
int RunBench(const Options& options);
int RunProfile(const Options& options);
int RunDoctor(const Options& options);
int RunNorms(const Options& options);
int RunLab(const Options& options);
int RunPerplexity(const Options& options);
int RunModels(const Options& options);
int RunQuantize(const Options& options);
int RunVerify(const Options& options);

}  // namespace prenorm::tools
