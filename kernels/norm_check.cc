// Checks of operands that the checked entries of the norm layer share.
#include "kernels/norm_check.h"

#include <cmath>

namespace prenorm {
namespace {

// Bytes from the first to past the last element; false where that does not fit in a size_t.
bool BytesOf(const RowBlock& block, size_t* bytes) {
  size_t elements;
  return !__builtin_mul_overflow(block.rows - 1, block.stride, &elements) &&
         !__builtin_add_overflow(elements, block.cols, &elements) &&
         !__builtin_mul_overflow(elements, block.elem_bytes, bytes);
}

std::string Text(const RowBlock& block) {
  return std::string(block.name) + " (" + std::to_string(block.rows) + " rows of " + std::to_string(block.cols) +
         ", stride " + std::to_string(block.stride) + ")";
}

// Whether rows of `a` and `b` have a byte in common.
bool Overlap(const RowBlock& a, const RowBlock& b) {
  size_t a_bytes = 0;
  size_t b_bytes = 0;
  if (!BytesOf(a, &a_bytes) || !BytesOf(b, &b_bytes)) return true;
  const auto a_begin = reinterpret_cast<uintptr_t>(a.data);
  const auto b_begin = reinterpret_cast<uintptr_t>(b.data);
  if (a_begin + a_bytes <= b_begin || b_begin + b_bytes <= a_begin) return false;
  // Interleaved column ranges of one matrix: rows lie side by side where the period is the same.
  const size_t period = a.stride * a.elem_bytes;
  if (period != b.stride * b.elem_bytes || a.rows == 1 || b.rows == 1) return true;
  const size_t distance = (b_begin - a_begin) % period;
  const size_t b_start = b_begin >= a_begin ? distance : (period - (a_begin - b_begin) % period) % period;
  return b_start < a.cols * a.elem_bytes || b_start + b.cols * b.elem_bytes > period;
}

}  // namespace

OperandCheck::OperandCheck(const char* op, size_t rows, size_t cols) : op_(op), rows_(rows), cols_(cols) {
  if (cols == 0) Refuse("cols is 0, expected at least 1");
}

void OperandCheck::Refuse(const std::string& what) {
  if (status_.ok()) status_ = Status(StatusCode::kInvalidArgument, op_ + ": " + what);
}

OperandCheck& OperandCheck::Rows(const RowBlock& block) {
  if (rows_ == 0) return *this;
  size_t bytes;
  if (block.data == nullptr) {
    Refuse(std::string(block.name) + " is null, expected " + std::to_string(block.rows) + " rows of " +
           std::to_string(block.cols));
  } else if (block.rows > 1 && block.stride < block.cols) {
    Refuse("stride of " + std::string(block.name) + " is " + std::to_string(block.stride) +
           " elements, expected at least cols = " + std::to_string(block.cols));
  } else if (!BytesOf(block, &bytes)) {
    Refuse("size of " + Text(block) + " overflows");
  }
  return *this;
}

OperandCheck& OperandCheck::Vector(const char* name, const void* data) {
  if (rows_ != 0 && data == nullptr) {
    Refuse(std::string(name) + " is null, expected " + std::to_string(cols_) + " elements");
  }
  return *this;
}

OperandCheck& OperandCheck::Eps(float eps) {
  if (!(eps >= 0.0f) || std::isinf(eps)) Refuse("eps is " + std::to_string(eps) + ", expected a finite number >= 0");
  return *this;
}

OperandCheck& OperandCheck::Disjoint(const RowBlock& a, const RowBlock& b, bool same_allowed) {
  if (rows_ == 0 || !status_.ok()) return *this;
  const bool same = a.data == b.data && a.elem_bytes == b.elem_bytes && (rows_ == 1 || a.stride == b.stride);
  if (same ? !same_allowed : Overlap(a, b)) {
    const auto distance = reinterpret_cast<intptr_t>(b.data) - reinterpret_cast<intptr_t>(a.data);
    Refuse(Text(a) + " and " + Text(b) + " overlap: " + b.name + " begins " + std::to_string(distance) +
           " bytes from " + a.name + (same_allowed ? "; give the same rows or separate ones" : "; give separate rows"));
  }
  return *this;
}

}  // namespace prenorm
