// Checks a tensor's presence, type and shape, and hands out views of it.
#include "runtime/model/binder.h"

#include <algorithm>

#include "prenorm/dequantize.h"

namespace prenorm {

const TensorInfo* Binder::Take(const std::string& name, size_t rows, size_t cols) {
  if (!status_.ok()) return nullptr;
  const Result<const TensorInfo*> found = source_.Require(name);
  if (!found.ok()) {
    status_ = found.status();
    return nullptr;
  }
  const TensorInfo* tensor = *found;
  used_.insert(tensor->name);
  if (tensor->cols() != cols || tensor->rows() != rows) {
    status_ = Status(StatusCode::kBadModel, "tensor " + name + ": expected shape [" + std::to_string(cols) + ", " +
                                                std::to_string(rows) + "], found " + ShapeText(*tensor) + "\nin " +
                                                source_.path());
    return nullptr;
  }
  return tensor;
}

WeightMatrix Binder::Matrix(const std::string& name, size_t rows, size_t cols) {
  const TensorInfo* tensor = Take(name, rows, cols);
  if (tensor == nullptr) return {};
  if (std::find(matrices_.begin(), matrices_.end(), tensor) == matrices_.end()) matrices_.push_back(tensor);
  return WeightMatrix{tensor->dtype, rows, cols, tensor->data, false};
}

std::vector<float> Binder::Vector(const std::string& name, size_t size) {
  const TensorInfo* tensor = Take(name, 1, size);
  if (tensor == nullptr) return {};
  std::vector<float> values(size);
  DequantizeRow(tensor->dtype, tensor->data, size, values.data());
  return values;
}

std::vector<float> Binder::OptionalVector(const std::string& name, size_t size) {
  return Has(name) ? Vector(name, size) : std::vector<float>{};
}

Linear Binder::LinearMap(const std::string& name, size_t rows, size_t cols) {
  return {Matrix(name + ".weight", rows, cols), OptionalVector(name + ".bias", rows)};
}

std::vector<std::string> Binder::Unused() const {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : source_.tensors()) {
    if (!used_.contains(tensor.name)) names.emplace_back(tensor.name);
  }
  return names;
}

}  // namespace prenorm
