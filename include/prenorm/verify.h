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
/// weights that are read from the model file once more, row by row, neither interleaved nor packed. What the engine
/// rounds by design (inputs of quantized products to 8 bits, the cache to its type) is rounded in both.
///
/// Each operator gets the engine's own input, so that an error shows where it arises and not in what follows.
/// Tolerance   1e-4 where nothing is rounded; quantized products 1e-2, attention 5e-3 with a cache of f16, 4e-2 of
///             bf16: an element that lies between two codes may fall to either side. Measured on three real models:
///             2.5e-3 for the worst such element, 1e-6 to 4e-5 otherwise.
/// Memory      about tokens * layers * (4 dim + 4 ffn_dim) * 4 bytes.
/// Errors      kInvalidArgument for a session that is not empty or no tokens; those of Session::Eval and of reading the
///             file; kCancelled. A departure is no error.
/// Threads     uses as many as the session.
Result<Verification> Verify(Session& session, std::span<const TokenId> tokens, const VerifyOptions& options = {});

}  // namespace prenorm
