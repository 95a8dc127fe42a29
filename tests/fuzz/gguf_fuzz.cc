// From the bytes of a GGUF file to metadata, tensors, decoded rows, the report of `inspect`, and a model that steps.
#include <cstddef>
#include <cstdint>
#include <algorithm>
#include <vector>

#include "prenorm/dequantize.h"
#include "prenorm/inspect.h"
#include "prenorm/model.h"
#include "runtime/loader/gguf.h"
#include "tests/fuzz/step_model.h"

namespace prenorm {
namespace {

void ReadEverything(const GgufFile& file) {
  volatile uint64_t sink = 0;
  for (const MetaEntry& entry : file.metadata().entries()) {
    if (const auto strings = file.metadata().Strings(entry.key)) {
      for (const std::string_view text : *strings) sink = sink + (text.empty() ? 0 : static_cast<uint8_t>(text.back()));
    }
    if (const auto numbers = file.metadata().Numbers(entry.key)) {
      for (size_t i = 0; i < numbers->size(); ++i) sink = sink + numbers->U64(i).value_or(0);
    }
  }
  for (const TensorInfo& tensor : file.tensors()) {
    if (tensor.bytes == 0) continue;
    const size_t cols = std::min<size_t>(tensor.cols(), 1024);
    std::vector<float> row(cols);
    const uint8_t* last = tensor.data + (tensor.rows() - 1) * tensor.row_bytes();
    DequantizeRange(tensor.dtype, last, tensor.cols() - cols, tensor.cols(), row.data());
  }
}

}  // namespace
}  // namespace prenorm

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<uint8_t> bytes(data, data + size);  // Aligned, and of exactly this size.
  const prenorm::Result<prenorm::GgufFile> file = prenorm::GgufFile::FromMemory(bytes, "input");
  if (!file.ok()) return 0;
  prenorm::ReadEverything(*file);
  (void)prenorm::InspectMemory(bytes, "input").ok();
  prenorm::StepModel(prenorm::Model::LoadFromMemory(bytes));
  return 0;
}
