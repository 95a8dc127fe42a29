// The loop from prompt ids to text. Every front end comes through here.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "prenorm/generate.h"
#include "runtime/generate/decode_steps.h"
#include "runtime/generate/guesses.h"
#include "runtime/generate/stop_matcher.h"
#include "runtime/model/op_timer.h"

namespace prenorm {
namespace {

// Lends a cancel flag to sessions for the duration of a call.
class CancelScope {
 public:
  CancelScope(Session& session, Session* draft, const std::atomic<bool>* cancel) : session_(session), draft_(draft) {
    Set(cancel);
  }
  ~CancelScope() { Set(nullptr); }
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  void Set(const std::atomic<bool>* flag) {
    session_.set_cancel_flag(flag);
    if (draft_ != nullptr) draft_->set_cancel_flag(flag);
  }

  Session& session_;
  Session* draft_;
};

// One call of Generate: what its steps share.
class Run {
 public:
  Run(Session& session, const GenerateOptions& options, const TokenCallback& on_token, Sampler sampler,
      StopMatcher stop, std::unique_ptr<Guesser> guesser, bool continues_text)
      : session_(session),
        options_(options),
        on_token_(on_token),
        sampler_(std::move(sampler)),
        stop_(std::move(stop)),
        guesser_(std::move(guesser)),
        decoder_(session.model().tokenizer(), continues_text) {}

  Result<GenerateResult> Execute(std::span<const TokenId> prompt) {
    const uint64_t begin = MonotonicNs();
    result_.prompt_tokens = prompt.size();
    for (TokenId id : options_.history) sampler_.Accept(id);
    for (TokenId id : prompt) sampler_.Accept(id);
    if (options_.reuse_prefix) {
      const Result<size_t> reused = session_.ReusePrefix(prompt);
      if (!reused.ok()) return reused.status();
      result_.reused_tokens = *reused;
      prompt = prompt.subspan(*reused);
    }
    if (!prompt.empty()) {
      if (Status status = session_.Eval(prompt); !status.ok()) return Failed(status);
    }
    const uint64_t decode_begin = MonotonicNs();
    result_.timings.prefill_ns = decode_begin - begin;
    steps_.emplace(session_, std::move(guesser_), options_.speculation);
    const Status status = Decode(begin);
    const Status settled = steps_->Settle();
    result_.speculation = steps_->stats();
    result_.timings.decode_ns = MonotonicNs() - decode_begin;
    if (!status.ok()) return Failed(status);
    if (!settled.ok()) return settled;
    return std::move(result_);
  }

 private:
  Status Decode(uint64_t begin) {
    while (!OutOfTokens()) {
      const TokenId id = NextToken();
      result_.ids.push_back(id);
      const bool goes_on = HandOut(id);
      if (result_.ids.size() == 1) result_.timings.ttft_ns = MonotonicNs() - begin;
      if (!goes_on) return Status();
      // Of what is still wanted the next token needs no guess: it is chosen from this step's logits.
      if (Status status = steps_->Advance(id, MostTokens() - 1); !status.ok()) return status;
    }
    result_.finish_reason = FinishReason::kLength;
    return Status();
  }

  // Tokens that may still be chosen. The one just chosen takes a place in the context too, though it is evaluated only
  // with the next step.
  size_t MostTokens() const {
    const size_t taken = steps_->position() + (pending_ ? 1 : 0);
    const size_t room = session_.capacity() - std::min(session_.capacity(), taken);
    if (options_.max_new_tokens < 0) return room;
    const auto wanted = static_cast<size_t>(options_.max_new_tokens);
    return std::min(room, wanted - std::min(wanted, result_.ids.size()));
  }
  bool OutOfTokens() const { return MostTokens() == 0; }

  TokenId NextToken() {
    const std::span<const float> logits = steps_->logits();
    work_.assign(logits.begin(), logits.end());
    const TokenId id = sampler_.Sample(work_);
    sampler_.Accept(id);
    return id;
  }

  // Turns `id` into text, hands it out, and says whether another token shall follow.
  bool HandOut(TokenId id) {
    const std::span<const TokenId> end_tokens = session_.model().tokenizer().end_tokens();
    const bool ends =
        !options_.ignore_end_tokens && std::find(end_tokens.begin(), end_tokens.end(), id) != end_tokens.end();
    std::string text = ends ? std::string() : stop_.Push(decoder_.Push(id));
    pending_ = true;
    const bool last = ends || stop_.matched() || OutOfTokens();
    pending_ = false;
    if (last) {
      result_.finish_reason = ends || stop_.matched() ? FinishReason::kStop : FinishReason::kLength;
      text += FlushText();
      if (stop_.matched()) result_.finish_reason = FinishReason::kStop;
    }
    result_.text += text;
    if (on_token_ && !on_token_(text, id) && !last) {
      result_.finish_reason = FinishReason::kInterrupted;
      result_.text += FlushText();
      return false;
    }
    return !last;
  }

  std::string FlushText() {
    std::string text = stop_.Push(decoder_.Flush());
    return text + stop_.Flush();
  }

  // A cancelled run is a result, not an error: the text so far counts.
  Result<GenerateResult> Failed(const Status& status) {
    if (status.code() != StatusCode::kCancelled) return status;
    result_.finish_reason = FinishReason::kInterrupted;
    const std::string rest = FlushText();
    result_.text += rest;
    if (on_token_ && !rest.empty()) on_token_(rest, -1);
    return std::move(result_);
  }

  Session& session_;
  const GenerateOptions& options_;
  const TokenCallback& on_token_;
  Sampler sampler_;
  StopMatcher stop_;
  std::unique_ptr<Guesser> guesser_;  // Until steps_ has it.
  StreamDecoder decoder_;
  std::optional<DecodeSteps> steps_;  // From the end of the prompt on.
  std::vector<float> work_;           // [vocab_size]
  bool pending_ = false;              // The last token of result_.ids is not in the session yet.
  GenerateResult result_;
};

}  // namespace

const char* FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

Result<GenerateResult> Generate(Session& session, std::span<const TokenId> prompt, const GenerateOptions& options,
                                const TokenCallback& on_token, const std::atomic<bool>* cancel) {
  if (prompt.empty() && (options.reuse_prefix || session.logits().empty())) {
    return Status(StatusCode::kInvalidArgument,
                  "The prompt is empty and the model has nothing to start from.\n"
                  "prompt: expected at least 1 token, found 0\n"
                  "Give a prompt.");
  }
  if (options.max_new_tokens < -1) {
    return Status(StatusCode::kInvalidArgument,
                  "max_new_tokens is out of range.\nmax_new_tokens: expected -1 or more, found " +
                      std::to_string(options.max_new_tokens) + "\nGive -1 for no limit but the context.");
  }
  Result<Sampler> sampler = Sampler::Create(options.sampler);
  if (!sampler.ok()) return sampler.status();
  Result<StopMatcher> stop = StopMatcher::Create(options.stop);
  if (!stop.ok()) return stop.status();
  Result<std::unique_ptr<Guesser>> guesser = MakeGuesser(options.speculation, session);
  if (!guesser.ok()) return guesser.status();
  const Tokenizer& tokenizer = session.model().tokenizer();
  const bool follows = !options.reuse_prefix && session.position() > 0;
  const bool continues_text =
      follows || std::any_of(prompt.begin(), prompt.end(), [&](TokenId id) { return !tokenizer.IsControl(id); });
  const CancelScope scope(session, options.speculation.draft, cancel);
  Run run(session, options, on_token, std::move(sampler).value(), std::move(stop).value(), std::move(guesser).value(),
          continues_text);
  return run.Execute(prompt);
}

}  // namespace prenorm
