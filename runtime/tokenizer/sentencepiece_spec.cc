// A reader of the protocol-buffer wire format, just as much of it as SentencePiece models use.
#include "runtime/tokenizer/sentencepiece_spec.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/limits.h"
#include "runtime/tokenizer/string_arena.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm {
namespace {

/// One field of a message.
struct Field {
  uint64_t number = 0;
  uint64_t varint = 0;     // wire type 0
  std::string_view bytes;  // wire types 1, 2 and 5
};

/// Walks the fields of a message; `ok` turns false at the first byte that is none.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  bool Next(Field* field) {
    if (rest_.empty() || !ok_) return false;
    uint64_t tag = 0;
    if (!Varint(&tag)) return false;
    *field = Field{tag >> 3, 0, {}};
    switch (tag & 7) {
      case 0:
        return Varint(&field->varint);
      case 1:
        return Take(8, &field->bytes);
      case 2: {
        uint64_t size = 0;
        return Varint(&size) && Take(size, &field->bytes);
      }
      case 5:
        return Take(4, &field->bytes);
      default:
        return ok_ = false;
    }
  }
  bool ok() const { return ok_; }

 private:
  bool Varint(uint64_t* value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      *value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return ok_ = false;
  }
  bool Take(uint64_t size, std::string_view* bytes) {
    if (size > rest_.size()) return ok_ = false;
    *bytes = rest_.substr(0, static_cast<size_t>(size));
    rest_.remove_prefix(static_cast<size_t>(size));
    return true;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// Numbers of sentencepiece_model.proto.
enum ModelField { kPieces = 1, kTrainer = 2, kNormalizer = 3 };
enum PieceField { kPieceText = 1, kPieceScore = 2, kPieceType = 3 };
enum TrainerField { kModelType = 3, kTreatSpaceAsSuffix = 24, kUnkId = 40, kBosId = 41, kEosId = 42 };
enum NormalizerField { kCharsmapBytes = 2, kAddDummyPrefix = 3, kRemoveExtraSpaces = 4, kEscapeSpaces = 5 };

class SentencePieceReader {
 public:
  explicit SentencePieceReader(const std::string& source) : arena_(std::make_shared<StringArena>()) {
    spec_.source = source;
  }

  Result<TokenizerSpec> Read(std::string_view bytes) {
    Message model(bytes);
    for (Field field; model.Next(&field);) {
      bool ok = true;
      if (field.number == kPieces)
        ok = ReadPiece(field.bytes);
      else if (field.number == kTrainer)
        ok = ReadTrainer(field.bytes);
      else if (field.number == kNormalizer)
        ok = ReadNormalizer(field.bytes);
      if (!ok) return Bad();
    }
    if (!model.ok() || spec_.tokens.empty()) return Bad();
    return Finish();
  }

 private:
  Status Bad() const { return Status(StatusCode::kBadModel, "not a SentencePiece model\n" + spec_.source); }

  bool ReadPiece(std::string_view bytes) {
    std::string_view text;
    float score = 0;
    uint64_t type = 1;
    Message piece(bytes);
    for (Field field; piece.Next(&field);) {
      if (field.number == kPieceText)
        text = field.bytes;
      else if (field.number == kPieceScore && field.bytes.size() == sizeof(score))
        std::memcpy(&score, field.bytes.data(), sizeof(score));
      else if (field.number == kPieceType)
        type = field.varint;
    }
    if (spec_.tokens.size() >= kMaxTokens) return false;
    spec_.tokens.push_back(arena_->Copy(text));
    spec_.scores.push_back(score);
    spec_.types.push_back(type >= 1 && type <= 6 ? static_cast<TokenType>(type) : TokenType::kNormal);
    return piece.ok();
  }

  bool ReadTrainer(std::string_view bytes) {
    Message trainer(bytes);
    for (Field field; trainer.Next(&field);) {
      const auto id = static_cast<int32_t>(field.varint);  // negative ids are ten-byte varints
      if (field.number == kModelType)
        model_type_ = field.varint;
      else if (field.number == kTreatSpaceAsSuffix)
        space_is_suffix_ = field.varint != 0;
      else if (field.number == kUnkId)
        unk_ = id;
      else if (field.number == kBosId)
        bos_ = id;
      else if (field.number == kEosId)
        eos_ = id;
    }
    return trainer.ok();
  }

  bool ReadNormalizer(std::string_view bytes) {
    Message normalizer(bytes);
    for (Field field; normalizer.Next(&field);) {
      if (field.number == kCharsmapBytes)
        charsmap_ = field.bytes;
      else if (field.number == kAddDummyPrefix)
        dummy_prefix_ = field.varint != 0;
      else if (field.number == kRemoveExtraSpaces)
        remove_extra_ = field.varint != 0;
      else if (field.number == kEscapeSpaces)
        escape_ = field.varint != 0;
    }
    return normalizer.ok();
  }

  NormalizerStep& Add(NormalizerStep::Kind kind) {
    NormalizerStep step;
    step.kind = kind;
    return spec_.normalizer.emplace_back(std::move(step));
  }

  Result<TokenizerSpec> Finish() {
    constexpr uint64_t kUnigramType = 1, kBpeType = 2;
    if (model_type_ != kUnigramType && model_type_ != kBpeType) {
      return Status(StatusCode::kUnsupported, "SentencePiece model of type " + std::to_string(model_type_) + "\n" +
                                                  spec_.source + "; supported: unigram (1), bpe (2)");
    }
    if (space_is_suffix_ || !escape_) {
      return Status(StatusCode::kUnsupported,
                    std::string("SentencePiece model with ") +
                        (space_is_suffix_ ? "treat_whitespace_as_suffix" : "escape_whitespaces = false") +
                        " is not supported\n" + spec_.source);
    }
    spec_.kind = model_type_ == kBpeType ? TokenModelKind::kSpm : TokenModelKind::kUnigram;
    spec_.decoder = DecoderKind::kMarkedSpaces;
    spec_.byte_fallback = std::find(spec_.types.begin(), spec_.types.end(), TokenType::kByte) != spec_.types.end();
    if (!charsmap_.empty()) {
      Result<std::shared_ptr<const Charsmap>> charsmap = Charsmap::Parse(charsmap_);
      if (!charsmap.ok()) return Status(charsmap.status().code(), charsmap.status().message() + "\n" + spec_.source);
      Add(NormalizerStep::Kind::kCharsmap).charsmap = *std::move(charsmap);
    }
    if (remove_extra_) Add(NormalizerStep::Kind::kCollapseSpaces);
    if (dummy_prefix_) Add(NormalizerStep::Kind::kPrepend).text.push_back(' ');
    NormalizerStep& marks = Add(NormalizerStep::Kind::kReplace);
    marks.pattern.push_back(' ');
    marks.text = std::string(kSpaceMark);
    spec_.drops_space_prefix = dummy_prefix_;
    AddUserDefined();
    spec_.unknown = InVocabulary(unk_);
    spec_.bos = InVocabulary(bos_);
    if (InVocabulary(eos_) >= 0) spec_.end_tokens.push_back(eos_);
    spec_.storage = arena_;
    return std::move(spec_);
  }

  /// User-defined pieces are found in the text as given, where spaces are still spaces.
  void AddUserDefined() {
    for (size_t id = 0; id < spec_.tokens.size(); ++id) {
      if (spec_.types[id] != TokenType::kUserDefined) continue;
      AddedToken added;
      added.id = static_cast<TokenId>(id);
      std::string_view text = spec_.tokens[id];
      while (!text.empty()) {
        const bool mark = text.starts_with(kSpaceMark);
        added.text += mark ? ' ' : text[0];
        text.remove_prefix(mark ? kSpaceMark.size() : 1);
      }
      spec_.added.push_back(std::move(added));
    }
  }

  TokenId InVocabulary(int32_t id) const { return id >= 0 && static_cast<size_t>(id) < spec_.tokens.size() ? id : -1; }

  TokenizerSpec spec_;
  std::shared_ptr<StringArena> arena_;
  std::string_view charsmap_;
  uint64_t model_type_ = 1;
  bool space_is_suffix_ = false;
  bool dummy_prefix_ = true;
  bool remove_extra_ = true;
  bool escape_ = true;
  int32_t unk_ = 0;
  int32_t bos_ = 1;
  int32_t eos_ = 2;
};

}  // namespace

Result<TokenizerSpec> SpecFromSentencePiece(std::string_view bytes, const std::string& source) try {
  return SentencePieceReader(source).Read(bytes);
} catch (const std::bad_alloc&) {
  return Status(StatusCode::kOutOfMemory, "no memory for the tokenizer of " + source);
}

}  // namespace prenorm
