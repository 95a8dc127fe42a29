// From the bytes of a SentencePiece model to a tokenizer that encodes and decodes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/tokenizer/sentencepiece_spec.h"
#include "tests/fuzz/try_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  prenorm::TryTokenizer(prenorm::SpecFromSentencePiece(bytes, "input"), bytes.substr(0, 200));
  return 0;
}
