// Making the small tokenizers.
#include "tests/runtime/tokenizer/mini_vocabulary.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/tokenizer/byte_level.h"
#include "runtime/tokenizer/pretokenizers.h"
#include "runtime/tokenizer/splitter.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm {
namespace {

constexpr std::string_view kCorpus =
    "The quick miller counts 12 sacks, then 345 more; she's tired and we'll wait. The river runs, the mill turns.\n\n"
    "Der Müller zählt die Säcke. Le meunier compte les sacs. Мельник считает мешки и ждёт. 磨坊主数着麻袋。\n"
    "if (sacks > 12) {\n    return sacks - 12;\n}\n\tfor (;;) {}   // spaces    and tabs\t\tand more\n";

}  // namespace

SpecMaker::SpecMaker() : strings_(std::make_shared<std::vector<std::unique_ptr<std::string>>>()) {
  spec_.source = "test";
  spec_.storage = strings_;
}

std::string_view SpecMaker::Keep(std::string_view text) {
  return *strings_->emplace_back(std::make_unique<std::string>(text));
}

TokenId SpecMaker::Add(std::string_view text, TokenType type, float score) {
  spec_.tokens.push_back(Keep(text));
  spec_.types.push_back(type);
  spec_.scores.push_back(score);
  return static_cast<TokenId>(spec_.tokens.size() - 1);
}

TokenId SpecMaker::Find(std::string_view text) const {
  for (size_t id = 0; id < spec_.tokens.size(); ++id) {
    if (spec_.tokens[id] == text) return static_cast<TokenId>(id);
  }
  return -1;
}

void SpecMaker::AddMerge(std::string_view left, std::string_view right) {
  spec_.merges.push_back(Merge{Keep(left), Keep(right)});
  const std::string joined = std::string(left).append(right);
  if (Find(joined) < 0) Add(joined);
}

void SpecMaker::AddNormalizer(NormalizerStep::Kind kind, std::string_view pattern, std::string_view text) {
  NormalizerStep step;
  step.kind = kind;
  step.pattern = std::string(pattern);
  step.text = std::string(text);
  spec_.normalizer.push_back(std::move(step));
}

void SpecMaker::AddByteTokens() {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (size_t byte = 0; byte < 256; ++byte) {
    Add(std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">", TokenType::kByte);
  }
  spec_.byte_fallback = true;
}

std::unique_ptr<Tokenizer> SpecMaker::Build() {
  Result<std::unique_ptr<Tokenizer>> tokenizer = BuildTokenizer(spec_);
  if (!tokenizer.ok()) {
    ADD_FAILURE() << tokenizer.status().message();
    return nullptr;
  }
  return *std::move(tokenizer);
}

SpecMaker ByteLevelMaker(std::string_view pretokenizer) {
  SpecMaker maker;
  for (const char* marker : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) maker.Add(marker, TokenType::kControl);
  for (int byte = 0; byte < 256; ++byte) maker.Add(ByteLevelChar(static_cast<unsigned char>(byte)));
  Result<Pretokenizer> found = FindPretokenizer(pretokenizer);
  if (!found.ok()) {
    ADD_FAILURE() << found.status().message();
    return maker;
  }
  TokenizerSpec& spec = maker.spec();
  spec.byte_level = true;
  spec.ignore_merges = found->ignore_merges;
  spec.splits = std::move(found->splits);
  spec.bos = 1;
  spec.prefix = {1};
  spec.end_tokens = {2, 0, 2};
  return maker;
}

SpecMaker TrainedMaker(std::string_view pretokenizer, size_t merges) {
  SpecMaker maker = ByteLevelMaker(pretokenizer);
  Splitter splitter;
  if (!splitter.Split(maker.spec().splits, kCorpus, true).ok()) ADD_FAILURE() << "the corpus cannot be cut";
  std::vector<std::vector<std::string>> words;
  for (const std::string_view piece : splitter.pieces()) {
    std::vector<std::string>& word = words.emplace_back();
    for (const char c : piece) word.emplace_back(ByteLevelChar(static_cast<unsigned char>(c)));
  }
  for (size_t i = 0; i < merges; ++i) {
    std::map<std::pair<std::string, std::string>, int> counts;
    for (const auto& word : words) {
      for (size_t k = 0; k + 1 < word.size(); ++k) ++counts[{word[k], word[k + 1]}];
    }
    if (counts.empty()) break;
    auto best = counts.begin();
    for (auto it = counts.begin(); it != counts.end(); ++it) {
      if (it->second > best->second) best = it;
    }
    const auto [left, right] = best->first;
    maker.AddMerge(left, right);
    for (auto& word : words) {
      for (size_t k = 0; k + 1 < word.size(); ++k) {
        if (word[k] != left || word[k + 1] != right) continue;
        word[k] += right;
        word.erase(word.begin() + static_cast<std::ptrdiff_t>(k) + 1);
      }
    }
  }
  return maker;
}

SpecMaker SpmMaker(bool space_prefix) {
  SpecMaker maker;
  maker.Add("<unk>", TokenType::kUnknown);
  maker.Add("<s>", TokenType::kControl);
  maker.Add("</s>", TokenType::kControl);
  maker.AddByteTokens();
  float score = 0;
  const std::string mark(kSpaceMark);
  const std::vector<std::string> pieces = {// highest score first
                                           "He",
                                           "ll",
                                           "llo",
                                           "Hello",
                                           "or",
                                           "ld",
                                           "orld",
                                           "world",
                                           mark + "Hello",
                                           mark + "world",
                                           mark + "a",
                                           mark + "b",
                                           mark + mark,
                                           mark + mark + mark,
                                           mark,
                                           "a",
                                           "b",
                                           "H",
                                           "e",
                                           "l",
                                           "o",
                                           "w",
                                           "r",
                                           "d"};
  for (const std::string& text : pieces) {
    maker.Add(text, TokenType::kNormal, --score);
  }
  TokenizerSpec& spec = maker.spec();
  spec.kind = TokenModelKind::kSpm;
  spec.decoder = DecoderKind::kMarkedSpaces;
  spec.unknown = 0;
  spec.bos = 1;
  spec.prefix = {1};
  spec.end_tokens = {2};
  spec.drops_space_prefix = space_prefix;
  if (space_prefix) maker.AddNormalizer(NormalizerStep::Kind::kPrepend, {}, " ");
  maker.AddNormalizer(NormalizerStep::Kind::kReplace, " ", kSpaceMark);
  return maker;
}

std::string Pieces(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options) {
  const Result<std::vector<TokenId>> ids = tokenizer.Encode(text, options);
  if (!ids.ok()) return "error: " + ids.status().message();
  std::string out;
  for (const TokenId id : *ids) out.append(out.empty() ? "" : "|").append(tokenizer.Piece(id, true));
  return out;
}

std::vector<std::string> DifficultTexts() {
  return {"",
          " ",
          "\n",
          "\t\t",
          "u != v , w . k ?",
          "The miller's 12 cats   slept.\n\nYes!",
          "👨‍👩‍👧‍👦 ❤️ ☎︎ 🇪🇺🇯🇵 🏴󠁧󠁢󠁳󠁣󠁴󠁿",
          "កាន់តែពិសេស 한국어 각 नमस्ते e\xCC\x81\xCC\xA3",
          "ﷺ Ǆ ǅ ß ẞ ſ İ ı \xE2\x80\x8B\xE2\x80\x8F",
          std::string("nul \0 byte", 10),
          std::string(64, ' '),
          "\r\n\r \xC2\xA0\xE2\x80\xA8\xE3\x80\x80 end"};
}

}  // namespace prenorm
