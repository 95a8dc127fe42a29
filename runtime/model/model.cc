// Loads a model: file, family, tokenizer, then the weights interleaved in place for the active SIMD target.
#include "prenorm/model.h"

#include <algorithm>
#include <map>
#include <utility>

#include "prenorm/matmul.h"
#include "prenorm/session.h"
#include "runtime/loader/gguf.h"
#include "runtime/model/binder.h"
#include "runtime/model/families/family.h"
#include "runtime/model/interleave.h"
#include "runtime/model/parts.h"
#include "runtime/tokenizer/gguf_spec.h"
#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {
namespace {

std::string Join(const std::vector<std::string_view>& names) {
  std::string joined;
  for (const std::string_view name : names) joined.append(joined.empty() ? "" : ", ").append(name);
  return joined;
}

Result<const Family*> FamilyOf(const TensorSource& source) {
  const std::optional<std::string_view> architecture = source.metadata().String("general.architecture");
  if (!architecture) {
    return Status(StatusCode::kUnsupported, "the file does not name its architecture (key general.architecture)\nin " +
                                                source.path() + "\nsupported: " + Join(SupportedArchitectures()));
  }
  const Family* family = FindFamily(*architecture);
  if (family == nullptr) {
    return Status(StatusCode::kUnsupported, "architecture '" + std::string(*architecture) + "' is not supported\nin " +
                                                source.path() + "\nsupported: " + Join(SupportedArchitectures()));
  }
  return family;
}

// Rows of the embedding matrix and whether it is the output matrix too, which the file says by its tensors.
Status ReadVocabulary(ModelParts& parts) {
  const Result<const TensorInfo*> embedding = parts.source->Require("token_embd.weight");
  if (!embedding.ok()) return embedding.status();
  parts.config.vocab_size = embedding.value()->rows();
  parts.config.tied_embeddings = parts.source->Find("output.weight") == nullptr;
  if (parts.config.vocab_size < parts.tokenizer->vocab_size()) {
    return {StatusCode::kBadModel, "tensor token_embd.weight: " + std::to_string(parts.config.vocab_size) +
                                       " rows for a tokenizer of " + std::to_string(parts.tokenizer->vocab_size()) +
                                       " tokens\nin " + parts.source->path()};
  }
  return {};
}

void CountBytes(const Binder& binder, ModelParts& parts) {
  std::map<DType, size_t> bytes_of_type;
  for (const TensorInfo* tensor : binder.matrices()) {
    bytes_of_type[tensor->dtype] += tensor->bytes;
    parts.decode_bytes += tensor->bytes;
  }
  for (const TensorInfo& tensor : parts.source->tensors()) parts.weight_bytes += tensor.bytes;
  if (!parts.config.tied_embeddings) parts.decode_bytes -= parts.source->Find("token_embd.weight")->bytes;
  const auto most = std::max_element(bytes_of_type.begin(), bytes_of_type.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  parts.quantization = InfoOf(most->first).name;
}

}  // namespace

Result<std::shared_ptr<const Model>> Model::Load(const std::string& path, const LoadOptions& options) {
  auto parts = std::make_unique<ModelParts>();
  Result<GgufFile> file = GgufFile::Open(path, {options.use_mmap ? FileAccess::kMapPrivate : FileAccess::kRead});
  if (!file.ok()) return file.status();
  auto source = std::make_unique<GgufFile>(std::move(file).value());
  const GgufFile& gguf = *source;
  parts->source = std::move(source);

  const Result<const Family*> family = FamilyOf(gguf);
  if (!family.ok()) return family.status();
  Result<TokenizerSpec> spec = SpecFromGguf(gguf.metadata(), path);
  if (!spec.ok()) return spec.status();
  Result<std::unique_ptr<Tokenizer>> tokenizer = BuildTokenizer(std::move(spec).value());
  if (!tokenizer.ok()) return tokenizer.status();
  parts->tokenizer = std::move(tokenizer).value();
  if (Status status = ReadVocabulary(*parts); !status.ok()) return status;

  Binder binder(gguf);
  if (Status status = family.value()->build(*parts, binder); !status.ok()) return status;
  for (const std::string& name : binder.Unused()) parts->warnings.push_back("tensor " + name + " is not used");
  parts->chat_template = gguf.metadata().String("tokenizer.chat_template").value_or("");
  CountBytes(binder, *parts);
  if (Status status = InterleaveWeights(binder.matrices(), *parts, options.progress); !status.ok()) return status;
  return std::shared_ptr<const Model>(new Model(std::move(parts)));
}

Model::Model(std::unique_ptr<ModelParts> parts) : parts_(std::move(parts)) {}
Model::~Model() = default;

const ModelConfig& Model::config() const { return parts_->config; }
const Tokenizer& Model::tokenizer() const { return *parts_->tokenizer; }
std::string_view Model::chat_template() const { return parts_->chat_template; }
size_t Model::weight_bytes() const { return parts_->weight_bytes; }
size_t Model::decode_bytes() const { return parts_->decode_bytes; }
std::string_view Model::quantization() const { return parts_->quantization; }
const std::vector<std::string>& Model::warnings() const { return parts_->warnings; }
const ModelParts& Model::parts() const { return *parts_; }

}  // namespace prenorm
