// The list of end markers, and the one exception.
#include "runtime/tokenizer/end_tokens.h"

#include <algorithm>
#include <array>

namespace prenorm {
namespace {

constexpr std::string_view kMessageEnd = "<|end|>";

constexpr std::array<std::string_view, 27> kMarkers = {
    "<|endoftext|>",
    "<|end_of_text|>",
    "</s>",
    "<eos>",  // GPT-2, Qwen, Llama 3, Granite, SentencePiece
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",  // ChatML, Llama 3
    "<end_of_turn>",
    "<turn|>",
    "<|tool_response>",  // Gemma
    kMessageEnd,
    "<|return|>",
    "<|call|>",
    "<|calls|>",
    "<|flush|>",  // Phi-3, gpt-oss, Solar
    "<EOT>",
    "_<EOT>",
    "\xE2\x96\x81<EOT>",
    "<end_of_utterance>",  // CodeLlama, SmolVLM
    "[EOT]",
    "[EOS]",
    "[e~[",  // Kimi, MiniMax
    "<|fim_pad|>",
    "<fim_pad>",
    "<|repo_name|>",
    "<|file_sep|>",  // Behind what was filled in: Qwen Coder, StarCoder
    "<\xEF\xBD\x9C"
    "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",  // DeepSeek
};

}  // namespace

void AddEndMarkers(TokenizerSpec* spec) {
  TokenId message_end = -1;
  bool channels = false;  // Where a turn holds several messages, the end of one does not end it.
  for (size_t id = 0; id < spec->types.size(); ++id) {
    const std::string_view text = spec->tokens[id];
    if (spec->types[id] != TokenType::kControl || text.size() > kMarkers.back().size()) continue;
    if (std::find(kMarkers.begin(), kMarkers.end(), text) == kMarkers.end()) continue;
    if (text == kMessageEnd)
      message_end = static_cast<TokenId>(id);
    else
      spec->end_tokens.push_back(static_cast<TokenId>(id));
    channels = channels || text == "<|call|>" || text == "<|calls|>";
  }
  if (message_end >= 0 && !channels) spec->end_tokens.push_back(message_end);
}

}  // namespace prenorm
