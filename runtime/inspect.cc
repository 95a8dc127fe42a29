// Sums up a model file: keys, tensors, types, norms, memory, and what keeps it from running.
#include "prenorm/inspect.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <utility>

#include "prenorm/model.h"
#include "runtime/inspect_norms.h"
#include "runtime/loader/gguf.h"
#include "runtime/loader/open.h"
#include "runtime/model/binder.h"
#include "runtime/model/families/family.h"
#include "runtime/model/parts.h"
#include "runtime/model/text_parts.h"

namespace prenorm {
namespace {

std::string NumberText(const NumberArray& values, size_t i) {
  if (values.type() == MetaType::kBool) return values.U64(i).value_or(0) != 0 ? "true" : "false";
  if (const std::optional<int64_t> integer = values.I64(i)) return std::to_string(*integer);
  if (const std::optional<uint64_t> integer = values.U64(i)) return std::to_string(*integer);
  char text[32];  // The shortest decimal that reads back as the same f32.
  return {text, std::to_chars(text, text + sizeof(text), values.F32(i).value_or(0.0f)).ptr};
}

InspectedKey DescribeKey(const Metadata& metadata, const MetaEntry& entry) {
  InspectedKey out{std::string(entry.key), MetaTypeName(entry.type), ""};
  constexpr size_t kShownItems = 4;
  if (entry.is_array) out.type = "array of " + out.type;
  if (entry.type == MetaType::kString) {
    if (!entry.is_array) {
      out.value = metadata.String(entry.key).value_or("");
      return out;
    }
    const StringArray items = *metadata.Strings(entry.key);
    size_t shown = 0;
    for (auto item = items.begin(); item != items.end() && shown < kShownItems; ++item, ++shown) {
      out.value.append(shown == 0 ? "" : ", ").append(*item);
    }
  } else {
    const NumberArray items(entry.data, entry.count, entry.type);
    if (!entry.is_array) {
      out.value = NumberText(items, 0);
      return out;
    }
    for (size_t i = 0; i < std::min(items.size(), kShownItems); ++i) {
      out.value.append(i == 0 ? "" : ", ").append(NumberText(items, i));
    }
  }
  out.value = std::to_string(entry.count) + " [" + out.value + (entry.count > kShownItems ? ", ...]" : "]");
  return out;
}

void DescribeTensors(const TensorSource& source, Inspection& out) {
  std::map<DType, InspectedType> types;
  for (const TensorInfo& tensor : source.tensors()) {
    std::vector<uint64_t> shape(tensor.dims.begin(), tensor.dims.begin() + tensor.n_dims);
    std::reverse(shape.begin(), shape.end());
    out.tensors.push_back({std::string(tensor.name), std::move(shape), tensor.dtype, tensor.offset, tensor.bytes});
    InspectedType& type = types.try_emplace(tensor.dtype, InspectedType{tensor.dtype, 0, 0, 0}).first->second;
    ++type.tensors;
    type.elements += tensor.elements();
    type.bytes += tensor.bytes;
    out.parameters += tensor.elements();
    if (IsNormTensor(tensor)) out.norm_parameters += tensor.elements();
    out.memory.weights += tensor.bytes;
  }
  for (const auto& [id, type] : types) out.types.push_back(type);
  std::stable_sort(out.types.begin(), out.types.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
}

// Bytes of keys and values at one position, all layers; 0 where a size is missing or absurd.
uint64_t KvBytesPerToken(const Metadata& meta, const std::string& prefix, DTypeInfo element) {
  constexpr uint64_t kMost = 1u << 20;  // Of each size, so that no product below wraps.
  const auto size = [&](const char* gguf, const char* hf) {
    const uint64_t value = meta.U64(prefix + gguf).value_or(meta.U64(hf).value_or(0));
    return value > kMost ? 0 : value;
  };
  const uint64_t layers = size("block_count", "num_hidden_layers");
  const uint64_t heads = size("attention.head_count", "num_attention_heads");
  const uint64_t width = size("embedding_length", "hidden_size");
  if (layers == 0 || heads == 0) return 0;
  const uint64_t default_head = width / heads;
  const uint64_t stored_key = size("attention.key_length", "head_dim");
  const uint64_t stored_value = size("attention.value_length", "head_dim");
  const uint64_t head_bytes =
      ((stored_key != 0 ? stored_key : default_head) + (stored_value != 0 ? stored_value : default_head)) *
      element.block_bytes / element.block_elems;
  if (const std::optional<NumberArray> per_layer = meta.Numbers(prefix + "attention.head_count_kv")) {
    uint64_t kv_heads = 0;
    for (size_t i = 0; i < per_layer->size(); ++i) kv_heads += std::min(kMost, per_layer->U64(i).value_or(0));
    return kv_heads * head_bytes;
  }
  const uint64_t kv_heads = size("attention.head_count_kv", "num_key_value_heads");
  return layers * (kv_heads != 0 ? kv_heads : heads) * head_bytes;
}

void ReckonMemory(const Metadata& meta, const InspectOptions& options, Inspection& out) {
  const std::string prefix = out.architecture + ".";
  const uint64_t trained =
      meta.U64(prefix + "context_length").value_or(meta.U64("max_position_embeddings").value_or(0));
  out.memory.context = options.context != 0 ? options.context : static_cast<size_t>(trained);
  const uint64_t per_token = !out.memory.keeps_keys ? 0 : KvBytesPerToken(meta, prefix, InfoOf(options.kv_type));
  uint64_t bytes;
  if (!__builtin_mul_overflow(per_token, uint64_t{out.memory.context}, &bytes)) out.memory.kv_cache = bytes;
  out.memory.total = out.memory.weights + out.memory.kv_cache;
}

// Everything that keeps Prenorm from running the model, by the code that would run it.
std::vector<std::string> Obstacles(std::unique_ptr<TensorSource> source) {
  std::vector<std::string> found;
  const Result<const Family*> family = FamilyOf(*source);
  if (!family.ok()) found.push_back(family.status().message());
  const Result<TokenizerSpec> spec = ReadTokenizerSpec(*source);
  if (!spec.ok()) found.push_back("tokenizer: " + spec.status().message());
  if (!family.ok()) return found;

  ModelParts parts;
  parts.source = std::move(source);
  Binder binder(*parts.source);
  const Status status = BuildDecoder(**family, spec.ok() ? spec->tokens.size() : 0, parts, binder);
  if (!status.ok()) found.push_back(status.message());
  return found;
}

Inspection InspectSource(std::unique_ptr<TensorSource> source, const InspectOptions& options) {
  const Metadata& meta = source->metadata();
  Inspection out;
  out.path = source->path();
  out.format = source->format() == ModelFormat::kGguf ? "gguf" : "huggingface";
  if (const auto* gguf = dynamic_cast<const GgufFile*>(source.get())) out.version = gguf->version();
  out.architecture = meta.String("general.architecture").value_or(meta.String("model_type").value_or(""));
  out.name = meta.String("general.name").value_or("");
  for (const MetaEntry& entry : meta.entries()) out.metadata.push_back(DescribeKey(meta, entry));
  DescribeTensors(*source, out);
  out.norms = FindNorms(*source);
  const Result<const Family*> family = FamilyOf(*source);
  out.memory.keeps_keys = !family.ok() || (*family)->build != BuildBert;
  ReckonMemory(meta, options, out);
  out.reasons = Obstacles(std::move(source));
  out.supported = out.reasons.empty();
  return out;
}

}  // namespace

Result<Inspection> Inspect(const std::string& path, const InspectOptions& options) {
  Result<std::unique_ptr<TensorSource>> source = OpenModelFile(path, FileAccess::kMap);
  if (!source.ok()) return source.status();
  return InspectSource(std::move(*source), options);
}

Result<Inspection> InspectMemory(std::span<const uint8_t> bytes, const std::string& name,
                                 const InspectOptions& options) {
  Result<GgufFile> file = GgufFile::FromMemory(bytes, name);
  if (!file.ok()) return file.status();
  return InspectSource(std::make_unique<GgufFile>(std::move(*file)), options);
}

}  // namespace prenorm
