// Comparison of the engine with a plain reference computation, operator by operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "prenorm/session.h"
#include "prenorm/status.h"
#include "prenorm/tokenizer.h"

namespace prenorm {

struct VerifyOptions {
  /// The last of the tokens, evaluated one at a time; those before are a prompt. Both paths of the engine are seen.
  size_t decode = 0;
  /// Largest max_rel that holds, for every operator; 0: by the types that it computes with.
  double tolerance = 0.0;
  /// Called now and then with the share done in [0, 1]; return false to cancel (kCancelled).
  std::function<bool(float)> progress = {};
};

/// How far one operator is from the reference, over all tokens.
struct OpDeviation {
  int32_t layer;        ///< -1 outside the layers.
  std::string_view op;  ///< embedding, q, k, v, attention, attn_output, router, gate_up, down, output.
  double max_abs;       ///< Largest distance of an element.
  double max_rel;       ///< The same as a share of the largest element of its row (of the branch that is added to x).
  double allowed;       ///< Largest max_rel that holds.
  bool holds() const { return max_rel <= allowed; }  // False for NaN.
};

struct Verification {
  std::vector<OpDeviation> ops;           ///< In the order of the computation.
  std::optional<size_t> first_departure;  ///< Index of the first that does not hold.
};

/// Evaluates `tokens` in `session`, which must be empty, and compares every operator with a scalar f64 computation from
/// weights that are read from the model file once more, row by row, neither interleaved nor packed.
///
/// Each operator gets the engine's own input, so that an error shows where it arises and not in what follows.
/// Tolerance   f32 weights 1e-4; other products 5e-2, because activations are rounded to 8 bits; attention 2e-2 with a
///             cache of f16, 1e-1 of bf16.
/// Memory      about tokens * layers * (4 dim + 4 ffn_dim) * 4 bytes.
/// Errors      kInvalidArgument for a session that is not empty or no tokens; those of Session::Eval and of reading the
///             file; kCancelled. A departure is no error.
/// Threads     uses as many as the session.
Result<Verification> Verify(Session& session, std::span<const TokenId> tokens, const VerifyOptions& options = {});

}  // namespace prenorm
