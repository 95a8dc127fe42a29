// PyTorch as a peer, through its C++ operators (ATen): what eager mode runs, without the interpreter on top.
#include "tools/norm_bench/norm_peer.h"

#include <functional>
#include <string>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/version.h>

namespace {

struct Prepared {
  int threads;
  std::function<void()> run;
};

}  // namespace

const char* prenorm_peer_describe(void) {
  static const std::string text = std::string("torch ") + TORCH_VERSION;
  return text.c_str();
}

void* prenorm_peer_prepare(const prenorm_peer_case* which, int* computed) {
  const prenorm_peer_case c = *which;
  *computed = c.op;
  const auto wrap = [](const void* p, at::IntArrayRef shape, at::ScalarType type) {
    return at::from_blob(const_cast<void*>(p), shape, at::TensorOptions().dtype(type));
  };
  const at::ScalarType type = c.bf16 != 0 ? at::kBFloat16 : at::kFloat;
  const auto rows = static_cast<int64_t>(c.rows);
  const auto cols = static_cast<int64_t>(c.cols);
  const auto channels = static_cast<int64_t>(c.channels);
  const auto space = static_cast<int64_t>(c.space);
  std::vector<int64_t> shape = {rows, cols};
  if (channels != 0) shape = {rows, channels, space};
  const at::Tensor x = wrap(c.x, shape, type);
  const at::Tensor out = wrap(c.out, shape, type);
  const at::Tensor gain = wrap(c.gain, {channels == 0 ? cols : channels}, at::kFloat);
  const at::Tensor bias = wrap(c.bias, {channels == 0 ? cols : channels}, at::kFloat);
  const double eps = static_cast<double>(c.eps);
  auto* prepared = new Prepared{static_cast<int>(c.threads), nullptr};
  // The first call leaves its result in `out` to be compared; a later one drops it, as torch allocates results itself.
  const auto keep = [out](const at::Tensor& result, bool* first) {
    if (*first) at::Tensor(out).copy_(result);
    *first = false;
  };
  switch (c.op) {
    case PRENORM_PEER_RMS_NORM:
      if (c.bf16 != 0) break;
      prepared->run = [=, first = true]() mutable { keep(at::rms_norm(x, {cols}, gain, eps), &first); };
      break;
    case PRENORM_PEER_LAYER_NORM:
      if (c.bf16 != 0) break;
      prepared->run = [=, first = true]() mutable {
        keep(std::get<0>(at::native_layer_norm(x, {cols}, gain, bias, eps)), &first);
      };
      break;
    case PRENORM_PEER_RESIDUAL_RMS_NORM: {
      if (c.bf16 != 0) break;
      const at::Tensor f = wrap(c.f, shape, type);
      prepared->run = [=, first = true]() mutable { keep(at::rms_norm(at::add(x, f), {cols}, gain, eps), &first); };
      break;
    }
    case PRENORM_PEER_GROUP_NORM: {
      const auto groups = static_cast<int64_t>(c.groups);
      prepared->run = [=, first = true]() mutable {
        keep(std::get<0>(at::native_group_norm(x, gain, bias, rows, channels, space, groups, eps)), &first);
      };
      break;
    }
    case PRENORM_PEER_BATCH_NORM_TRAIN: {
      const at::Tensor mean = wrap(c.running_mean, {channels}, at::kFloat);
      const at::Tensor variance = wrap(c.running_variance, {channels}, at::kFloat);
      prepared->run = [=, first = true]() mutable {
        keep(std::get<0>(at::native_batch_norm(x, gain, bias, mean, variance, true, 0.1, eps)), &first);
      };
      break;
    }
    case PRENORM_PEER_RMS_NORM_BACKWARD:
    case PRENORM_PEER_LAYER_NORM_BACKWARD: {
      *computed = PRENORM_PEER_LAYER_NORM_BACKWARD;
      const at::Tensor dy = wrap(c.f, shape, type);
      // Mean and reciprocal deviation come from the forward pass, which Prenorm computes again instead.
      const auto forward = at::native_layer_norm(x, {cols}, gain, bias, eps);
      const at::Tensor mean = std::get<1>(forward);
      const at::Tensor inv_stddev = std::get<2>(forward);
      prepared->run = [=, first = true]() mutable {
        const auto gradients =
            at::native_layer_norm_backward(dy, x, {cols}, mean, inv_stddev, gain, bias, {true, true, true});
        keep(std::get<0>(gradients), &first);
      };
      break;
    }
    default:
      break;
  }
  if (prepared->run == nullptr) {
    delete prepared;
    return nullptr;
  }
  return prepared;
}

void prenorm_peer_run(void* p, size_t times) {
  const at::InferenceMode no_gradients;
  Prepared* prepared = static_cast<Prepared*>(p);
  at::set_num_threads(prepared->threads);
  for (size_t i = 0; i < times; ++i) prepared->run();
}

void prenorm_peer_release(void* p) { delete static_cast<Prepared*>(p); }
