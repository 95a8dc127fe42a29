// One decoded token after the other, with or without guesses: what the session holds beyond them stays hidden.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "prenorm/generate.h"
#include "runtime/generate/guess_policy.h"
#include "runtime/generate/guesses.h"

namespace prenorm {

/// After a prompt. Plain decoding evaluates each chosen token alone. With a guesser it is evaluated together with
/// guesses; as long as the tokens chosen are the guesses, nothing more need be evaluated.
class DecodeSteps {
 public:
  /// `guesser` may be null. `options` must outlive this object.
  DecodeSteps(Session& session, std::unique_ptr<Guesser> guesser, const Speculation& options);

  /// Logits after position() tokens, for choosing the next one.
  std::span<const float> logits() const;
  /// Tokens evaluated, wrong guesses left out.
  size_t position() const { return batch_.empty() ? session_.position() : base_ + row_ + 1; }
  /// Makes `chosen` the token at position(). At most `most` more tokens will be wanted. Errors: those of Session::Eval;
  /// what was evaluated before is then still there.
  Status Advance(TokenId chosen, size_t most);
  /// Makes the session what plain decoding would have left: position() tokens, and their logits.
  Status Settle();

  const SpeculationStats& stats() const { return stats_; }

 private:
  size_t CountOfGuesses(size_t most);
  Status Check(TokenId chosen);

  Session& session_;
  const std::unique_ptr<Guesser> guesser_;
  const Speculation& options_;
  GuessPolicy policy_;
  std::vector<TokenId> guesses_;  // For the tokens after the chosen one.
  std::vector<TokenId> batch_;    // The last evaluation: a chosen token and the guesses behind it; empty: none is open.
  std::vector<float> rows_;       // [batch_.size(), vocab_size], its logits
  size_t base_ = 0;               // Position of batch_[0].
  size_t row_ = 0;                // Tokens batch_[0..row_] are right.
  SpeculationStats stats_;
};

}  // namespace prenorm
