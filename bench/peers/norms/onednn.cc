// oneDNN as a peer of the norms. Its 3.2 has neither RMSNorm nor GroupNorm: LayerNorm stands in for the one.
#include "tools/norm_bench/norm_peer.h"

#include <omp.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"

namespace {

using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

struct Prepared {
  int threads = 1;
  dnnl::stream stream;
  std::vector<std::pair<dnnl::primitive, Arguments>> steps;
};

dnnl::engine& Engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory Wrap(const memory::desc& desc, const void* p) { return memory(desc, Engine(), const_cast<void*>(p)); }

class Builder {
 public:
  explicit Builder(const prenorm_peer_case& c)
      : c_(c),
        type_(c.bf16 != 0 ? memory::data_type::bf16 : memory::data_type::f32),
        rows_({static_cast<memory::dim>(c.rows), static_cast<memory::dim>(c.cols)}, type_, memory::format_tag::ab),
        affine_({static_cast<memory::dim>(c.channels == 0 ? c.cols : c.channels)}, memory::data_type::f32,
                memory::format_tag::a) {}

  void Layer(const void* x, Prepared* to) const {
    const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
    const dnnl::layer_normalization_forward::primitive_desc desc(Engine(), dnnl::prop_kind::forward_inference, rows_,
                                                                 rows_, c_.eps, flags);
    to->steps.push_back({dnnl::layer_normalization_forward(desc),
                         {{DNNL_ARG_SRC, Wrap(rows_, x)},
                          {DNNL_ARG_DST, Wrap(rows_, c_.out)},
                          {DNNL_ARG_SCALE, Wrap(affine_, c_.gain)},
                          {DNNL_ARG_SHIFT, Wrap(affine_, c_.bias)}}});
  }

  void Add(Prepared* to) const {
    const dnnl::binary::primitive_desc desc(Engine(), dnnl::algorithm::binary_add, rows_, rows_, rows_);
    to->steps.push_back({dnnl::binary(desc),
                         {{DNNL_ARG_SRC_0, Wrap(rows_, c_.x)},
                          {DNNL_ARG_SRC_1, Wrap(rows_, c_.f)},
                          {DNNL_ARG_DST, Wrap(rows_, c_.sum)}}});
  }

  void BatchTrain(Prepared* to) const {
    const memory::desc map({static_cast<memory::dim>(c_.rows), static_cast<memory::dim>(c_.channels), 1,
                            static_cast<memory::dim>(c_.space)},
                           type_, memory::format_tag::nchw);
    const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
    const dnnl::batch_normalization_forward::primitive_desc desc(Engine(), dnnl::prop_kind::forward_training, map, map,
                                                                 c_.eps, flags);
    to->steps.push_back({dnnl::batch_normalization_forward(desc),
                         {{DNNL_ARG_SRC, Wrap(map, c_.x)},
                          {DNNL_ARG_DST, Wrap(map, c_.out)},
                          {DNNL_ARG_SCALE, Wrap(affine_, c_.gain)},
                          {DNNL_ARG_SHIFT, Wrap(affine_, c_.bias)},
                          {DNNL_ARG_MEAN, Wrap(affine_, c_.dgain)},
                          {DNNL_ARG_VARIANCE, Wrap(affine_, c_.dbias)}}});
  }

 private:
  const prenorm_peer_case& c_;
  memory::data_type type_;
  memory::desc rows_, affine_;
};

}  // namespace

const char* prenorm_peer_describe(void) {
  static const std::string text = [] {
    const dnnl_version_t* v = dnnl_version();
    return "onednn " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  }();
  return text.c_str();
}

void* prenorm_peer_prepare(const prenorm_peer_case* c, int* computed) {
  try {
    auto prepared = std::make_unique<Prepared>();
    prepared->threads = static_cast<int>(c->threads);
    prepared->stream = dnnl::stream(Engine());
    omp_set_num_threads(prepared->threads);  // Its kernels are made for the number of threads.
    const Builder builder(*c);
    *computed = c->op;
    switch (c->op) {
      case PRENORM_PEER_RMS_NORM:
      case PRENORM_PEER_LAYER_NORM:
        *computed = PRENORM_PEER_LAYER_NORM;
        builder.Layer(c->x, prepared.get());
        break;
      case PRENORM_PEER_RESIDUAL_RMS_NORM:
        *computed = PRENORM_PEER_RESIDUAL_LAYER_NORM;
        builder.Add(prepared.get());
        builder.Layer(c->sum, prepared.get());
        break;
      case PRENORM_PEER_BATCH_NORM_TRAIN:
        builder.BatchTrain(prepared.get());
        break;
      default:
        return nullptr;
    }
    return prepared.release();
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

void prenorm_peer_run(void* p, size_t times) {
  Prepared* prepared = static_cast<Prepared*>(p);
  omp_set_num_threads(prepared->threads);
  for (size_t i = 0; i < times; ++i) {
    for (auto& [primitive, arguments] : prepared->steps) primitive.execute(prepared->stream, arguments);
    prepared->stream.wait();
  }
}

void prenorm_peer_release(void* p) { delete static_cast<Prepared*>(p); }
