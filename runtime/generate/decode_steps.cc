// A step is an evaluation of a chosen token and the guesses behind it (Leviathan, Kalman, Matias 2023, with exact match
// in place of their acceptance rule: equal output for equal seeds matters more than a few more accepted tokens).
#include "runtime/generate/decode_steps.h"

#include <algorithm>

namespace prenorm {

DecodeSteps::DecodeSteps(Session& session, std::unique_ptr<Guesser> guesser, const Speculation& options)
    : session_(session), guesser_(std::move(guesser)), options_(options) {
  if (guesser_ == nullptr) return;
  for (const TokenId token : session.tokens()) guesser_->Append(token);
}

std::span<const float> DecodeSteps::logits() const {
  if (batch_.empty()) return session_.logits();
  const size_t vocab_size = session_.model().config().vocab_size;
  return std::span(rows_).subspan(row_ * vocab_size, vocab_size);
}

Status DecodeSteps::Settle() {
  if (batch_.empty()) return Status();
  const Status status = session_.Rewind(position(), logits());
  batch_.clear();
  return status;
}

// The guesses that are wanted, in guesses_. Guesses that come for nothing are looked at even if none is wanted.
size_t DecodeSteps::CountOfGuesses(size_t most) {
  most = std::min(most, options_.max_guesses);
  const auto cost = [&](size_t n) { return session_.EvalNs(n); };
  const bool is_free = options_.kind == Speculation::Kind::kLookup;
  guesses_.clear();
  if (is_free || options_.always) {
    guesser_->Guess(most, guesses_);
    if (options_.always || guesses_.empty()) return guesses_.size();
    return policy_.Choose(guesser_->kind(), guesses_.size(), cost, 0);
  }
  size_t wanted = policy_.Choose(guesser_->kind(), most, cost, guesser_->CostNs());
  if (wanted == 0 && policy_.TimeToTry()) wanted = std::min<size_t>(most, 2);
  if (wanted > 0) guesser_->Guess(wanted, guesses_);
  return guesses_.size();
}

Status DecodeSteps::Check(TokenId chosen) {
  base_ = session_.position();
  row_ = 0;
  batch_.assign(1, chosen);
  batch_.insert(batch_.end(), guesses_.begin(), guesses_.end());
  rows_.resize(batch_.size() * session_.model().config().vocab_size);
  const Status status = session_.Eval(batch_, rows_.data());
  if (!status.ok()) {
    batch_.clear();
    return status;
  }
  ++stats_.steps;
  stats_.guessed += guesses_.size();
  return status;
}

Status DecodeSteps::Advance(TokenId chosen, size_t most) {
  if (guesser_ == nullptr) return session_.Eval({&chosen, 1});
  // What was guessed for this place, evaluated or not, was right or wrong.
  if (!batch_.empty() && row_ + 1 < batch_.size()) {
    const bool right = batch_[row_ + 1] == chosen;
    policy_.Count(guesser_->kind(), right);
    if (right) {
      guesser_->Append(chosen);
      ++stats_.accepted;
      ++row_;
      return Status();
    }
  } else if (batch_.empty() && !guesses_.empty()) {
    policy_.Count(guesser_->kind(), guesses_.front() == chosen);
  }
  if (Status status = Settle(); !status.ok()) return status;
  guesser_->Append(chosen);
  const size_t room = session_.capacity() - session_.position() - 1;
  const size_t count = CountOfGuesses(std::min(most, room));
  const auto vocab_size = static_cast<TokenId>(session_.model().config().vocab_size);
  const auto foreign =
      std::find_if(guesses_.begin(), guesses_.end(), [&](TokenId id) { return id < 0 || id >= vocab_size; });
  if (foreign != guesses_.end()) guesses_.erase(foreign, guesses_.end());
  if (count == 0 || guesses_.empty()) {
    policy_.CountPlainStep();
    return session_.Eval({&chosen, 1});
  }
  guesses_.resize(std::min(count, guesses_.size()));
  return Check(chosen);
}

}  // namespace prenorm
