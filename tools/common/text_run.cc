// Streaming, statistics and the JSON objects of a run.
#include "tools/common/text_run.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <random>

#include "tools/common/host.h"
#include "tools/common/interrupt.h"
#include "tools/common/terminal.h"
#include "tools/common/words.h"

namespace prenorm::tools {
namespace {

// "ID=X"; false if it is not that.
bool ParseBias(const std::string& text, std::map<TokenId, float>& bias) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return false;
  TokenId id = 0;
  float value = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto id_end = std::from_chars(begin, begin + equals, id);
  const auto value_end = std::from_chars(begin + equals + 1, end, value);
  if (id_end.ec != std::errc() || id_end.ptr != begin + equals) return false;
  if (value_end.ec != std::errc() || value_end.ptr != end) return false;
  bias[id] = value;
  return true;
}

double Rate(size_t tokens, uint64_t ns) {
  return ns == 0 ? 0.0 : static_cast<double>(tokens) * 1e9 / static_cast<double>(ns);
}

}  // namespace

Result<GenerateOptions> MakeGenerateOptions(const Options& options) {
  GenerateOptions out;
  if (options.speculate == "lookup") out.speculation.kind = Speculation::Kind::kLookup;
  if (!options.draft.empty()) {
    if (out.speculation.kind != Speculation::Kind::kOff) {
      return Status(StatusCode::kInvalidArgument,
                    "Guesses come from two places.\n--speculate lookup and --draft\nGive one of them.");
    }
    out.speculation.kind = Speculation::Kind::kDraft;
  }
  out.max_new_tokens = options.max_new_tokens;
  out.stop = options.stop;
  out.ignore_end_tokens = options.ignore_end_tokens;
  SamplerOptions& s = out.sampler;
  s.temperature = static_cast<float>(options.temperature);
  s.top_k = options.top_k;
  s.top_p = static_cast<float>(options.top_p);
  s.min_p = static_cast<float>(options.min_p);
  s.typical_p = static_cast<float>(options.typical_p);
  s.repetition_penalty = static_cast<float>(options.repetition_penalty);
  s.presence_penalty = static_cast<float>(options.presence_penalty);
  s.frequency_penalty = static_cast<float>(options.frequency_penalty);
  s.no_repeat_ngram_size = static_cast<size_t>(std::max<int64_t>(0, options.no_repeat_ngram_size));
  s.seed = options.seed ? *options.seed : std::random_device()();
  for (const std::string& text : options.logit_bias) {
    if (!ParseBias(text, s.logit_bias)) {
      return Status(StatusCode::kInvalidArgument,
                    "A logit bias cannot be read.\n--logit-bias: expected ID=NUMBER, found '" + text +
                        "'\nFor example: --logit-bias 2=-inf");
    }
  }
  return out;
}

TextRun::TextRun(const OpenedModel& opened, Session& session, const Options& options)
    : opened_(opened),
      session_(session),
      options_(options),
      totals_(session.threads(), session.model().config().n_layers) {}

Result<GenerateResult> TextRun::Run(std::span<const TokenId> prompt, GenerateOptions options) {
  options.reuse_prefix = true;
  totals_.Clear();
  splitter_.reset();
  reasoning_.clear();
  answer_text_.clear();
  if (markers_) splitter_.emplace(*markers_, opened_.model->tokenizer().Decode(prompt, /*with_special=*/true));
  const bool counts = options_.json || !options_.quiet;
  session_.set_observer(counts ? &totals_ : nullptr);
  if (!options_.quiet) ShowReading(prompt);
  Result<GenerateResult> result = Generate(
      session_, prompt, options, [this](std::string_view text, TokenId id) { return HandOut(text, id); },
      &InterruptFlag());
  EndReading();
  session_.set_observer(nullptr);
  if (!result.ok()) return result;
  if (splitter_) {
    HandOutPieces(splitter_->Flush(), -1);
    result->text = answer_text_;
  }
  Report(*result, prompt, options);
  if (!answer_.status().ok()) return answer_.status();
  return result;
}

void TextRun::ShowReading(std::span<const TokenId> prompt) {
  const std::span<const TokenId> held = session_.tokens();
  const auto news = std::mismatch(prompt.begin(), prompt.end(), held.begin(), held.end()).first;
  reading_.emplace("reading the prompt", static_cast<double>(prompt.end() - news), "tokens");
  session_.set_progress([this](float share) {
    reading_->Update(share);
    return true;
  });
}

void TextRun::EndReading() {
  if (!reading_) return;
  session_.set_progress({});
  reading_.reset();
}

bool TextRun::HandOut(std::string_view text, TokenId id) {
  EndReading();
  if (!splitter_) {
    if (options_.json) return true;
    return options_.jsonl ? WriteEvent("text", text, id) : answer_.Write(text);
  }
  // Some models have their markers as control tokens, which have no text of their own.
  const Tokenizer& tokenizer = opened_.model->tokenizer();
  const bool marker = id >= 0 && tokenizer.IsControl(id) &&
                      (tokenizer.TokenText(id) == markers_->open || tokenizer.TokenText(id) == markers_->close);
  return HandOutPieces(splitter_->Push(std::string(text) + (marker ? std::string(tokenizer.TokenText(id)) : "")), id);
}

bool TextRun::HandOutPieces(const ReasoningSplitter::Pieces& pieces, TokenId id) {
  if (!pieces.answer.empty() && answer_text_.empty() && show_reasoning_ && !reasoning_.empty()) Note("");
  reasoning_ += pieces.reasoning;
  answer_text_ += pieces.answer;
  if (options_.json) return true;
  if (options_.jsonl) {
    if (!pieces.reasoning.empty() && !WriteEvent("reasoning", pieces.reasoning, id)) return false;
    return pieces.answer.empty() || WriteEvent("text", pieces.answer, id);
  }
  if (show_reasoning_ && !pieces.reasoning.empty()) NotePart(Styled(Style::kDim, pieces.reasoning));
  return pieces.answer.empty() || answer_.Write(pieces.answer);
}

bool TextRun::WriteEvent(std::string_view key, std::string_view text, TokenId id) {
  nlohmann::ordered_json event = {{"schema", 1}, {key, text}};
  if (id >= 0) event["id"] = id;
  return answer_.Write(JsonLine(event));
}

// With the measured costs that decided how much was guessed.
nlohmann::ordered_json TextRun::SpeculationJson(const GenerateResult& result, const Speculation& options) const {
  const SpeculationStats& stats = result.speculation;
  nlohmann::ordered_json json = {{"kind", options.kind == Speculation::Kind::kDraft ? "draft" : "lookup"},
                                 {"steps", stats.steps},
                                 {"guessed", stats.guessed},
                                 {"accepted", stats.accepted},
                                 {"step_ns", nlohmann::ordered_json::object()}};
  for (size_t n = 1; n <= Session::kTimedTokens; ++n) {
    if (session_.EvalNs(n) != 0) json["step_ns"][std::to_string(n)] = session_.EvalNs(n);
  }
  if (options.draft != nullptr) json["draft_step_ns"] = options.draft->EvalNs(1);
  return json;
}

void TextRun::Report(const GenerateResult& result, std::span<const TokenId> prompt, const GenerateOptions& options) {
  const uint64_t seed = options.sampler.seed;
  const GenerateTimings& t = result.timings;
  const uint64_t wall = t.prefill_ns + t.decode_ns;
  const double norm_share =
      wall == 0 ? 0.0
                : static_cast<double>(totals_.NsOf(OpKind::kNorm)) / totals_.threads() / static_cast<double>(wall);
  if (options_.json || options_.jsonl) {
    nlohmann::ordered_json json = NewJson(session_.threads());
    if (options_.json) {
      json["text"] = result.text;
      if (!reasoning_.empty()) json["reasoning"] = reasoning_;
      json["ids"] = result.ids;
      json["prompt_ids"] = std::vector<TokenId>(prompt.begin(), prompt.end());
    }
    json["prompt_tokens"] = result.prompt_tokens;
    json["reused_tokens"] = result.reused_tokens;
    json["generated_tokens"] = result.ids.size();
    json["finish_reason"] = FinishReasonName(result.finish_reason);
    json["seed"] = seed;
    json["timings"] = {
        {"load_ns", opened_.load_ns}, {"prefill_ns", t.prefill_ns}, {"decode_ns", t.decode_ns}, {"ttft_ns", t.ttft_ns}};
    if (options_.json || !options_.quiet) json["timings"]["norm_share"] = norm_share;
    if (options.speculation.kind != Speculation::Kind::kOff)
      json["speculation"] = SpeculationJson(result, options.speculation);
    answer_.Write(JsonLine(json));
  } else {
    answer_.EndLineOnTerminal();
  }
  if (options_.quiet) return;
  char text[256];
  std::snprintf(text, sizeof text,
                "prompt %s (%.0f t/s), answer %s (%.1f t/s), first token %.0f ms, norms %.1f %%, seed %llu, %s",
                CountText(result.prompt_tokens, "token").c_str(),
                Rate(result.prompt_tokens - result.reused_tokens, t.prefill_ns),
                CountText(result.ids.size(), "token").c_str(), Rate(result.ids.size(), t.decode_ns),
                static_cast<double>(t.ttft_ns) / 1e6, 100 * norm_share, static_cast<unsigned long long>(seed),
                FinishReasonName(result.finish_reason));
  std::string line = text;
  if (result.reused_tokens > 0) line += ", " + CountText(result.reused_tokens, "token") + " of the prompt known";
  if (result.speculation.guessed > 0) {
    line += ", " + std::to_string(result.speculation.accepted) + " of " + std::to_string(result.speculation.guessed) +
            " guesses right";
  }
  Note(Styled(Style::kDim, line));
}

}  // namespace prenorm::tools
