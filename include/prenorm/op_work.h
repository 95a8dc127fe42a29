// What an operator has to do whatever the kernel: the bytes it must move and its arithmetic, from the model's sizes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "prenorm/model.h"
#include "prenorm/profile.h"
#include "prenorm/types.h"

namespace prenorm {

/// Work of one operator in one step, all threads together; what each thread repeats for itself counts once.
struct OpWork {
  uint64_t bytes = 0;  ///< Weights once, activations in and out once in f32, the cache once in its type.
  uint64_t flops =
      0;  ///< Additions, multiplications, divisions, roots; a multiply-add is two, an exponential is eight.
  uint64_t cold_bytes = 0;  ///< Of the bytes, what caches do not keep from step to step: matrices, keys and values.
};

/// One step as Session::Eval runs it: `tokens` after `position` others; `cache` is the cache's element type. Of an
/// encoder one text of `tokens`.
struct StepShape {
  size_t tokens = 1;
  size_t position = 0;
  DType cache = DType::kF16;
  bool logits = true;  ///< Of the last token, which alone reaches the end of the last layer; else none does.
};

/// Zero for barriers, and for a kind that does not occur at the site. `layer` is -1 outside the layers.
/// Of a mixture of experts it assumes that tokens spread over as many experts as they can. Thread-safe.
OpWork WorkOf(const Model& model, OpKind kind, OpSite site, int32_t layer, const StepShape& step);

}  // namespace prenorm
