// SpecFromHfFolder: tokenizer.json, tokenizer.model or vocab.txt, and what the configuration files beside it add.
#include <simdjson.h>

#include <array>
#include <new>
#include <optional>

#include "runtime/loader/folder_file.h"
#include "runtime/loader/json_numbers.h"
#include "runtime/tokenizer/end_tokens.h"
#include "runtime/tokenizer/json_spec.h"
#include "runtime/tokenizer/sentencepiece_spec.h"
#include "runtime/tokenizer/vocab_txt_spec.h"

namespace prenorm {
namespace {

using simdjson::dom::element;

TokenId IdOf(const TokenizerSpec& spec, std::string_view text) {
  for (const AddedToken& added : spec.added) {
    if (added.text == text) return added.id;
  }
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    if (spec.tokens[id] == text) return static_cast<TokenId>(id);
  }
  return -1;
}

/// A member like "bos_token": a string, or an object with "content".
TokenId NamedToken(const TokenizerSpec& spec, element config, std::string_view key) {
  std::string_view text;
  if (config[key].get(text) != simdjson::SUCCESS && config[key]["content"].get(text) != simdjson::SUCCESS) return -1;
  return IdOf(spec, text);
}

/// "eos_token_id": a number or a list of them, or null. False: something else.
bool ReadEndIds(element config, TokenizerSpec* spec) {
  const auto add = [&](element id) {
    int64_t value = -1;
    if (id.get(value) != simdjson::SUCCESS) return false;
    if (value < 0) return true;
    if (static_cast<uint64_t>(value) < spec->tokens.size())
      spec->end_tokens.push_back(static_cast<TokenId>(value));
    else
      spec->warnings.push_back("eos_token_id " + std::to_string(value) + " is outside the vocabulary: ignored");
    return true;
  };
  element ids;
  if (config["eos_token_id"].get(ids) != simdjson::SUCCESS || ids.is_null()) return true;
  simdjson::dom::array list;
  if (ids.get(list) != simdjson::SUCCESS) return add(ids);
  bool good = true;
  for (const element id : list) good = add(id) && good;
  return good;
}

/// tokenizer_config.json. SentencePiece files do not say whether BOS and EOS are added; there the flags decide.
void ReadTokenizerConfig(element config, bool flags_decide, TokenizerSpec* spec) {
  const TokenId bos = NamedToken(*spec, config, "bos_token");
  if (bos >= 0) spec->bos = bos;
  const TokenId eos = NamedToken(*spec, config, "eos_token");
  if (eos >= 0) spec->end_tokens.push_back(eos);
  if (!flags_decide) return;
  bool flag = false;
  if (config["add_bos_token"].get(flag) == simdjson::SUCCESS && !flag) spec->prefix.clear();
  if (config["add_eos_token"].get(flag) == simdjson::SUCCESS && flag && eos >= 0) spec->suffix.push_back(eos);
}

// What tokenizer_config.json says of vocab.txt; a file that is no JSON is refused later.
VocabTxtOptions ReadVocabTxtOptions(const std::string& folder) {
  VocabTxtOptions options;
  const Result<std::string> text = ReadFolderFile(folder + "/tokenizer_config.json");
  simdjson::dom::parser parser;
  element config;
  if (!text.ok() || parser.parse(WithLongIntegersAsFloats(*text)).get(config) != simdjson::SUCCESS) return options;
  bool flag = false;
  if (config["do_lower_case"].get(flag) == simdjson::SUCCESS) options.lowercase = flag;
  if (config["strip_accents"].get(flag) == simdjson::SUCCESS) options.strip_accents = flag;
  if (config["tokenize_chinese_chars"].get(flag) == simdjson::SUCCESS) options.spaces_cjk = flag;
  return options;
}

}  // namespace

Result<TokenizerSpec> SpecFromHfFolder(const std::string& folder) try {
  const std::string json_path = folder + "/tokenizer.json";
  const std::string model_path = folder + "/tokenizer.model";
  const std::string vocab_path = folder + "/vocab.txt";
  Result<TokenizerSpec> spec = Status();
  const auto is_there = [](const Result<std::string>& text) { return text.status().code() != StatusCode::kNotFound; };
  const Result<std::string> json = ReadFolderFile(json_path);
  if (json.ok()) {
    spec = SpecFromTokenizerJson(*json, json_path);
  } else if (is_there(json)) {
    return json.status();
  } else if (const Result<std::string> model = ReadFolderFile(model_path); is_there(model)) {
    if (!model.ok()) return model.status();
    spec = SpecFromSentencePiece(*model, model_path);
    if (spec.ok() && spec->bos >= 0) spec->prefix.push_back(spec->bos);
  } else if (const Result<std::string> lines = ReadFolderFile(vocab_path); is_there(lines)) {
    if (!lines.ok()) return lines.status();
    spec = SpecFromVocabTxt(*lines, ReadVocabTxtOptions(folder), vocab_path);
  } else {
    return Status(StatusCode::kNotFound,
                  "no tokenizer\n" + folder + " has neither tokenizer.json nor tokenizer.model nor vocab.txt");
  }
  if (!spec.ok()) return spec.status();
  constexpr std::array<const char*, 3> kConfigs = {"tokenizer_config.json", "generation_config.json", "config.json"};
  for (const char* name : kConfigs) {
    const std::string path = folder + "/" + name;
    const Result<std::optional<std::string>> text = ReadFolderFileIfThere(path);
    if (!text.ok()) return text.status();
    if (!*text) continue;
    simdjson::dom::parser parser;
    element config;
    const simdjson::padded_string padded(WithLongIntegersAsFloats(**text));
    if (const auto error = parser.parse(padded).get(config); error != simdjson::SUCCESS) {
      return NotJson(path, simdjson::error_message(error));
    }
    if (name == kConfigs[0])
      ReadTokenizerConfig(config, !json.ok(), &*spec);
    else if (!ReadEndIds(config, &*spec))
      return Status(StatusCode::kBadModel, "the end tokens are not numbers\n" + path +
                                               ", eos_token_id: expected an id or a list of ids\nCorrect the file.");
  }
  AddEndMarkers(&*spec);
  return spec;
} catch (const std::bad_alloc&) {
  return Status(StatusCode::kOutOfMemory, "no memory for the tokenizer of " + folder);
}

}  // namespace prenorm
