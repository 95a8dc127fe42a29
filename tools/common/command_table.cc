// The commands, as users see them.
#include "tools/common/help.h"

namespace prenorm::tools {
namespace {

const CommandInfo kCommands[] = {
    {kGenerate, "generate", "continue a text", "prenorm generate -p \"Once upon a time\" -n 100"},
    {kChat, "chat", "talk with a model, or answer once", "prenorm chat -p \"Why is the sky blue?\""},
    {kTokenize, "tokenize", "the ids and pieces of a text", "prenorm tokenize -p \"Hello world\""},
    {kLogits, "logits", "the logits of every position", "prenorm logits --tokens 1,2,3 --out x.npy"},
    {kEmbed, "embed", "texts to vectors", "prenorm embed all-minilm-l6-v2 \"first text\" \"second text\""},
    {kInspect, "inspect", "what is in a model file, and what of it runs", "prenorm inspect model.gguf"},
    {kBench, "bench", "measure tokens a second", "prenorm bench --tests pp512,tg128,tg128@d2048"},
    {kProfile, "profile", "where the time goes, and normalization's share of it", "prenorm profile -t 2"},
    {kDoctor, "doctor", "what on this machine costs speed, and what to do", "prenorm doctor"},
    {kNorms, "norms", "how exactly and how fast the normalization layer computes", "prenorm norms --accuracy"},
    {kLab, "lab", "textbook claims about normalization, measured here", "prenorm lab invariance"},
    {kPerplexity, "perplexity", "how well a model predicts a text", "prenorm perplexity model.gguf -f text.txt"},
    {kManage, "models", "list, fetch, prepare and remove models", "prenorm models fetch smollm2-135m-instruct-q4_1"},
    {kQuantize, "quantize", "write a model again in a smaller type",
     "prenorm quantize model-f16.gguf model-q4.gguf Q4_K_M"},
    {kVerify, "verify", "compare the engine with a plain reference, operator by operator", "prenorm verify model.gguf"},
};

}  // namespace

std::span<const CommandInfo> CommandTable() { return kCommands; }

}  // namespace prenorm::tools
