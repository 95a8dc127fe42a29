// Loads oneDNN, keeps a primitive for each shape and thread.
//
// Measured with one thread of a Sapphire Rapids for [512, 576] x [576, 1536]: bf16 by AMX 500 Gop/s, so 250 with both
// planes; oneDNN in f32 31, our own panels in f32 about 70. So F32 and F16 weights, and machines without AMX, keep our
// own.
#include "runtime/model/onednn_product.h"

#include <atomic>
#include <bit>
#include <string_view>

#include "prenorm/target.h"

#ifdef PRENORM_HAVE_ONEDNN
#include <dlfcn.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <tuple>
#endif

namespace prenorm {
namespace {
std::atomic<uint64_t> products{0};
}  // namespace

uint64_t OneDnnProducts() { return products.load(std::memory_order_relaxed); }

void SplitBf16(const float* x, size_t cols, size_t begin, size_t end, size_t n, bf16* planes) {
  for (size_t i = begin * cols; i < end * cols; ++i) {
    const auto bits = std::bit_cast<uint32_t>(x[i]);
    // Cut, not rounded: the rest then has the sign of x and the next eight bits, and Inf stays Inf.
    const uint32_t high = bits & 0xFFFF0000u;
    const float rest = x[i] - std::bit_cast<float>(high);
    planes[i].bits = static_cast<uint16_t>(high >> 16);
    planes[n * cols + i].bits = static_cast<uint16_t>((std::bit_cast<uint32_t>(rest) + 0x8000u) >> 16);
  }
}

#ifdef PRENORM_HAVE_ONEDNN

namespace {

// The functions in use, found by name in the library.
struct Api {
#define PRENORM_ONEDNN_FUNCTIONS(F)                                                                                  \
  F(version)                                                                                                         \
  F(engine_create)                                                                                                   \
  F(stream_create) F(stream_wait) F(memory_desc_create_with_strides) F(memory_desc_destroy) F(primitive_attr_create) \
      F(primitive_attr_destroy) F(primitive_attr_set_post_ops) F(post_ops_create) F(post_ops_destroy)                \
          F(post_ops_append_sum) F(matmul_primitive_desc_create) F(primitive_desc_query) F(primitive_desc_destroy)   \
              F(primitive_create) F(primitive_execute) F(memory_create) F(memory_set_data_handle)
#define PRENORM_MEMBER(name) decltype(&dnnl_##name) name = nullptr;
  PRENORM_ONEDNN_FUNCTIONS(PRENORM_MEMBER)
#undef PRENORM_MEMBER
  dnnl_engine_t engine = nullptr;

  bool Load(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);  // Never closed: its threads' memory lives as long as they.
    if (library == nullptr) return false;
    bool complete = true;
#define PRENORM_FIND(name)                                                \
  name = reinterpret_cast<decltype(name)>(dlsym(library, "dnnl_" #name)); \
  complete = complete && name != nullptr;
    PRENORM_ONEDNN_FUNCTIONS(PRENORM_FIND)
#undef PRENORM_FIND
    if (!complete) return false;
    const dnnl_version_t* found = version();
    return found->major == DNNL_VERSION_MAJOR && found->cpu_runtime == DNNL_RUNTIME_OMP &&
           engine_create(&engine, dnnl_cpu, 0) == dnnl_success;
  }
};

const Api* LoadedApi() {
  static const Api* const api = []() -> const Api* {
    auto loaded = std::make_unique<Api>();
    const char* named = std::getenv("PRENORM_ONEDNN_LIBRARY");
    if (named != nullptr) return loaded->Load(named) ? loaded.release() : nullptr;
    return loaded->Load(PRENORM_ONEDNN_FILE) || loaded->Load("libdnnl.so.3") ? loaded.release() : nullptr;
  }();
  return api;
}

// oneDNN asks OpenMP how many threads there are: each of ours is to work alone.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

using Shape = std::tuple<size_t, size_t, size_t, size_t, bool>;  // tokens, rows, cols, out_stride, accumulate

// One shape's primitive and the memory objects that it is called with. Objects of a thread live as long as the process.
struct Primitive {
  dnnl_primitive_t primitive = nullptr;
  dnnl_memory_t source = nullptr, weights = nullptr, target = nullptr;
  bool uses_tiles = false;

  bool Create(const Api& api, const Shape& shape) {
    const auto [n, rows, cols, out_stride, accumulate] = shape;
    const auto extent = [](size_t value) { return static_cast<dnnl_dim_t>(value); };
    const dnnl_dims_t x_dims = {extent(n), extent(cols)}, w_dims = {extent(cols), extent(rows)};
    const dnnl_dims_t out_dims = {extent(n), extent(rows)};
    const dnnl_dims_t x_strides = {extent(cols), 1}, w_strides = {1, extent(cols)},
                      out_strides = {extent(out_stride), 1};
    dnnl_memory_desc_t x = nullptr, w = nullptr, out = nullptr;
    dnnl_post_ops_t sum = nullptr;
    dnnl_primitive_attr_t attributes = nullptr;
    dnnl_primitive_desc_t description = nullptr;
    const char* implementation = "";
    const bool fine =
        api.memory_desc_create_with_strides(&x, 2, x_dims, dnnl_bf16, x_strides) == dnnl_success &&
        api.memory_desc_create_with_strides(&w, 2, w_dims, dnnl_bf16, w_strides) == dnnl_success &&
        api.memory_desc_create_with_strides(&out, 2, out_dims, dnnl_f32, out_strides) == dnnl_success &&
        api.primitive_attr_create(&attributes) == dnnl_success && api.post_ops_create(&sum) == dnnl_success &&
        (!accumulate || api.post_ops_append_sum(sum, 1.0f, 0, dnnl_data_type_undef) == dnnl_success) &&
        api.primitive_attr_set_post_ops(attributes, sum) == dnnl_success &&
        api.matmul_primitive_desc_create(&description, api.engine, x, w, nullptr, out, attributes) == dnnl_success &&
        api.primitive_desc_query(description, dnnl_query_impl_info_str, 0, &implementation) == dnnl_success &&
        api.primitive_create(&primitive, description) == dnnl_success &&
        api.memory_create(&source, x, api.engine, DNNL_MEMORY_NONE) == dnnl_success &&
        api.memory_create(&weights, w, api.engine, DNNL_MEMORY_NONE) == dnnl_success &&
        api.memory_create(&target, out, api.engine, DNNL_MEMORY_NONE) == dnnl_success;
    uses_tiles = fine && std::string_view(implementation).find("amx") != std::string_view::npos;
    if (description != nullptr) api.primitive_desc_destroy(description);
    if (sum != nullptr) api.post_ops_destroy(sum);
    if (attributes != nullptr) api.primitive_attr_destroy(attributes);
    for (dnnl_memory_desc_t each : {x, w, out}) {
      if (each != nullptr) api.memory_desc_destroy(each);
    }
    return fine;
  }
};

// What a thread keeps.
struct Cache {
  dnnl_stream_t stream = nullptr;
  std::map<Shape, Primitive> primitives;

  Primitive* Find(const Api& api, const Shape& shape) {
    if (stream == nullptr && api.stream_create(&stream, api.engine, dnnl_stream_default_flags) != dnnl_success)
      return nullptr;
    const auto [place, inserted] = primitives.try_emplace(shape);
    if (inserted && !place->second.Create(api, shape)) {
      primitives.erase(place);
      return nullptr;
    }
    return &place->second;
  }
};

Cache& CacheOfThread() {
  thread_local Cache cache;
  return cache;
}

bool Execute(const Api& api, const Primitive& primitive, const bf16* x, const bf16* w, float* out) {
  // The handles are not const in oneDNN's interface; inputs are only read.
  api.memory_set_data_handle(primitive.source, const_cast<bf16*>(x));
  api.memory_set_data_handle(primitive.weights, const_cast<bf16*>(w));
  api.memory_set_data_handle(primitive.target, out);
  const dnnl_exec_arg_t arguments[] = {
      {DNNL_ARG_SRC, primitive.source}, {DNNL_ARG_WEIGHTS, primitive.weights}, {DNNL_ARG_DST, primitive.target}};
  return api.primitive_execute(primitive.primitive, CacheOfThread().stream, 3, arguments) == dnnl_success &&
         api.stream_wait(CacheOfThread().stream) == dnnl_success;
}

}  // namespace

bool OneDnnServes() {
  // Other targets have no tiles, and whoever forces one wants its arithmetic.
  if (std::string_view(ActiveTarget()) != "AVX3_SPR") return false;
  static const bool serves = [] {
    const Api* api = LoadedApi();
    if (api == nullptr) return false;
    const OneThread alone;
    const Primitive* trial = CacheOfThread().Find(*api, {kOneDnnTokens, 64, 64, 64, false});
    return trial != nullptr && trial->uses_tiles;
  }();
  return serves;
}

bool OneDnnMatMul(const WeightMatrix& w, Range rows, const bf16* planes, size_t n, float* out, size_t out_stride,
                  bool accumulate) {
  const Api& api = *LoadedApi();
  const OneThread alone;
  // All before any runs: what can fail for want of memory has failed before anything is written.
  const auto find = [&](size_t count, bool adds) {
    return count == 0 ? nullptr : CacheOfThread().Find(api, {n, count, w.cols, out_stride, adds});
  };
  const size_t rest = rows.size() % kOneDnnRows;
  const bool whole = rows.size() >= kOneDnnRows;
  const Primitive* high = find(whole ? kOneDnnRows : 0, accumulate);
  const Primitive* low = find(whole ? kOneDnnRows : 0, true);
  const Primitive* last_high = find(rest, accumulate);
  const Primitive* last_low = find(rest, true);
  if (whole && (high == nullptr || low == nullptr)) return false;
  if (rest != 0 && (last_high == nullptr || last_low == nullptr)) return false;
  for (size_t row = rows.begin; row < rows.end; row += kOneDnnRows) {
    const bool last = rows.end - row < kOneDnnRows;
    const bf16* weights = static_cast<const bf16*>(w.data) + row * w.cols;
    if (!Execute(api, last ? *last_high : *high, planes, weights, out + row)) return false;
    if (!Execute(api, last ? *last_low : *low, planes + n * w.cols, weights, out + row)) return false;
  }
  products.fetch_add(1, std::memory_order_relaxed);
  return true;
}

#else

bool OneDnnServes() { return false; }
bool OneDnnMatMul(const WeightMatrix&, Range, const bf16*, size_t, float*, size_t, bool) { return false; }

#endif

}  // namespace prenorm
