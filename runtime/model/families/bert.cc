// BERT: an encoder of post-LayerNorm blocks with biases, learned positions and kinds of segments, GELU without a gate.
// Devlin et al. 2018. What stands behind the blocks (pooler, heads for other tasks) is left out. RoBERTa (Liu et al.
// 2019) is the same with other training, and positions that count from behind the padding's.
#include "runtime/model/families/decoder.h"
#include "runtime/model/families/family.h"

namespace prenorm {
namespace {

// Positions of a folder of RoBERTa in front of the first token's: those up to the padding's id. Converters to GGUF
// leave them out.
size_t UnusedPositions(const ModelParts& parts, ConfigReader& reader) {
  if (parts.source->metadata().String("model_type").value_or("") != "roberta") return 0;
  const size_t padding = reader.Has("pad_token_id") ? reader.Count("pad_token_id", parts.config.vocab_size) : 1;
  return padding + 1;
}

}  // namespace

Status BuildBert(ModelParts& parts, Binder& binder, ConfigReader& reader) {
  static constexpr NamePair kNames[] = {
      {"token_embd", "embeddings.word_embeddings"},
      {"position_embd", "embeddings.position_embeddings"},
      {"token_types", "embeddings.token_type_embeddings"},
      {"token_embd_norm", "embeddings.LayerNorm"},
      {"attn_q", "attention.self.query"},
      {"attn_k", "attention.self.key"},
      {"attn_v", "attention.self.value"},
      {"attn_output", "attention.output.dense"},
      {"attn_output_norm", "attention.output.LayerNorm"},
      {"ffn_up", "intermediate.dense"},
      {"ffn_down", "output.dense"},
      {"layer_output_norm", "output.LayerNorm"},
  };
  ModelConfig& config = parts.config;
  BlockSpec& block = parts.block;
  binder.UseHfNames({kNames, "encoder.layer."});
  binder.LeaveOut({"pooler.", "cls.", "classifier.", "lm_head.", "position_ids"});
  block.norm = NormKind::kLayer;
  block.norm_behind = NormBehind::kSum;
  block.bidirectional = true;
  ReadDecoderConfig(reader, binder, parts);
  block.gate = ReadGate(reader, Gate::kGeluErf);
  const std::string positions(reader.Text("position_embedding_type", "absolute"));
  if (positions != "absolute") {
    reader.Fail(StatusCode::kUnsupported,
                "positions of type '" + positions + "' are not supported\nsupported: absolute");
  }
  if (reader.Flag("is_decoder", false)) {
    reader.Fail(StatusCode::kUnsupported, "BERT as a decoder (is_decoder) is not supported");
  }
  if (!reader.status().ok()) return reader.status();
  config.rope_dim = 0;
  config.tied_embeddings = false;
  for (LayerSpec& layer : block.layers) layer.rope = kNoRope;
  BindBlocks(parts, binder, {"", "", "attn_output_norm", "layer_output_norm"});
  ModelWeights& weights = parts.weights;
  const size_t unused = UnusedPositions(parts, reader);
  if (unused >= config.max_seq_len) {
    reader.Fail(StatusCode::kBadModel, "max_position_embeddings: " + std::to_string(config.max_seq_len) +
                                           " leave none behind the padding's, pad_token_id " +
                                           std::to_string(unused - 1));
    return reader.status();
  }
  weights.position_embd = binder.Matrix("position_embd", config.max_seq_len, config.dim);
  if (binder.status().ok()) {
    WeightMatrix& table = weights.position_embd;
    table.data = static_cast<const uint8_t*>(table.data) + unused * RowBytes(table.type, table.cols);
    table.rows -= unused;
    config.max_seq_len -= unused;
  }
  if (const size_t kinds = binder.Elements("token_types.weight") / config.dim; kinds != 0) {
    weights.token_types = binder.Matrix("token_types", kinds, config.dim);
  }
  weights.embd_norm = binder.Norm("token_embd_norm", config.dim);
  return binder.status();
}

}  // namespace prenorm
