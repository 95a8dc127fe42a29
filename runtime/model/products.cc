// The products of a step: inputs packed once for all matrices of a stage, rows shared out among the threads.
#include <algorithm>

#include "prenorm/deferred_norm.h"
#include "prenorm/matmul_panels.h"
#include "prenorm/norm.h"
#include "prenorm/ops.h"
#include "runtime/model/onednn_product.h"
#include "runtime/model/step_context.h"

namespace prenorm {
namespace {

// Most tokens that are multiplied with a panel together: the first of them wait for it to come into the second-level
// cache, where it must have room beside their rows. Blocks are of one size, in whole tiles of the product.
constexpr size_t kPanelTokens = 240, kPanelTile = 6;

size_t Bytes(const WeightMatrix& w) { return w.rows * RowBytes(w.type, w.cols); }

struct NextNorm {
  OpSite site;
  const NormWeights& weights;
};

// The norm of x behind the branch that ends at `site`.
NextNorm NormAfter(const StepContext& context, OpSite site) {
  const size_t layer = context.layer_index;
  if (site == OpSite::kAttnOutput) return {OpSite::kFfnNorm, context.weights.layers[layer].ffn_norm};
  if (layer + 1 == context.config.n_layers) return {OpSite::kFinalNorm, context.weights.final_norm};
  return {OpSite::kAttnNorm, context.weights.layers[layer + 1].attn_norm};
}

// All weights have gone through the caches since a norm's last token, and its gain is too short for what the processor
// fetches ahead by itself: without this, most of the norm of a single token is waiting for it.
void Fetch(const NormWeights& norm) {
  constexpr size_t kLine = 64 / sizeof(float);
  for (const std::vector<float>* values : {&norm.gain, &norm.bias}) {
    for (size_t i = 0; i < values->size(); i += kLine) __builtin_prefetch(values->data() + i);
  }
}

// First row of `w` that belongs to part `part` of `parts` or a later one, where `w` starts `before` bytes into a list
// of `total` bytes.
size_t Boundary(const WeightMatrix& w, size_t unit, size_t before, size_t total, size_t part, size_t parts) {
  const size_t target = total * part / parts;
  if (target <= before) return 0;
  const size_t row = (target - before) / RowBytes(w.type, w.cols);
  return row >= w.rows ? w.rows : row / unit * unit;
}

// This thread's part of matrix `i` of a list that is split by bytes as if it were one, in whole blocks of squares.
Range OwnRows(const StepContext& context, std::span<const Product> products, size_t i) {
  const auto thread = static_cast<size_t>(context.worker.thread());
  const auto threads = static_cast<size_t>(context.worker.threads());
  size_t total = 0, before = 0;
  for (size_t k = 0; k < products.size(); ++k) {
    total += Bytes(*products[k].w);
    if (k < i) before += Bytes(*products[k].w);
  }
  const WeightMatrix& w = *products[i].w;
  const size_t unit = context.row_unit();
  return {Boundary(w, unit, before, total, thread, threads), Boundary(w, unit, before, total, thread + 1, threads)};
}

bool TakesSplit(const WeightMatrix& w, size_t n, const StepBuffers::Packed& pack) {
  return pack.split != nullptr && w.type == DType::kBF16 && n >= kOneDnnTokens;
}

// Calls pack_as(format) for each format that some product wants.
template <typename PackAs>
void ForEachFormat(std::span<const Product> products, size_t n, const StepBuffers::Pack& pack, const PackAs& pack_as) {
  for (const ActivationFormat format : {ActivationFormat::kF32, ActivationFormat::kInt8}) {
    const bool wanted = std::any_of(products.begin(), products.end(), [&](const Product& product) {
      return ActivationFormatOf(product.w->type) == format && !TakesSplit(*product.w, n, pack);
    });
    if (wanted) pack_as(format);
  }
}

bool AnyTakesSplit(std::span<const Product> products, size_t n, const StepBuffers::Packed& pack) {
  return std::any_of(products.begin(), products.end(),
                     [&](const Product& product) { return TakesSplit(*product.w, n, pack); });
}

// What oneDNN left for want of memory: token by token from the planes, from `first_token` on, with our own product.
void MultiplyPlanes(const StepContext& context, const Product& product, Range rows, size_t first_token,
                    const bf16* planes, bool accumulate) {
  const size_t cols = product.w->cols, n = context.n;
  auto* row = static_cast<float*>(context.own.pack.f32);
  for (size_t t = first_token; t < n; ++t) {
    for (size_t c = 0; c < cols; ++c) row[c] = ToF32(planes[t * cols + c]) + ToF32(planes[(n + t) * cols + c]);
    MatMul(*product.w, rows.begin, rows.end, row, 1, product.out + t * product.stride, product.stride, accumulate);
  }
}

// Norm and pack in one: `rows` of x with their factors [n].
void PackDeferred(const StepContext& context, const NormWeights& norm, Range rows, const float* factors,
                  std::span<const Product> products, const StepBuffers::Pack& pack) {
  const size_t dim = context.config.dim;
  if (AnyTakesSplit(products, context.n, pack)) {
    float* normed = context.buffers.normed;
    PackNormalized(ActivationFormat::kF32, context.x(), dim, dim, rows.begin, rows.end, context.n, norm.gain.data(),
                   factors, normed);
    SplitBf16(normed, dim, rows.begin, rows.end, context.n, pack.split);
  }
  ForEachFormat(products, context.n, pack, [&](ActivationFormat format) {
    PackNormalized(format, context.x(), dim, dim, rows.begin, rows.end, context.n, norm.gain.data(), factors,
                   pack.of(format));
  });
}

StepBuffers::Packed NormAndPackDeferred(StepContext& context, OpSite site, const NormWeights& norm,
                                        std::span<const Product> products) {
  const size_t dim = context.config.dim;
  const float eps = context.config.norm_eps;
  if (context.n == 1) {
    context.Time(OpKind::kNorm, site, [&] {
      const float factor = InvRmsOfSquares(context.buffers.squares, dim, eps);
      PackDeferred(context, norm, {0, 1}, &factor, products, context.own.pack);
    });
    return context.own.pack;
  }
  context.Time(OpKind::kNorm, site, [&] {
    const Range mine = context.worker.Share(context.n, PackTile());
    for (size_t t = mine.begin; t < mine.end; ++t) {
      SumSquares(context.x() + t * dim, dim, context.own.squares);
      context.buffers.factors[t] = InvRmsOfSquares(context.own.squares, dim, eps);
    }
    PackDeferred(context, norm, mine, context.buffers.factors, products, context.buffers.pack);
  });
  context.Wait(site);
  return context.buffers.pack;
}

}  // namespace

size_t StepContext::row_unit() const {
  static_assert(kOneDnnRows % kSquaresBlock == 0);
  return buffers.pack.split != nullptr && n >= kOneDnnTokens ? kOneDnnRows : kSquaresBlock;
}

void PackRows(const float* input, size_t width, Range rows, size_t n, std::span<const Product> products,
              const StepBuffers::Pack& pack) {
  if (AnyTakesSplit(products, n, pack)) SplitBf16(input, width, rows.begin, rows.end, n, pack.split);
  ForEachFormat(products, n, pack, [&](ActivationFormat format) {
    PackActivations(format, input, width, width, rows.begin, rows.end, n, pack.of(format));
  });
}

void SumSquaresOfX(StepContext& context, OpSite norm_site, Range elements) {
  if (!context.deferred_norm() || context.n != 1 || elements.size() == 0) return;
  context.Time(OpKind::kNorm, norm_site, [&] {
    SumSquares(context.x() + elements.begin, elements.size(), context.buffers.squares + elements.begin / kSquaresBlock);
  });
}

void Normalize(const StepContext& context, OpSite site, const float* gain, const float* bias, const float* x,
               float* out, size_t rows, size_t cols) {
  if (context.step.norms != nullptr && context.step.norms->stand_in != nullptr) [[unlikely]] {
    return context.step.norms->stand_in->Normalize({site, context.layer_or_none(), context.worker.thread(),
                                                    context.block.norm == NormKind::kLayer, gain, bias,
                                                    context.config.norm_eps, x, out, rows, cols});
  }
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

StepBuffers::Packed NormAndPack(StepContext& context, OpSite site, const NormWeights& norm,
                                std::span<const Product> products) {
  const size_t dim = context.config.dim;
  if (!norm) return PackInput(context, site, context.x(), dim, products);
  // A mixture gathers normalized rows.
  const bool gathers = site == OpSite::kFfnNorm && !context.weights.layers[context.layer_index].experts.empty();
  if (context.deferred_norm() && !gathers) return NormAndPackDeferred(context, site, norm, products);
  if (context.norm_row_is_own()) {
    float* row = context.own.row;
    context.Time(OpKind::kNorm, site, [&] {
      Normalize(context, site, norm, context.x(), row, 1, dim);
      PackRows(row, dim, {0, 1}, 1, products, context.own.pack);
    });
    return context.own.pack;
  }
  const bool apart = context.n == 1 || context.placement() == NormPlacement::kApart;
  float* normed = context.buffers.normed;
  context.Time(OpKind::kNorm, site, [&] {
    const Range mine = context.worker.Share(context.n, PackTile());
    Normalize(context, site, norm, context.x() + mine.begin * dim, normed + mine.begin * dim, mine.size(), dim);
    if (!apart) PackRows(normed, dim, mine, context.n, products, context.buffers.pack);
  });
  context.Wait(site);
  return apart ? PackInput(context, site, normed, dim, products) : context.buffers.pack;
}

StepBuffers::Packed PackInput(StepContext& context, OpSite site, const float* input, size_t width,
                              std::span<const Product> products) {
  const bool as_it_is = std::all_of(products.begin(), products.end(), [&](const Product& product) {
    return ActivationFormatOf(product.w->type) == ActivationFormat::kF32 &&
           !TakesSplit(*product.w, context.n, context.buffers.pack);
  });
  if (as_it_is) {  // Rows of f32 are their own pack; products only read it.
    StepBuffers::Packed pack = context.n == 1 ? context.own.pack : context.buffers.pack;
    pack.f32 = input;
    return pack;
  }
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

bool TakesPanels(const StepContext& context, std::span<const Product> products) {
  return context.is_batch() && std::all_of(products.begin(), products.end(),
                                           [](const Product& product) { return product.panels != nullptr; });
}

void MultiplyPanels(StepContext& context, std::span<const Product> products, const float* input, bool accumulate,
                    const std::function<void(const ProductPart&)>& finish) {
  const size_t fewest = (context.n + kPanelTokens - 1) / kPanelTokens;
  const size_t block = (context.n + fewest * kPanelTile - 1) / (fewest * kPanelTile) * kPanelTile;
  const size_t blocks = (context.n + block - 1) / block;
  size_t panels = 0;
  for (const Product& product : products) panels += PanelCount(product.w->rows);
  context.TakeTurns(panels * blocks, [&](size_t i) {
    size_t panel = i / blocks;
    const Product* product = products.data();
    for (; panel >= PanelCount(product->w->rows); ++product) panel -= PanelCount(product->w->rows);
    const size_t cols = product->w->cols, row = panel * kPanelRows, token = i % blocks * block;
    const ProductPart part{*product, row, std::min(kPanelRows, product->w->rows - row), token,
                           std::min(block, context.n - token)};
    const float* bias = product->bias->empty() ? nullptr : product->bias->data() + row;
    MatMulPanel(product->panels + row * cols, part.rows, cols, input + token * cols, part.tokens, bias,
                product->out + token * product->stride + row, product->stride, accumulate);
    if (finish) finish(part);
  });
}

void Multiply(StepContext& context, OpSite site, std::span<const Product> products, const StepBuffers::Packed& pack,
              bool accumulate) {
  context.Time(OpKind::kMatMul, site, [&] {
    if (TakesPanels(context, products)) {
      return MultiplyPanels(context, products, static_cast<const float*>(pack.f32), accumulate);
    }
    for (size_t i = 0; i < products.size(); ++i) {
      MultiplyRows(context, products[i], OwnRows(context, products, i), pack, accumulate);
    }
  });
}

void MultiplyRows(StepContext& context, const Product& product, Range rows, const StepBuffers::Packed& pack,
                  bool accumulate) {
  if (rows.size() == 0) return;
  if (TakesSplit(*product.w, context.n, pack)) {
    const OneDnnDone done =
        OneDnnMatMul(*product.w, rows, pack.split, context.n, product.out, product.stride, accumulate);
    if (const size_t begin = rows.begin + done.rows; begin < rows.end) {
      const size_t piece_end = std::min(rows.end, begin + kOneDnnRows);
      MultiplyPlanes(context, product, {begin, piece_end}, done.tokens, pack.split, accumulate);
      if (piece_end < rows.end) MultiplyPlanes(context, product, {piece_end, rows.end}, 0, pack.split, accumulate);
    }
  } else {
    const void* input = pack.of(ActivationFormatOf(product.w->type));
    MatMul(*product.w, rows.begin, rows.end, input, context.n, product.out, product.stride, accumulate,
           context.own.matmul);
  }
  if (product.bias->empty()) return;
  for (size_t t = 0; t < context.n; ++t) {
    AddInPlace(product.out + t * product.stride + rows.begin, product.bias->data() + rows.begin, rows.size());
  }
}

namespace {

// row[c] *= the factors of the branch, c in cols.
void ScaleBranch(const StepContext& context, const std::vector<float>& scale, Range cols, float* row) {
  if (context.block.residual_scale != 1.0f) {
    ScaleInPlace(row + cols.begin, context.block.residual_scale, cols.size());
  }
  if (scale.size() == 1) ScaleInPlace(row + cols.begin, scale[0], cols.size());
  for (size_t c = cols.begin; scale.size() > 1 && c < cols.end; ++c) row[c] *= scale[c];
}

// x = norm(stream_scale * x + branch) (post-LN, DeepNorm): the sum is where the branch was.
void NormalizeSum(StepContext& context, const BranchEnd& end) {
  const size_t dim = context.config.dim;
  const Range mine = context.worker.Share(context.n);
  context.Time(OpKind::kNorm, end.norm_site, [&] {
    float* x = context.x() + mine.begin * dim;
    float* branch = context.branch() + mine.begin * dim;
    for (size_t t = 0; t < mine.size(); ++t) ScaleBranch(context, end.scale, {0, dim}, branch + t * dim);
    Residual residual;
    residual.form = context.block.stream_scale == 1.0f ? ResidualForm::kPlain : ResidualForm::kScaledInput;
    residual.alpha = context.block.stream_scale;
    const float* gain = end.norm.gain.data();
    if (context.step.norms != nullptr && context.step.norms->stand_in != nullptr) [[unlikely]] {
      if (residual.form == ResidualForm::kScaledInput) ScaleInPlace(x, residual.alpha, mine.size() * dim);
      AddInPlace(branch, x, mine.size() * dim);
      Normalize(context, end.norm_site, end.norm, branch, x, mine.size(), dim);
    } else if (context.block.norm == NormKind::kRms) {
      RmsNormOptions options;
      options.eps = context.config.norm_eps;
      ResidualRmsNorm(x, dim, branch, dim, branch, dim, gain, x, dim, mine.size(), dim, residual, options);
    } else {
      LayerNormOptions options;
      options.eps = context.config.norm_eps;
      const float* bias = end.norm.bias.empty() ? nullptr : end.norm.bias.data();
      ResidualLayerNorm(x, dim, branch, dim, branch, dim, gain, bias, x, dim, mine.size(), dim, residual, options);
    }
  });
  context.Wait(end.norm_site);
}

// x = stream_scale * x + the scaled, normalized branch of `site`. A single token's norm is every thread's own, and the
// sum is shared by elements.
void JoinBranch(StepContext& context, OpSite site, const BranchEnd& end) {
  const size_t dim = context.config.dim;
  const bool one = context.n == 1;
  const Range tokens = one ? Range{0, 1} : context.worker.Share(context.n);
  const Range cols = one ? context.worker.Share(dim, kSquaresBlock) : Range{0, dim};
  context.Time(end.norm ? OpKind::kNorm : OpKind::kResidual, end.norm_site, [&] {
    float* row = context.own.row;
    for (size_t t = tokens.begin; t < tokens.end; ++t) {
      float* x = context.x() + t * dim;
      float* sum = end.norm ? row : context.branch() + t * dim;
      if (end.norm) Normalize(context, end.norm_site, end.norm, context.branch() + t * dim, row, 1, dim);
      ScaleBranch(context, end.scale, cols, sum);
      if (context.block.stream_scale != 1.0f) ScaleInPlace(x + cols.begin, context.block.stream_scale, cols.size());
      AddInPlace(x + cols.begin, sum + cols.begin, cols.size());
    }
  });
  SumSquaresOfX(context, NormAfter(context, site).site, cols);
  context.Wait(end.norm_site);
}

}  // namespace

void AddBranch(StepContext& context, OpSite site, const float* input, size_t width, const Linear& linear,
               const BranchEnd& end) {
  const BlockSpec& block = context.block;
  const bool plain = !end.norm && end.scale.empty() && block.residual_scale == 1.0f && block.stream_scale == 1.0f &&
                     context.placement() != NormPlacement::kApart;
  const Product products[] = {ProductOf(linear, plain ? context.x() : context.branch())};
  if (context.n == 1 && context.norms_read_weights()) {  // While the product has the memory busy anyway.
    Fetch(end.norm);
    Fetch(NormAfter(context, site).weights);
  }
  const StepBuffers::Packed pack = PackInput(context, site, input, width, products);
  Multiply(context, site, products, pack, /*accumulate=*/plain);
  if (plain) SumSquaresOfX(context, NormAfter(context, site).site, OwnRows(context, products, 0));
  context.Wait(site);
  if (end.norm && block.norm_behind == NormBehind::kSum) return NormalizeSum(context, end);
  if (!plain) JoinBranch(context, site, end);
}

}  // namespace prenorm
