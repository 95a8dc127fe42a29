// The products of a step: inputs packed once for all matrices of a stage, rows shared out among the threads.
#include <algorithm>
#include <cstring>

#include "prenorm/matmul.h"
#include "prenorm/norm.h"
#include "prenorm/ops.h"
#include "runtime/model/step_context.h"

namespace prenorm {
namespace {

size_t Bytes(const WeightMatrix& w) { return w.rows * RowBytes(w.type, w.cols); }

// First row of `w` that belongs to part `part` of `parts` or a later one, where `w` starts `before` bytes into a list
// of `total` bytes.
size_t Boundary(const WeightMatrix& w, size_t before, size_t total, size_t part, size_t parts) {
  const size_t target = total * part / parts;
  if (target <= before) return 0;
  const size_t row = (target - before) / RowBytes(w.type, w.cols);
  return row >= w.rows ? w.rows : row / RowGroup() * RowGroup();
}

}  // namespace

void PackRows(const float* input, size_t width, Range rows, size_t n, std::span<const Product> products,
              const StepBuffers::Pack& pack) {
  for (const ActivationFormat format : {ActivationFormat::kF32, ActivationFormat::kInt8}) {
    const bool wanted = std::any_of(products.begin(), products.end(), [&](const Product& product) {
      return ActivationFormatOf(product.w->type) == format;
    });
    if (wanted) PackActivations(format, input, width, width, rows.begin, rows.end, n, pack.of(format));
  }
}

void Normalize(const StepContext& context, const float* gain, const float* bias, const float* x, float* out,
               size_t rows, size_t cols) {
  if (context.block.norm == NormKind::kRms) {
    RmsNormOptions options;
    options.eps = context.config.norm_eps;
    RmsNorm(x, cols, gain, out, cols, rows, cols, options);
  } else {
    LayerNormOptions options;
    options.eps = context.config.norm_eps;
    LayerNorm(x, cols, gain, bias, out, cols, rows, cols, options);
  }
}

StepBuffers::Pack NormAndPack(StepContext& context, OpSite site, const NormWeights& norm,
                              std::span<const Product> products) {
  const size_t dim = context.config.dim;
  if (!norm) return PackInput(context, site, context.x(), dim, products);
  if (context.n == 1) {
    float* row = context.own.row;
    context.Time(OpKind::kNorm, site, [&] {
      Normalize(context, norm, context.x(), row, 1, dim);
      PackRows(row, dim, {0, 1}, 1, products, context.own.pack);
    });
    return context.own.pack;
  }
  context.Time(OpKind::kNorm, site, [&] {
    const Range mine = context.worker.Share(context.n, PackTile());
    float* normed = context.buffers.normed;
    Normalize(context, norm, context.x() + mine.begin * dim, normed + mine.begin * dim, mine.size(), dim);
    PackRows(normed, dim, mine, context.n, products, context.buffers.pack);
  });
  context.Wait(site);
  return context.buffers.pack;
}

StepBuffers::Pack PackInput(StepContext& context, OpSite site, const float* input, size_t width,
                            std::span<const Product> products) {
  if (context.n == 1) {
    context.Time(OpKind::kPack, site, [&] { PackRows(input, width, {0, 1}, 1, products, context.own.pack); });
    return context.own.pack;
  }
  context.Time(OpKind::kPack, site, [&] {
    PackRows(input, width, context.worker.Share(context.n, PackTile()), context.n, products, context.buffers.pack);
  });
  context.Wait(site);
  return context.buffers.pack;
}

void Multiply(StepContext& context, OpSite site, std::span<const Product> products, const StepBuffers::Pack& pack,
              bool accumulate) {
  context.Time(OpKind::kMatMul, site, [&] {
    const auto thread = static_cast<size_t>(context.worker.thread());
    const auto threads = static_cast<size_t>(context.worker.threads());
    size_t total = 0, before = 0;
    for (const Product& product : products) total += Bytes(*product.w);
    for (const Product& product : products) {
      const Range rows{Boundary(*product.w, before, total, thread, threads),
                       Boundary(*product.w, before, total, thread + 1, threads)};
      MultiplyRows(context, product, rows, pack, accumulate);
      before += Bytes(*product.w);
    }
  });
}

void MultiplyRows(StepContext& context, const Product& product, Range rows, const StepBuffers::Pack& pack,
                  bool accumulate) {
  if (rows.size() == 0) return;
  const void* input = pack.of(ActivationFormatOf(product.w->type));
  MatMul(*product.w, rows.begin, rows.end, input, context.n, product.out, product.stride, accumulate);
  if (product.bias->empty()) return;
  for (size_t t = 0; t < context.n; ++t) {
    AddInPlace(product.out + t * product.stride + rows.begin, product.bias->data() + rows.begin, rows.size());
  }
}

namespace {

// x += residual_scale * norm(branch). A single token's norm is every thread's own, and the sum is shared by elements.
void JoinBranch(StepContext& context, OpSite site, const NormWeights& norm) {
  const size_t dim = context.config.dim;
  const bool one = context.n == 1;
  const Range tokens = one ? Range{0, 1} : context.worker.Share(context.n);
  const Range cols = one ? context.worker.Share(dim) : Range{0, dim};
  context.Time(norm ? OpKind::kNorm : OpKind::kResidual, site, [&] {
    float* row = context.own.row;
    for (size_t t = tokens.begin; t < tokens.end; ++t) {
      const float* branch = context.branch() + t * dim;
      if (norm) Normalize(context, norm, branch, row, 1, dim);
      else std::memcpy(row, branch, dim * sizeof(float));
      ScaleInPlace(row + cols.begin, context.block.residual_scale, cols.size());
      AddInPlace(context.x() + t * dim + cols.begin, row + cols.begin, cols.size());
    }
  });
  context.Wait(site);
}

}  // namespace

void AddBranch(StepContext& context, OpSite site, const float* input, size_t width, const Linear& linear,
               OpSite norm_site, const NormWeights& norm) {
  const bool plain = !norm && context.block.residual_scale == 1.0f;
  const Product products[] = {ProductOf(linear, plain ? context.x() : context.branch())};
  const StepBuffers::Pack pack = PackInput(context, site, input, width, products);
  Multiply(context, site, products, pack, /*accumulate=*/plain);
  context.Wait(site);
  if (!plain) JoinBranch(context, norm_site, norm);
}

}  // namespace prenorm
