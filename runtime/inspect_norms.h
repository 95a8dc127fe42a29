// Which tensors of a model file are normalizations, where they stand, and with which eps.
#pragma once

#include <vector>

#include "prenorm/inspect.h"
#include "runtime/loader/tensor_source.h"

namespace prenorm {

/// True for gains and biases of normalizations.
bool IsNormTensor(const TensorInfo& tensor);

/// The norms in file order.
std::vector<InspectedNorm> FindNorms(const TensorSource& source);

}  // namespace prenorm
