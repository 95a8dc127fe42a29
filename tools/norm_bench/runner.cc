// Prenorm and its peers behind one call.
#include "tools/norm_bench/runner.h"

#include <dlfcn.h>

#include <utility>

#include "prenorm/norm_backward.h"
#include "prenorm/norm_channels.h"
#include "prenorm/norm_parallel.h"
#include "tools/norm_bench/control.h"

namespace prenorm::tools {
namespace {

template <typename T>
void RunRows(const prenorm_peer_case& c) {
  const T* x = static_cast<const T*>(c.x);
  T* out = static_cast<T*>(c.out);
  RmsNormOptions rms;
  rms.eps = c.eps;
  LayerNormOptions layer;
  layer.eps = c.eps;
  ChannelShape shape;
  shape.samples = c.rows, shape.channels = c.channels, shape.space = c.space;
  BatchNormTrainOptions train;
  train.eps = c.eps;
  switch (c.op) {
    case PRENORM_PEER_RMS_NORM:
      return ParallelRmsNorm(x, c.cols, c.gain, out, c.cols, c.rows, c.cols, rms, c.threads);
    case PRENORM_PEER_LAYER_NORM:
      return ParallelLayerNorm(x, c.cols, c.gain, c.bias, out, c.cols, c.rows, c.cols, layer, c.threads);
    case PRENORM_PEER_RESIDUAL_RMS_NORM:
      return ParallelResidualRmsNorm(x, c.cols, static_cast<const T*>(c.f), c.cols, static_cast<T*>(c.sum), c.cols,
                                     c.gain, out, c.cols, c.rows, c.cols, Residual{}, rms, c.threads);
    case PRENORM_PEER_RESIDUAL_LAYER_NORM:
      return ParallelResidualLayerNorm(x, c.cols, static_cast<const T*>(c.f), c.cols, static_cast<T*>(c.sum), c.cols,
                                       c.gain, c.bias, out, c.cols, c.rows, c.cols, Residual{}, layer, c.threads);
    case PRENORM_PEER_GROUP_NORM:
      return ParallelGroupNorm(x, c.cols, c.gain, c.bias, out, c.cols, shape, c.groups, layer, c.threads);
    case PRENORM_PEER_BATCH_NORM_TRAIN:
      return ParallelBatchNormTrain(x, c.cols, c.gain, c.bias, out, c.cols, shape, c.running_mean, c.running_variance,
                                    train, c.threads);
    default:
      return;
  }
}

void RunBackward(const prenorm_peer_case& c, double* workspace) {
  const float* x = static_cast<const float*>(c.x);
  const float* dy = static_cast<const float*>(c.f);
  float* dx = static_cast<float*>(c.out);
  if (c.op == PRENORM_PEER_RMS_NORM_BACKWARD) {
    RmsNormBackward(x, c.cols, dy, c.cols, c.gain, dx, c.cols, c.dgain, c.rows, c.cols, c.eps, workspace, c.threads);
  } else {
    LayerNormBackward(x, c.cols, dy, c.cols, c.gain, dx, c.cols, c.dgain, c.dbias, c.rows, c.cols, c.eps, workspace,
                      c.threads);
  }
}

}  // namespace

Runner OwnRunner(const prenorm_peer_case& view) {
  const auto op = static_cast<prenorm_peer_op>(view.op);
  if (op == PRENORM_PEER_RMS_NORM_BACKWARD || op == PRENORM_PEER_LAYER_NORM_BACKWARD) {
    auto workspace = std::make_shared<std::vector<double>>(BackwardWorkspaceSize(view.rows, view.cols));
    return {"prenorm",
            [view, workspace](size_t times) {
              for (size_t i = 0; i < times; ++i) RunBackward(view, workspace->data());
            },
            op};
  }
  return {"prenorm",
          [view](size_t times) {
            for (size_t i = 0; i < times; ++i) view.bf16 != 0 ? RunRows<bf16>(view) : RunRows<float>(view);
          },
          op};
}

std::vector<Runner> CopyRunners(const prenorm_peer_case& view, size_t necessary_bytes) {
  std::vector<Runner> runners;
  for (const bool streamed : {false, true}) {
    const auto run = [view, necessary_bytes, streamed](size_t times) {
      const size_t operand = view.rows * view.cols * (view.bf16 != 0 ? 2 : 4);
      for (size_t i = 0; i < times; ++i) {
        size_t remaining = necessary_bytes / 2;
        for (size_t k = 0; remaining != 0; ++k) {
          const size_t bytes = remaining < operand ? remaining : operand;
          const bool second = k == 1 && view.sum != nullptr;
          ControlCopy(second ? view.f : view.x, second ? view.sum : view.out, bytes, view.threads, streamed);
          remaining -= bytes;
        }
      }
    };
    runners.push_back({streamed ? "copy, streamed" : "copy", run, static_cast<prenorm_peer_op>(view.op)});
  }
  return runners;
}

Runner LoadsAndStoresRunner(const prenorm_peer_case& view) {
  return {"loads and stores",
          [view](size_t times) {
            const float* x = static_cast<const float*>(view.x);
            float* out = static_cast<float*>(view.out);
            for (size_t i = 0; i < times; ++i) {
              for (size_t r = 0; r < view.rows; ++r) {
                ControlNormRow(x + r * view.cols, view.gain, out + r * view.cols, view.cols);
              }
            }
          },
          static_cast<prenorm_peer_op>(view.op)};
}

Result<NormPeer> NormPeer::Load(const std::string& path) {
  // Never closed: OpenMP threads may live in it.
  void* object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    return Status(StatusCode::kNotFound, "A peer could not be loaded.\n" + path + ": " + dlerror() +
                                             "\nbench/peers/norms/build.sh makes peers.");
  }
  NormPeer peer;
  const auto describe = reinterpret_cast<decltype(&prenorm_peer_describe)>(dlsym(object, "prenorm_peer_describe"));
  peer.prepare_ = reinterpret_cast<decltype(&prenorm_peer_prepare)>(dlsym(object, "prenorm_peer_prepare"));
  peer.run_ = reinterpret_cast<decltype(&prenorm_peer_run)>(dlsym(object, "prenorm_peer_run"));
  peer.release_ = reinterpret_cast<decltype(&prenorm_peer_release)>(dlsym(object, "prenorm_peer_release"));
  if (describe == nullptr || peer.prepare_ == nullptr || peer.run_ == nullptr || peer.release_ == nullptr) {
    return Status(StatusCode::kInvalidArgument, "A file is no peer.\n" + path +
                                                    ": expected the functions of norm_peer.h\n"
                                                    "bench/peers/norms/build.sh makes peers.");
  }
  peer.description_ = describe();
  peer.name_ = peer.description_.substr(0, peer.description_.find(' '));
  return peer;
}

Runner NormPeer::Prepare(const prenorm_peer_case& view) const {
  int computed = view.op;
  void* prepared = prepare_(&view, &computed);
  Runner runner{name_, nullptr, static_cast<prenorm_peer_op>(computed)};
  if (prepared == nullptr) return runner;
  const std::shared_ptr<void> owner(prepared, release_);
  runner.run = [owner, run = run_](size_t times) { run(owner.get(), times); };
  return runner;
}

}  // namespace prenorm::tools
