// Normalization of rows: RMSNorm, LayerNorm, both with a residual sum, and softmax. Functions over pointers, strides.
// norm_checked.h has the same with every argument checked, norm_parallel.h with the rows shared among threads.
//
// Every function here runs on the best SIMD target of the CPU, is reentrant, and neither allocates, prints nor throws.
// Sizes and strides count elements. Rows of length `cols` start at multiples of the stride; what lies between two rows
// is neither read nor written. Any alignment of the element type will do. rows == 0 does nothing.
// The same call gives the same bits on AVX2, on every AVX-512 target and on NEON, at any address and row position.
#pragma once

#include <cstddef>

#include "prenorm/types.h"

namespace prenorm {

/// Where eps is added.
enum class EpsPlacement {
  kInsideRoot,   ///< x / sqrt(mean square + eps), as in the papers and all common models.
  kOutsideRoot,  ///< x / (sqrt(mean square) + eps).
};

/// What the stored gain w means.
enum class GainForm {
  kGain,         ///< The factor is w.
  kOnePlusGain,  ///< The factor is 1 + w, formed in f32 (Gemma's checkpoints).
};

/// Where results are rounded to a 16-bit `out`. All modes agree where `out` is f32 and the gain form is the same.
enum class CastMode {
  kF32,    ///< f32 throughout, one rounding at the end.
  kLlama,  ///< x * inv_rms is rounded to the type of `out`, multiplied by the gain and rounded again.
  kGemma,  ///< f32 throughout with the factor 1 + w, whatever the gain form says; one rounding at the end.
};

/// How sums over a row are formed.
enum class Accumulation {
  kLanes,  ///< 64 f32 lanes, each widened to f64 after at most 16 additions; squares of a row of at most 512 elements:
           ///< four lanes of at most 8 additions each are added in f32 first.
  kExact,  ///< f64 sums of exact squares: slower, at most 2 units in the last place before the gain.
};

struct RmsNormOptions {
  float eps = 0.0f;  ///< >= 0. GGUF `*.attention.layer_norm_rms_epsilon`, Hugging Face `rms_norm_eps`; no constant.
  EpsPlacement eps_placement = EpsPlacement::kInsideRoot;
  GainForm gain_form = GainForm::kGain;
  CastMode cast = CastMode::kF32;
  Accumulation accumulation = Accumulation::kLanes;
};

/// out[r][c] = gain[c] * x[r][c] / sqrt(mean over c of x[r][c]^2 + eps)
///
/// Shapes    x, out: [rows, cols], strides >= cols; gain: [cols], or null for ones.
/// Types     X, Gain, Out: each float or bf16. Arithmetic in f32, statistics as options.accumulation says.
/// Memory    out == x is allowed where both types are equal, other overlap is not.
/// Requires  cols > 0, eps >= 0 (debug builds assert).
/// Accuracy  f32: at most 12 ULP (3 on the corpus of the tests) from the real-number result for cols <= 65536 where
///           x * inv_rms and the result are normal; kExact: 2 ULP without gain, 3 with, 4 with 1 + w. Any finite
///           magnitude is right. A NaN makes its row NaN; an Inf makes its element NaN and the finite ones +-0.
///           A zero row gives zeros, with eps = 0 NaN. bf16 out: at most one bf16 ULP off, at least 99.99 % correctly
///           rounded but where 1 + w is itself rounded to f32. For that, rows whose magnitudes are all alike, within
///           one part in 2000, are computed in pairs of f64: scalar, some 50 times slower.
/// Source    Zhang and Sennrich 2019, eq. 4, with eps under the root; as torch.nn.RMSNorm with eps given.
template <typename X, typename Gain, typename Out>
void RmsNorm(const X* x, size_t x_stride, const Gain* gain, Out* out, size_t out_stride, size_t rows, size_t cols,
             const RmsNormOptions& options);

/// As above without a gain.
template <typename X, typename Out>
void RmsNorm(const X* x, size_t x_stride, decltype(nullptr), Out* out, size_t out_stride, size_t rows, size_t cols,
             const RmsNormOptions& options) {
  RmsNorm(x, x_stride, static_cast<const float*>(nullptr), out, out_stride, rows, cols, options);
}

/// inv_rms[r] = 1 / sqrt(mean over c of x[r][c]^2 + eps), the factor that RmsNorm would use, for deferred scaling.
///
/// Shapes    x: [rows, cols]; inv_rms: [rows].
/// Types     X: float or bf16. Only eps, eps_placement and accumulation of the options are used.
/// Accuracy  The f32 nearest to the f64 value; beyond the range of f32 (rows near FLT_MAX or 1e-38) it loses bits or
///           becomes Inf, where RmsNorm itself scales the row first.
template <typename X>
void InvRms(const X* x, size_t x_stride, float* inv_rms, size_t rows, size_t cols, const RmsNormOptions& options);

/// How LayerNorm takes its variance.
enum class VarianceForm {
  kTwoPass,     ///< Rough mean, then sums of the distances and of their squares, with a correction by their mean.
  kSinglePass,  ///< One pass over memory: moments of 1024 elements at a time, merged as by Chan, Golub and LeVeque.
};

struct LayerNormOptions {
  float eps = 0.0f;  ///< >= 0, added to the variance. Hugging Face `layer_norm_eps`, GGUF `*.layer_norm_epsilon`.
  VarianceForm variance = VarianceForm::kTwoPass;
};

/// out[r][c] = gain[c] * (x[r][c] - mean) / sqrt(variance + eps) + bias[c], with the biased variance of row r.
///
/// Shapes    x, out: [rows, cols], strides >= cols; gain, bias: [cols], each or both null for ones and zeros.
/// Types     X, Affine, Out: each float or bf16. Arithmetic in f32, sums in 64 f32 lanes with an f64 spine.
/// Memory    out == x is allowed where both types are equal, other overlap is not.
/// Requires  cols > 0, eps >= 0 (debug builds assert).
/// Accuracy  f32: absolute error at most 2^-24 * (8 |gain * x_hat| + 24 |gain| + 2 |bias|), however large the mean is
///           against the standard deviation (up to 10^6 times). Rows of any finite magnitude are right. A constant row
///           gives exactly the bias, with eps = 0 NaN; any NaN or Inf makes its row NaN.
/// Source    Ba, Kiros and Hinton 2016, eq. 4; as torch.nn.LayerNorm over the last axis.
template <typename X, typename Affine, typename Out>
void LayerNorm(const X* x, size_t x_stride, const Affine* gain, const Affine* bias, Out* out, size_t out_stride,
               size_t rows, size_t cols, const LayerNormOptions& options);

/// How the branch output f joins the residual stream x.
enum class ResidualForm {
  kPlain,         ///< x + f.
  kScaledInput,   ///< alpha * x + f (DeepNorm, Wang et al. 2022).
  kScaledBranch,  ///< x + alpha * f (SkipInit, De and Smith 2020).
  kLayerScale,    ///< x + lambda[c] * f (LayerScale, Touvron et al. 2021).
};

/// Which sum the statistics see where it is stored in 16 bits.
enum class ResidualStatistics {
  kUnroundedSum,  ///< As computed in f32; a row whose squares leave the range of f32 falls back to the stored sum.
  kRoundedSum,    ///< As stored.
};

struct Residual {
  ResidualForm form = ResidualForm::kPlain;
  float alpha = 1.0f;             ///< kScaledInput and kScaledBranch.
  const float* lambda = nullptr;  ///< kLayerScale: [cols].
  ResidualStatistics statistics = ResidualStatistics::kUnroundedSum;
};

/// sum[r][c] = x and f joined as `residual` says (one FMA, one rounding); out = RmsNorm of the stored sum, in one go.
///
/// Shapes    x, f, sum, out: [rows, cols] with strides of their own.
/// Types     X (of x, f and sum) and Out: float and float, float and bf16, bf16 and bf16; Gain as in RmsNorm.
/// Memory    sum == x or sum == f is allowed; so is out == x or out == f where that is not sum and the types are equal.
/// The rest is as in RmsNorm; bf16 out has its bits too, but for rows whose magnitudes are all alike, which have no
/// path of their own here and may be off by one bf16 ULP more often.
template <typename X, typename Gain, typename Out>
void ResidualRmsNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, X* sum, size_t sum_stride,
                     const Gain* gain, Out* out, size_t out_stride, size_t rows, size_t cols, const Residual& residual,
                     const RmsNormOptions& options);

/// As ResidualRmsNorm, with LayerNorm of the stored sum.
template <typename X, typename Affine, typename Out>
void ResidualLayerNorm(const X* x, size_t x_stride, const X* f, size_t f_stride, X* sum, size_t sum_stride,
                       const Affine* gain, const Affine* bias, Out* out, size_t out_stride, size_t rows, size_t cols,
                       const Residual& residual, const LayerNormOptions& options);

/// x[r][c] = exp(x[r][c] - m) / sum over c of exp(x[r][c] - m), with m the maximum of the row; in place.
///
/// Shapes    x: [rows, cols], stride >= cols.
/// Requires  cols > 0.
/// Accuracy  relative error 2^-24 * (6 + |x - m|) where the result is normal. -Inf is a masked element and
///           gives 0; a row of -Inf alone gives zeros. NaN or +Inf makes its row NaN.
void Softmax(float* x, size_t stride, size_t rows, size_t cols);

/// out[r] = m + log(sum over c of exp(x[r][c] - m)), with m the maximum of the row.
///
/// Shapes    x: [rows, cols], stride >= cols; out: [rows].
/// Accuracy  relative error 2^-23, absolute 2^-22 where the result is near 0. A row of -Inf alone gives -Inf;
///           NaN gives NaN, +Inf gives +Inf.
void LogSumExp(const float* x, size_t stride, float* out, size_t rows, size_t cols);

}  // namespace prenorm
