// Elementwise kernels and small row operations of a transformer layer: rotary positions, activations, soft cap, argmax.
// Every result is a function of its own inputs alone: the same bits at any position of the vector, in its tail, and for
// any alignment. None of the functions allocates, prints or throws; all are reentrant.
#pragma once

#include <cstddef>

namespace prenorm {

/// Cosines and sines of the rotation at `position`: cos[i] = mscale * cos(position * inv_freq[i]), sin[i] likewise.
///
/// Shapes    inv_freq, cos, sin: [half], half = rotary_dim / 2.
/// Accuracy  the product and its reduction are in f64: within 1 ULP of f32 for angles up to 1.6 million radians.
///           Bits depend on no SIMD target and on no mathematical library.
/// Source    Su et al. 2021 (RoFormer), eq. 15. Scaled variants (Llama 3.1, YaRN) are other tables of `inv_freq`;
///           YaRN's magnitude factor is `mscale`, else 1.
void RopeAngles(const float* inv_freq, size_t half, size_t position, float mscale, float* cos, float* sin);

/// Which two elements of a head are rotated together.
enum class RopePairs {
  kNeighbours,  ///< (2i, 2i + 1): llama in GGUF files.
  kHalves,      ///< (i, i + rotary_dim / 2): Hugging Face files; qwen2, gemma and others in GGUF files.
};

/// Rotates the first `rotary_dim` elements of each head in place: (a, b) -> (a cos - b sin, b cos + a sin).
///
/// Shapes    x: [heads, head_dim], head h at h * stride elements, stride >= head_dim; cos, sin: [rotary_dim / 2].
/// Requires  rotary_dim even and <= head_dim; elements from rotary_dim on are left alone.
/// Accuracy  products and the sum round to f32 one by one: the same bits on every target.
void ApplyRope(float* x, size_t stride, size_t heads, size_t head_dim, size_t rotary_dim, const float* cos,
               const float* sin, RopePairs pairs);

/// Activation functions.
enum class Gate {
  kSilu,         ///< x / (1 + e^-x), also called swish: llama, qwen, mistral.
  kGeluTanh,     ///< 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): Gemma, GPT-2.
  kGeluErf,      ///< x Phi(x) = 0.5 x (1 + erf(x / sqrt 2)): BERT.
  kRelu,         ///< max(x, 0).
  kReluSquared,  ///< max(x, 0)^2.
};

/// out[i] = act(x[i]), i < n. In place is allowed, other overlap is not.
///
/// Accuracy  for x >= -1 within 2 ULP (SiLU), 3 ULP (tanh GELU), 7 ULP (erf GELU) of the result. Below, the result dies
///           away as e^x or e^(-x^2/2) does, and ULP grow with its logarithm, to 160 next to underflow: an absolute
///           error below 1e-7 |x| everywhere. ReLU is exact. NaN stays NaN; -Inf gives -0 (the limit) for SiLU and
///           GELU, +Inf gives +Inf. See tests/kernels/activation_test.cc.
/// Bits      the same on every target with fused multiply-add (AVX2 and better).
/// Source    Elfwing et al. 2017; Hendrycks and Gimpel 2016.
void Activation(Gate act, const float* x, float* out, size_t n);

/// out[i] = act(gate[i]) * up[i], i < n: SwiGLU, GeGLU (Shazeer 2020). `out` may be `gate` or `up`.
/// The activation rounds to f32 before the product; bounds as for Activation.
void GatedActivation(Gate act, const float* gate, const float* up, float* out, size_t n);

/// x[i] = cap * tanh(x[i] / cap), in place; cap > 0. Within 3 ULP; NaN stays NaN; +-Inf gives +-cap.
/// Source    Gemma 2: attention scores and final logits.
void SoftCap(float* x, size_t n, float cap);

/// Index of the largest element; the lowest such index on ties (-0 equals +0). NaN never wins.
/// Returns 0 when n == 0 or every element is NaN.
size_t ArgMax(const float* x, size_t n);

/// x[i] += y[i].
void AddInPlace(float* x, const float* y, size_t n);

/// x[i] *= scale.
void ScaleInPlace(float* x, float scale, size_t n);

}  // namespace prenorm
