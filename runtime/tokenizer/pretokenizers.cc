// The table of pre-tokenizers. Expressions are facts of the models, as published in their tokenizer.json; each line
// says which family uses it. All run in linear time in PCRE2: their loops run over single characters.
#include "runtime/tokenizer/pretokenizers.h"

#include <span>
#include <string>

namespace prenorm {
namespace {

using Patterns = std::initializer_list<std::string_view>;

#define PRENORM_GPT2_WORDS "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
#define PRENORM_CONTRACTIONS "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
#define PRENORM_SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define PRENORM_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define PRENORM_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define PRENORM_CASED(SUFFIX)                                                                                 \
  "[^\\r\\n\\p{L}\\p{N}]?" PRENORM_UPPER "*" PRENORM_LOWER "+" SUFFIX "|[^\\r\\n\\p{L}\\p{N}]?" PRENORM_UPPER \
  "+" PRENORM_LOWER "*" SUFFIX
#define PRENORM_CJK_KANA "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"
#define PRENORM_CJK_HANGUL "[\\x{4E00}-\\x{9FA5}\\x{0800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"

#define PRENORM_DEEPSEEK_WORDS \
  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"

constexpr std::string_view kGpt2[] = {PRENORM_GPT2_WORDS "|\\s+"};
// Every digit by itself, then GPT-2's words.
constexpr std::string_view kDigitsGpt2[] = {"\\p{N}", PRENORM_GPT2_WORDS "|\\s+"};
constexpr std::string_view kLlama3[] = {
    PRENORM_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" PRENORM_SPACES};
constexpr std::string_view kQwen2[] = {
    PRENORM_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" PRENORM_SPACES};
constexpr std::string_view kQwen35[] = {
    PRENORM_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" PRENORM_SPACES};
constexpr std::string_view kBailing[] = {
    "'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
    "\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"};
constexpr std::string_view kSeedCoder[] = {
    PRENORM_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" PRENORM_SPACES};
constexpr std::string_view kTekken[] = {PRENORM_CASED("") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" PRENORM_SPACES};
constexpr std::string_view kGpt4o[] = {
    PRENORM_CASED("(?:" PRENORM_CONTRACTIONS ")?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" PRENORM_SPACES};
constexpr std::string_view kDeepseekLlm[] = {
    "[\\r\\n]",
    "\\s?[A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{293}\\x{295}-\\x{"
    "2AF}"
    "\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}"
    "\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}"
    "\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}"
    "\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}"
    "\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}"
    "\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}"
    "\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}"
    "\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}"
    "\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}"
    "\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}"
    "\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}"
    "\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}]+",
    "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+",
    "\\s+$",
    PRENORM_CJK_HANGUL,
    "\\p{N}+"};
constexpr std::string_view kDeepseekCoder[] = {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", PRENORM_CJK_HANGUL, "\\p{N}"};
constexpr std::string_view kDeepseek3[] = {"\\p{N}{1,3}", PRENORM_CJK_KANA,
                                           PRENORM_DEEPSEEK_WORDS " ?[\\p{P}\\p{S}]+[\\r\\n]*|" PRENORM_SPACES};
constexpr std::string_view kFalcon[] = {"[\\p{P}$+<=>^~|`]+", PRENORM_GPT2_WORDS, "[0-9][0-9][0-9]"};
// What files without a name of their own were split by for years.
constexpr std::string_view kDefault[] = {"[\\p{P}$+<=>^~|]+", PRENORM_GPT2_WORDS, "\\p{N}+", "[0-9][0-9][0-9]"};
constexpr std::string_view kBloom[] = {
    " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{0964}\\x{06D4}\\x{060C})]+"};
constexpr std::string_view kViking[] = {
    " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{0964}\\x{06D4}\\x{060C})]+", "\\p{N}"};
constexpr std::string_view kNewlines[] = {"[^\\n]+|\\n+"};
constexpr std::string_view kWords[] = {"\\S+"};
// Digits by three from the right.
#define PRENORM_DIGITS_FROM_RIGHT "\\p{N}{1,3}(?=(?:\\p{N}{3})*+(?!\\p{N}))"
constexpr std::string_view kSuperBpe[] = {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"};
constexpr std::string_view kTinyAya[] = {
    "\\d{1,3}(?=(?:\\d{3})*\\b)",
    PRENORM_CASED("(?:" PRENORM_CONTRACTIONS ")?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" PRENORM_SPACES};
constexpr std::string_view kAfmoe[] = {
    PRENORM_DIGITS_FROM_RIGHT,
    "[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{F900}-\\x{FAFF}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}"
    "\\x{FF65}-\\x{FF9F}\\x{2F00}-\\x{2FDF}\\x{0E40}-\\x{0E7F}\\x{0E80}-\\x{0EFF}\\x{1780}-\\x{17FF}"
    "\\x{1000}-\\x{109F}\\x{AA60}-\\x{AA7F}\\x{A9E0}-\\x{A9FF}\\x{AC00}-\\x{D7AF}\\x{1100}-\\x{11FF}]+",
    PRENORM_DEEPSEEK_WORDS " ?[\\p{P}\\p{S}]+[\\r\\n]*|" PRENORM_SPACES};
constexpr std::string_view kSpark[] = {"\\p{N}{1,3}", PRENORM_CJK_KANA,
                                       PRENORM_DEEPSEEK_WORDS " ?[\\p{P}\\p{S}]+|[\\r\\n]|\\s+(?!\\S)|\\s+", "\\p{N}"};
constexpr std::string_view kYoutu[] = {
    "[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}\\x{2019}\\x{2014}\\x{"
    "FF1A}"
    "\\x{FF1B}\\x{FF0C}\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+|[\\x{3105}-\\x{312F}]+|" PRENORM_CJK_KANA,
    PRENORM_CASED("(?:" PRENORM_CONTRACTIONS ")?") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" PRENORM_SPACES};
// Letters that are no Han characters stand in for the set difference that PCRE2 has not.
#define PRENORM_NO_HAN "(?:(?!\\p{Han})"
constexpr std::string_view kKimi[] = {"\\p{Han}+|[^\\r\\n\\p{L}\\p{N}]?" PRENORM_NO_HAN PRENORM_UPPER
                                      ")*" PRENORM_NO_HAN PRENORM_LOWER ")+(?:" PRENORM_CONTRACTIONS
                                      ")?|[^\\r\\n\\p{L}\\p{N}]?" PRENORM_NO_HAN PRENORM_UPPER
                                      ")+" PRENORM_NO_HAN PRENORM_LOWER ")*(?:" PRENORM_CONTRACTIONS
                                      ")?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" PRENORM_SPACES};
constexpr std::string_view kJais2[] = {
    PRENORM_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s{512}(?!\\S)|\\s{256}(?!\\S)|"
    "\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s"};
constexpr std::string_view kExaoneMoe[] = {
    PRENORM_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|"
    "\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"};
constexpr std::string_view kChameleon[] = {"<sentinel:[0-9]+>",      "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
                                           "([\\t\\n]|    |  )",     "\\p{N}",
                                           "[\\p{P}!-/:-@\\[-`{-~]", PRENORM_GPT2_WORDS "|\\s+"};
constexpr std::string_view kUfakzeka[] = {
    "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" PRENORM_SPACES};
constexpr std::string_view kMiniCpm5[] = {
    "\\p{N}{1,3}",
    PRENORM_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}+| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" PRENORM_SPACES};
constexpr std::string_view kLaguna[] = {"[^\\n]+|\\n+", kQwen2[0]};

/// What a name implies beyond the cuts.
enum Traits : unsigned {
  kPlain = 0,
  kNfc = 1,
  kIgnoreMerges = 2,
  kBos = 4,
  kText = 8,         // not byte-level,
  kMarkSpaces = 16,  // ... with U+2581 for spaces
};

struct Entry {
  std::string_view name;
  std::span<const std::string_view> patterns;
  unsigned traits = kPlain;
};

constexpr Entry kEntries[] = {
    {"default", kDefault},
    // GPT-2 and those that kept its words.
    {"gpt-2", kGpt2},
    {"gpt2", kGpt2},
    {"phi-2", kGpt2},
    {"gigachat", kGpt2},
    {"a.x-4.0", kGpt2},
    {"mellum", kGpt2},
    {"modern-bert", kGpt2},
    {"exaone4", kGpt2},
    {"jais", kGpt2},
    {"trillion", kGpt2},
    {"granite-docling", kGpt2},
    {"mpt", kGpt2, kNfc},
    {"olmo", kGpt2, kNfc},
    {"roberta-bpe", kGpt2},
    {"jina-v1-en", kGpt2},
    {"jina-v2-es", kGpt2},
    {"jina-v2-de", kGpt2},
    {"jina-v2-code", kGpt2},
    {"jina-es", kGpt2},
    {"jina-de", kGpt2},
    // ... with digits apart.
    {"smollm", kDigitsGpt2},
    {"starcoder", kDigitsGpt2},
    {"refact", kDigitsGpt2},
    {"codeshell", kDigitsGpt2},
    {"exaone", kDigitsGpt2},
    {"minerva-7b", kDigitsGpt2},
    {"mellum2", kDigitsGpt2},
    {"command-r", kDigitsGpt2, kNfc},
    // Llama 3 and the tiktoken-like ones.
    {"llama-bpe", kLlama3, kIgnoreMerges | kBos},
    {"llama3", kLlama3, kIgnoreMerges | kBos},
    {"llama-v3", kLlama3, kIgnoreMerges | kBos},
    {"falcon3", kLlama3, kIgnoreMerges | kBos},
    {"falcon-h1", kLlama3, kIgnoreMerges | kBos},
    {"pixtral", kLlama3, kIgnoreMerges | kBos},
    {"lfm2", kLlama3, kIgnoreMerges | kBos},
    {"jina-v5-nano", kLlama3, kIgnoreMerges | kBos},
    {"midm-2.0", kLlama3, kIgnoreMerges | kBos},
    {"smollm3", kLlama3, kIgnoreMerges},
    {"dbrx", kLlama3},
    {"smaug-bpe", kLlama3},
    {"chatglm-bpe", kLlama3},
    {"glm4", kLlama3, kIgnoreMerges},
    {"glm5", kLlama3, kIgnoreMerges},
    // Qwen.
    {"qwen2", kQwen2, kNfc},
    {"megrez", kQwen2, kNfc},
    {"stablelm2", kQwen2, kNfc},
    {"deepseek-r1-qwen", kQwen2},
    {"kormo", kQwen2},
    {"f2llmv2", kQwen2},
    {"hunyuan", kQwen2},
    {"solar-open", kQwen2},
    {"grok-2", kQwen2},
    {"qwen35", kQwen35},
    // Case-aware words: Mistral's tekken, GPT-4o.
    {"tekken", kTekken, kIgnoreMerges | kBos},
    {"gpt-4o", kGpt4o},
    {"llama4", kGpt4o},
    {"kanana2", kGpt4o},
    {"talkie", kGpt4o},
    {"minimax-m2", kGpt4o},
    {"granite-embed-multi-97m", kGpt4o, kIgnoreMerges},
    {"tiny_aya", kTinyAya},
    {"cohere2moe", kTinyAya},
    {"youtu", kYoutu, kIgnoreMerges},
    {"kimi-k2", kKimi},
    // DeepSeek and others.
    {"deepseek-llm", kDeepseekLlm},
    {"deepseek-coder", kDeepseekCoder},
    {"deepseek-v3", kDeepseek3},
    {"hunyuan-dense", kDeepseek3},
    {"joyai-llm", kDeepseek3},
    {"hy_v4", kDeepseek3},
    {"spark2_5", kSpark},
    {"afmoe", kAfmoe},
    {"superbpe", kSuperBpe},
    {"exaone-moe", kExaoneMoe},
    {"jais-2", kJais2},
    {"minicpm5", kMiniCpm5, kIgnoreMerges},
    {"laguna", kLaguna},
    {"ufakzeka", kUfakzeka},
    {"chameleon", kChameleon, kBos},
    {"bailingmoe", kBailing},
    {"bailingmoe2", kBailing},
    {"llada-moe", kBailing},
    {"seed-coder", kSeedCoder},
    {"falcon", kFalcon},
    {"bloom", kBloom},
    {"poro-chat", kBloom},
    {"gpt3-finnish", kBloom},
    {"viking", kViking},
    {"gemma4", kNewlines, kText | kMarkSpaces | kBos},
    {"granite-embed-multi-311m", kNewlines, kText | kMarkSpaces | kBos},
    {"sarvam-moe", kNewlines, kText | kMarkSpaces},
    {"whitespace", kWords, kText},
};

}  // namespace

std::string_view Gpt2Pattern() { return kGpt2[0]; }

std::vector<std::string_view> PretokenizerNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kEntries) names.push_back(entry.name);
  return names;
}

Result<SplitSteps> BertSplits() {
  SplitSteps splits(2);
  constexpr std::string_view kPatterns[] = {"\\s+", "[\\p{P}!-/:-@\\[-`{-~]"};
  for (size_t i = 0; i < splits.size(); ++i) {
    Result<Regex> regex = Regex::Compile(kPatterns[i]);
    if (!regex.ok()) return regex.status();
    splits[i].regex = *std::move(regex);
  }
  splits[0].behavior = SplitBehavior::kRemoved;
  return splits;
}

Result<Pretokenizer> FindPretokenizer(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name != name) continue;
    Pretokenizer result;
    for (const std::string_view pattern : entry.patterns) {
      Result<Regex> regex = Regex::Compile(pattern);
      if (!regex.ok()) return regex.status();
      SplitStep step;
      step.regex = *std::move(regex);
      result.splits.push_back(std::move(step));
    }
    result.nfc = (entry.traits & kNfc) != 0;
    result.ignore_merges = (entry.traits & kIgnoreMerges) != 0;
    result.adds_bos = (entry.traits & kBos) != 0;
    result.byte_level = (entry.traits & kText) == 0;
    result.marks_spaces = (entry.traits & kMarkSpaces) != 0;
    return result;
  }
  std::string known;
  for (const Entry& entry : kEntries) known.append(known.empty() ? "" : ", ").append(entry.name);
  return Status(StatusCode::kUnsupported,
                "unknown pre-tokenizer \"" + std::string(name) + "\"\ntokenizer.ggml.pre; known: " + known);
}

}  // namespace prenorm
