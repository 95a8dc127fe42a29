// Sessions driven by tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "prenorm/session.h"

namespace prenorm {

inline std::vector<TokenId> SomeTokens(size_t count, const Model& model) {
  std::vector<TokenId> tokens(count);
  uint32_t state = 12345;
  for (TokenId& token : tokens) {
    state = state * 1664525u + 1013904223u;
    token = static_cast<TokenId>((state >> 8) % model.config().vocab_size);
  }
  return tokens;
}

inline std::unique_ptr<Session> MakeSession(std::shared_ptr<const Model> model, const SessionOptions& options = {}) {
  Result<std::unique_ptr<Session>> session = Session::Create(std::move(model), options);
  if (!session.ok()) ADD_FAILURE() << session.status().message();
  return session.ok() ? std::move(*session) : nullptr;
}

inline std::vector<float> AllLogits(Session& session, std::span<const TokenId> tokens) {
  std::vector<float> logits(tokens.size() * session.model().config().vocab_size);
  const Status status = session.Eval(tokens, logits.data());
  EXPECT_TRUE(status.ok()) << status.message();
  return logits;
}

inline bool SameBytes(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace prenorm
