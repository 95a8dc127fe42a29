// The statistics that normalize a row: what every operator takes them from. The loops behind them are compiled once, in
// row_statistics.cc, and not in each unit that calls them: they are half of what the units used to cost to compile.

#if defined(PRENORM_KERNELS_ROW_STATISTICS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_ROW_STATISTICS_INL_H_
#undef PRENORM_KERNELS_ROW_STATISTICS_INL_H_
#else
#define PRENORM_KERNELS_ROW_STATISTICS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/convert-inl.h"
#include "kernels/reduce-inl.h"
#include "prenorm/norm.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ---- Rows that are not simply there

// A row that is formed a piece at a time: a residual sum, a row scaled into the range of f32.
class RowPieces {
 public:
  // Elements begin .. begin + count as f32, either in `buffer` or where they are. count <= kChunk,
  // the room in `buffer`.
  virtual const float* Piece(size_t begin, size_t count, float* buffer) const = 0;

 protected:
  ~RowPieces() = default;
};

// A row in memory.
template <typename X>
class StoredPieces final : public RowPieces {
 public:
  explicit StoredPieces(const X* x) : x_(x) {}

  const float* Piece(size_t begin, size_t count, float* buffer) const override {
    if constexpr (sizeof(X) == sizeof(float)) {
      return x_ + begin;
    } else {
      MapRow(
          RowTag(), count, buffer, [](hn::Vec<RowTag> v) HWY_ATTR { return v; }, x_ + begin);
      return buffer;
    }
  }

 private:
  const X* x_;
};

// A row times a power of two.
class ScaledPieces final : public RowPieces {
 public:
  ScaledPieces(const RowPieces& row, float scale) : row_(row), scale_(scale) {}

  const float* Piece(size_t begin, size_t count, float* buffer) const override;

 private:
  const RowPieces& row_;
  float scale_;
};

// The largest |x| as bits of an f32 without sign: above kInfBits there is a NaN in the row.
uint32_t MaxAbsBits(const RowPieces& row, size_t cols);

// ---- RMSNorm

// The factors of a row: out = gain * ((x * scale) * inv_rms). scale is 1 but for rows of extreme magnitude.
struct RmsFactors {
  float inv_rms;
  float scale;
};

// Rows whose statistics are finished together: short rows are many, and one vector square root serves 8 of them.
inline constexpr size_t kRowGroup = 8;

class RmsStatistics {
 public:
  RmsStatistics(size_t cols, const RmsNormOptions& options)
      : cols_(cols),
        inv_cols_(1.0 / static_cast<double>(cols)),
        eps_(static_cast<double>(options.eps)),
        outside_(options.eps_placement == EpsPlacement::kOutsideRoot),
        exact_(options.accumulation == Accumulation::kExact) {}

  RmsFactors Factors(const float* x) const;
  RmsFactors Factors(const bf16* x) const;

  // `row` is read once, `redo` again where the row needs scaling (they differ where reading the first writes).
  RmsFactors Factors(const RowPieces& row, const RowPieces& redo) const;

  // Factors of `count` <= kRowGroup rows of at most kFewCols elements, with the same bits.
  void GroupFactors(const float* x, size_t stride, size_t count, RmsFactors* factors) const;
  void GroupFactors(const bf16* x, size_t stride, size_t count, RmsFactors* factors) const;

 private:
  template <typename X>
  double SquaresOf(const X* x) const;
  double SquaresOf(const RowPieces& row) const;
  template <typename X>
  RmsFactors FactorsOf(const X* x) const;
  template <typename X>
  void GroupFactorsOf(const X* x, size_t stride, size_t count, RmsFactors* factors) const;
  RmsFactors FromMeanSquare(double mean_square) const;
  bool InRange(double mean_square) const;
  RmsFactors Redo(const RowPieces& row) const;

  size_t cols_;
  double inv_cols_;
  double eps_;
  bool outside_;
  bool exact_;
};

// ---- LayerNorm

// The factors of a row: x_hat = ((x * scale) - shift) * inv_stddev + offset, where offset = -delta * inv_stddev; scale
// is 1 but for extreme rows.
struct LayerFactors {
  float shift;
  float offset;
  float inv_stddev;
  float scale;
};

// Mean and mean squared distance from it; the mean is shift + delta.
struct Moments {
  float shift;
  double delta;
  double variance;
};

// 1 / sqrt(variance + eps). The eps of a row that is scaled down may have a root beyond f32; such a row has no
// variance that f32 could hold, so every distance is 0 and any finite factor does. Zero variance without eps
// gives Inf, hence NaN.
float InvStddev(double square);

LayerFactors MakeFactors(float shift, double delta, float inv_stddev, float scale);

// Of a row in memory.
Moments RowMoments(const float* x, size_t count);
Moments RowMoments(const bf16* x, size_t count);

class LayerStatistics {
 public:
  LayerStatistics(size_t cols, const LayerNormOptions& options)
      : cols_(cols),
        eps_(static_cast<double>(options.eps)),
        single_pass_(options.variance == VarianceForm::kSinglePass) {}

  LayerFactors Factors(const float* x) const;
  LayerFactors Factors(const bf16* x) const;

  // `first` may be read where `second` has not been, `second` is read once (piece by piece in the single-pass form),
  // and what it leaves in `stored` is read again where the row needs scaling; also where the first shift did not serve,
  // if `stored` is exact. All three give the same row.
  LayerFactors Factors(const RowPieces& first, const RowPieces& second, const RowPieces& stored,
                       bool stored_is_exact) const;

 private:
  template <typename X>
  LayerFactors FactorsOf(const X* x) const;
  LayerFactors FromMoments(const Moments& moments, const RowPieces& redo) const;
  LayerFactors Redo(const RowPieces& row) const;

  size_t cols_;
  double eps_;
  bool single_pass_;
};

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_ROW_STATISTICS_INL_H_
