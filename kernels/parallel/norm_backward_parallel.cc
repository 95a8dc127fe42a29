// Public entries of the gradients: rows in parts that depend on the shape alone, shared among an OpenMP team.
#include <algorithm>

#include "kernels/norm_backward.h"
#include "kernels/parallel/over_rows.h"

namespace prenorm {
namespace {

// Parts are whole blocks of 64 rows; as many as a team could use, few enough that their sums stay small.
constexpr size_t kBlock = 64;
constexpr size_t kMaxParts = 16;
constexpr size_t kChannelUnit = 32;  // Two cache lines of f32.

size_t Blocks(size_t rows) { return (rows + kBlock - 1) / kBlock; }
size_t Parts(size_t rows) { return std::min(Blocks(rows), kMaxParts); }

// out[c] = the sums of all parts: sums[part * cols + c], part 0 + 1, 2 + 3, ..., then pairs of these.
void MergeParts(double* sums, size_t parts, size_t cols, float* out) {
  if (out == nullptr) return;
  for (size_t step = 1; step < parts; step *= 2) {
    for (size_t part = 0; part + step < parts; part += 2 * step) {
      for (size_t c = 0; c < cols; ++c) sums[part * cols + c] += sums[(part + step) * cols + c];
    }
  }
  for (size_t c = 0; c < cols; ++c) out[c] = parts == 0 ? 0.0f : static_cast<float>(sums[c]);
}

void Run(RowsBackward call, float* dgain, float* dbias, double* workspace, size_t threads) {
  const size_t rows = call.rows;
  const size_t cols = call.cols;
  const size_t blocks = Blocks(rows);
  const size_t parts = Parts(rows);
  double* dgain_sums = dgain == nullptr ? nullptr : workspace;
  double* dbias_sums = dbias == nullptr ? nullptr : workspace + (dgain == nullptr ? 0 : parts * cols);
  // Behind the sums in f64: as many bytes a part as two rows of f32 take.
  double* run_sums = workspace == nullptr ? nullptr : workspace + 2 * parts * cols;
  OverRows(parts, parts == 0 ? 0 : rows / parts * cols, threads, [&](size_t begin, size_t count) {
    for (size_t part = begin; part < begin + count; ++part) {
      const size_t row = blocks * part / parts * kBlock;
      RowsBackward slice = call;
      slice.x += row * call.x_stride;
      slice.dy += row * call.dy_stride;
      slice.dx += row * call.dx_stride;
      slice.rows = std::min(rows, blocks * (part + 1) / parts * kBlock) - row;
      slice.dgain = dgain_sums == nullptr ? nullptr : dgain_sums + part * cols;
      slice.dbias = dbias_sums == nullptr ? nullptr : dbias_sums + part * cols;
      slice.run_sums = run_sums == nullptr ? nullptr : reinterpret_cast<float*>(run_sums + part * cols);
      if (slice.dgain != nullptr) std::fill_n(slice.dgain, cols, 0.0);
      if (slice.dbias != nullptr) std::fill_n(slice.dbias, cols, 0.0);
      RowsBackwardDispatch(slice);
    }
  });
  MergeParts(dgain_sums, parts, cols, dgain);
  MergeParts(dbias_sums, parts, cols, dbias);
}

}  // namespace

size_t BackwardWorkspaceSize(size_t rows, size_t cols) { return 3 * Parts(rows) * cols; }

void RmsNormBackward(const float* x, size_t x_stride, const float* dy, size_t dy_stride, const float* gain, float* dx,
                     size_t dx_stride, float* dgain, size_t rows, size_t cols, float eps, double* workspace,
                     size_t threads) {
  Run({x, x_stride, dy, dy_stride, gain, dx, dx_stride, nullptr, nullptr, nullptr, rows, cols, eps, false}, dgain,
      nullptr, workspace, threads);
}

void LayerNormBackward(const float* x, size_t x_stride, const float* dy, size_t dy_stride, const float* gain, float* dx,
                       size_t dx_stride, float* dgain, float* dbias, size_t rows, size_t cols, float eps,
                       double* workspace, size_t threads) {
  Run({x, x_stride, dy, dy_stride, gain, dx, dx_stride, nullptr, nullptr, nullptr, rows, cols, eps, true}, dgain, dbias,
      workspace, threads);
}

void BatchNormTrainBackward(const float* x, size_t x_stride, const float* dy, size_t dy_stride, const float* gain,
                            float* dx, size_t dx_stride, float* dgain, float* dbias, const ChannelShape& shape,
                            float eps, size_t threads) {
  if (shape.samples == 0) {
    if (dgain != nullptr) std::fill_n(dgain, shape.channels, 0.0f);
    if (dbias != nullptr) std::fill_n(dbias, shape.channels, 0.0f);
    return;
  }
  const bool first = shape.order == ChannelOrder::kChannelsFirst && shape.space > 1;
  const size_t unit = first ? 1 : kChannelUnit;
  const size_t units = (shape.channels + unit - 1) / unit;
  OverRows(units, unit * shape.samples * shape.space, threads, [&](size_t unit_begin, size_t count) {
    const size_t begin = unit_begin * unit;
    const size_t offset = begin * (first ? shape.space : 1);
    const auto from = [begin](auto* p) { return p == nullptr ? nullptr : p + begin; };
    ChannelsBackward call{x + offset, x_stride,    dy + offset, dy_stride, from(gain), dx + offset,
                          dx_stride,  from(dgain), from(dbias), shape,     eps};
    call.shape.channels = std::min(count * unit, shape.channels - begin);
    ChannelsBackwardDispatch(call);
  });
}

}  // namespace prenorm
