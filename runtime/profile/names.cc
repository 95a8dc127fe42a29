// Names of operator kinds and sites.
#include "prenorm/profile.h"

namespace prenorm {

const char* OpKindName(OpKind kind) {
  switch (kind) {
    case OpKind::kEmbedding:
      return "embedding";
    case OpKind::kNorm:
      return "norm";
    case OpKind::kMatMul:
      return "matmul";
    case OpKind::kPack:
      return "pack";
    case OpKind::kRope:
      return "rope";
    case OpKind::kAttention:
      return "attention";
    case OpKind::kActivation:
      return "activation";
    case OpKind::kResidual:
      return "residual";
    case OpKind::kBarrier:
      return "barrier";
    case OpKind::kIdle:
      return "idle";
    case OpKind::kCount:
      break;
  }
  return "unknown";
}

const char* OpSiteName(OpSite site) {
  switch (site) {
    case OpSite::kEmbed:
      return "embed";
    case OpSite::kAttnNorm:
      return "attn_norm";
    case OpSite::kQkv:
      return "qkv";
    case OpSite::kQkNorm:
      return "qk_norm";
    case OpSite::kAttention:
      return "attention";
    case OpSite::kAttnOutput:
      return "attn_output";
    case OpSite::kPostAttnNorm:
      return "post_attn_norm";
    case OpSite::kFfnNorm:
      return "ffn_norm";
    case OpSite::kGateUp:
      return "gate_up";
    case OpSite::kDown:
      return "down";
    case OpSite::kPostFfnNorm:
      return "post_ffn_norm";
    case OpSite::kFinalNorm:
      return "final_norm";
    case OpSite::kOutput:
      return "output";
    case OpSite::kEmbdNorm:
      return "embd_norm";
    case OpSite::kStep:
      return "step";
    case OpSite::kCount:
      break;
  }
  return "unknown";
}

}  // namespace prenorm
