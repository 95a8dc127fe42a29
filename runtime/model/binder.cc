// Checks a tensor's presence, type and shape, and hands out views of it.
#include "runtime/model/binder.h"

#include <algorithm>
#include <cstring>

#include "prenorm/dequantize.h"

namespace prenorm {

void Binder::UseHfNames(const HfNames& names) {
  names_ = names;
  if (source_.format() == ModelFormat::kHuggingFace) hf_prefix_ = HfPrefix(source_, names);
}

std::string Binder::FileName(const std::string& name) const {
  return source_.format() == ModelFormat::kGguf ? name : HfTensorName(name, hf_prefix_, names_);
}

const TensorInfo* Binder::Take(const std::string& name, size_t rows, size_t cols) {
  if (!status_.ok()) return nullptr;
  const Result<const TensorInfo*> found = source_.Require(FileName(name));
  if (!found.ok()) {
    status_ = found.status();
    return nullptr;
  }
  const TensorInfo* tensor = *found;
  used_.insert(tensor->name);
  if (tensor->cols() != cols || tensor->rows() != rows) {
    status_ = Status(StatusCode::kBadModel, "tensor " + std::string(tensor->name) + ": expected shape [" +
                                                std::to_string(cols) + ", " + std::to_string(rows) + "], found " +
                                                ShapeText(*tensor) + "\nin " + source_.path() +
                                                "\nDownload or convert the model again.");
    return nullptr;
  }
  return tensor;
}

// Of a linear map, [rows, cols] in memory whichever way the file has it.
const TensorInfo* Binder::TakeMatrix(const std::string& name, size_t rows, size_t cols) {
  if (source_.format() == ModelFormat::kGguf || !names_.transposed) return Take(name, rows, cols);
  const TensorInfo* tensor = Take(name, cols, rows);
  return tensor == nullptr ? nullptr : Transposed(*tensor);
}

// Plain types only, as all of a Hugging Face folder are.
const TensorInfo* Binder::Transposed(const TensorInfo& tensor) {
  const size_t size = InfoOf(tensor.dtype).block_bytes, rows = tensor.rows(), cols = tensor.cols();
  std::vector<uint8_t>& bytes = made_.emplace_back(tensor.bytes);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < cols; ++c) {
      std::memcpy(bytes.data() + (c * rows + r) * size, tensor.data + (r * cols + c) * size, size);
    }
  }
  TensorInfo& made = parts_.emplace_back(tensor);
  made.dims = {rows, cols, 1, 1};
  made.data = bytes.data();
  return &made;
}

const TensorInfo* Binder::Slice(const TensorInfo& tensor, size_t begin, size_t count) {
  TensorInfo& slice = parts_.emplace_back(tensor);
  slice.n_dims = 2;
  slice.dims = {tensor.dims[0], count, 1, 1};
  slice.offset += begin * tensor.row_bytes();
  slice.data += begin * tensor.row_bytes();
  slice.bytes = count * tensor.row_bytes();
  return &slice;
}

WeightMatrix Binder::Add(const TensorInfo& tensor) {
  matrices_.push_back(&tensor);
  return WeightMatrix{tensor.dtype, tensor.rows(), tensor.cols(), tensor.data, false};
}

WeightMatrix Binder::Matrix(const std::string& name, size_t rows, size_t cols) {
  const TensorInfo* tensor = Take(name + ".weight", rows, cols);
  if (tensor == nullptr) return {};
  if (std::find(matrices_.begin(), matrices_.end(), tensor) == matrices_.end()) return Add(*tensor);
  return WeightMatrix{tensor->dtype, rows, cols, tensor->data, false};
}

Linear Binder::LinearMap(const std::string& name, size_t rows, size_t cols) {
  return LinearRows(name, rows, cols, 0, rows);
}

Linear Binder::LinearRows(const std::string& name, size_t rows, size_t cols, size_t begin, size_t count) {
  const TensorInfo* tensor = TakeMatrix(name + ".weight", rows, cols);
  if (tensor == nullptr) return {};
  Linear linear;
  linear.w = Add(count == rows ? *tensor : *Slice(*tensor, begin, count));
  linear.bias = OptionalVector(name + ".bias", rows);
  if (!linear.bias.empty()) {
    const auto first = linear.bias.begin() + static_cast<std::ptrdiff_t>(begin);
    linear.bias = std::vector<float>(first, first + static_cast<std::ptrdiff_t>(count));
  }
  return linear;
}

std::vector<WeightMatrix> Binder::Experts(const std::string& name, size_t count, size_t rows, size_t cols) {
  if (source_.format() == ModelFormat::kGguf) return ExpertRows(name + ".weight", count, rows, cols, 0, rows);
  const std::string pattern = FileName(name + ".weight");
  const size_t mark = pattern.find('#');
  std::vector<WeightMatrix> experts;
  for (size_t e = 0; e < count && mark != pattern.npos; ++e) {
    std::string file_name = pattern;
    const TensorInfo* tensor = Take(file_name.replace(mark, 1, std::to_string(e)), rows, cols);
    if (tensor == nullptr) return {};
    experts.push_back(Add(*tensor));
  }
  return experts;
}

std::vector<WeightMatrix> Binder::ExpertRows(const std::string& name, size_t count, size_t rows, size_t cols,
                                             size_t begin, size_t some) {
  std::vector<WeightMatrix> experts;
  const TensorInfo* tensor = Take(name, count * rows, cols);
  for (size_t e = 0; tensor != nullptr && e < count; ++e) {
    experts.push_back(Add(*Slice(*tensor, e * rows + begin, some)));
  }
  return experts;
}

std::string Binder::ExpertsName(const std::string& prefix, const std::string& name) const {
  if (source_.format() == ModelFormat::kGguf) return prefix + name;
  std::string found = FileName(prefix + "ffn_gate_inp.weight");  // As the router's, up to its last two parts.
  for (int part = 0; part < 2; ++part) found.resize(std::min(found.rfind('.'), found.size()));
  return found + ".experts." + name;
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

NormWeights Binder::Norm(const std::string& name, size_t size) {
  NormWeights norm;
  // Gains of several heads may be stored as a matrix of heads.
  const TensorInfo* found = source_.Find(FileName(name + ".weight"));
  if (found != nullptr && found->rows() > 1 && found->elements() == size) {
    used_.insert(found->name);
    norm.gain.resize(size);
    for (size_t r = 0; r < found->rows(); ++r) {
      DequantizeRow(found->dtype, found->data + r * found->row_bytes(), found->cols(),
                    norm.gain.data() + r * found->cols());
    }
  } else if (found == nullptr && Has(name + ".gamma")) {  // The first checkpoints of BERT.
    norm.gain = Vector(name + ".gamma", size);
    norm.bias = OptionalVector(name + ".beta", size);
    return norm;
  } else {
    norm.gain = Vector(name + ".weight", size);
  }
  if (source_.format() == ModelFormat::kHuggingFace) {
    for (float& gain : norm.gain) gain += hf_gain_offset_;
  }
  norm.bias = OptionalVector(name + ".bias", size);
  return norm;
}

NormWeights Binder::OptionalNorm(const std::string& name, size_t size) {
  return Has(name + ".weight") ? Norm(name, size) : NormWeights{};
}

size_t Binder::Elements(const std::string& name) const {
  const TensorInfo* tensor = source_.Find(FileName(name));
  return tensor == nullptr ? 0 : tensor->elements();
}

std::vector<std::string> Binder::Unused() const {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : source_.tensors()) {
    const bool left = std::any_of(left_out_.begin(), left_out_.end(),
                                  [&](std::string_view part) { return tensor.name.find(part) != part.npos; });
    if (!left && !used_.contains(tensor.name)) names.emplace_back(tensor.name);
  }
  return names;
}

}  // namespace prenorm
