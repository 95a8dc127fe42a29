// Brings a model's matrices into the layout of the active SIMD target, in place.
#pragma once

#include <functional>
#include <vector>

#include "prenorm/status.h"
#include "runtime/loader/tensor_source.h"
#include "runtime/model/parts.h"

namespace prenorm {

/// Whole tensors of the file of which only single rows are read, an embedding that is not the output too, for example,
/// and the matrices of encoders that are packed (panels.h). They stay as they are in the file.
std::vector<const TensorInfo*> TensorsKeptAsStored(const ModelParts& parts);

/// Marks all weights as interleaved but those of `tables`.
void MarkInterleaved(const std::vector<const TensorInfo*>& tables, ModelParts& parts);

/// Interleaves `matrices`, the tensors behind the weights of `parts`, and marks the weights. Uses DefaultThreads().
/// `progress` as in LoadOptions. Errors: kCancelled, kOutOfMemory.
Status InterleaveWeights(const std::vector<const TensorInfo*>& matrices, ModelParts& parts,
                         const std::function<bool(float)>& progress);

}  // namespace prenorm
