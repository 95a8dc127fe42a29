// The parts of `prenorm norms --accuracy`: each runs its operations on one row under the target in force.
#pragma once

#include <vector>

#include "prenorm/types.h"
#include "tools/common/norm_corpus.h"
#include "tools/norms_oracle.h"

namespace prenorm::tools {

/// Factors of a row's columns, in both types.
struct Gains {
  explicit Gains(size_t cols)
      : gain(CorpusGain(cols)), bias(CorpusBias(cols)), gain16(Narrowed<bf16>(gain)), bias16(Narrowed<bf16>(bias)) {}

  std::vector<float> gain, bias;
  std::vector<bf16> gain16, bias16;
};

/// What is right for one row and eps.
struct RowOracle {
  template <typename T>
  RowOracle(const std::vector<T>& x, float eps)
      : values(Widened(x)),
        rms(ExactRmsNorm(values, eps, EpsPlacement::kInsideRoot)),
        rms_outside(ExactRmsNorm(values, eps, EpsPlacement::kOutsideRoot)),
        layer(ExactLayerNorm(values, eps)) {}

  Exact values, rms, rms_outside, layer;
};

void RunRowNorms(const std::vector<float>& x, float eps, const RowOracle& oracle, const Gains& gains, Cases& cases);
void RunRowNorms(const std::vector<bf16>& x, float eps, const RowOracle& oracle, const Gains& gains, Cases& cases);

/// Softmax and log-sum-exp.
void RunSoftmax(const std::vector<float>& x, Cases& cases);

/// GroupNorm, InstanceNorm and BatchNorm of a feature map that holds the row, in both channel orders.
void RunMapNorms(const std::vector<float>& x, float eps, const RowOracle& oracle, const Gains& gains, Cases& cases);
void RunMapNorms(const std::vector<bf16>& x, float eps, const RowOracle& oracle, const Gains& gains, Cases& cases);

}  // namespace prenorm::tools
