// From the bytes of a safetensors file to its tensors, the ends of their data, and a model that steps.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "prenorm/model.h"
#include "runtime/loader/safetensors_header.h"
#include "tests/fuzz/step_model.h"
#include "tests/support/temporary_folder.h"

namespace prenorm {
namespace {

// A folder with what lies beside the weights of a Llama of one layer. seeds.py writes tensors that fit.
struct ModelFolder : TemporaryFolder {
  ModelFolder() {
    Write("config.json",
          R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 32, "intermediate_size": 32,
              "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
              "vocab_size": 3, "max_position_embeddings": 16, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
              "hidden_act": "silu", "tie_word_embeddings": false})");
    Write("tokenizer.json",
          R"({"added_tokens": [], "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2}, "merges": []}})");
  }
};

}  // namespace
}  // namespace prenorm

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace prenorm;
  const std::vector<uint8_t> bytes(data, data + size);  // Of exactly this size.
  std::deque<std::string> names;
  std::vector<TensorInfo> tensors;
  std::vector<std::string> skipped;
  if (!ParseSafetensors(bytes, "input", 0, names, tensors, skipped).ok()) return 0;
  volatile uint8_t sink = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.bytes != 0) sink = sink ^ tensor.data[0] ^ tensor.data[tensor.bytes - 1];
  }
  static const ModelFolder folder;
  folder.Write("model.safetensors", std::string(reinterpret_cast<const char*>(data), size));
  StepModel(Model::Load(folder.path()));
  return 0;
}
