// The normalization kernels alone: no model, no session. Rows of f32 and of bf16, and what a wrong call says.
#include <cstdio>
#include <prenorm/norm_checked.h>
#include <vector>

int main() {
  const size_t rows = 2, cols = 4;
  const std::vector<float> x = {1, 2, 3, 4, 40000, 40001, 40002, 40003};
  std::vector<float> out(rows * cols);
  prenorm::RmsNormOptions rms;
  rms.eps = 1e-6f;
  const float* no_gain = nullptr;
  prenorm::RmsNorm(x.data(), cols, no_gain, out.data(), cols, rows, cols, rms);
  std::printf("rms norm    %.5f %.5f %.5f %.5f\n", out[0], out[1], out[2], out[3]);

  prenorm::LayerNormOptions layer;
  layer.eps = 1e-5f;
  prenorm::LayerNorm(x.data(), cols, no_gain, no_gain, out.data(), cols, rows, cols, layer);
  std::printf("layer norm  %.5f %.5f %.5f %.5f\n", out[4], out[5], out[6], out[7]);

  const prenorm::Status status = prenorm::CheckedRmsNorm(x.data(), 3, no_gain, out.data(), cols, rows, cols, rms);
  std::printf("refused     %s\n", status.message().c_str());
}
