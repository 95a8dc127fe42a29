// Markers that end an answer by their name, for files that do not list all of them.
#pragma once

#include <string_view>

namespace prenorm {

/// Whether a control token of this text ends a text, a turn or a message in every family that has it.
constexpr bool IsEndMarker(std::string_view text) {
  constexpr std::string_view kMarkers[] = {
      "<|endoftext|>", "<|end_of_text|>",       // GPT-2, Qwen, Llama 3, Granite
      "<|im_end|>",    "<|eot_id|>", "<|eom_id|>",  // ChatML, Llama 3
      "<end_of_turn>", "<turn|>",               // Gemma
      "<|end|>",                                // Phi-3
      "<EOT>",         "<end_of_utterance>",    // CodeLlama, SmolVLM
      "<\xEF\xBD\x9C" "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",  // DeepSeek
  };
  for (const std::string_view marker : kMarkers) {
    if (marker == text) return true;
  }
  return false;
}

}  // namespace prenorm
