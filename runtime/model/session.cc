// A session: checks what comes in, cuts prompts into chunks, keeps the position.
#include "prenorm/session.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "prenorm/output_file.h"
#include "runtime/limits.h"
#include "runtime/loader/mapped_file.h"
#include "runtime/model/busy.h"
#include "runtime/model/checks.h"
#include "runtime/model/forward.h"
#include "runtime/model/kv_cache.h"
#include "runtime/model/onednn_product.h"
#include "runtime/model/op_timer.h"
#include "runtime/model/parts.h"
#include "runtime/model/session_state.h"
#include "runtime/model/step_buffers.h"
#include "runtime/parallel/preemptions.h"
#include "runtime/parallel/team.h"
#include "runtime/parallel/thread_governor.h"

namespace prenorm {
namespace {

constexpr size_t kDefaultContext = 8192;  // Tokens; the cache's pages cost nothing until they are used.
constexpr char kName[] = "the session";   // When it is busy.

Status CheckOptions(const SessionOptions& options, const ModelConfig& config) {
  if (Status status = CheckThreadCount(options.threads); !status.ok()) return status;
  if (Status status = CheckStepSize("chunk", "chunk", options.chunk, SessionOptions{}.chunk); !status.ok()) {
    return status;
  }
  if (options.context > config.max_seq_len) {
    return {StatusCode::kInvalidArgument, "The context is longer than the model can use.\ncontext: expected at most " +
                                              std::to_string(config.max_seq_len) + " tokens, found " +
                                              std::to_string(options.context) + "\nGive a smaller context."};
  }
  if (options.cache == SessionOptions::Cache::kInt8 && config.head_dim % 32 != 0) {
    return {StatusCode::kInvalidArgument,
            "The cache cannot be int8 for this model.\nhead size: expected a multiple of 32, found " +
                std::to_string(config.head_dim) + "\nUse f16."};
  }
  return {};
}

DType CacheType(SessionOptions::Cache cache, const Model& model) {
  switch (cache) {
    case SessionOptions::Cache::kF32:
      return DType::kF32;
    case SessionOptions::Cache::kF16:
      return DType::kF16;
    case SessionOptions::Cache::kBF16:
      return DType::kBF16;
    case SessionOptions::Cache::kInt8:
      return DType::kQ8_0;
    case SessionOptions::Cache::kAuto:
      break;
  }
  return model.quantization() == InfoOf(DType::kF32).name ? DType::kF32 : DType::kF16;
}

Status NoMemory() {
  return Status(StatusCode::kOutOfMemory,
                "there is not enough memory for the session\nwhile one was made or used\n"
                "Give it a smaller context, or close other programs.");
}

// Where oneDNN is to take products of BF16 matrices. It is not loaded for models that have none.
bool SplitsBf16(const SessionOptions& options, const Model& model) {
  return !options.deterministic && options.chunk >= kOneDnnTokens &&
         model.quantization() == InfoOf(DType::kBF16).name && OneDnnServes();
}

}  // namespace

struct Session::Impl {
  Impl(std::shared_ptr<const Model> shared_model, int threads)
      : model(std::move(shared_model)), team(threads), governor(threads) {}

  Status Check(std::span<const TokenId> tokens) const;
  Status EvalChunks(std::span<const TokenId> tokens, float* all_logits);
  Status Restore(std::span<const uint8_t> bytes, std::string_view name);
  size_t position() const { return tokens.size(); }
  void SetLogits(const void* logits) {  // [vocab_size] f32, or null
    has_logits = logits != nullptr;
    if (has_logits) std::memmove(buffers.logits, logits, model->config().vocab_size * sizeof(float));
  }

  std::shared_ptr<const Model> model;
  Team team;
  ThreadGovernor governor;  // Of steps of one token, which cost about the same.
  KvCache cache;
  StepBuffers buffers;
  size_t chunk = 0;
  std::vector<TokenId> tokens;  // Evaluated so far.
  bool deferred_norm = false;
  bool has_logits = false;
  std::array<uint64_t, kTimedTokens + 1> eval_ns{};  // By count of tokens.
  const std::atomic<bool>* cancel = nullptr;
  std::function<bool(float)> progress;
  OpObserver* observer = nullptr;
  StepTap* tap = nullptr;
  const NormExperiment* norms = nullptr;
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
};

Result<std::unique_ptr<Session>> Session::Create(std::shared_ptr<const Model> model,
                                                 const SessionOptions& options) try {
  if (model == nullptr)
    return Status(StatusCode::kInvalidArgument,
                  "a session needs a model\nexpected one that is loaded, found none\nLoad it with Model::Load first.");
  const ModelConfig& config = model->config();
  if (model->is_encoder()) {
    return Status(StatusCode::kUnsupported, "the model is an encoder: it has no next token to compute\narchitecture " +
                                                config.architecture + "\nUse `prenorm embed`, or Encoder.");
  }
  if (Status status = CheckOptions(options, config); !status.ok()) return status;
  size_t usual = std::min(config.max_seq_len, kDefaultContext);
  // A larger one would rotate short texts by the frequencies of long ones, which serve them worse.
  for (const RopeTable& rope : model->parts().block.ropes) {
    if (!rope.long_inv_freq.empty()) usual = std::min(usual, rope.original);
  }
  const size_t capacity = options.context != 0 ? options.context : usual;

  const int threads = options.threads != 0 ? options.threads : DefaultThreads().threads;
  if (Status status = CheckThreadsStart(threads - 1); !status.ok()) return status;
  auto impl = std::make_unique<Impl>(std::move(model), threads);
  impl->chunk = std::min(options.chunk, capacity);
  impl->deferred_norm = options.norm != SessionOptions::Norm::kAtInput;
  Result<KvCache> cache = KvCache::Create(config, CacheType(options.cache, *impl->model), capacity);
  if (!cache.ok()) return cache.status();
  impl->cache = std::move(cache).value();
  Result<StepBuffers> buffers = StepBuffers::Create(config, impl->model->parts().block, impl->chunk, capacity, threads,
                                                    SplitsBf16(options, *impl->model));
  if (!buffers.ok()) return buffers.status();
  impl->buffers = std::move(buffers).value();
  return std::unique_ptr<Session>(new Session(std::move(impl)));
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Status Session::Impl::Check(std::span<const TokenId> new_tokens) const {
  if (new_tokens.size() > cache.capacity() - position()) {
    return {StatusCode::kContextFull, "There are too many tokens.\n" + std::to_string(new_tokens.size()) +
                                          " tokens after " + std::to_string(position()) +
                                          " do not fit in a context of " + std::to_string(cache.capacity()) +
                                          " tokens\nUse a larger context or fewer tokens."};
  }
  return CheckTokens(new_tokens, model->config().vocab_size);
}

Status Session::Impl::EvalChunks(std::span<const TokenId> new_tokens, float* all_logits) {
  if (Status status = CheckTarget(model->parts()); !status.ok()) return status;
  if (Status status = CheckFiles(model->parts()); !status.ok()) return status;
  for (size_t done = 0; done < new_tokens.size();) {
    Step step;
    step.tokens = new_tokens.subspan(done, std::min(chunk, new_tokens.size() - done));
    step.position = position() + done;
    step.wants_logits = done + step.tokens.size() == new_tokens.size();
    step.all_logits = all_logits == nullptr ? nullptr : all_logits + done * model->config().vocab_size;
    step.deferred_norm = deferred_norm;
    step.cancel = cancel;
    std::function<bool(size_t)> on_layer;
    if (progress && new_tokens.size() > 1) {
      on_layer = [&](size_t layer) {
        const auto layers = static_cast<float>(model->config().n_layers);
        const float tokens_done =
            static_cast<float>(done) + static_cast<float>(step.tokens.size()) * static_cast<float>(layer) / layers;
        return progress(tokens_done / static_cast<float>(new_tokens.size()));
      };
      step.on_layer = &on_layer;
    }
    step.observer = observer;
    step.tap = tap;
    step.norms = norms;
    const bool one_token = step.tokens.size() == 1;
    const long preemptions = one_token ? Preemptions() : 0;
    const int threads = one_token ? governor.threads() : team.threads();
    const uint64_t begin_ns = MonotonicNs();
    if (!RunStep(model->parts(), step, buffers, cache, team, threads)) {
      return {StatusCode::kCancelled, "evaluation was cancelled"};
    }
    const uint64_t end_ns = MonotonicNs();
    if (one_token) governor.Record(end_ns - begin_ns, Preemptions() != preemptions);
    for (int idle = threads; observer != nullptr && idle < team.threads(); ++idle) {
      observer->Record({OpKind::kIdle, OpSite::kStep, /*layer=*/-1, idle, begin_ns, end_ns});
    }
    done += step.tokens.size();
  }
  Status status = CheckFiles(model->parts());
  // What stands in for norms may overflow, and is measured all the same.
  if (status.ok() && norms == nullptr && !new_tokens.empty()) {
    status = CheckLogits(model->parts(), {buffers.logits, model->config().vocab_size});
  }
  if (!status.ok()) {
    has_logits = false;  // They are of this step.
    return status;
  }
  tokens.insert(tokens.end(), new_tokens.begin(), new_tokens.end());
  has_logits = has_logits || !new_tokens.empty();
  return {};
}

Status Session::Eval(std::span<const TokenId> tokens, float* all_logits) try {
  const BusyScope scope(impl_->busy, kName);
  if (!scope.status().ok()) return scope.status();
  if (Status status = impl_->Check(tokens); !status.ok()) return status;
  if (tokens.size() > kTimedTokens || (all_logits == nullptr && tokens.size() != 1)) {
    return impl_->EvalChunks(tokens, all_logits);
  }
  const uint64_t begin_ns = MonotonicNs();
  Status status = impl_->EvalChunks(tokens, all_logits);
  if (!status.ok()) return status;
  const uint64_t ns = MonotonicNs() - begin_ns;
  uint64_t& mean = impl_->eval_ns[tokens.size()];
  mean = mean == 0 ? ns : (3 * mean + ns) / 4;
  return status;
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Result<std::vector<float>> Session::LogProbs() const try {
  std::vector<float> out(logits().begin(), logits().end());
  if (out.empty()) return out;
  const double highest = *std::max_element(out.begin(), out.end());
  double sum = 0.0;
  for (const float logit : out) sum += std::exp(static_cast<double>(logit) - highest);
  const double log_sum = highest + std::log(sum);
  for (float& logit : out) logit = static_cast<float>(static_cast<double>(logit) - log_sum);
  return out;
} catch (const std::bad_alloc&) {
  return Status(StatusCode::kOutOfMemory, "there is not enough memory for the probabilities");
}

Status Session::Rewind(size_t position, std::span<const float> logits) try {
  const BusyScope scope(impl_->busy, kName);
  if (!scope.status().ok()) return scope.status();
  if (position > impl_->position()) {
    return {StatusCode::kInvalidArgument, "A session cannot be rewound forwards.\nposition: expected at most " +
                                              std::to_string(impl_->position()) + ", found " +
                                              std::to_string(position) + "\nEvaluate the further tokens instead."};
  }
  const size_t vocab_size = impl_->model->config().vocab_size;
  if (!logits.empty() && (logits.size() != vocab_size || position == 0)) {
    return {StatusCode::kInvalidArgument, "The logits to rewind to have a wrong number.\nlogits: expected " +
                                              std::to_string(position == 0 ? 0 : vocab_size) + ", found " +
                                              std::to_string(logits.size()) +
                                              "\nGive those that logits() had at that position, or none."};
  }
  if (position == impl_->position() && logits.empty()) return {};
  impl_->tokens.resize(position);
  impl_->SetLogits(logits.empty() ? nullptr : logits.data());
  return {};
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Result<size_t> Session::ReusePrefix(std::span<const TokenId> prompt) try {
  const BusyScope scope(impl_->busy, kName);
  if (!scope.status().ok()) return scope.status();
  std::vector<TokenId>& held = impl_->tokens;
  const auto [end, ignored] = std::mismatch(held.begin(), held.end(), prompt.begin(), prompt.end());
  auto shared = static_cast<size_t>(end - held.begin());
  if (shared == prompt.size() && shared == held.size() && (impl_->has_logits || shared == 0)) return shared;
  if (shared == prompt.size() && shared > 0) --shared;  // The last token must be evaluated for its logits.
  if (shared == held.size()) return shared;
  held.resize(shared);
  impl_->SetLogits(nullptr);
  return shared;
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Status Session::ForkFrom(const Session& other, size_t position) try {
  if (this == &other)
    return {StatusCode::kInvalidArgument,
            "A session cannot be forked into itself.\nother: expected another session\nCreate a second one."};
  const BusyScope scope(impl_->busy, kName), other_scope(other.impl_->busy, kName);
  if (!scope.status().ok()) return scope.status();
  if (!other_scope.status().ok()) return other_scope.status();
  const Impl& from = *other.impl_;
  if (impl_->model != from.model || impl_->cache.type() != from.cache.type()) {
    return {StatusCode::kInvalidArgument,
            "These two sessions cannot be forked.\nexpected the same model and type of cache\n"
            "Create the second one with the options of the first."};
  }
  if (position > from.position()) {
    return {StatusCode::kInvalidArgument,
            "A session cannot be forked behind its last token.\nposition: expected at most " +
                std::to_string(from.position()) + ", found " + std::to_string(position) +
                "\nEvaluate the further tokens first."};
  }
  if (position > capacity()) {
    return {StatusCode::kContextFull, "There are too many tokens.\n" + std::to_string(position) +
                                          " tokens do not fit in a context of " + std::to_string(capacity()) +
                                          " tokens\nCreate the session with a larger context."};
  }
  impl_->cache.CopyPrefix(from.cache, position);
  impl_->tokens.assign(from.tokens.begin(), from.tokens.begin() + static_cast<std::ptrdiff_t>(position));
  impl_->SetLogits(position == from.position() && from.has_logits ? from.buffers.logits : nullptr);
  return {};
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Result<std::vector<uint8_t>> Session::Save() const {
  const BusyScope scope(impl_->busy, kName);
  if (!scope.status().ok()) return scope.status();
  return WriteSessionState(impl_->model->parts(), impl_->cache, impl_->tokens, logits());
}

Status Session::Impl::Restore(std::span<const uint8_t> bytes, std::string_view name) {
  Result<SessionState> state = ReadSessionState(bytes, name, model->parts(), cache);
  if (!state.ok()) return state.status();
  tokens = std::move(state->tokens);
  SetLogits(state->logits);
  cache.WritePrefix(tokens.size(), state->cache);
  return {};
}

Status Session::Restore(std::span<const uint8_t> bytes) try {
  const BusyScope scope(impl_->busy, kName);
  return scope.status().ok() ? impl_->Restore(bytes, "session") : scope.status();
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Status Session::SaveFile(const std::string& path) const try {
  const Result<std::vector<uint8_t>> bytes = Save();
  if (!bytes.ok()) return bytes.status();
  Result<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.status();
  if (Status status = file->Write(bytes->data(), bytes->size()); !status.ok()) return status;
  return file->Commit();
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Status Session::RestoreFile(const std::string& path) try {
  const Result<MappedFile> file = MappedFile::Open(path, FileAccess::kRead);
  if (!file.ok()) return file.status();
  const BusyScope scope(impl_->busy, kName);
  return scope.status().ok() ? impl_->Restore(file->bytes(), path) : scope.status();
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

std::span<const float> Session::logits() const {
  if (!impl_->has_logits) return {};
  return {impl_->buffers.logits, impl_->model->config().vocab_size};
}
size_t Session::position() const { return impl_->position(); }
std::span<const TokenId> Session::tokens() const { return impl_->tokens; }
size_t Session::capacity() const { return impl_->cache.capacity(); }
void Session::set_cancel_flag(const std::atomic<bool>* flag) { impl_->cancel = flag; }
void Session::set_progress(std::function<bool(float)> progress) { impl_->progress = std::move(progress); }
void Session::set_observer(OpObserver* observer) { impl_->observer = observer; }
void Session::set_norm_experiment(const NormExperiment* experiment) { impl_->norms = experiment; }
void Session::set_tap(StepTap* tap) { impl_->tap = tap; }
uint64_t Session::EvalNs(size_t tokens) const { return tokens > kTimedTokens ? 0 : impl_->eval_ns[tokens]; }
const Model& Session::model() const { return *impl_->model; }
int Session::threads() const { return impl_->team.threads(); }
DType Session::cache_type() const { return impl_->cache.type(); }
size_t Session::memory_bytes() const { return impl_->cache.bytes() + impl_->buffers.bytes(); }

}  // namespace prenorm
