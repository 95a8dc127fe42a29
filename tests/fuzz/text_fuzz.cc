// Any bytes, encoded by the tiny model's tokenizer and decoded: the same text, with U+FFFD for what is no UTF-8.
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
  if (!tokenizer.ok()) __builtin_trap();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ids = (*tokenizer)->Encode(text);
  if (!ids.ok()) __builtin_trap();
  if ((*tokenizer)->Decode(*ids) != ReplaceInvalidUtf8(text)) __builtin_trap();
  return 0;
}
