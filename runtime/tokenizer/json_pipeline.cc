// Types of tokenizer.json's pipeline, as steps of ours. Names and meaning: Hugging Face tokenizers.
#include "runtime/tokenizer/json_pipeline.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "runtime/limits.h"
#include "runtime/tokenizer/base64.h"
#include "runtime/tokenizer/pretokenizers.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm {
namespace {

using simdjson::dom::element;
using NormKind = NormalizerStep::Kind;

constexpr char kNormalizers[] =
    "Sequence, NFC, NFD, NFKC, NFKD, Nmt, Lowercase, StripAccents, Prepend, Replace, Strip, BertNormalizer, "
    "Precompiled";
constexpr char kPretokenizers[] =
    "Sequence, ByteLevel, Split, Metaspace, Digits, Punctuation, Whitespace, WhitespaceSplit, CharDelimiterSplit, "
    "BertPreTokenizer";
constexpr char kPostProcessors[] = "Sequence, ByteLevel, TemplateProcessing, BertProcessing, RobertaProcessing";
constexpr char kDecoders[] = "Sequence, ByteLevel, WordPiece, Metaspace, Replace, Strip, ByteFallback, Fuse";

Status Unsupported(const TokenizerSpec& spec, const char* part, std::string_view type, const char* supported) {
  return Status(StatusCode::kUnsupported, std::string("tokenizer.json: ") + part + " \"" + std::string(type) +
                                              "\" is not supported\n" + spec.source + "\nsupported: " + supported);
}

Status Bad(const TokenizerSpec& spec, const std::string& what) {
  return Status(StatusCode::kBadModel, "tokenizer.json: " + what + "\n" + spec.source);
}

/// Calls `read` on every member of the array `key`.
template <typename Read>
Status ForEach(const TokenizerSpec& spec, element parent, std::string_view key, const Read& read) {
  simdjson::dom::array items;
  if (parent[key].get(items) != simdjson::SUCCESS) return Bad(spec, "Sequence without the array " + std::string(key));
  for (const element item : items) {
    if (Status status = read(item); !status.ok()) return status;
    if (std::max(spec.normalizer.size(), spec.splits.size()) > kMaxTokenizerSteps) {
      return Bad(spec, std::string(key) + " has more than " + std::to_string(kMaxTokenizerSteps) + " steps");
    }
  }
  return Status();
}

/// {"Regex": "..."} as it is, {"String": "..."} quoted.
Result<std::string> PatternOf(const TokenizerSpec& spec, element step, bool* is_regex) {
  std::string_view text;
  *is_regex = step["pattern"]["Regex"].get(text) == simdjson::SUCCESS;
  if (*is_regex || step["pattern"]["String"].get(text) == simdjson::SUCCESS) return std::string(text);
  return Bad(spec, "a pattern is neither a Regex nor a String");
}

std::string Quote(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80 &&
        std::string_view("\\^$.|?*+()[]{}#- ").find(c) != std::string_view::npos) {
      out += '\\';
    }
    out += c;
  }
  return out;
}

void AddNorm(TokenizerSpec* spec, NormKind kind) {
  NormalizerStep step;
  step.kind = kind;
  spec->normalizer.push_back(std::move(step));
}

Status ReadReplace(element item, TokenizerSpec* spec) {
  NormalizerStep step;
  bool is_regex = false;
  Result<std::string> pattern = PatternOf(*spec, item, &is_regex);
  if (!pattern.ok()) return pattern.status();
  step.kind = is_regex ? NormKind::kReplaceRegex : NormKind::kReplace;
  step.text = std::string(JsonString(item, "content", ""));
  if (is_regex) {
    Result<Regex> regex = Regex::Compile(*pattern);
    if (!regex.ok()) return regex.status();
    step.regex = *std::move(regex);
  } else {
    step.pattern = *std::move(pattern);
  }
  spec->normalizer.push_back(std::move(step));
  return Status();
}

Status ReadNormalizer(element item, int depth, TokenizerSpec* spec) {
  if (item.is_null()) return Status();
  const std::string_view type = JsonString(item, "type", "");
  if (type == "Sequence" && depth < kMaxTokenizerDepth) {
    return ForEach(*spec, item, "normalizers", [&](element e) { return ReadNormalizer(e, depth + 1, spec); });
  }
  constexpr std::pair<std::string_view, NormKind> kPlain[] = {{"NFC", NormKind::kNfc},
                                                              {"NFD", NormKind::kNfd},
                                                              {"NFKC", NormKind::kNfkc},
                                                              {"NFKD", NormKind::kNfkd},
                                                              {"Nmt", NormKind::kNmt},
                                                              {"Lowercase", NormKind::kLowercase},
                                                              {"StripAccents", NormKind::kStripMarks}};
  for (const auto& [name, kind] : kPlain) {
    if (type != name) continue;
    AddNorm(spec, kind);
    return Status();
  }
  if (type == "Prepend") {
    AddNorm(spec, NormKind::kPrepend);
    spec->normalizer.back().text = std::string(JsonString(item, "prepend", ""));
  } else if (type == "Replace") {
    return ReadReplace(item, spec);
  } else if (type == "Strip") {
    AddNorm(spec, NormKind::kStrip);
    spec->normalizer.back().left = JsonBool(item, "strip_left", true);
    spec->normalizer.back().right = JsonBool(item, "strip_right", true);
  } else if (type == "BertNormalizer") {
    const bool lowercase = JsonBool(item, "lowercase", true);
    if (JsonBool(item, "clean_text", true)) AddNorm(spec, NormKind::kCleanText);
    if (JsonBool(item, "handle_chinese_chars", true)) AddNorm(spec, NormKind::kSpaceCjk);
    if (JsonBool(item, "strip_accents", lowercase)) {  // null means: as lowercase
      AddNorm(spec, NormKind::kNfd);
      AddNorm(spec, NormKind::kStripAccents);
    }
    if (lowercase) AddNorm(spec, NormKind::kLowercase);
  } else if (type == "Precompiled") {
    const std::optional<std::string> blob = DecodeBase64(JsonString(item, "precompiled_charsmap", ""));
    if (!blob) return Bad(*spec, "precompiled_charsmap is not base64");
    Result<std::shared_ptr<const Charsmap>> charsmap = Charsmap::Parse(*blob);
    if (!charsmap.ok()) return Bad(*spec, charsmap.status().message());
    AddNorm(spec, NormKind::kCharsmap);
    spec->normalizer.back().charsmap = *std::move(charsmap);
  } else {
    return Unsupported(*spec, "normalizer", type, kNormalizers);
  }
  return Status();
}

Status AddSplit(std::string_view pattern, SplitBehavior behavior, bool invert, TokenizerSpec* spec) {
  Result<Regex> regex = Regex::Compile(pattern);
  if (!regex.ok()) return Status(regex.status().code(), regex.status().message() + "\n" + spec->source);
  SplitStep step;
  step.regex = *std::move(regex);
  step.behavior = behavior;
  step.invert = invert;
  spec->splits.push_back(std::move(step));
  return Status();
}

Status BehaviorOf(element item, SplitBehavior otherwise, const TokenizerSpec& spec, SplitBehavior* behavior) {
  constexpr std::pair<std::string_view, SplitBehavior> kNames[] = {
      {"Isolated", SplitBehavior::kIsolated},
      {"Removed", SplitBehavior::kRemoved},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  const std::string_view name = JsonString(item, "behavior", "");
  *behavior = otherwise;
  if (name.empty()) return Status();
  for (const auto& [known, value] : kNames) {
    if (name != known) continue;
    *behavior = value;
    return Status();
  }
  return Unsupported(spec, "behavior", name, "Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous");
}

Status ReadMetaspace(element item, TokenizerSpec* spec) {
  SplitStep step;
  step.kind = SplitStep::Kind::kMetaspace;
  step.mark = std::string(JsonString(item, "replacement", kSpaceMark));
  if (step.mark.empty()) return Bad(*spec, "Metaspace without replacement");
  const bool prefix = JsonBool(item, "add_prefix_space", true);  // files before prepend_scheme
  const std::string_view scheme = JsonString(item, "prepend_scheme", prefix ? "always" : "never");
  if (scheme == "always")
    step.prefix = SpacePrefix::kAlways;
  else if (scheme == "first")
    step.prefix = SpacePrefix::kFirst;
  else if (scheme != "never")
    return Unsupported(*spec, "prepend_scheme", scheme, "always, first, never");
  step.split = JsonBool(item, "split", true);
  spec->splits.push_back(std::move(step));
  return Status();
}

Status ReadPretokenizer(element item, int depth, TokenizerSpec* spec) {
  if (item.is_null()) return Status();
  const std::string_view type = JsonString(item, "type", "");
  constexpr SplitBehavior kIsolated = SplitBehavior::kIsolated;
  constexpr SplitBehavior kRemoved = SplitBehavior::kRemoved;
  if (type == "Sequence" && depth < kMaxTokenizerDepth) {
    return ForEach(*spec, item, "pretokenizers", [&](element e) { return ReadPretokenizer(e, depth + 1, spec); });
  }
  if (type == "ByteLevel") {
    spec->byte_level = true;
    if (JsonBool(item, "add_prefix_space", true)) {
      SplitStep step;
      step.kind = SplitStep::Kind::kLeadingSpace;
      spec->splits.push_back(std::move(step));
    }
    return JsonBool(item, "use_regex", true) ? AddSplit(Gpt2Pattern(), kIsolated, false, spec) : Status();
  }
  if (type == "Split") {
    bool is_regex = false;
    Result<std::string> pattern = PatternOf(*spec, item, &is_regex);
    if (!pattern.ok()) return pattern.status();
    SplitBehavior behavior;
    if (Status status = BehaviorOf(item, kIsolated, *spec, &behavior); !status.ok()) return status;
    return AddSplit(is_regex ? *pattern : Quote(*pattern), behavior, JsonBool(item, "invert", false), spec);
  }
  if (type == "Metaspace") return ReadMetaspace(item, spec);
  if (type == "Digits") {
    return AddSplit(JsonBool(item, "individual_digits", false) ? "\\p{N}" : "\\p{N}+", kIsolated, false, spec);
  }
  if (type == "Punctuation") {
    SplitBehavior behavior;
    if (Status status = BehaviorOf(item, kIsolated, *spec, &behavior); !status.ok()) return status;
    return AddSplit("[\\p{P}!-/:-@\\[-`{-~]", behavior, false, spec);
  }
  if (type == "Whitespace") {
    // A word of Rust's regular expressions: joiners too.
    const std::string word = "[:word:]\\x{200C}\\x{200D}";
    return AddSplit("[" + word + "]+|[^" + word + "\\s]+", kRemoved, true, spec);
  }
  if (type == "WhitespaceSplit") return AddSplit("\\s", kRemoved, false, spec);
  if (type == "CharDelimiterSplit") return AddSplit(Quote(JsonString(item, "delimiter", " ")), kRemoved, false, spec);
  if (type == "BertPreTokenizer") {
    Result<SplitSteps> splits = BertSplits();
    if (!splits.ok()) return splits.status();
    for (SplitStep& step : *splits) spec->splits.push_back(std::move(step));
    return Status();
  }
  return Unsupported(*spec, "pre_tokenizer", type, kPretokenizers);
}

Status ReadTemplate(element item, TokenizerSpec* spec) {
  bool before = true;
  return ForEach(*spec, item, "single", [&](element part) {
    std::string_view name;
    if (part["SpecialToken"]["id"].get(name) != simdjson::SUCCESS) {
      before = false;  // {"Sequence": ...}: the text itself
      return Status();
    }
    simdjson::dom::array ids;
    if (item["special_tokens"][name]["ids"].get(ids) != simdjson::SUCCESS) {
      return Bad(*spec, "post_processor names the token \"" + std::string(name) + "\" without ids");
    }
    for (const element id : ids) {
      int64_t value = -1;
      if (id.get(value) != simdjson::SUCCESS || value < 0 || value >= static_cast<int64_t>(kMaxTokens)) {
        return Bad(*spec, "post_processor: an id of \"" + std::string(name) + "\" is no token");
      }
      (before ? spec->prefix : spec->suffix).push_back(static_cast<TokenId>(value));
    }
    return Status();
  });
}

Status ReadPostProcessor(element item, int depth, TokenizerSpec* spec) {
  if (item.is_null()) return Status();
  const std::string_view type = JsonString(item, "type", "");
  if (type == "Sequence" && depth < kMaxTokenizerDepth) {
    return ForEach(*spec, item, "processors", [&](element e) { return ReadPostProcessor(e, depth + 1, spec); });
  }
  if (type == "ByteLevel") return Status();  // concerns offsets only
  if (type == "TemplateProcessing") return ReadTemplate(item, spec);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    int64_t cls = -1;
    int64_t sep = -1;
    if (item["cls"].at(1).get(cls) != simdjson::SUCCESS || item["sep"].at(1).get(sep) != simdjson::SUCCESS || cls < 0 ||
        sep < 0 || std::max(cls, sep) >= static_cast<int64_t>(kMaxTokens)) {
      return Bad(*spec, std::string(type) + " without ids");
    }
    spec->prefix.push_back(static_cast<TokenId>(cls));
    spec->suffix.push_back(static_cast<TokenId>(sep));
    return Status();
  }
  return Unsupported(*spec, "post_processor", type, kPostProcessors);
}

Status ReadDecoder(element item, int depth, TokenizerSpec* spec) {
  if (item.is_null()) return Status();
  const std::string_view type = JsonString(item, "type", "");
  if (type == "Sequence" && depth < kMaxTokenizerDepth) {
    return ForEach(*spec, item, "decoders", [&](element e) { return ReadDecoder(e, depth + 1, spec); });
  }
  if (type == "ByteLevel") {
    spec->decoder = DecoderKind::kByteLevel;
  } else if (type == "WordPiece") {
    spec->decoder = DecoderKind::kWordPiece;
    spec->drops_space_prefix = true;
  } else if (type == "Metaspace") {
    spec->decoder = DecoderKind::kMarkedSpaces;
    const bool prefix = JsonBool(item, "add_prefix_space", true);
    spec->drops_space_prefix = JsonString(item, "prepend_scheme", prefix ? "always" : "never") != "never";
  } else if (type == "Replace") {
    bool is_regex = false;
    const Result<std::string> pattern = PatternOf(*spec, item, &is_regex);
    if (!pattern.ok()) return pattern.status();
    if (*pattern != kSpaceMark || JsonString(item, "content", "") != " ") {
      return Unsupported(*spec, "decoder Replace of", *pattern, "the mark of spaces by a space");
    }
    spec->decoder = DecoderKind::kMarkedSpaces;
  } else if (type == "Strip") {
    int64_t start = 0;
    if (item["start"].get(start) == simdjson::SUCCESS && start > 0 && JsonString(item, "content", " ") == " ") {
      spec->drops_space_prefix = true;
    }
  } else if (type != "ByteFallback" && type != "Fuse") {  // pieces are joined and bytes decoded anyway
    return Unsupported(*spec, "decoder", type, kDecoders);
  }
  return Status();
}

}  // namespace

std::string_view JsonString(element object, std::string_view key, std::string_view otherwise) {
  std::string_view value;
  return object[key].get(value) == simdjson::SUCCESS ? value : otherwise;
}

bool JsonBool(element object, std::string_view key, bool otherwise) {
  bool value = false;
  return object[key].get(value) == simdjson::SUCCESS ? value : otherwise;
}

Status ReadJsonPipeline(simdjson::dom::object root, TokenizerSpec* spec) {
  using Reader = Status (*)(element, int, TokenizerSpec*);
  constexpr std::pair<const char*, Reader> kParts[] = {{"normalizer", ReadNormalizer},
                                                       {"pre_tokenizer", ReadPretokenizer},
                                                       {"post_processor", ReadPostProcessor},
                                                       {"decoder", ReadDecoder}};
  for (const auto& [key, read] : kParts) {
    element part;
    if (root[key].get(part) != simdjson::SUCCESS) continue;
    if (Status status = read(part, 0, spec); !status.ok()) return status;
  }
  return Status();
}

}  // namespace prenorm
