// Loads a model: file, family, tokenizer, then the weights interleaved in place for the active SIMD target.
#include "prenorm/model.h"

#include <algorithm>
#include <future>
#include <map>
#include <new>
#include <utility>

#include "prenorm/matmul.h"
#include "prenorm/session.h"
#include "runtime/loader/open.h"
#include "runtime/model/binder.h"
#include "runtime/model/embedding_spec.h"
#include "runtime/model/families/family.h"
#include "runtime/model/interleave.h"
#include "runtime/model/panels.h"
#include "runtime/model/parts.h"
#include "runtime/model/prepared.h"
#include "runtime/model/text_parts.h"
#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {
namespace {

// Of a mixture only the experts that a token uses are read, of tables of rows one.
size_t BytesOfDecodeStep(const ModelParts& parts) {
  const auto bytes = [](const WeightMatrix& w) { return w.rows == 0 ? 0 : w.rows * RowBytes(w.type, w.cols); };
  size_t total = bytes(parts.weights.output);
  for (const LayerWeights& layer : parts.weights.layers) {
    for (const Linear* linear :
         {&layer.wq, &layer.wk, &layer.wv, &layer.wo, &layer.w_gate, &layer.w_up, &layer.w_down}) {
      total += bytes(linear->w);
    }
    total += bytes(layer.router);
    if (layer.experts.empty()) continue;
    const Expert& expert = layer.experts.front();
    total += parts.block.n_experts_used * (bytes(expert.w_gate) + bytes(expert.w_up) + bytes(expert.w_down));
  }
  return total;
}

// A model with parts for images has hundreds of tensors that are of no use here: the first few tell which.
void WarnOfUnused(const std::vector<std::string>& names, std::vector<std::string>& warnings) {
  constexpr size_t kNamed = 8;
  for (size_t i = 0; i < std::min(names.size(), kNamed); ++i) warnings.push_back("tensor " + names[i] + " is not used");
  if (names.size() > kNamed) warnings.push_back(std::to_string(names.size() - kNamed) + " more tensors are not used");
}

void CountBytes(const Binder& binder, ModelParts& parts) {
  std::map<DType, size_t> bytes_of_type;
  for (const TensorInfo* tensor : binder.matrices()) bytes_of_type[tensor->dtype] += tensor->bytes;
  for (const TensorInfo& tensor : parts.source->tensors()) parts.weight_bytes += tensor.bytes;
  parts.decode_bytes = BytesOfDecodeStep(parts);
  const auto most = std::max_element(bytes_of_type.begin(), bytes_of_type.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  parts.quantization = InfoOf(most->first).name;
}

Status NoMemory() { return {StatusCode::kOutOfMemory, "there is not enough memory for the model"}; }

}  // namespace

Result<std::shared_ptr<const Model>> Model::Load(const std::string& path, const LoadOptions& options) try {
  const bool prepared = !options.prepared_folder.empty();
  if (prepared && !options.use_mmap) {
    return Status(StatusCode::kInvalidArgument, "prepared weights are mapped, but mapping is switched off\n'" + path +
                                                    "'\nAllow mapping, or load the model without prepared weights.");
  }
  const FileAccess in_memory = options.use_mmap ? FileAccess::kMapPrivate : FileAccess::kRead;
  Result<std::unique_ptr<TensorSource>> source = OpenModelFile(path, prepared ? FileAccess::kMap : in_memory);
  return source.ok() ? Build(std::move(source).value(), options) : source.status();
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Result<std::shared_ptr<const Model>> Model::LoadFromMemory(std::span<const uint8_t> bytes,
                                                           const LoadOptions& options) try {
  Result<std::unique_ptr<TensorSource>> source = OpenModelBytes(bytes);
  LoadOptions in_memory = options;
  in_memory.prepared_folder.clear();
  return source.ok() ? Build(std::move(source).value(), in_memory) : source.status();
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Result<std::shared_ptr<const Model>> Model::Build(std::unique_ptr<TensorSource> source, const LoadOptions& options) {
  auto parts = std::make_unique<ModelParts>();
  parts->source = std::move(source);
  const Result<const Family*> family = FamilyOf(*parts->source);
  if (!family.ok()) return family.status();
  Result<TokenizerSpec> spec = ReadTokenizerSpec(*parts->source);
  if (!spec.ok()) return spec.status();
  const size_t tokens = spec->tokens.size();
  // The tables of a large vocabulary take as long as part of the weights: both are made at once.
  std::future<Result<std::unique_ptr<Tokenizer>>> tokenizer =
      std::async(std::launch::async | std::launch::deferred, [&] { return BuildTokenizer(std::move(spec).value()); });
  Result<std::vector<ChatTemplate>> chat_templates = ReadChatTemplates(*parts->source);
  if (!chat_templates.ok()) return chat_templates.status();
  parts->chat_templates = std::move(chat_templates).value();

  Binder binder(*parts->source);
  const Status built = BuildDecoder(**family, tokens, *parts, binder);
  if (!built.ok()) return built;
  if (options.bf16_embedding_scale && (*family)->architecture.starts_with("gemma")) {
    parts->block.embedding_scale = ToF32(ToBf16(parts->block.embedding_scale));
  }
  Result<EmbeddingSpec> embedding = ReadEmbeddingSpec(*parts->source, parts->block.bidirectional);
  if (!embedding.ok()) return embedding.status();
  parts->embedding = std::move(embedding).value();
  WarnOfUnused(binder.Unused(), parts->warnings);
  parts->made_weights = binder.TakeMade();
  CountBytes(binder, *parts);
  const Status prepared = options.prepared_folder.empty()
                              ? InterleaveWeights(binder.matrices(), *parts, options.progress)
                              : UsePreparedWeights(options.prepared_folder, *parts, options.progress);
  Result<std::unique_ptr<Tokenizer>> built_tokenizer = tokenizer.get();
  if (!built_tokenizer.ok()) return built_tokenizer.status();
  if (!prepared.ok()) return prepared;
  if (Status packed = PackEncoderPanels(*parts); !packed.ok()) return packed;
  parts->tokenizer = std::move(built_tokenizer).value();
  return std::shared_ptr<const Model>(new Model(std::move(parts)));
}

Model::Model(std::unique_ptr<ModelParts> parts) : parts_(std::move(parts)) {}
Model::~Model() = default;

const ModelConfig& Model::config() const { return parts_->config; }
bool Model::is_encoder() const { return parts_->weights.output.rows == 0; }
const Tokenizer& Model::tokenizer() const { return *parts_->tokenizer; }
std::string_view Model::chat_template() const {
  for (const ChatTemplate& each : parts_->chat_templates) {
    if (each.name == "default") return each.source;
  }
  return "";  // With a null pointer in it no C string could be made of it.
}
const std::vector<ChatTemplate>& Model::chat_templates() const { return parts_->chat_templates; }
size_t Model::weight_bytes() const { return parts_->weight_bytes; }
size_t Model::decode_bytes() const { return parts_->decode_bytes; }
std::string_view Model::quantization() const { return parts_->quantization; }
const std::string& Model::prepared_path() const { return parts_->prepared_path; }
const std::vector<std::string>& Model::warnings() const { return parts_->warnings; }
const ModelParts& Model::parts() const { return *parts_; }

}  // namespace prenorm
