// Packs texts into batches, runs them, and pools the rows of each.
#include "prenorm/encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "prenorm/model.h"
#include "prenorm/session.h"
#include "runtime/model/busy.h"
#include "runtime/model/checks.h"
#include "runtime/model/forward.h"
#include "runtime/model/kv_cache.h"
#include "runtime/model/parts.h"
#include "runtime/model/step_buffers.h"
#include "runtime/parallel/team.h"

namespace prenorm {
namespace {

Status NoMemory() {
  return {StatusCode::kOutOfMemory, "there is not enough memory for the encoder\nGive it fewer texts at once."};
}

constexpr char kName[] = "the encoder";  // When it is busy.
constexpr size_t kUsualMost = 8192;      // Tokens of a text, where the files do not say.

size_t LongestText(const ModelParts& parts, const EncoderOptions& options) {
  size_t longest = parts.config.max_seq_len;
  for (const RopeTable& rope : parts.block.ropes) {
    if (!rope.long_inv_freq.empty()) longest = std::min(longest, rope.original);
  }
  if (options.max_tokens != 0) return std::min(longest, options.max_tokens);
  return std::min(longest, parts.embedding.max_tokens != 0 ? parts.embedding.max_tokens : kUsualMost);
}

Status CheckOptions(const ModelParts& parts, const EncoderOptions& options) {
  if (Status status = CheckThreadCount(options.threads); !status.ok()) return status;
  if (Status status = CheckStepSize("batch", "batch_tokens", options.batch_tokens, EncoderOptions{}.batch_tokens);
      !status.ok()) {
    return status;
  }
  if (options.max_tokens > parts.config.max_seq_len) {
    return {StatusCode::kInvalidArgument, "max_tokens: the model was made for at most " +
                                              std::to_string(parts.config.max_seq_len) + " tokens, asked for " +
                                              std::to_string(options.max_tokens) + "\nin " + parts.source->path() +
                                              "\nAsk for fewer."};
  }
  if (!parts.embedding.unsupported.empty() && !(options.pooling && options.normalize)) {
    return {StatusCode::kUnsupported, "the model's files ask for " + parts.embedding.unsupported +
                                          ", which is not supported\nin " + parts.source->path() +
                                          "\nSay how to pool and whether to normalize to leave it out."};
  }
  return {};
}

// Sums in f64, row by row: as exact as any order of the rows.
void Pool(Pooling pooling, const float* rows, size_t n, size_t dim, std::vector<double>& sums, float* out) {
  if (pooling == Pooling::kCls) return void(std::memcpy(out, rows, dim * sizeof(float)));
  if (pooling == Pooling::kLast) return void(std::memcpy(out, rows + (n - 1) * dim, dim * sizeof(float)));
  sums.assign(dim, 0.0);
  for (size_t t = 0; t < n; ++t) {
    for (size_t i = 0; i < dim; ++i) sums[i] += static_cast<double>(rows[t * dim + i]);
  }
  for (size_t i = 0; i < dim; ++i) out[i] = static_cast<float>(sums[i] / static_cast<double>(n));
}

void Normalize(float* row, size_t dim) {
  double squares = 0.0;
  for (size_t i = 0; i < dim; ++i) squares += static_cast<double>(row[i]) * static_cast<double>(row[i]);
  if (squares == 0.0) return;
  const double factor = 1.0 / std::sqrt(squares);
  for (size_t i = 0; i < dim; ++i) row[i] = static_cast<float>(static_cast<double>(row[i]) * factor);
}

}  // namespace

const char* PoolingName(Pooling pooling) {
  switch (pooling) {
    case Pooling::kMean:
      return "mean";
    case Pooling::kCls:
      return "cls";
    case Pooling::kLast:
      return "last";
  }
  return "unknown";
}

struct Encoder::Impl {
  Impl(std::shared_ptr<const Model> shared_model, int threads) : model(std::move(shared_model)), team(threads) {}

  const ModelParts& parts() const { return model->parts(); }
  Status Check(std::span<const std::vector<TokenId>> sequences) const;
  Status Reserve(size_t batch_rows, size_t batch_places);
  Status RunBatch(std::span<const std::vector<TokenId>> sequences);
  template <typename Take>
  Status Run(std::span<const std::vector<TokenId>> sequences, const Take& take);
  Status Embed(std::span<const std::vector<TokenId>> sequences, float* out);

  std::shared_ptr<const Model> model;
  Team team;
  Pooling pooling = Pooling::kMean;
  bool normalize = true;
  size_t max_tokens = 0;
  bool truncate = false;
  bool parse_special = false;
  size_t batch_tokens = 0;
  size_t rows = 0;    // Those that `buffers` has room for,
  size_t places = 0;  // and positions of `cache`.
  StepBuffers buffers;
  KvCache cache;
  std::vector<TokenId> ids;  // Of the batch.
  std::vector<SequenceTile> tiles;
  size_t tokens = 0;
  const std::atomic<bool>* cancel = nullptr;
  OpObserver* observer = nullptr;
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
};

Status Encoder::Impl::Check(std::span<const std::vector<TokenId>> sequences) const {
  const size_t vocab_size = parts().config.vocab_size;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const std::string name = "text " + std::to_string(i + 1);
    if (sequences[i].empty()) {
      return {StatusCode::kInvalidArgument, "A text has no tokens.\n" + name + " is empty\nLeave it out."};
    }
    if (sequences[i].size() > max_tokens) {
      return {StatusCode::kContextFull, "A text is too long.\n" + name + ": " + std::to_string(sequences[i].size()) +
                                            " tokens, at most " + std::to_string(max_tokens) +
                                            "\nShorten it, or truncate."};
    }
    if (Status status = CheckTokens(sequences[i], vocab_size, name + ", "); !status.ok()) return status;
  }
  return {};
}

Status Encoder::Impl::Reserve(size_t batch_rows, size_t batch_places) {
  if (batch_rows > rows) {
    Result<StepBuffers> made = StepBuffers::Create(parts().config, parts().block, batch_rows, kAttentionChunk,
                                                   team.threads(), /*split_bf16=*/false);
    if (!made.ok()) return made.status();
    buffers = std::move(made).value();
    rows = batch_rows;
  }
  if (batch_places > places) {
    ModelConfig one_layer = parts().config;
    one_layer.n_layers = 1;
    Result<KvCache> made = KvCache::Create(one_layer, DType::kF32, batch_places);
    if (!made.ok()) return made.status();
    cache = std::move(made).value();
    places = batch_places;
  }
  return {};
}

Status Encoder::Impl::RunBatch(std::span<const std::vector<TokenId>> sequences) {
  ids.clear();
  tiles.clear();
  size_t place = 0;
  for (const std::vector<TokenId>& sequence : sequences) {
    for (size_t position = 0; position < sequence.size(); position += kAttentionTokens) {
      tiles.push_back({ids.size() + position, std::min(kAttentionTokens, sequence.size() - position), position,
                       sequence.size(), place});
    }
    ids.insert(ids.end(), sequence.begin(), sequence.end());
    place += KeyCapacity(sequence.size());
  }
  if (Status status = Reserve(std::max(ids.size(), batch_tokens), std::max(place, 2 * batch_tokens)); !status.ok()) {
    return status;
  }
  Step step;
  step.tokens = ids;
  step.batch = tiles;
  step.cancel = cancel;
  step.observer = observer;
  tokens += ids.size();
  if (Status status = CheckTarget(parts()); !status.ok()) return status;
  if (Status status = CheckFiles(parts()); !status.ok()) return status;
  if (!RunStep(parts(), step, buffers, cache, team, team.threads())) {
    return {StatusCode::kCancelled, "the embedding was cancelled"};
  }
  return CheckFiles(parts());
}

// Calls take(first, count, rows): sequences [first, first + count) have `rows`, one behind the other.
template <typename Take>
Status Encoder::Impl::Run(std::span<const std::vector<TokenId>> sequences, const Take& take) {
  if (Status status = Check(sequences); !status.ok()) return status;
  tokens = 0;
  for (size_t first = 0; first < sequences.size();) {
    size_t count = 0, batch_rows = 0, batch_places = 0;
    while (first + count < sequences.size()) {
      const size_t size = sequences[first + count].size();
      const bool fits = batch_rows + size <= batch_tokens && batch_places + KeyCapacity(size) <= 2 * batch_tokens;
      if (count > 0 && !fits) break;
      batch_rows += size;
      batch_places += KeyCapacity(size);
      ++count;
    }
    if (Status status = RunBatch(sequences.subspan(first, count)); !status.ok()) return status;
    take(first, count, HiddenRows(parts(), buffers));
    first += count;
  }
  return {};
}

Result<std::unique_ptr<Encoder>> Encoder::Create(std::shared_ptr<const Model> model,
                                                 const EncoderOptions& options) try {
  if (model == nullptr)
    return Status(StatusCode::kInvalidArgument,
                  "an encoder needs a model\nexpected one that is loaded, found none\nLoad it with Model::Load first.");
  const ModelParts& parts = model->parts();
  if (Status status = CheckOptions(parts, options); !status.ok()) return status;
  const int threads = options.threads != 0 ? options.threads : DefaultThreads().threads;
  if (Status status = CheckThreadsStart(threads - 1); !status.ok()) return status;
  auto impl = std::make_unique<Impl>(std::move(model), threads);
  impl->pooling = options.pooling.value_or(parts.embedding.pooling);
  impl->normalize = options.normalize.value_or(parts.embedding.normalize);
  impl->max_tokens = LongestText(parts, options);
  impl->truncate = options.truncate;
  impl->parse_special = options.parse_special;
  impl->batch_tokens = options.batch_tokens;
  // What the model puts around each text.
  const Result<std::vector<TokenId>> around = parts.tokenizer->Encode("", {.add_special = true});
  if (!around.ok()) return around.status();
  if (around->size() >= impl->max_tokens) {
    return Status(StatusCode::kInvalidArgument,
                  "max_tokens: " + std::to_string(impl->max_tokens) + " leave no room for a text\nin " +
                      parts.source->path() + ": the model puts " + std::to_string(around->size()) +
                      " tokens around each\nAsk for at least " + std::to_string(around->size() + 1) + ".");
  }
  return std::unique_ptr<Encoder>(new Encoder(std::move(impl)));
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Result<std::vector<TokenId>> Encoder::Tokenize(std::string_view text) const {
  const size_t most = impl_->truncate ? impl_->max_tokens : 0;
  return impl_->model->tokenizer().Encode(
      text, {.add_special = true, .parse_special = impl_->parse_special, .max_tokens = most});
}

Status Encoder::Impl::Embed(std::span<const std::vector<TokenId>> sequences, float* out) {
  const size_t dim = parts().config.dim;
  std::vector<double> sums;
  const Status status = Run(sequences, [&](size_t first, size_t count, const float* hidden) {
    for (size_t i = first; i < first + count; ++i) {
      Pool(pooling, hidden, sequences[i].size(), dim, sums, out + i * dim);
      if (normalize) Normalize(out + i * dim, dim);
      hidden += sequences[i].size() * dim;
    }
  });
  return status.ok() ? CheckEmbedding(parts(), {out, sequences.size() * dim}) : status;
}

Status Encoder::Embed(std::span<const std::string_view> texts, float* out) try {
  const BusyScope scope(impl_->busy, kName);
  if (!scope.status().ok()) return scope.status();
  std::vector<std::vector<TokenId>> sequences;
  sequences.reserve(texts.size());
  for (const std::string_view text : texts) {
    Result<std::vector<TokenId>> ids = Tokenize(text);
    if (!ids.ok()) return ids.status();
    sequences.push_back(std::move(ids).value());
  }
  return impl_->Embed(sequences, out);
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Status Encoder::EmbedTokens(std::span<const std::vector<TokenId>> sequences, float* out) try {
  const BusyScope scope(impl_->busy, kName);
  return scope.status().ok() ? impl_->Embed(sequences, out) : scope.status();
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Status Encoder::HiddenStates(std::span<const std::vector<TokenId>> sequences, float* out) try {
  const BusyScope scope(impl_->busy, kName);
  if (!scope.status().ok()) return scope.status();
  return impl_->Run(sequences, [&](size_t first, size_t count, const float* rows) {
    size_t floats = 0;
    for (size_t i = first; i < first + count; ++i) floats += sequences[i].size() * dim();
    std::memcpy(out, rows, floats * sizeof(float));
    out += floats;
  });
} catch (const std::bad_alloc&) {
  return NoMemory();
}

Encoder::Encoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Encoder::~Encoder() = default;

void Encoder::set_cancel_flag(const std::atomic<bool>* flag) { impl_->cancel = flag; }
void Encoder::set_observer(OpObserver* observer) { impl_->observer = observer; }
const Model& Encoder::model() const { return *impl_->model; }
size_t Encoder::dim() const { return impl_->model->config().dim; }
int Encoder::threads() const { return impl_->team.threads(); }
Pooling Encoder::pooling() const { return impl_->pooling; }
bool Encoder::normalizes() const { return impl_->normalize; }
size_t Encoder::max_tokens() const { return impl_->max_tokens; }
size_t Encoder::tokens() const { return impl_->tokens; }

}  // namespace prenorm
