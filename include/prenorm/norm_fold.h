// Folding norms and residual scales into the weights beside them, at load time. No SIMD, no threads; f32 weights in
// place, factors formed in f64 and each weight rounded once.
//
// What folds and what never does: docs/normalization.md. Gains must go into *every* consumer of the normalized row
// (query, key and value; gate and up; router and all experts); a consumer left out is a silent error, so the functions
// take all of them at once. Fold before quantizing. A bf16 weight would be rounded again (2^-9): widen it first.
// All functions return kInvalidArgument with the numbers in the message, or kUnsupported, before they change anything.
#pragma once

#include <cstddef>
#include <span>

#include "prenorm/norm.h"
#include "prenorm/status.h"

namespace prenorm {

/// A linear map or convolution: y[o] = bias[o] + sum over i and taps of weight[o][i][tap] * x[i at tap].
struct LinearMap {
  float* weight = nullptr;  ///< [out_channels, in_channels / groups, taps], contiguous.
  float* bias = nullptr;    ///< [out_channels], or null for none.
  size_t out_channels = 0;
  size_t in_channels = 0;
  size_t taps = 1;           ///< Kernel height * width; 1 for a linear map.
  size_t groups = 1;         ///< Of a grouped convolution; divides both channel counts.
  bool zero_padded = false;  ///< The convolution pads its input with zeros.
};

/// BatchNorm in eval form: y = gain * (x - mean) / sqrt(variance + eps) + bias. gain and bias may be null.
struct FrozenBatchNorm {
  const float* gain = nullptr;
  const float* bias = nullptr;
  const float* mean = nullptr;
  const float* variance = nullptr;
  size_t channels = 0;
  float eps = 0.0f;
};

/// Makes `map` compute norm(map(x)). Needs map->bias (zeros will do) and out_channels == norm.channels.
Status FoldIntoPreceding(const FrozenBatchNorm& norm, LinearMap* map);

/// Makes each of `maps` compute map(norm(x)). Needs in_channels == norm.channels, and a bias unless every shift
/// bias - mean * gain / sqrt(variance + eps) is 0. Refused with kUnsupported for a zero-padded convolution unless every
/// shift is 0: the zeros of the padding would have been normalized after it.
Status FoldIntoFollowing(const FrozenBatchNorm& norm, std::span<LinearMap> maps);

/// Makes each of `maps` compute map(gain * x + bias): W diag(gain), and bias + W * norm bias where `norm_bias` is not
/// null. With null `norm_bias` this is the fold of an RMSNorm gain. The norm then runs without gain and bias.
Status FoldAffineIntoFollowing(const float* gain, const float* norm_bias, size_t channels, GainForm gain_form,
                               std::span<LinearMap> maps);

/// Makes `map` compute lambda[o] * map(x): LayerScale (Touvron et al. 2021) into the matrix that writes the residual.
Status FoldScaleIntoPreceding(const float* lambda, size_t channels, LinearMap* map);

/// Makes `map` compute alpha * map(x): SkipInit (De and Smith 2020) into the matrix that ends the branch.
Status FoldScaleIntoPreceding(float alpha, LinearMap* map);

/// Takes the mean over output channels out of what `map` writes: y - mean(y). Done to every map that writes a pre-LN
/// residual stream (the embedding table, transposed, included), LayerNorm of the stream becomes RMSNorm of it.
///
/// Source    Jiang et al. 2023, "Pre-RMSNorm and Pre-CRMSNorm Transformers" (arXiv 2305.14858).
Status CentreOutputs(LinearMap* map);

/// weight[o] = gain[o] * (weight[o] - mean) / sqrt(max(fan_in * variance, eps)) with the moments of each filter, where
/// fan_in = in_channels / groups * taps. gain: [out_channels] or null. A filter of equal weights becomes 0.
///
/// Source    Brock, De and Smith 2021, "Characterizing signal propagation", with a floor eps of the root as in their
///           code (1e-4 there).
Status StandardizeWeights(const float* gain, float eps, LinearMap* map);

}  // namespace prenorm
