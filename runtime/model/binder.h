// Binds tensors of a file to weights: name, type and shape of each checked in one line.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/matmul.h"
#include "prenorm/status.h"
#include "runtime/loader/tensor_source.h"
#include "runtime/model/weights.h"

namespace prenorm {

/// Collects what the weights of a model point to. After the first error the rest does nothing; status() has it.
class Binder {
 public:
  explicit Binder(const TensorSource& source) : source_(source) {}

  /// A matrix [rows, cols] of a type that has a product.
  WeightMatrix Matrix(const std::string& name, size_t rows, size_t cols);
  /// A vector [size] of any type, as f32.
  std::vector<float> Vector(const std::string& name, size_t size);
  /// The same, empty if the file has no tensor of that name.
  std::vector<float> OptionalVector(const std::string& name, size_t size);
  /// `name`.weight [rows, cols] and, where the file has it, `name`.bias [rows].
  Linear LinearMap(const std::string& name, size_t rows, size_t cols);

  bool Has(std::string_view name) const { return source_.Find(name) != nullptr; }
  const Status& status() const { return status_; }
  /// Matrices bound so far, each tensor once.
  const std::vector<const TensorInfo*>& matrices() const { return matrices_; }
  /// Tensors of the file that nothing asked for.
  std::vector<std::string> Unused() const;

 private:
  const TensorInfo* Take(const std::string& name, size_t rows, size_t cols);

  const TensorSource& source_;
  std::set<std::string_view> used_;
  std::vector<const TensorInfo*> matrices_;
  Status status_;
};

}  // namespace prenorm
