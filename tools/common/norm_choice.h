// A norm in place of a model's own, by what it is to be.
#pragma once

#include "prenorm/norm.h"
#include "prenorm/norm_experiment.h"

namespace prenorm::tools {

struct NormChoice {
  bool layer_norm = false;
  bool gain = true;  ///< And bias.
  float eps = 0.0f;
  EpsPlacement placement = EpsPlacement::kInsideRoot;
  Accumulation accumulation = Accumulation::kLanes;  ///< Of RMSNorm.
  VarianceForm variance = VarianceForm::kTwoPass;    ///< Of LayerNorm.
};

/// The model's own choice.
inline NormChoice OwnChoice(const NormCall& call) { return {.layer_norm = call.layer_norm, .eps = call.eps}; }

/// Computes `call` as `choice` says; LayerNorm with eps outside of the root as RMSNorm of the centred row.
void NormalizeAs(const NormCall& call, const NormChoice& choice);

}  // namespace prenorm::tools
