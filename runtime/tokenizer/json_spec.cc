// Reading the vocabulary, merges and added tokens of tokenizer.json.
#include "runtime/tokenizer/json_spec.h"

#include <simdjson.h>

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/limits.h"
#include "runtime/tokenizer/json_pipeline.h"
#include "runtime/tokenizer/json_types.h"
#include "runtime/tokenizer/string_arena.h"

namespace prenorm {
namespace {

using simdjson::dom::element;

class JsonTokenizer {
 public:
  explicit JsonTokenizer(const std::string& source) : tokens_(std::make_shared<StringArena>()) {
    spec_.source = source;
  }

  Result<TokenizerSpec> Read(std::string_view json) {
    most_ids_ = static_cast<int64_t>(std::min(kMaxTokens, std::max(json.size(), kMaxIdsOfAFile)));
    simdjson::dom::parser parser;
    simdjson::dom::object root;
    const simdjson::padded_string padded(json);
    if (const auto error = parser.parse(padded).get(root); error != simdjson::SUCCESS) {
      return Bad(std::string("not a JSON object: ") + simdjson::error_message(error));
    }
    element model;
    if (root["model"].get(model) != simdjson::SUCCESS) return Bad("the member \"model\" is missing");
    for (const char* part : {"model", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
      element value;
      if (root[part].get(value) != simdjson::SUCCESS) continue;
      if (const std::string wrong = WrongJsonType(value); !wrong.empty()) return Bad(std::string(part) + ": " + wrong);
    }
    if (Status status = ReadModel(model); !status.ok()) return status;
    if (Status status = ReadAdded(root); !status.ok()) return status;
    if (Status status = ReadJsonPipeline(root, &spec_); !status.ok()) return status;
    spec_.storage = tokens_;
    if (spec_.prefix.size() == 1) spec_.bos = spec_.prefix[0];
    return std::move(spec_);
  }

 private:
  Status Bad(const std::string& what) const {
    return Status(StatusCode::kBadModel, "tokenizer.json: " + what + "\n" + spec_.source);
  }

  Status ReadModel(element model) {
    simdjson::dom::array list;
    const bool listed = model["vocab"].get(list) == simdjson::SUCCESS;
    element merges;
    const bool merging = model["merges"].get(merges) == simdjson::SUCCESS;
    // Old files leave the type out.
    const std::string_view type = JsonString(model, "type", listed ? "Unigram" : merging ? "BPE" : "WordPiece");
    spec_.fuse_unknown = JsonBool(model, "fuse_unk", type == "Unigram");
    spec_.byte_fallback = JsonBool(model, "byte_fallback", false);
    if (type == "Unigram") {
      if (!listed) return Bad("model.vocab is missing or no array");
      spec_.kind = TokenModelKind::kUnigram;
      return ReadScoredVocabulary(model, list);
    }
    if (Status status = ReadVocabulary(model); !status.ok()) return status;
    const std::string_view unknown = JsonString(model, "unk_token", "");
    if (!unknown.empty()) spec_.unknown = IdOf(unknown);
    if (type == "WordPiece") {
      spec_.kind = TokenModelKind::kWordPiece;
      spec_.continuing_prefix = std::string(JsonString(model, "continuing_subword_prefix", "##"));
      uint64_t max_chars = 0;
      if (model["max_input_chars_per_word"].get(max_chars) == simdjson::SUCCESS) {
        spec_.max_word_chars = static_cast<size_t>(max_chars);
      }
      return Status();
    }
    if (type != "BPE") {
      return Status(StatusCode::kUnsupported, "tokenizer.json: model \"" + std::string(type) + "\" is not supported\n" +
                                                  spec_.source + "; supported: BPE, WordPiece, Unigram");
    }
    spec_.kind = TokenModelKind::kBpe;
    spec_.ignore_merges = JsonBool(model, "ignore_merges", false);
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (JsonString(model, key, "").empty()) continue;
      return Status(StatusCode::kUnsupported,
                    std::string("tokenizer.json: BPE with ") + key + " is not supported\n" + spec_.source +
                        "; supported: BPE without affixes, of bytes or of characters with byte fallback");
    }
    return ReadMerges(merges, merging);
  }

  /// Puts a token at its id; ids may come in any order and leave gaps, but in a small file not of gigabytes.
  Status Put(std::string_view text, int64_t id) {
    if (id < 0 || id >= most_ids_) {
      return Bad("the token \"" + std::string(text) + "\" has the id " + std::to_string(id) +
                 ": a file of this size has ids from 0 to " + std::to_string(most_ids_ - 1));
    }
    const auto index = static_cast<size_t>(id);
    if (index >= spec_.tokens.size()) {
      spec_.tokens.resize(index + 1);
      spec_.types.resize(index + 1, TokenType::kUnused);  // what stays a gap
    }
    spec_.tokens[index] = tokens_->Copy(text);
    spec_.types[index] = TokenType::kNormal;
    return Status();
  }

  Status ReadVocabulary(element model) {
    simdjson::dom::object vocabulary;
    if (model["vocab"].get(vocabulary) != simdjson::SUCCESS) return Bad("model.vocab is missing or no object");
    spec_.tokens.reserve(vocabulary.size());
    for (const auto& [text, value] : vocabulary) {
      int64_t id = -1;
      if (value.get(id) != simdjson::SUCCESS) return Bad("the id of \"" + std::string(text) + "\" is no integer");
      if (Status status = Put(text, id); !status.ok()) return status;
    }
    return Status();
  }

  Status ReadScoredVocabulary(element model, simdjson::dom::array list) {
    for (const element item : list) {
      std::string_view text;
      double score = 0;
      if (item.at(0).get(text) != simdjson::SUCCESS || item.at(1).get(score) != simdjson::SUCCESS) {
        return Bad("model.vocab, item " + std::to_string(spec_.tokens.size()) + " is no [token, score]");
      }
      if (Status status = Put(text, static_cast<int64_t>(spec_.tokens.size())); !status.ok()) return status;
      spec_.scores.push_back(static_cast<float>(score));
    }
    int64_t unknown = -1;
    if (model["unk_id"].get(unknown) == simdjson::SUCCESS && unknown >= 0 &&
        unknown < static_cast<int64_t>(spec_.tokens.size())) {
      spec_.unknown = static_cast<TokenId>(unknown);
    }
    return Status();
  }

  TokenId IdOf(std::string_view text) const {
    const auto at = std::find(spec_.tokens.begin(), spec_.tokens.end(), text);
    return at == spec_.tokens.end() ? -1 : static_cast<TokenId>(at - spec_.tokens.begin());
  }

  Status ReadMerges(element merges, bool there) {
    simdjson::dom::array list;
    if (!there || merges.get(list) != simdjson::SUCCESS) return Bad("model.merges is missing or no array");
    auto arena = std::make_shared<StringArena>();
    for (const element item : list) {
      std::string_view left;
      std::string_view right;
      if (std::string_view both; item.get(both) == simdjson::SUCCESS) {  // "left right"
        const size_t space = both.find(' ');
        if (space == std::string_view::npos) return Bad(MergeText() + " has no space");
        left = both.substr(0, space);
        right = both.substr(space + 1);
      } else if (item.at(0).get(left) != simdjson::SUCCESS || item.at(1).get(right) != simdjson::SUCCESS) {
        return Bad(MergeText() + " is no pair of tokens");
      }
      if (left.empty() || right.empty()) return Bad(MergeText() + " has an empty token");
      spec_.merges.push_back(Merge{arena->Copy(left), arena->Copy(right)});
    }
    spec_.merge_storage = std::move(arena);
    return Status();
  }

  std::string MergeText() const { return "model.merges, item " + std::to_string(spec_.merges.size()); }

  Status ReadAdded(simdjson::dom::object root) {
    simdjson::dom::array list;
    if (root["added_tokens"].get(list) != simdjson::SUCCESS) return Status();
    for (const element item : list) {
      AddedToken added;
      int64_t id = -1;
      std::string_view text;
      if (item["id"].get(id) != simdjson::SUCCESS || item["content"].get(text) != simdjson::SUCCESS) {
        return Bad("added_tokens, item " + std::to_string(spec_.added.size()) + " has no id or content");
      }
      const bool of_model = id >= 0 && id < static_cast<int64_t>(spec_.tokens.size()) &&
                            spec_.types[static_cast<size_t>(id)] == TokenType::kNormal &&
                            spec_.tokens[static_cast<size_t>(id)] == text;
      if (Status status = Put(text, id); !status.ok()) return status;
      added.id = static_cast<TokenId>(id);
      added.text = std::string(text);
      added.special = JsonBool(item, "special", false);
      added.lstrip = JsonBool(item, "lstrip", false);
      added.rstrip = JsonBool(item, "rstrip", false);
      added.single_word = JsonBool(item, "single_word", false);
      added.normalized = JsonBool(item, "normalized", !added.special);
      // What the model has of its own keeps its score there.
      const TokenType of_text = spec_.kind == TokenModelKind::kUnigram ? TokenType::kNormal : TokenType::kUserDefined;
      spec_.types[static_cast<size_t>(id)] = added.special ? TokenType::kControl
                                             : of_model    ? of_text
                                                           : TokenType::kAdded;
      spec_.added.push_back(std::move(added));
    }
    if (!spec_.scores.empty()) spec_.scores.resize(spec_.tokens.size(), 0.0f);
    return Status();
  }

  TokenizerSpec spec_;
  int64_t most_ids_ = 0;
  std::shared_ptr<StringArena> tokens_;
};

}  // namespace

Result<TokenizerSpec> SpecFromTokenizerJson(std::string_view json, const std::string& source) try {
  return JsonTokenizer(source).Read(json);
} catch (const std::bad_alloc&) {
  return Status(StatusCode::kOutOfMemory, "no memory for the tokenizer of " + source);
}

}  // namespace prenorm
