// Checks of operands that the checked entries of the norm layer share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "prenorm/norm.h"
#include "prenorm/status.h"

namespace prenorm {

// Rows in memory, as an operand of an operator.
struct RowBlock {
  const char* name;
  const void* data;
  size_t stride;  // elements
  size_t rows;
  size_t cols;
  size_t elem_bytes;
};

// Collects the first complaint about the operands of one operator.
class OperandCheck {
 public:
  OperandCheck(const char* op, size_t rows, size_t cols);

  // Not null, stride >= cols, byte size representable.
  OperandCheck& Rows(const RowBlock& block);
  // [cols] elements, not null.
  OperandCheck& Vector(const char* name, const void* data);
  OperandCheck& Eps(float eps);
  // No byte of a row in common, but for the very same rows where `same_allowed`.
  OperandCheck& Disjoint(const RowBlock& a, const RowBlock& b, bool same_allowed);

  const Status& status() const { return status_; }

 private:
  void Refuse(const std::string& what);

  std::string op_;
  size_t rows_;
  size_t cols_;
  Status status_;
};

template <typename T>
RowBlock Block(const char* name, const T* data, size_t stride, size_t rows, size_t cols) {
  return {name, data, stride, rows, cols, sizeof(T)};
}

// Operands of RmsNorm and LayerNorm, `op` being the name for messages.
template <typename X, typename Out>
Status CheckNorm(const char* op, const X* x, size_t x_stride, const Out* out, size_t out_stride, size_t rows,
                 size_t cols, float eps) {
  const RowBlock x_block = Block("x", x, x_stride, rows, cols);
  const RowBlock out_block = Block("out", out, out_stride, rows, cols);
  OperandCheck check(op, rows, cols);
  check.Eps(eps).Rows(x_block).Rows(out_block).Disjoint(x_block, out_block, std::is_same_v<X, Out>);
  return check.status();
}

// Operands of ResidualRmsNorm and ResidualLayerNorm.
template <typename X, typename Out>
Status CheckResidual(const char* op, const X* x, size_t x_stride, const X* f, size_t f_stride, const X* sum,
                     size_t sum_stride, const Out* out, size_t out_stride, size_t rows, size_t cols,
                     const Residual& residual, float eps) {
  const RowBlock x_block = Block("x", x, x_stride, rows, cols);
  const RowBlock f_block = Block("f", f, f_stride, rows, cols);
  const RowBlock sum_block = Block("sum", sum, sum_stride, rows, cols);
  const RowBlock out_block = Block("out", out, out_stride, rows, cols);
  OperandCheck check(op, rows, cols);
  check.Eps(eps).Rows(x_block).Rows(f_block).Rows(sum_block).Rows(out_block);
  if (residual.form == ResidualForm::kLayerScale) check.Vector("lambda", residual.lambda);
  check.Disjoint(x_block, sum_block, true).Disjoint(f_block, sum_block, true).Disjoint(sum_block, out_block, false);
  check.Disjoint(x_block, out_block, std::is_same_v<X, Out>).Disjoint(f_block, out_block, std::is_same_v<X, Out>);
  return check.status();
}

// Operands of LogSumExp and InvRms, which give one f32 per row.
template <typename X>
Status CheckOnePerRow(const char* op, const X* x, size_t x_stride, const float* out, const char* out_name, size_t rows,
                      size_t cols, float eps) {
  const RowBlock x_block = Block("x", x, x_stride, rows, cols);
  const RowBlock out_block = Block(out_name, out, 1, rows, 1);
  OperandCheck check(op, rows, cols);
  check.Eps(eps).Rows(x_block).Rows(out_block).Disjoint(x_block, out_block, false);
  return check.status();
}

// Operand of Softmax.
inline Status CheckSoftmax(const float* x, size_t stride, size_t rows, size_t cols) {
  OperandCheck check("Softmax", rows, cols);
  check.Rows(Block("x", x, stride, rows, cols));
  return check.status();
}

// Operands of SandwichNorm.
template <typename X>
Status CheckSandwich(const char* op, const X* x, size_t x_stride, const X* f, size_t f_stride, const X* out,
                     size_t out_stride, size_t rows, size_t cols, float eps) {
  const RowBlock x_block = Block("x", x, x_stride, rows, cols);
  const RowBlock f_block = Block("f", f, f_stride, rows, cols);
  const RowBlock out_block = Block("out", out, out_stride, rows, cols);
  OperandCheck check(op, rows, cols);
  check.Eps(eps).Rows(x_block).Rows(f_block).Rows(out_block);
  check.Disjoint(x_block, out_block, true).Disjoint(f_block, out_block, true);
  return check.status();
}

// Of AdaptiveLayerNorm.
inline Status CheckConditions(const char* op, size_t rows_per_condition) {
  if (rows_per_condition != 0) return {};
  return {StatusCode::kInvalidArgument, std::string(op) + ": rows_per_condition is 0, expected at least 1"};
}

}  // namespace prenorm
