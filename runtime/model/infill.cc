// Finds the markers of fill-in-the-middle prompts.
#include "prenorm/infill.h"

#include <optional>
#include <string>

#include "runtime/model/parts.h"

namespace prenorm {
namespace {

struct Markers {
  TokenId prefix;
  TokenId suffix;
  TokenId middle;
};

struct MarkerTexts {
  const char* prefix;
  const char* suffix;
  const char* middle;
};

constexpr MarkerTexts kUsual[] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},     // Qwen2.5-Coder, CodeGemma
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},           // StarCoder, Granite
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},           // SantaCoder
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},     // DeepSeek
    {"▁<PRE>", "▁<SUF>", "▁<MID>"},                             // Code Llama
    {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"},  // GLM
};

// An id that the file names and the vocabulary has.
std::optional<TokenId> Named(const Model& model, std::string_view key, std::string_view old_key) {
  const Metadata& metadata = model.parts().source->metadata();
  for (const std::string_view name : {key, old_key}) {
    const std::optional<uint64_t> id = metadata.U64(name);
    if (id && *id < model.tokenizer().vocab_size()) return static_cast<TokenId>(*id);
  }
  return std::nullopt;
}

std::optional<Markers> FindMarkers(const Model& model) {
  const auto prefix = Named(model, "tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.prefix_token_id");
  const auto suffix = Named(model, "tokenizer.ggml.fim_suf_token_id", "tokenizer.ggml.suffix_token_id");
  const auto middle = Named(model, "tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.middle_token_id");
  if (prefix && suffix && middle) return Markers{*prefix, *suffix, *middle};
  for (const MarkerTexts& texts : kUsual) {
    const auto a = model.tokenizer().Find(texts.prefix), b = model.tokenizer().Find(texts.suffix),
               c = model.tokenizer().Find(texts.middle);
    if (a && b && c) return Markers{*a, *b, *c};
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<TokenId>> InfillPrompt(const Model& model, std::string_view prefix, std::string_view suffix) {
  const std::optional<Markers> markers = FindMarkers(model);
  if (!markers) {
    std::string texts;
    for (const MarkerTexts& usual : kUsual) texts += (texts.empty() ? "" : ", ") + std::string(usual.prefix);
    return Status(StatusCode::kUnsupported, "this model cannot fill in the middle\n" + model.parts().source->path() +
                                                ": expected key tokenizer.ggml.fim_pre_token_id or one of the tokens " +
                                                texts +
                                                ", found none\ntake a model for code that was trained to fill in");
  }
  const Tokenizer& tokenizer = model.tokenizer();
  Result<std::vector<TokenId>> before = tokenizer.Encode(prefix);
  if (!before.ok()) return before;
  Result<std::vector<TokenId>> behind = tokenizer.Encode(suffix);
  if (!behind.ok()) return behind;
  std::vector<TokenId> ids;
  if (tokenizer.adds_bos() && tokenizer.bos() >= 0) ids.push_back(tokenizer.bos());
  ids.push_back(markers->prefix);
  ids.insert(ids.end(), before->begin(), before->end());
  ids.push_back(markers->suffix);
  ids.insert(ids.end(), behind->begin(), behind->end());
  ids.push_back(markers->middle);
  return ids;
}

}  // namespace prenorm
