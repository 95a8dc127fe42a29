// LayerNorm with eps outside of the root has no kernel: centred here, then normalized as RMSNorm.
#include "tools/common/norm_choice.h"

#include <cstddef>

namespace prenorm::tools {

void NormalizeAs(const NormCall& call, const NormChoice& choice) {
  const float* gain = choice.gain ? call.gain : nullptr;
  const float* bias = choice.gain ? call.bias : nullptr;
  if (choice.layer_norm && choice.placement == EpsPlacement::kInsideRoot) {
    LayerNorm(call.x, call.cols, gain, bias, call.out, call.cols, call.rows, call.cols,
              {.eps = choice.eps, .variance = choice.variance});
    return;
  }
  const float* x = call.x;
  if (choice.layer_norm) {
    for (size_t r = 0; r < call.rows; ++r) {
      double mean = 0;
      for (size_t c = 0; c < call.cols; ++c) mean += static_cast<double>(call.x[r * call.cols + c]);
      mean /= static_cast<double>(call.cols);
      for (size_t i = r * call.cols; i < (r + 1) * call.cols; ++i) {
        call.out[i] = static_cast<float>(static_cast<double>(call.x[i]) - mean);
      }
    }
    x = call.out;
  }
  RmsNormOptions options;
  options.eps = choice.eps;
  options.eps_placement = choice.placement;
  options.accumulation = choice.accumulation;
  RmsNorm(x, call.cols, gain, call.out, call.cols, call.rows, call.cols, options);
  if (bias == nullptr) return;
  for (size_t i = 0; i < call.rows * call.cols; ++i) call.out[i] += bias[i % call.cols];
}

}  // namespace prenorm::tools
