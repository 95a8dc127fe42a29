// Sums and moments down the columns of a matrix, a panel of 64 columns (four cache lines of f32) at a time.
//
// A column is added 16 rows at a time in f32, then in f64, in the order of the rows: neither the vector length nor the
// width of the panel changes a bit. Moments are those of 64 rows while these are in L1 (a rough mean, then the
// distances from it and their squares), merged as by Chan, Golub and LeVeque (1979): one pass over memory.

#if defined(PRENORM_KERNELS_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRENORM_KERNELS_COLUMNS_INL_H_
#undef PRENORM_KERNELS_COLUMNS_INL_H_
#else
#define PRENORM_KERNELS_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr size_t kPanel = 64;
inline constexpr size_t kRunRows = 16;
inline constexpr size_t kBlockRows = 64;
// Room for a whole vector that begins at the last column.
inline constexpr size_t kPaddedPanel = kPanel + 16;

// How a vector of columns is read: whole, or its first n.
struct WholeVector {
  template <class DF, class Source>
  HWY_INLINE hn::Vec<DF> operator()(DF df, const Source& source, size_t col) const {
    return LoadF32(df, source, col);
  }
};
struct FirstColumns {
  size_t n;
  template <class DF, class Source>
  HWY_INLINE hn::Vec<DF> operator()(DF df, const Source& source, size_t col) const {
    return LoadNF32(df, source, col, n);
  }
};

using RowVec = hn::Vec<RowTag>;

// sums[c] += sum over rows of a, products[c] += sum over rows of a * b, where a_of(load, row, c) gives a of the columns
// from c on, and b_of(load, row, c, a) gives b. Either result may be null. cols <= kPanel. (Two functions, because
// vectors of SVE and RVV cannot be members of a struct.)
template <class AOf, class BOf>
HWY_INLINE void AddColumnSums(size_t rows, size_t cols, const AOf& a_of, const BOf& b_of, double* sums,
                              double* products) {
  const RowTag df;
  const size_t N = hn::Lanes(df);
  HWY_ALIGN float run_sums[kPaddedPanel];
  HWY_ALIGN float run_products[kPaddedPanel];
  for (size_t run = 0; run < rows; run += kRunRows) {
    const size_t run_end = std::min(rows, run + kRunRows);
    const auto add = [&](const auto& load, size_t col) HWY_ATTR {
      RowVec sum = hn::Zero(df);
      RowVec product = hn::Zero(df);
      for (size_t row = run; row < run_end; ++row) {
        const RowVec a = a_of(load, row, col);
        const RowVec b = b_of(load, row, col, a);
        sum = hn::Add(sum, a);
        product = hn::MulAdd(a, b, product);
      }
      hn::StoreU(sum, df, run_sums + col);
      hn::StoreU(product, df, run_products + col);
    };
    // Four vectors together share what a row needs in every lane, and their chains hide the latency of additions.
    const auto add_four = [&](size_t col) HWY_ATTR {
      const WholeVector load;
      RowVec sum0 = hn::Zero(df), sum1 = hn::Zero(df), sum2 = hn::Zero(df), sum3 = hn::Zero(df);
      RowVec product0 = hn::Zero(df), product1 = hn::Zero(df), product2 = hn::Zero(df), product3 = hn::Zero(df);
      for (size_t row = run; row < run_end; ++row) {
        const RowVec a0 = a_of(load, row, col);
        const RowVec a1 = a_of(load, row, col + N);
        const RowVec a2 = a_of(load, row, col + 2 * N);
        const RowVec a3 = a_of(load, row, col + 3 * N);
        sum0 = hn::Add(sum0, a0);
        sum1 = hn::Add(sum1, a1);
        sum2 = hn::Add(sum2, a2);
        sum3 = hn::Add(sum3, a3);
        product0 = hn::MulAdd(a0, b_of(load, row, col, a0), product0);
        product1 = hn::MulAdd(a1, b_of(load, row, col + N, a1), product1);
        product2 = hn::MulAdd(a2, b_of(load, row, col + 2 * N, a2), product2);
        product3 = hn::MulAdd(a3, b_of(load, row, col + 3 * N, a3), product3);
      }
      hn::StoreU(sum0, df, run_sums + col);
      hn::StoreU(sum1, df, run_sums + col + N);
      hn::StoreU(sum2, df, run_sums + col + 2 * N);
      hn::StoreU(sum3, df, run_sums + col + 3 * N);
      hn::StoreU(product0, df, run_products + col);
      hn::StoreU(product1, df, run_products + col + N);
      hn::StoreU(product2, df, run_products + col + 2 * N);
      hn::StoreU(product3, df, run_products + col + 3 * N);
    };
    size_t col = 0;
    for (; col + 4 * N <= cols; col += 4 * N) add_four(col);
    for (; col + N <= cols; col += N) add(WholeVector(), col);
    if (col != cols) add(FirstColumns{cols - col}, col);
    if (sums != nullptr) {
      for (size_t c = 0; c < cols; ++c) sums[c] += static_cast<double>(run_sums[c]);
    }
    if (products != nullptr) {
      for (size_t c = 0; c < cols; ++c) products[c] += static_cast<double>(run_products[c]);
    }
  }
}

// Mean and sum of squared distances from it, of `count` values.
struct MergedMoments {
  double count = 0.0;
  double mean = 0.0;
  double squares = 0.0;

  double Variance() const { return squares / count; }

  // Adds `more` values whose mean is shift + delta.
  HWY_INLINE void Merge(double more, double shift, double delta, double more_squares) {
    const double distance = (shift - mean) + delta;
    const double total = count + more;
    squares += more_squares + distance * distance * (count * more / total);
    mean += distance * (more / total);
    count = total;
  }
};

// Moments of cols <= kPanel columns of x * scale, where scale is a power of two.
template <typename X>
HWY_NOINLINE void ColumnMoments(const X* x, size_t stride, size_t rows, size_t cols, float scale,
                                MergedMoments* HWY_RESTRICT moments) {
  const RowTag df;
  const RowVec scales = hn::Set(df, scale);
  for (size_t c = 0; c < cols; ++c) moments[c] = MergedMoments();
  for (size_t block = 0; block < rows; block += kBlockRows) {
    const size_t block_rows = std::min(kBlockRows, rows - block);
    const double count = static_cast<double>(block_rows);
    const X* block_x = x + block * stride;
    HWY_ALIGN float shifts[kPaddedPanel];
    double sums[kPanel] = {};
    double squares[kPanel] = {};
    const auto value = [&](const auto& load, size_t row, size_t col)
                           HWY_ATTR { return hn::Mul(load(df, block_x + row * stride, col), scales); };
    const auto same = [](const auto&, size_t, size_t, RowVec a) HWY_ATTR { return a; };
    AddColumnSums(block_rows, cols, value, same, sums, nullptr);
    for (size_t c = 0; c < cols; ++c) shifts[c] = static_cast<float>(sums[c] / count);
    std::fill_n(sums, cols, 0.0);
    const auto distance = [&](const auto& load, size_t row, size_t col)
                              HWY_ATTR { return hn::Sub(value(load, row, col), load(df, shifts, col)); };
    AddColumnSums(block_rows, cols, distance, same, sums, squares);
    for (size_t c = 0; c < cols; ++c) {
      const double delta = sums[c] / count;
      // True divisions, so that a constant column has a variance of exactly 0. This order of arguments keeps a NaN.
      const double variance = std::max(squares[c] / count - delta * delta, 0.0);
      moments[c].Merge(count, static_cast<double>(shifts[c]), delta, variance * count);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#endif  // PRENORM_KERNELS_COLUMNS_INL_H_
