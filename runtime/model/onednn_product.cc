// Loads oneDNN, keeps a primitive for each shape and thread.
//
// Measured with one thread of a Sapphire Rapids, bf16 by AMX, 576 columns: tiles of 128 tokens and 64 rows whose
// result is dense and whose weights were reordered before 870 Gop/s, so 435 with both planes; a result with a
// stride, as out has it, 280 to 480, because oneDNN 3.2 then takes another implementation; weights in the order of
// the file take a half longer. oneDNN in f32 31, our own panels in f32 about 70: F32 and F16 weights, and machines
// without AMX, keep our own.
#include "runtime/model/onednn_product.h"

#include <algorithm>
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
#include <new>
#include <tuple>
#include <utility>
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
// clang-format off
#define PRENORM_ONEDNN_FUNCTIONS(F) \
  F(version) F(engine_create) F(stream_create) F(stream_destroy) F(memory_desc_create_with_strides) \
  F(memory_desc_create_with_tag) F(memory_desc_clone) F(memory_desc_destroy) F(primitive_attr_create) \
  F(primitive_attr_destroy) F(primitive_attr_set_post_ops) F(post_ops_create) F(post_ops_destroy) \
  F(post_ops_append_sum) F(matmul_primitive_desc_create) F(reorder_primitive_desc_create) \
  F(primitive_desc_query) F(primitive_desc_query_md) F(primitive_desc_destroy) F(primitive_create) \
  F(primitive_destroy) F(primitive_execute) F(memory_create) F(memory_destroy) F(memory_set_data_handle)
// clang-format on
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

// Tokens of a tile: its result and the rows of its input stay in the second-level cache.
constexpr size_t kTileTokens = 128;

// Weights of a block of rows, and where they go in the order that the tiles want.
struct Weights {
  dnnl_memory_desc_t layout = nullptr;
  dnnl_memory_t plain = nullptr, ordered = nullptr;
  dnnl_primitive_t reorder = nullptr;
};

// The product of a tile: two of these, the second of which adds, make the sum over both planes.
struct Product {
  dnnl_primitive_t primitive = nullptr;
  dnnl_memory_t source = nullptr, target = nullptr;
  bool uses_tiles = false;
};

void Destroy(const Api& api, const Product& product) {
  if (product.primitive != nullptr) api.primitive_destroy(product.primitive);
  for (dnnl_memory_t each : {product.source, product.target}) {
    if (each != nullptr) api.memory_destroy(each);
  }
}

void Destroy(const Api& api, const Weights& weights) {
  if (weights.reorder != nullptr) api.primitive_destroy(weights.reorder);
  for (dnnl_memory_t each : {weights.plain, weights.ordered}) {
    if (each != nullptr) api.memory_destroy(each);
  }
  if (weights.layout != nullptr) api.memory_desc_destroy(weights.layout);
}

dnnl_dim_t Extent(size_t value) { return static_cast<dnnl_dim_t>(value); }

bool DescribeDense(const Api& api, dnnl_memory_desc_t* out, size_t rows, size_t cols, dnnl_data_type_t type) {
  const dnnl_dims_t dims = {Extent(rows), Extent(cols)}, strides = {Extent(cols), 1};
  return api.memory_desc_create_with_strides(out, 2, dims, type, strides) == dnnl_success;
}

// Creates `product` for weights in `layout`, or in any, which is then what it wants: `wanted`, if given.
bool CreateProduct(const Api& api, size_t tokens, size_t rows, size_t cols, bool adds, dnnl_memory_desc_t layout,
                   Product& product, dnnl_memory_desc_t* wanted) {
  dnnl_memory_desc_t x = nullptr, out = nullptr;
  dnnl_post_ops_t sum = nullptr;
  dnnl_primitive_attr_t attributes = nullptr;
  dnnl_primitive_desc_t description = nullptr;
  const char* implementation = "";
  const bool fine =
      DescribeDense(api, &x, tokens, cols, dnnl_bf16) && DescribeDense(api, &out, tokens, rows, dnnl_f32) &&
      api.primitive_attr_create(&attributes) == dnnl_success && api.post_ops_create(&sum) == dnnl_success &&
      (!adds || api.post_ops_append_sum(sum, 1.0f, 0, dnnl_data_type_undef) == dnnl_success) &&
      api.primitive_attr_set_post_ops(attributes, sum) == dnnl_success &&
      api.matmul_primitive_desc_create(&description, api.engine, x, layout, nullptr, out, attributes) == dnnl_success &&
      api.primitive_desc_query(description, dnnl_query_impl_info_str, 0, &implementation) == dnnl_success &&
      api.primitive_create(&product.primitive, description) == dnnl_success &&
      api.memory_create(&product.source, x, api.engine, DNNL_MEMORY_NONE) == dnnl_success &&
      api.memory_create(&product.target, out, api.engine, DNNL_MEMORY_NONE) == dnnl_success &&
      (wanted == nullptr || api.memory_desc_clone(wanted, api.primitive_desc_query_md(
                                                              description, dnnl_query_weights_md, 0)) == dnnl_success);
  product.uses_tiles = fine && std::string_view(implementation).find("amx") != std::string_view::npos;
  if (description != nullptr) api.primitive_desc_destroy(description);
  if (sum != nullptr) api.post_ops_destroy(sum);
  if (attributes != nullptr) api.primitive_attr_destroy(attributes);
  for (dnnl_memory_desc_t each : {x, out}) {
    if (each != nullptr) api.memory_desc_destroy(each);
  }
  return fine;
}

// Weights [cols, rows] as a product sees them: column r is row r of the file. A whole tile says how it wants them.
bool CreateWeights(const Api& api, size_t rows, size_t cols, Weights& weights) {
  const dnnl_dims_t dims = {Extent(cols), Extent(rows)}, strides = {1, Extent(cols)};
  dnnl_memory_desc_t plain = nullptr, any = nullptr;
  dnnl_primitive_desc_t description = nullptr;
  Product whole;
  const bool fine =
      api.memory_desc_create_with_strides(&plain, 2, dims, dnnl_bf16, strides) == dnnl_success &&
      api.memory_desc_create_with_tag(&any, 2, dims, dnnl_bf16, dnnl_format_tag_any) == dnnl_success &&
      CreateProduct(api, kTileTokens, rows, cols, false, any, whole, &weights.layout) &&
      api.reorder_primitive_desc_create(&description, plain, api.engine, weights.layout, api.engine, nullptr) ==
          dnnl_success &&
      api.primitive_create(&weights.reorder, description) == dnnl_success &&
      api.memory_create(&weights.plain, plain, api.engine, DNNL_MEMORY_NONE) == dnnl_success &&
      api.memory_create(&weights.ordered, weights.layout, api.engine, DNNL_MEMORY_ALLOCATE) == dnnl_success;
  Destroy(api, whole);
  if (description != nullptr) api.primitive_desc_destroy(description);
  for (dnnl_memory_desc_t each : {plain, any}) {
    if (each != nullptr) api.memory_desc_destroy(each);
  }
  return fine;
}

// What a thread keeps while it lives. The functions return null where oneDNN has no memory.
struct Cache {
  Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  ~Cache() {
    if (stream == nullptr) return;
    const Api& api = *LoadedApi();
    for (const auto& [shape, product] : products) Destroy(api, product);
    for (const auto& [shape, each] : weights) Destroy(api, each);
    api.stream_destroy(stream);
  }

  dnnl_stream_t stream = nullptr;
  std::map<std::pair<size_t, size_t>, Weights> weights;                  // rows, cols
  std::map<std::tuple<size_t, size_t, size_t, bool>, Product> products;  // tokens, rows, cols, adds
  alignas(64) float tile[kTileTokens * kOneDnnRows];

  bool HasStream(const Api& api) {
    return stream != nullptr || api.stream_create(&stream, api.engine, dnnl_stream_default_flags) == dnnl_success;
  }
  const Weights* WeightsOf(const Api& api, size_t rows, size_t cols) {
    const auto [place, inserted] = weights.try_emplace({rows, cols});
    if (!inserted || CreateWeights(api, rows, cols, place->second)) return &place->second;
    Destroy(api, place->second);
    weights.erase(place);
    return nullptr;
  }
  const Product* ProductOf(const Api& api, size_t tokens, size_t rows, size_t cols, bool adds) {
    const Weights* with = WeightsOf(api, rows, cols);
    if (with == nullptr) return nullptr;
    const auto [place, inserted] = products.try_emplace({tokens, rows, cols, adds});
    if (!inserted || CreateProduct(api, tokens, rows, cols, adds, with->layout, place->second, nullptr)) {
      return &place->second;
    }
    Destroy(api, place->second);
    products.erase(place);
    return nullptr;
  }
};

Cache& CacheOfThread() {
  thread_local Cache cache;
  return cache;
}

// The handles are not const in oneDNN's interface; inputs are only read.
bool Reorder(const Api& api, const Weights& weights, const bf16* w) {
  api.memory_set_data_handle(weights.plain, const_cast<bf16*>(w));
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, weights.plain}, {DNNL_ARG_TO, weights.ordered}};
  return api.primitive_execute(weights.reorder, CacheOfThread().stream, 2, arguments) == dnnl_success;
}

bool Execute(const Api& api, const Product& product, const Weights& weights, const bf16* x, float* out) {
  api.memory_set_data_handle(product.source, const_cast<bf16*>(x));
  api.memory_set_data_handle(product.target, out);
  const dnnl_exec_arg_t arguments[] = {
      {DNNL_ARG_SRC, product.source}, {DNNL_ARG_WEIGHTS, weights.ordered}, {DNNL_ARG_DST, product.target}};
  return api.primitive_execute(product.primitive, CacheOfThread().stream, 3, arguments) == dnnl_success;
}

void StoreTile(const float* tile, size_t tokens, size_t count, float* out, size_t out_stride, bool accumulate) {
  for (size_t t = 0; t < tokens; ++t, tile += count, out += out_stride) {
    if (accumulate) {
      for (size_t r = 0; r < count; ++r) out[r] += tile[r];
    } else {
      std::copy_n(tile, count, out);
    }
  }
}

}  // namespace

bool OneDnnServes() {
  // Other targets have no tiles, and whoever forces one wants its arithmetic.
  if (std::string_view(ActiveTarget()) != "AVX3_SPR") return false;
  static const bool serves = [] {
    const Api* api = LoadedApi();
    if (api == nullptr) return false;
    const OneThread alone;
    const Product* trial = CacheOfThread().HasStream(*api)
                               ? CacheOfThread().ProductOf(*api, kTileTokens, kOneDnnRows, 64, false)
                               : nullptr;
    return trial != nullptr && trial->uses_tiles;
  }();
  return serves;
}

OneDnnDone OneDnnMatMul(const WeightMatrix& w, Range rows, const bf16* planes, size_t n, float* out, size_t out_stride,
                        bool accumulate) {
  const Api& api = *LoadedApi();
  const OneThread alone;
  Cache& cache = CacheOfThread();
  OneDnnDone done;
  try {
    if (!cache.HasStream(api)) return done;
    for (; done.rows < rows.size(); done = {done.rows + kOneDnnRows, 0}) {
      const size_t row = rows.begin + done.rows, count = std::min(kOneDnnRows, rows.end - row);
      const Weights* weights = cache.WeightsOf(api, count, w.cols);
      if (weights == nullptr || !Reorder(api, *weights, static_cast<const bf16*>(w.data) + row * w.cols)) return done;
      for (; done.tokens < n; done.tokens = std::min(n, done.tokens + kTileTokens)) {
        const size_t tokens = std::min(kTileTokens, n - done.tokens);
        const Product* high = cache.ProductOf(api, tokens, count, w.cols, false);
        const Product* low = cache.ProductOf(api, tokens, count, w.cols, true);
        const bf16* x = planes + done.tokens * w.cols;
        if (high == nullptr || low == nullptr || !Execute(api, *high, *weights, x, cache.tile) ||
            !Execute(api, *low, *weights, x + n * w.cols, cache.tile)) {
          return done;
        }
        StoreTile(cache.tile, tokens, count, out + done.tokens * out_stride + row, out_stride, accumulate);
      }
    }
  } catch (const std::bad_alloc&) {
    return done;
  }
  done = {rows.size(), 0};
  products.fetch_add(1, std::memory_order_relaxed);
  return done;
}

#else

bool OneDnnServes() { return false; }
OneDnnDone OneDnnMatMul(const WeightMatrix&, Range, const bf16*, size_t, float*, size_t, bool) { return {}; }

#endif

}  // namespace prenorm
