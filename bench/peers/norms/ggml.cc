// ggml as a peer: its own graph of norm and gain on its CPU threads.
//
// A graph call sets up threads, which a whole model pays once a token. So many calls become one graph of as many
// nodes, as they would be in a model; a single call is timed with its set-up.
#include "tools/norm_bench/norm_peer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ggml-cpu.h"
#include "ggml.h"

namespace {

constexpr size_t kNodesPerGraph = 64;

struct Prepared {
  explicit Prepared(const prenorm_peer_case& which) : c(which) {
    single = Build(1, &single_graph);
    many = Build(kNodesPerGraph, &many_graph);
  }
  ~Prepared() {
    ggml_free(single);
    ggml_free(many);
  }

  ggml_context* Build(size_t times, ggml_cgraph** graph) {
    ggml_context* context =
        ggml_init({64 * ggml_tensor_overhead() * kNodesPerGraph + (size_t{8} << 20), nullptr, true});
    const auto matrix = [&](const void* p) {
      ggml_tensor* t =
          ggml_new_tensor_2d(context, GGML_TYPE_F32, static_cast<int64_t>(c.cols), static_cast<int64_t>(c.rows));
      t->data = const_cast<void*>(p);
      return t;
    };
    ggml_tensor* x = matrix(c.x);
    ggml_tensor* gain = ggml_new_tensor_1d(context, GGML_TYPE_F32, static_cast<int64_t>(c.cols));
    gain->data = const_cast<float*>(c.gain);
    *graph = ggml_new_graph_custom(context, 8 * kNodesPerGraph, false);
    for (size_t i = 0; i < times; ++i) {
      ggml_tensor* in = x;
      if (c.op == PRENORM_PEER_RESIDUAL_RMS_NORM) {
        in = ggml_add(context, x, matrix(c.f));
        in->data = c.sum;
        ggml_build_forward_expand(*graph, in);
      }
      ggml_tensor* norm =
          c.op == PRENORM_PEER_LAYER_NORM ? ggml_norm(context, in, c.eps) : ggml_rms_norm(context, in, c.eps);
      norm->data = c.out;
      ggml_tensor* scaled = ggml_mul(context, norm, gain);
      scaled->data = c.out;
      ggml_build_forward_expand(*graph, scaled);
    }
    return context;
  }

  void Compute(ggml_cgraph* graph) {
    ggml_cplan plan = ggml_graph_plan(graph, static_cast<int>(c.threads), nullptr);
    work.resize(std::max(work.size(), plan.work_size));
    plan.work_data = work.data();
    ggml_graph_compute(graph, &plan);
  }

  prenorm_peer_case c;
  ggml_context* single;
  ggml_context* many;
  ggml_cgraph* single_graph = nullptr;
  ggml_cgraph* many_graph = nullptr;
  std::vector<uint8_t> work;
};

}  // namespace

const char* prenorm_peer_describe(void) {
  static const std::string text = std::string("ggml ") + ggml_version();
  return text.c_str();
}

void* prenorm_peer_prepare(const prenorm_peer_case* c, int* computed) {
  if (c->bf16 != 0 || c->channels != 0) return nullptr;
  *computed = c->op;
  switch (c->op) {
    case PRENORM_PEER_RMS_NORM:
    case PRENORM_PEER_LAYER_NORM:
    case PRENORM_PEER_RESIDUAL_RMS_NORM:
      break;
    default:
      return nullptr;
  }
  ggml_cpu_init();
  return new Prepared(*c);
}

void prenorm_peer_run(void* p, size_t times) {
  Prepared* prepared = static_cast<Prepared*>(p);
  for (; times >= kNodesPerGraph; times -= kNodesPerGraph) prepared->Compute(prepared->many_graph);
  for (; times != 0; --times) prepared->Compute(prepared->single_graph);
}

void prenorm_peer_release(void* p) { delete static_cast<Prepared*>(p); }
