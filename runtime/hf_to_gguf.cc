// Keys and tensors of a folder, from the model that it is read as.
#include "runtime/hf_to_gguf.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>

#include "prenorm/dequantize.h"
#include "runtime/model/binder.h"
#include "runtime/model/families/family.h"
#include "runtime/model/families/rope.h"
#include "runtime/model/text_parts.h"
#include "runtime/tokenizer/gguf_entries.h"
#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {
namespace {

// Whether the rows of wq and wk are re-ordered so that rotary pairs are neighbours.
struct Conversion {
  std::string_view architecture;
  bool makes_neighbours;
};
constexpr Conversion kConversions[] = {{"llama", true},  {"qwen2", false},  {"qwen3", false}, {"qwen3moe", false},
                                       {"gemma", false}, {"gemma2", false}, {"gemma3", false}};

constexpr std::string_view kOfLayer[] = {
    "attn_norm",           "attn_q",        "attn_k",       "attn_v",   "attn_q_norm", "attn_k_norm", "attn_output",
    "post_attention_norm", "ffn_norm",      "ffn_gate_inp", "ffn_gate", "ffn_up",      "ffn_down",    "ffn_gate_exps",
    "ffn_up_exps",         "ffn_down_exps", "post_ffw_norm"};

Status CannotSay(const std::string& what, const std::string& path) {
  return Status(StatusCode::kUnsupported, "the model cannot be written as a GGUF file: " + what + "\n" + path +
                                              "\nUse the folder as it is, without converting it.");
}

// What is written, seen as a file.
class WrittenFile : public TensorSource {
 public:
  WrittenFile(const std::string& path, std::span<const MetaEntry> entries, std::span<const TensorRows> tensors)
      : TensorSource(ModelFormat::kGguf, path) {
    for (const MetaEntry& entry : entries) status_ = status_.ok() ? metadata_.Add(entry) : status_;
    uint64_t offset = 0;
    for (const TensorRows& tensor : tensors) {
      tensors_.push_back(tensor.info);
      tensors_.back().file = 0;
      tensors_.back().offset = std::exchange(offset, offset + tensor.info.bytes);
    }
    if (status_.ok()) status_ = FinishTensors();
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

bool Near(float a, float b) { return std::abs(a - b) <= 1e-6f * std::max(std::abs(a), std::abs(b)); }

// The first thing in which two descriptions of a model differ; empty if they do not.
std::string Difference(const ModelParts& a, const ModelParts& b) {
  const ModelConfig &c = a.config, &d = b.config;
  const BlockSpec &s = a.block, &t = b.block;
  if (c.dim != d.dim || c.ffn_dim != d.ffn_dim || c.n_layers != d.n_layers || c.n_heads != d.n_heads ||
      c.n_kv_heads != d.n_kv_heads || c.head_dim != d.head_dim || c.vocab_size != d.vocab_size ||
      c.max_seq_len != d.max_seq_len || c.tied_embeddings != d.tied_embeddings) {
    return "its sizes";
  }
  if (c.norm_eps != d.norm_eps || s.norm != t.norm || s.qk_norm != t.qk_norm) return "its norms";
  if (s.gate != t.gate) return "its activation";
  if (s.parallel != t.parallel || s.residual_scale != t.residual_scale || s.embedding_scale != t.embedding_scale ||
      s.logit_scale != t.logit_scale || s.logit_soft_cap != t.logit_soft_cap) {
    return "its scales";
  }
  if (!Near(s.attention_scale, t.attention_scale) || s.attention_soft_cap != t.attention_soft_cap)
    return "its scale of scores";
  if (s.n_experts != t.n_experts || s.n_experts_used != t.n_experts_used || s.expert_ffn_dim != t.expert_ffn_dim ||
      s.shared_ffn_dim != t.shared_ffn_dim || s.normalize_expert_weights != t.normalize_expert_weights) {
    return "its mixture of experts";
  }
  for (size_t i = 0; i < s.layers.size(); ++i) {
    if (s.layers[i].window != t.layers[i].window) return "its sliding windows";
    const size_t own = s.layers[i].rope, other = t.layers[i].rope;
    if ((own == kNoRope) != (other == kNoRope)) return "layers without positions";
    if (own == kNoRope) continue;
    const RopeTable &x = s.ropes[own], &y = t.ropes[other];
    if (!std::equal(x.inv_freq.begin(), x.inv_freq.end(), y.inv_freq.begin(), y.inv_freq.end(), Near) ||
        !Near(x.magnitude, y.magnitude) || x.long_inv_freq.size() != y.long_inv_freq.size()) {
      return "its rotary frequencies";
    }
  }
  return {};
}

class Converter {
 public:
  Converter(GgufContent& content, const ModelParts& parts, const Binder& binder, ConfigReader& reader,
            const Conversion& how)
      : content_(content), parts_(parts), binder_(binder), reader_(reader), how_(how) {}

  Status Convert() {
    WriteConfig();
    if (!reader_.status().ok()) return reader_.status();
    const std::string& path = parts_.source->path();
    if (Status status = AddTokenizerEntries(path, parts_.config.vocab_size, &content_.made_entries); !status.ok())
      return status;
    const Result<std::vector<ChatTemplate>> templates = ReadChatTemplates(*parts_.source);
    if (!templates.ok()) return templates.status();
    for (const ChatTemplate& each : *templates) {
      const std::string ending = each.name == "default" ? "" : "." + each.name;
      content_.made_entries.String("tokenizer.chat_template" + ending, each.source);
    }
    AddTensors();
    for (const std::string& name : binder_.Unused()) content_.notes.push_back("tensor " + name + " is left out");
    return status_;
  }

 private:
  void WriteConfig() {
    MetadataBuilder& out = content_.made_entries;
    const ModelConfig& c = parts_.config;
    const BlockSpec& block = parts_.block;
    out.String("general.architecture", how_.architecture);
    out.String("general.type", "model");
    std::filesystem::path folder = std::filesystem::path(parts_.source->path()).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();
    out.String("general.name", folder.filename().string());
    const std::string a = std::string(how_.architecture) + ".";
    out.U32(a + "block_count", c.n_layers);
    out.U32(a + "context_length", c.max_seq_len);
    out.U32(a + "embedding_length", c.dim);
    out.U32(a + "feed_forward_length", c.ffn_dim);
    out.U32(a + "attention.head_count", c.n_heads);
    out.U32(a + "attention.head_count_kv", c.n_kv_heads);
    out.U32(a + "attention.key_length", c.head_dim);
    out.U32(a + "attention.value_length", c.head_dim);
    out.F32(a + "attention.layer_norm_rms_epsilon", c.norm_eps);
    out.U32(a + "vocab_size", c.vocab_size);
    out.F32(a + "rope.freq_base", c.rope_theta);
    out.U32(a + "rope.dimension_count", c.rope_dim);
    if (block.ropes.size() > 1) out.F32(a + "rope.freq_base_swa", reader_.Number("rope.freq_base_swa", true, 10000.0f));
    WriteRopeScaling(a);
    for (const LayerSpec& layer : block.layers) {
      if (layer.window == 0) continue;
      out.U32(a + "attention.sliding_window", layer.window);
      break;
    }
    if (block.attention_soft_cap != 0) out.F32(a + "attn_logit_softcapping", block.attention_soft_cap);
    if (block.logit_soft_cap != 0) out.F32(a + "final_logit_softcapping", block.logit_soft_cap);
    if (block.n_experts != 0) {
      out.U32(a + "expert_count", block.n_experts);
      out.U32(a + "expert_used_count", block.n_experts_used);
      out.U32(a + "expert_feed_forward_length", block.expert_ffn_dim);
    }
  }

  // Llama 3's formula becomes divisors, in a tensor; the others have keys.
  void WriteRopeScaling(const std::string& a) {
    MetadataBuilder& out = content_.made_entries;
    const std::string_view kind = reader_.Text("rope.scaling.type", "none");
    if (kind == "llama3") {
      const RopeTable plain = PlainRope(parts_.config, parts_.config.rope_theta);
      std::vector<float>& divisors = content_.vectors.emplace_back();
      for (size_t i = 0; i < plain.inv_freq.size(); ++i) {
        divisors.push_back(plain.inv_freq[i] / parts_.block.ropes[0].inv_freq[i]);
      }
      AddVector("rope_freqs.weight", divisors);
    }
    if (kind != "linear" && kind != "yarn") return;
    out.String(a + "rope.scaling.type", kind);
    out.F32(a + "rope.scaling.factor", reader_.Number("rope.scaling.factor", true));
    if (kind != "yarn") return;
    if (reader_.Has("rope.scaling.original_context_length")) {
      out.U32(a + "rope.scaling.original_context_length",
              reader_.Size("rope.scaling.original_context_length", size_t{1} << 28));
    }
    for (const char* key : {"rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow"}) {
      if (reader_.Has(key)) out.F32(a + key, reader_.Number(key, true));
    }
  }

  void AddTensors() {
    Add("token_embd");
    for (size_t i = 0; i < parts_.config.n_layers; ++i) {
      for (const std::string_view name : kOfLayer) Add("blk." + std::to_string(i) + "." + std::string(name));
    }
    Add("output_norm");
    if (!parts_.config.tied_embeddings) Add("output");
  }

  void Add(const std::string& name) {
    const bool is_experts = name.ends_with("_exps");
    if (is_experts) return AddExperts(name + ".weight");
    for (const char* ending : {".weight", ".bias"}) {
      const TensorInfo* tensor = parts_.source->Find(binder_.FileName(name + ending));
      if (tensor == nullptr) continue;
      const size_t heads = !how_.makes_neighbours     ? 0
                           : name.ends_with("attn_q") ? parts_.config.n_heads
                           : name.ends_with("attn_k") ? parts_.config.n_kv_heads
                                                      : 0;
      const bool is_norm = name.find("norm") != name.npos;
      if (is_norm || tensor->n_dims < 2 || name.ends_with("ffn_gate_inp")) {
        AddAsF32(name + ending, *tensor, heads, is_norm ? binder_.hf_gain_offset() : 0.0f);
      } else {
        AddRows(name + ending, *tensor, {tensor->data}, heads);
      }
    }
  }

  void AddExperts(const std::string& name) {
    const std::string pattern = binder_.FileName(name);
    const size_t mark = pattern.find('#');
    std::vector<const uint8_t*> parts;
    const TensorInfo* first = nullptr;
    for (size_t e = 0; mark != pattern.npos && e < parts_.block.n_experts; ++e) {
      std::string file_name = pattern;
      const TensorInfo* tensor = parts_.source->Find(file_name.replace(mark, 1, std::to_string(e)));
      if (first == nullptr) first = tensor;
      if (tensor == nullptr || tensor->dtype != first->dtype) {
        status_ = CannotSay("the experts of " + name + " differ in their types", parts_.source->path());
        return;
      }
      parts.push_back(tensor->data);
    }
    if (first == nullptr) return;
    TensorInfo stacked = *first;
    stacked.n_dims = 3;
    stacked.dims[2] = parts.size();
    stacked.bytes *= parts.size();
    AddRows(name, stacked, std::move(parts), 0);
  }

  void AddRows(const std::string& name, TensorInfo info, std::vector<const uint8_t*> parts, size_t heads) {
    info.name = content_.names.emplace_back(name);
    content_.tensors.push_back({info, std::move(parts), heads});
  }

  void AddAsF32(const std::string& name, const TensorInfo& tensor, size_t heads, float offset) {
    std::vector<float>& values = content_.vectors.emplace_back(tensor.elements());
    for (size_t r = 0; r < tensor.rows(); ++r) {
      DequantizeRow(tensor.dtype, tensor.data + r * tensor.row_bytes(), tensor.cols(),
                    values.data() + r * tensor.cols());
    }
    for (float& value : values) value += offset;
    if (heads != 0) {  // A bias of re-ordered rows.
      TensorRows rows;
      rows.info.dims = {1, values.size(), 1, 1};
      rows.parts = {reinterpret_cast<const uint8_t*>(values.data())};
      rows.heads = heads;
      std::vector<float> ordered(values.size());
      for (size_t r = 0; r < values.size(); ++r) std::memcpy(&ordered[r], rows.Row(r), sizeof(float));
      values = std::move(ordered);
    }
    TensorInfo info = tensor;
    info.name = content_.names.emplace_back(name);
    SetF32(values, info);
    content_.tensors.push_back({info, {info.data}, 0});
  }

  void AddVector(const std::string& name, const std::vector<float>& values) {
    TensorInfo info;
    info.name = content_.names.emplace_back(name);
    info.n_dims = 1;
    info.dims = {values.size(), 1, 1, 1};
    SetF32(values, info);
    content_.tensors.push_back({info, {info.data}, 0});
  }

  static void SetF32(const std::vector<float>& values, TensorInfo& info) {
    info.dtype = DType::kF32;
    info.bytes = values.size() * sizeof(float);
    info.data = reinterpret_cast<const uint8_t*>(values.data());
  }

  GgufContent& content_;
  const ModelParts& parts_;
  const Binder& binder_;
  ConfigReader& reader_;
  const Conversion& how_;
  Status status_;
};

Status CheckWritten(const Family& family, const GgufContent& content, const ModelParts& parts) {
  ModelParts back;
  auto file = std::make_unique<WrittenFile>(parts.source->path(), content.made_entries.entries(), content.tensors);
  if (!file->status().ok()) return file->status();
  back.source = std::move(file);
  Binder binder(*back.source);
  if (Status status = BuildDecoder(family, /*tokens=*/0, back, binder); !status.ok()) return status;
  const std::string difference = Difference(parts, back);
  return difference.empty() ? Status() : CannotSay("GGUF has no keys for " + difference, parts.source->path());
}

}  // namespace

const uint8_t* TensorRows::Row(size_t r) const {
  const size_t of_part = info.rows() / parts.size();
  size_t row = r % of_part;
  if (heads != 0) {  // Element i and half + i of a head become 2 i and 2 i + 1.
    const size_t head_dim = of_part / heads, in_head = row % head_dim;
    row = row - in_head + in_head / 2 + in_head % 2 * (head_dim / 2);
  }
  return parts[r / of_part] + row * info.row_bytes();
}

Result<GgufContent> ConvertFolder(std::unique_ptr<TensorSource> folder) {
  const Result<const Family*> family = FamilyOf(*folder);
  if (!family.ok()) return family.status();
  const auto how = std::find_if(std::begin(kConversions), std::end(kConversions),
                                [&](const Conversion& c) { return c.architecture == (*family)->architecture; });
  if (how == std::end(kConversions)) {
    std::string known;
    for (const Conversion& c : kConversions) known.append(known.empty() ? "" : ", ").append(c.architecture);
    return CannotSay("its family '" + std::string((*family)->architecture) + "' is not converted, only " + known,
                     folder->path());
  }
  ModelParts parts;
  parts.source = std::move(folder);
  GgufContent content;
  {
    Binder binder(*parts.source);
    if (Status status = BuildDecoder(**family, /*tokens=*/0, parts, binder); !status.ok()) return status;
    ConfigReader reader(*parts.source, (*family)->architecture);
    if (Status status = Converter(content, parts, binder, reader, *how).Convert(); !status.ok()) return status;
  }
  if (Status status = CheckWritten(**family, content, parts); !status.ok()) return status;
  content.entries.assign(content.made_entries.entries().begin(), content.made_entries.entries().end());
  content.source = std::move(parts.source);
  return content;
}

}  // namespace prenorm
