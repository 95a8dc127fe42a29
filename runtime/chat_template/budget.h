// Counts what a rendering uses up, against its limits.
#pragma once

#include <string>

#include "runtime/chat_template/error.h"
#include "runtime/limits.h"

namespace prenorm::chat_template {

class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const { return limits_; }

  void Step(uint64_t count = 1) {
    steps_ += count;
    if (steps_ > limits_.steps) Exceeded("steps", limits_.steps);
  }

  /// Bytes of strings and containers that are about to be made.
  void Work(uint64_t bytes) {
    work_bytes_ += bytes;
    if (work_bytes_ > limits_.work_bytes) Exceeded("bytes of strings and lists", limits_.work_bytes);
  }

  /// Bytes that are only run through, which is an eighth of the work.
  void Read(uint64_t bytes) { Work(bytes / 8); }

  /// A string of `wanted` bytes looked for in one of `bytes`: at worst it is compared at each place.
  void Search(uint64_t bytes, uint64_t wanted) {
    Read(bytes);
    if (wanted <= bytes) Work((bytes - wanted + 1) * wanted / 32);
  }

  /// A name looked for among `names`.
  void LookUp(uint64_t names) { Step(names / 64); }

  void CheckString(uint64_t bytes) const {
    if (bytes > limits_.string_bytes) Exceeded("bytes in one string", limits_.string_bytes);
  }

  [[noreturn]] static void Exceeded(const std::string& what, uint64_t limit) {
    throw TemplateError("the template needs more than " + std::to_string(limit) + " " + what, ErrorKind::kLimit);
  }

  /// One evaluation inside another, as long as it lives.
  class Nested {
   public:
    explicit Nested(Budget& budget) : budget_(budget) {
      if (++budget_.depth_ > budget_.limits_.depth) {
        --budget_.depth_;
        Exceeded("evaluations inside each other", budget_.limits_.depth);
      }
    }
    ~Nested() { --budget_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Budget& budget_;
  };

 private:
  Limits limits_;
  uint64_t steps_ = 0;
  uint64_t work_bytes_ = 0;
  size_t depth_ = 0;
};

}  // namespace prenorm::chat_template
