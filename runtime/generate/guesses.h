// Where guesses at the next tokens come from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "prenorm/generate.h"

namespace prenorm {

/// Guesses what follows a growing sequence.
class Guesser {
 public:
  virtual ~Guesser() = default;
  virtual void Append(TokenId token) = 0;
  /// At most `count` guesses, in `guesses`, which is cleared first; none is fine. They may be any ids.
  virtual void Guess(size_t count, std::vector<TokenId>& guesses) = 0;
  /// Kinds of guesses that are differently often right, and that of the last one.
  static constexpr size_t kKinds = 4;
  virtual size_t kind() const { return 0; }
  /// Nanoseconds that one guess costs.
  virtual uint64_t CostNs() const { return 0; }
};

/// What followed the last 4, else 3, else 2 tokens the last time they occurred (Saxena 2023, prompt lookup
/// decoding). A guess that reaches the end of the sequence goes on with itself, so that a short cycle is guessed
/// as long as it lasts.
class LookupGuesser : public Guesser {
 public:
  void Append(TokenId token) override;
  void Guess(size_t count, std::vector<TokenId>& guesses) override;
  size_t kind() const override { return kind_; }

 private:
  static constexpr size_t kShortest = 2, kLongest = 4;
  uint64_t HashOfLast(size_t length) const;

  std::vector<TokenId> sequence_;
  // By hash of the tokens: the end of their last occurrence but one at the very end, which is what is looked for.
  std::array<std::unordered_map<uint64_t, uint32_t>, kLongest - kShortest + 1> ends_;
  size_t kind_ = 0;
};

/// The likeliest tokens of a smaller model.
class DraftGuesser : public Guesser {
 public:
  explicit DraftGuesser(Session& draft) : draft_(draft) {}
  void Append(TokenId token) override { sequence_.push_back(token); }
  void Guess(size_t count, std::vector<TokenId>& guesses) override;
  uint64_t CostNs() const override { return draft_.EvalNs(1); }

 private:
  Session& draft_;
  std::vector<TokenId> sequence_;
};

/// Null for Kind::kOff. Errors: kInvalidArgument for limits out of range, no draft, the session itself as its own
/// draft, or a draft whose tokenizer differs, with the first entry that does.
Result<std::unique_ptr<Guesser>> MakeGuesser(const Speculation& options, const Session& session);

}  // namespace prenorm
