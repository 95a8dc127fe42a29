// How many guesses pay: what they are worth against what they cost, both as measured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/generate/guesses.h"

namespace prenorm {

/// Nanoseconds of a step of n tokens; 0: not measured yet.
using StepCost = std::function<uint64_t(size_t n)>;

/// Cost of a step of n >= 1 tokens: measured, else between the measured ones around n, else 5 % more for each token
/// than the last measured one. That guess is low on purpose: it is tried, and measured, once.
double EstimateStepNs(const StepCost& measured, size_t n);

/// Counts how often guesses are right, and chooses how many to make.
class GuessPolicy {
 public:
  /// The count in [0, most] that gives the most tokens a nanosecond, 0 where plain decoding does (or a single step was
  /// not measured yet). `guess_ns`: cost of one guess.
  size_t Choose(size_t kind, size_t most, const StepCost& measured, uint64_t guess_ns) const;

  /// Tells of one guess whose predecessors were right.
  void Count(size_t kind, bool right);
  /// Of an evaluation without guesses. Where they do not pay, the cheap ones are still compared with what came; those
  /// of a draft are not made, so that now and then one must be tried.
  void CountPlainStep() { ++plain_steps_; }
  bool TimeToTry();

 private:
  // Share of right guesses, as if half of four had been right before; old ones fade.
  struct Share {
    double right = 2.0, all = 4.0;
  };
  std::array<Share, Guesser::kKinds> shares_{};
  size_t plain_steps_ = 0;
  size_t next_try_ = 16;
};

}  // namespace prenorm
