// Binds tensors of a file to weights: name, type and shape of each checked in one line.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/matmul.h"
#include "prenorm/status.h"
#include "runtime/loader/tensor_source.h"
#include "runtime/model/hf_names.h"
#include "runtime/model/weights.h"

namespace prenorm {

/// Collects what the weights of a model point to. After the first error the rest does nothing; status() has it.
/// Names are those of GGUF files, without ".weight"; in a Hugging Face folder its own names are looked for instead.
/// Must live until the matrices have been interleaved.
class Binder {
 public:
  explicit Binder(const TensorSource& source) : source_(source) {}

  /// How the folder's family names its tensors. Without effect on GGUF files.
  void UseHfNames(const HfNames& names);
  /// Added to every gain of a Hugging Face folder: 1 where the checkpoint holds w of the factor 1 + w.
  void AddToHfGains(float offset) { hf_gain_offset_ = offset; }
  /// Tensors with one of these in their names are no surprise: they serve other tasks. Unused does not name them.
  void LeaveOut(std::vector<std::string_view> parts) { left_out_ = std::move(parts); }

  /// A matrix [rows, cols] of a type that has a product.
  WeightMatrix Matrix(const std::string& name, size_t rows, size_t cols);
  /// A linear map [rows, cols] with its bias, where the file has one.
  Linear LinearMap(const std::string& name, size_t rows, size_t cols);
  /// Rows [begin, begin + count) of a map [rows, cols] that holds several.
  Linear LinearRows(const std::string& name, size_t rows, size_t cols, size_t begin, size_t count);
  /// One matrix [rows, cols] for each of `count` experts: of one tensor in GGUF files, of one each in folders.
  std::vector<WeightMatrix> Experts(const std::string& name, size_t count, size_t rows, size_t cols);
  /// Rows [begin, begin + some) of each expert's matrix [rows, cols] in one tensor of all, `name` with its ending.
  std::vector<WeightMatrix> ExpertRows(const std::string& name, size_t count, size_t rows, size_t cols, size_t begin,
                                       size_t some);
  /// Gain and, where the file has one, bias.
  NormWeights Norm(const std::string& name, size_t size);
  /// The same, empty if the file has no such norm.
  NormWeights OptionalNorm(const std::string& name, size_t size);
  /// A vector [size] of any type, as f32; empty if the file has no such tensor.
  std::vector<float> OptionalVector(const std::string& name, size_t size);

  /// Name of a tensor of all experts of the layer "blk.N.": `name` behind the prefix, in a folder behind
  /// "mlp.experts.".
  std::string ExpertsName(const std::string& prefix, const std::string& name) const;

  /// `name` with its ending (".weight", ".bias").
  bool Has(const std::string& name) const { return source_.Find(FileName(name)) != nullptr; }
  /// Elements of a tensor, 0 if there is none.
  size_t Elements(const std::string& name) const;
  /// What the file calls a tensor: the name itself in a GGUF file. "#" stands for the number of an expert.
  std::string FileName(const std::string& name) const;
  float hf_gain_offset() const { return hf_gain_offset_; }
  const Status& status() const { return status_; }
  /// Matrices bound so far, each of the file's bytes once.
  const std::vector<const TensorInfo*>& matrices() const { return matrices_; }
  /// Bytes that the binder had to make because the file has them in another order; the weights point to them.
  std::deque<std::vector<uint8_t>> TakeMade() { return std::move(made_); }
  /// Tensors of the file that nothing asked for.
  std::vector<std::string> Unused() const;

 private:
  const TensorInfo* Take(const std::string& name, size_t rows, size_t cols);
  const TensorInfo* TakeMatrix(const std::string& name, size_t rows, size_t cols);
  const TensorInfo* Transposed(const TensorInfo& tensor);
  const TensorInfo* Slice(const TensorInfo& tensor, size_t begin, size_t count);
  WeightMatrix Add(const TensorInfo& tensor);
  std::vector<float> Vector(const std::string& name, size_t size);

  const TensorSource& source_;
  HfNames names_;
  std::string hf_prefix_;
  float hf_gain_offset_ = 0.0f;
  std::set<std::string_view> used_;
  std::vector<std::string_view> left_out_;
  std::vector<const TensorInfo*> matrices_;
  std::deque<TensorInfo> parts_;  // What `matrices_` points to besides the file's own tensors.
  std::deque<std::vector<uint8_t>> made_;
  Status status_;
};

}  // namespace prenorm
