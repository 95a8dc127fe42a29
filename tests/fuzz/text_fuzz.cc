// Any bytes, encoded by the tiny model's tokenizer and decoded, at once and id by id: the same text, with U+FFFD for
// what is no UTF-8. The tokenizer of the GGUF file and that of the folder give the same ids.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "prenorm/tokenizer.h"
#include "runtime/tokenizer/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace prenorm;
  static const auto tokenizer = Tokenizer::Load(PRENORM_SOURCE_DIR "/models/tiny/prenorm-tiny.gguf");
  static const auto other = Tokenizer::Load(PRENORM_SOURCE_DIR "/models/tiny/hf");
  if (!tokenizer.ok() || !other.ok()) __builtin_trap();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ids = (*tokenizer)->Encode(text);
  if (!ids.ok()) __builtin_trap();
  if ((*tokenizer)->Decode(*ids) != ReplaceInvalidUtf8(text)) __builtin_trap();
  StreamDecoder decoder(**tokenizer);
  std::string joined;
  for (const TokenId id : *ids) joined += decoder.Push(id);
  if (joined + decoder.Flush() != ReplaceInvalidUtf8(text)) __builtin_trap();
  for (const bool markers : {false, true}) {
    const EncodeOptions options{.add_special = markers, .parse_special = markers};
    const auto a = (*tokenizer)->Encode(text, options), b = (*other)->Encode(text, options);
    if (!a.ok() || !b.ok() || *a != *b) __builtin_trap();
  }
  return 0;
}
