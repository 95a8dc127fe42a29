// Reading tokenizer.ggml.* into a TokenizerSpec. What a kind of tokenizer implies where the keys are
// silent is said here.
#include "runtime/tokenizer/gguf_spec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "runtime/limits.h"
#include "runtime/tokenizer/end_tokens.h"
#include "runtime/tokenizer/pretokenizers.h"
#include "runtime/tokenizer/utf8.h"
#include "runtime/tokenizer/vocab_txt_spec.h"

namespace prenorm {
namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";

class GgufTokenizer {
 public:
  GgufTokenizer(const Metadata& metadata, const std::string& source) : metadata_(metadata) { spec_.source = source; }

  Result<TokenizerSpec> Read() {
    const std::optional<std::string_view> model = metadata_.String(Key("model"));
    if (!model) return Bad("the key tokenizer.ggml.model is missing or no string");
    if (Status status = ReadVocabulary(); !status.ok()) return status;
    Status status;
    if (*model == "gpt2" || *model == "gemma4" || *model == "whitespace")
      status = ReadBpe(*model);
    else if (*model == "llama")
      status = ReadSpm();
    else if (*model == "bert")
      status = ReadWordPiece();
    else if (*model == "t5")
      status = ReadUnigram();
    else
      status = Status(StatusCode::kUnsupported,
                      "unknown tokenizer \"" + std::string(*model) + "\"\n" + spec_.source +
                          ", tokenizer.ggml.model; known: gpt2, llama, bert, t5, gemma4, whitespace");
    if (!status.ok()) return status;
    ReadEndTokens();
    if (!wrong_type_.empty()) return Bad(wrong_type_);
    return std::move(spec_);
  }

 private:
  static std::string Key(std::string_view name) { return std::string(kPrefix).append(name); }

  Status Bad(const std::string& what) const { return Status(StatusCode::kBadModel, what + "\n" + spec_.source); }

  /// A key that is there with a value of another type is no key that may be left out: the first is kept.
  template <typename T>
  std::optional<T> Checked(std::string_view name, std::optional<T> value, const char* expected) {
    if (!value && metadata_.Has(Key(name)) && wrong_type_.empty()) {
      wrong_type_ = "the key " + Key(name) + " is not " + expected;
    }
    return value;
  }

  bool Flag(std::string_view name, bool otherwise) {
    return Checked(name, metadata_.Bool(Key(name)), "true or false").value_or(otherwise);
  }

  /// An id of a special token; `otherwise` if the key is absent; ids outside the vocabulary are none, with a warning.
  TokenId Id(std::string_view name, TokenId otherwise) {
    const std::optional<int64_t> id = Checked(name, metadata_.I64(Key(name)), "a whole number");
    if (!id) return otherwise >= 0 && static_cast<size_t>(otherwise) < spec_.tokens.size() ? otherwise : -1;
    if (*id >= 0 && static_cast<uint64_t>(*id) < spec_.tokens.size()) return static_cast<TokenId>(*id);
    if (*id != -1 && *id != UINT32_MAX) {  // both mean "none"
      spec_.warnings.push_back(Key(name) + " is " + std::to_string(*id) + ", outside the vocabulary: ignored");
    }
    return -1;
  }

  Status ReadVocabulary() {
    const std::optional<StringArray> tokens = metadata_.Strings(Key("tokens"));
    if (!tokens) return Bad("the key tokenizer.ggml.tokens is missing or no array of strings");
    if (tokens->size() > kMaxTokens)
      return Bad("tokenizer.ggml.tokens has " + std::to_string(tokens->size()) + " items");
    spec_.tokens.assign(tokens->begin(), tokens->end());
    if (metadata_.Has(Key("token_type"))) {
      const std::optional<NumberArray> types = metadata_.Numbers(Key("token_type"));
      if (!types) return Bad("tokenizer.ggml.token_type is no array of numbers");
      if (types->size() != spec_.tokens.size()) return Bad(CountText("token_type", types->size()));
      spec_.types.resize(types->size());
      const uint8_t* raw = types->RawAs<int32_t>(MetaType::kI32);  // The usual type; a quarter of a million of them.
      for (size_t i = 0; i < types->size(); ++i) {
        int32_t stored = 0;
        if (raw != nullptr) std::memcpy(&stored, raw + i * sizeof(stored), sizeof(stored));
        const std::optional<int64_t> type = raw != nullptr ? stored : types->I64(i);
        if (!type) return Bad("tokenizer.ggml.token_type, item " + std::to_string(i) + " is no whole number");
        // 0 (undefined) and numbers of later versions are tokens like any other.
        spec_.types[i] = *type >= 1 && *type <= 6 ? static_cast<TokenType>(*type) : TokenType::kNormal;
      }
    }
    return Status();
  }

  std::string CountText(std::string_view name, size_t count) const {
    return Key(name) + " has " + std::to_string(count) + " items for " + std::to_string(spec_.tokens.size()) +
           " tokens";
  }

  Status ReadScores() {
    const std::optional<NumberArray> scores = metadata_.Numbers(Key("scores"));
    if (!scores) return Bad("the key tokenizer.ggml.scores is missing or no array of numbers");
    if (scores->size() != spec_.tokens.size()) return Bad(CountText("scores", scores->size()));
    if (const uint8_t* raw = scores->RawAs<float>(MetaType::kF32); raw != nullptr) {
      spec_.scores.resize(scores->size());
      if (!spec_.scores.empty()) std::memcpy(spec_.scores.data(), raw, spec_.scores.size() * sizeof(float));
      return Status();
    }
    spec_.scores.reserve(scores->size());
    for (size_t i = 0; i < scores->size(); ++i) {
      const std::optional<float> score = scores->F32(i);
      if (!score) return Bad("tokenizer.ggml.scores, item " + std::to_string(i) + " is no number");
      spec_.scores.push_back(*score);
    }
    return Status();
  }

  Status ReadMerges() {
    const std::optional<StringArray> merges = metadata_.Strings(Key("merges"));
    if (!merges) return Bad("the key tokenizer.ggml.merges is missing or no array of strings");
    if (merges->size() > kMaxMerges)
      return Bad("tokenizer.ggml.merges has " + std::to_string(merges->size()) + " items");
    spec_.merges.reserve(merges->size());
    for (const std::string_view merge : *merges) {
      // One space parts the two; the first token has at least one byte.
      const size_t space = merge.find(' ', 1);
      if (merge.empty() || space == std::string_view::npos || space + 1 == merge.size()) {
        return Bad("tokenizer.ggml.merges, item " + std::to_string(spec_.merges.size()) + ": \"" + std::string(merge) +
                   "\" is not two tokens with a space between");
      }
      spec_.merges.push_back(Merge{merge.substr(0, space), merge.substr(space + 1)});
    }
    return Status();
  }

  void Add(NormalizerStep::Kind kind, std::string pattern = {}, std::string text = {}) {
    NormalizerStep step;
    step.kind = kind;
    step.pattern = std::move(pattern);
    step.text = std::move(text);
    spec_.normalizer.push_back(std::move(step));
  }

  bool HasByteTokens() const {
    return std::find(spec_.types.begin(), spec_.types.end(), TokenType::kByte) != spec_.types.end();
  }

  /// BOS before and EOS after, where the file or its kind of tokenizer says so.
  void ReadEnds(bool adds_bos, bool adds_eos, TokenId bos, TokenId eos) {
    spec_.bos = Id("bos_token_id", bos);
    eos_ = Id("eos_token_id", eos);
    if (Flag("add_bos_token", adds_bos) && spec_.bos >= 0) spec_.prefix.push_back(spec_.bos);
    if (Flag("add_eos_token", adds_eos) && eos_ >= 0) spec_.suffix.push_back(eos_);
  }

  Status ReadBpe(std::string_view model) {
    spec_.kind = TokenModelKind::kBpe;
    std::string_view name = model == "gemma4" ? "gemma4" : "default";
    if (const auto given = Checked("pre", metadata_.String(Key("pre")), "a string")) {
      if (model != "gemma4") name = *given;
    } else if (model != "gemma4") {
      spec_.warnings.push_back(
          "tokenizer.ggml.pre is missing: text is cut by the rules of \"default\", and the ids may "
          "differ from those the model was trained with");
    }
    Result<Pretokenizer> pretokenizer = FindPretokenizer(name);
    if (!pretokenizer.ok()) {
      return Status(pretokenizer.status().code(), pretokenizer.status().message() + "\n" + spec_.source);
    }
    spec_.byte_level = pretokenizer->byte_level;
    spec_.decoder = spec_.byte_level ? DecoderKind::kByteLevel : DecoderKind::kMarkedSpaces;
    spec_.ignore_merges = pretokenizer->ignore_merges;
    spec_.splits = std::move(pretokenizer->splits);
    if (pretokenizer->nfc) Add(NormalizerStep::Kind::kNfc);
    if (!spec_.byte_level) {
      if (pretokenizer->marks_spaces) Add(NormalizerStep::Kind::kReplace, " ", std::string(kSpaceMark));
      spec_.byte_fallback = true;
      spec_.unknown = Id("unknown_token_id", -1);
    } else if (Flag("add_space_prefix", false)) {
      Add(NormalizerStep::Kind::kPrepend, {}, " ");
      spec_.drops_space_prefix = true;
    }
    ReadEnds(pretokenizer->adds_bos, false, -1, -1);
    // Early files of Gemma 4 say by mistake that no BOS is added.
    if (name == "gemma4" && spec_.bos >= 0 && spec_.prefix.empty()) spec_.prefix.push_back(spec_.bos);
    ReadMaskToken(name);
    return ReadMerges();
  }

  Status ReadSpm() {
    spec_.kind = TokenModelKind::kSpm;
    spec_.decoder = DecoderKind::kMarkedSpaces;
    spec_.byte_fallback = HasByteTokens();
    spec_.unknown = Id("unknown_token_id", 0);
    AddSpacePrefix(true);
    ReadEnds(true, false, 1, 2);
    ReadPhi3();
    return ReadScores();
  }

  void AddSpacePrefix(bool otherwise) {
    spec_.drops_space_prefix = Flag("add_space_prefix", otherwise);
    if (spec_.drops_space_prefix) Add(NormalizerStep::Kind::kPrepend, {}, " ");
    Add(NormalizerStep::Kind::kReplace, " ", std::string(kSpaceMark));
  }

  /// A mask token swallows the space before it (tokenizer.json of these models); GGUF has no key for that.
  void ReadMaskToken(std::string_view pretokenizer) {
    constexpr std::array<std::string_view, 5> kNames = {"jina-v2-de", "jina-v2-es", "jina-v2-code", "roberta-bpe",
                                                        "modern-bert"};
    constexpr std::array<std::string_view, 2> kArchitectures = {"nomic-bert-moe", "jina-bert-v3"};
    const std::string_view architecture = metadata_.String("general.architecture").value_or("");
    if (std::find(kNames.begin(), kNames.end(), pretokenizer) == kNames.end() &&
        std::find(kArchitectures.begin(), kArchitectures.end(), architecture) == kArchitectures.end()) {
      return;
    }
    const std::string_view text = pretokenizer == "modern-bert" ? "[MASK]" : "<mask>";
    const auto at = std::find(spec_.tokens.begin(), spec_.tokens.end(), text);
    if (at == spec_.tokens.end()) return;
    AddedToken added;
    added.id = static_cast<TokenId>(at - spec_.tokens.begin());
    added.text = std::string(text);
    added.special = true;
    added.lstrip = true;
    spec_.added.push_back(std::move(added));
  }

  /// Phi-3's added tokens swallow the white space after them (tokenizer_config.json); GGUF has no key for that.
  void ReadPhi3() {
    if (metadata_.String("general.architecture").value_or("") != "phi3") return;
    constexpr std::array<std::string_view, 3> kKeepSpace = {"<unk>", "<s>", "<|endoftext|>"};
    for (size_t id = 0; id < spec_.types.size(); ++id) {
      const std::string_view text = spec_.tokens[id];
      const bool user_defined = spec_.types[id] == TokenType::kUserDefined;
      if (spec_.types[id] != TokenType::kControl && !user_defined) continue;
      AddedToken added;
      added.id = static_cast<TokenId>(id);
      added.text = std::string(text);
      added.special = !user_defined;
      added.rstrip = std::find(kKeepSpace.begin(), kKeepSpace.end(), text) == kKeepSpace.end();
      spec_.added.push_back(std::move(added));
    }
  }

  Status ReadWordPiece() {
    VocabTxtOptions options;
    options.lowercase = Flag("normalizer.lowercase", true);
    options.strip_accents = Flag("normalizer.strip_accents", options.lowercase);
    if (Status status = AddBertSteps(options, &spec_); !status.ok()) return status;
    // GGUF files mark the tokens that begin a word, where BERT's own files mark those that do not.
    spec_.word_prefix = std::string(kSpaceMark);
    spec_.unknown = Id("unknown_token_id", 100);
    spec_.bos = Id("cls_token_id", Id("bos_token_id", 101));
    const TokenId separator = Id("seperator_token_id", Id("separator_token_id", 102));  // the key's spelling
    if (Flag("add_bos_token", true) && spec_.bos >= 0) spec_.prefix.push_back(spec_.bos);
    if (Flag("add_sep_token", true) && separator >= 0) spec_.suffix.push_back(separator);
    return Status();
  }

  Status ReadUnigram() {
    spec_.kind = TokenModelKind::kUnigram;
    spec_.decoder = DecoderKind::kMarkedSpaces;
    spec_.byte_fallback = HasByteTokens();
    spec_.unknown = Id("unknown_token_id", 2);
    if (const MetaEntry* entry = metadata_.Find(Key("precompiled_charsmap"))) {
      if (!entry->is_array || MetaTypeBytes(entry->type) != 1) {
        return Bad("tokenizer.ggml.precompiled_charsmap is no array of bytes");
      }
      auto charsmap = Charsmap::Parse({reinterpret_cast<const char*>(entry->data), static_cast<size_t>(entry->count)});
      if (!charsmap.ok()) return Bad(charsmap.status().message());
      Add(NormalizerStep::Kind::kCharsmap);
      spec_.normalizer.back().charsmap = *std::move(charsmap);
    }
    if (Flag("remove_extra_whitespaces", false)) Add(NormalizerStep::Kind::kCollapseSpaces);
    AddSpacePrefix(false);
    ReadEnds(false, true, -1, 1);
    ReadMaskToken("");
    return ReadScores();
  }

  void ReadEndTokens() {
    for (const TokenId id : {eos_, Id("eot_token_id", -1), Id("eom_token_id", -1)}) {
      if (id >= 0) spec_.end_tokens.push_back(id);
    }
    AddEndMarkers(&spec_);
  }

  const Metadata& metadata_;
  TokenizerSpec spec_;
  TokenId eos_ = -1;
  std::string wrong_type_;
};

}  // namespace

Result<TokenizerSpec> SpecFromGguf(const Metadata& metadata, const std::string& source) try {
  return GgufTokenizer(metadata, source).Read();
} catch (const std::bad_alloc&) {
  return Status(StatusCode::kOutOfMemory, "no memory for the tokenizer of " + source);
}

}  // namespace prenorm
