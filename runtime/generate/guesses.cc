// Lookup by hashed n-grams, and greedy drafts.
#include "runtime/generate/guesses.h"

#include <algorithm>
#include <string>

#include "prenorm/ops.h"

namespace prenorm {
namespace {

Status Refusal(const std::string& where, const std::string& advice) {
  return Status(StatusCode::kInvalidArgument, "Speculation cannot work like this.\n" + where + "\n" + advice);
}

// Guesses of other tokens would never be right, only slow.
Status CheckTokenizer(const Tokenizer& target, const Tokenizer& draft) {
  const std::string advice = "Draft with a model of the same family.";
  if (target.vocab_size() != draft.vocab_size()) {
    return Refusal("tokens of the draft model: expected " + std::to_string(target.vocab_size()) + ", found " +
                       std::to_string(draft.vocab_size()),
                   advice);
  }
  for (size_t i = 0; i < target.vocab_size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (target.TokenText(id) == draft.TokenText(id)) continue;
    return Refusal("token " + std::to_string(i) + " of the draft model: expected '" +
                       std::string(target.TokenText(id)) + "', found '" + std::string(draft.TokenText(id)) + "'",
                   advice);
  }
  return Status();
}

}  // namespace

uint64_t LookupGuesser::HashOfLast(size_t length) const {
  uint64_t hash = 0;
  for (size_t i = sequence_.size() - length; i < sequence_.size(); ++i) {
    hash = (hash ^ static_cast<uint32_t>(sequence_[i])) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

void LookupGuesser::Append(TokenId token) {
  for (size_t length = kShortest; length <= kLongest && length <= sequence_.size(); ++length) {
    ends_[length - kShortest][HashOfLast(length)] = static_cast<uint32_t>(sequence_.size());
  }
  sequence_.push_back(token);
}

void LookupGuesser::Guess(size_t count, std::vector<TokenId>& guesses) {
  guesses.clear();
  for (size_t length = std::min(kLongest, sequence_.size()); length >= kShortest; --length) {
    const auto& ends = ends_[length - kShortest];
    const auto found = ends.find(HashOfLast(length));
    if (found == ends.end()) continue;
    const auto end = sequence_.begin() + static_cast<std::ptrdiff_t>(found->second);
    const auto tokens = static_cast<std::ptrdiff_t>(length);
    if (!std::equal(end - tokens, end, sequence_.end() - tokens)) continue;  // Equal hashes of different tokens.
    for (size_t at = found->second; guesses.size() < count; ++at) {
      guesses.push_back(at < sequence_.size() ? sequence_[at] : guesses[at - sequence_.size()]);
    }
    kind_ = length - kShortest;
    return;
  }
}

void DraftGuesser::Guess(size_t count, std::vector<TokenId>& guesses) {
  guesses.clear();
  if (count == 0 || sequence_.size() + count - 1 > draft_.capacity()) return;
  const Result<size_t> shared = draft_.ReusePrefix(sequence_);
  if (!shared.ok() || !draft_.Eval(std::span(sequence_).subspan(*shared)).ok()) return;
  while (true) {
    guesses.push_back(static_cast<TokenId>(ArgMax(draft_.logits().data(), draft_.logits().size())));
    // After a cancelled step there are fewer guesses: whoever checks them is cancelled too.
    if (guesses.size() == count || !draft_.Eval({&guesses.back(), 1}).ok()) return;
  }
}

Result<std::unique_ptr<Guesser>> MakeGuesser(const Speculation& options, const Session& session) {
  if (options.kind == Speculation::Kind::kOff) return std::unique_ptr<Guesser>();
  if (options.max_guesses < 1 || options.max_guesses >= Session::kTimedTokens) {
    return Refusal("max_guesses: expected 1 to " + std::to_string(Session::kTimedTokens - 1) + ", found " +
                       std::to_string(options.max_guesses),
                   "Give a number in that range.");
  }
  if (options.kind == Speculation::Kind::kLookup) return std::unique_ptr<Guesser>(std::make_unique<LookupGuesser>());
  if (options.draft == nullptr || options.draft == &session) {
    return Refusal("draft: expected a session of another model, found none", "Open one, or look guesses up instead.");
  }
  if (Status status = CheckTokenizer(session.model().tokenizer(), options.draft->model().tokenizer()); !status.ok()) {
    return status;
  }
  return std::unique_ptr<Guesser>(std::make_unique<DraftGuesser>(*options.draft));
}

}  // namespace prenorm
