// A session: checks what comes in, cuts prompts into chunks, keeps the position.
#include "prenorm/session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/model/forward.h"
#include "runtime/model/kv_cache.h"
#include "runtime/model/parts.h"
#include "runtime/model/step_buffers.h"
#include "runtime/parallel/team.h"

namespace prenorm {
namespace {

constexpr size_t kDefaultContext = 8192;  // Tokens; the cache's pages cost nothing until they are used.
constexpr size_t kMaxChunk = 1u << 16;
constexpr int kMaxThreads = 1024;

Status CheckOptions(const SessionOptions& options, const ModelConfig& config) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return {StatusCode::kInvalidArgument, "threads: expected 0 to " + std::to_string(kMaxThreads) + ", found " +
                                              std::to_string(options.threads)};
  }
  if (options.chunk == 0 || options.chunk > kMaxChunk) {
    return {StatusCode::kInvalidArgument, "chunk: expected 1 to " + std::to_string(kMaxChunk) + " tokens, found " +
                                              std::to_string(options.chunk)};
  }
  if (options.context > config.max_seq_len) {
    return {StatusCode::kInvalidArgument, "context: the model was made for at most " +
                                              std::to_string(config.max_seq_len) + " tokens, asked for " +
                                              std::to_string(options.context)};
  }
  return {};
}

DType CacheType(SessionOptions::Cache cache, const Model& model) {
  switch (cache) {
    case SessionOptions::Cache::kF32: return DType::kF32;
    case SessionOptions::Cache::kF16: return DType::kF16;
    case SessionOptions::Cache::kBF16: return DType::kBF16;
    case SessionOptions::Cache::kAuto: break;
  }
  return model.quantization() == InfoOf(DType::kF32).name ? DType::kF32 : DType::kF16;
}

}  // namespace

struct Session::Impl {
  Impl(std::shared_ptr<const Model> shared_model, int threads) : model(std::move(shared_model)), team(threads) {}

  Status Check(std::span<const TokenId> tokens) const;
  Status EvalChunks(std::span<const TokenId> tokens, float* all_logits);

  std::shared_ptr<const Model> model;
  Team team;
  KvCache cache;
  StepBuffers buffers;
  size_t chunk = 0;
  size_t position = 0;
  bool has_logits = false;
  const std::atomic<bool>* cancel = nullptr;
  OpObserver* observer = nullptr;
  StepTap* tap = nullptr;
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
};

Result<std::unique_ptr<Session>> Session::Create(std::shared_ptr<const Model> model, const SessionOptions& options) {
  if (model == nullptr) return Status(StatusCode::kInvalidArgument, "a session needs a model");
  const ModelConfig& config = model->config();
  if (Status status = CheckOptions(options, config); !status.ok()) return status;
  const size_t capacity = options.context != 0 ? options.context : std::min(config.max_seq_len, kDefaultContext);

  const int threads = options.threads != 0 ? options.threads : DefaultThreads().threads;
  auto impl = std::make_unique<Impl>(model, threads);
  impl->chunk = std::min(options.chunk, capacity);
  Result<KvCache> cache = KvCache::Create(config, CacheType(options.cache, *model), capacity);
  if (!cache.ok()) return cache.status();
  impl->cache = std::move(cache).value();
  Result<StepBuffers> buffers = StepBuffers::Create(config, model->parts().block, impl->chunk, capacity, threads);
  if (!buffers.ok()) return buffers.status();
  impl->buffers = std::move(buffers).value();
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Status Session::Impl::Check(std::span<const TokenId> tokens) const {
  if (tokens.size() > cache.capacity() - position) {
    return {StatusCode::kContextFull, std::to_string(tokens.size()) + " tokens after " + std::to_string(position) +
                                          " do not fit in a context of " + std::to_string(cache.capacity()) +
                                          " tokens\nuse a larger context or fewer tokens"};
  }
  const size_t rows = model->config().vocab_size;
  for (const TokenId id : tokens) {
    if (id < 0 || static_cast<size_t>(id) >= rows) {
      return {StatusCode::kInvalidArgument,
              "token id " + std::to_string(id) + ": expected 0 to " + std::to_string(rows - 1)};
    }
  }
  return {};
}

Status Session::Impl::EvalChunks(std::span<const TokenId> tokens, float* all_logits) {
  for (size_t done = 0; done < tokens.size();) {
    Step step;
    step.tokens = tokens.subspan(done, std::min(chunk, tokens.size() - done));
    step.position = position + done;
    step.wants_logits = done + step.tokens.size() == tokens.size();
    step.all_logits = all_logits == nullptr ? nullptr : all_logits + done * model->config().vocab_size;
    step.cancel = cancel;
    step.observer = observer;
    step.tap = tap;
    if (!RunStep(model->parts(), step, buffers, cache, team)) {
      return {StatusCode::kCancelled, "evaluation was cancelled"};
    }
    done += step.tokens.size();
  }
  position += tokens.size();
  has_logits = has_logits || !tokens.empty();
  return {};
}

Status Session::Eval(std::span<const TokenId> tokens, float* all_logits) {
  if (impl_->busy.test_and_set(std::memory_order_acquire)) {
    return {StatusCode::kBusy, "the session is in use by another thread"};
  }
  Status status = impl_->Check(tokens);
  if (status.ok()) status = impl_->EvalChunks(tokens, all_logits);
  impl_->busy.clear(std::memory_order_release);
  return status;
}

Status Session::Rewind(size_t position) {
  if (position > impl_->position) {
    return {StatusCode::kInvalidArgument, "cannot rewind to position " + std::to_string(position) + ": the session has " +
                                              std::to_string(impl_->position) + " tokens"};
  }
  impl_->position = position;
  return {};
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

std::span<const float> Session::logits() const {
  if (!impl_->has_logits) return {};
  return {impl_->buffers.logits, impl_->model->config().vocab_size};
}
size_t Session::position() const { return impl_->position; }
size_t Session::capacity() const { return impl_->cache.capacity(); }
void Session::set_cancel_flag(const std::atomic<bool>* flag) { impl_->cancel = flag; }
void Session::set_observer(OpObserver* observer) { impl_->observer = observer; }
void Session::set_tap(StepTap* tap) { impl_->tap = tap; }
const Model& Session::model() const { return *impl_->model; }
int Session::threads() const { return impl_->team.threads(); }
DType Session::cache_type() const { return impl_->cache.type(); }
size_t Session::memory_bytes() const { return impl_->cache.bytes() + impl_->buffers.bytes(); }

}  // namespace prenorm
