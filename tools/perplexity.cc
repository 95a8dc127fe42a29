// prenorm perplexity: how well a model predicts a text, and how far it is from a reference on the same positions.
//
// The text is cut as llama-perplexity cuts it: windows of n tokens one after another, what is left at the end unused;
// the first token of each window is replaced by the beginning token where the model has one put in front; token i + 1
// is scored by the logits of position i for i from n / 2 to n - 2, so that each has at least n / 2 tokens before it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/interrupt.h"
#include "tools/common/log_probs.h"
#include "tools/common/npy.h"
#include "tools/common/open_model.h"
#include "tools/common/progress_bar.h"
#include "tools/common/prompt.h"
#include "tools/common/terminal.h"

namespace prenorm::tools {
namespace {

// Positions whose logits are held in memory at once.
constexpr size_t kBlock = 128;

struct Windows {
  std::vector<TokenId> ids;
  size_t size;
  size_t count;
  size_t first() const { return size / 2; }
  size_t scored() const { return size - 1 - first(); }
  size_t positions() const { return count * scored(); }
};

struct Scores {
  std::vector<double> nll;  // Of each scored token, in nats.
  std::vector<double> reference_nll;
  DivergenceTotals divergence;
};

Result<Windows> CutText(const Tokenizer& tokenizer, const std::string& text, const Options& options) {
  if (options.window < 4) return OutOfRange("--ctx", options.window, "4 or more");
  if (options.windows < -1 || options.windows == 0) return OutOfRange("--chunks", options.windows, "1 or more, or -1");
  Result<std::vector<TokenId>> ids = tokenizer.Encode(text, {.add_special = true});
  if (!ids.ok()) return ids.status();
  Windows windows{std::move(ids).value(), static_cast<size_t>(options.window), 0};
  windows.count = windows.ids.size() / windows.size;
  if (windows.count == 0) {
    return Status(StatusCode::kInvalidArgument,
                  "The text is too short.\ntokens: expected at least " + std::to_string(windows.size) + ", found " +
                      std::to_string(windows.ids.size()) + "\nGive a longer text, or a shorter window with --ctx.");
  }
  if (options.windows > 0) windows.count = std::min(windows.count, static_cast<size_t>(options.windows));
  return windows;
}

// Scores windows, and moves log-probabilities from and to files.
class Scorer {
 public:
  Scorer(Session& session, const Windows& windows)
      : session_(session), windows_(windows), vocab_size_(session.model().config().vocab_size) {}

  Status Open(const Options& options) {
    std::error_code error;
    if (!options.kl.empty() && std::filesystem::equivalent(options.kl, options.save_logits, error)) {
      return Status(StatusCode::kInvalidArgument,
                    "The reference would be overwritten.\n--save-logits: expected another file than --kl, found " +
                        options.save_logits + "\nName another file.");
    }
    if (!options.kl.empty()) {
      Result<NpyReader> file = NpyReader::Open(options.kl);
      if (!file.ok()) return file.status();
      if (file->rows() != windows_.positions() || file->cols() != vocab_size_) {
        return Status(StatusCode::kInvalidArgument,
                      "The reference is of another text, window or model.\n" + options.kl + ": expected " +
                          Shape(windows_.positions(), vocab_size_) + ", found " + Shape(file->rows(), file->cols()) +
                          "\nMake it anew, with --save-logits of the reference.");
      }
      reference_ = std::move(file).value();
    }
    if (!options.save_logits.empty()) {
      Result<NpyWriter> file = NpyWriter::Create(options.save_logits, windows_.positions(), vocab_size_);
      if (!file.ok()) return file.status();
      saved_.emplace(std::move(file).value());
    }
    return Status();
  }

  Status Run(ProgressBar& bar) {
    for (size_t window = 0; window < windows_.count; ++window) {
      if (Status status = RunWindow(window); !status.ok()) return status;
      bar.Update(static_cast<double>(window + 1) / static_cast<double>(windows_.count));
    }
    return saved_ ? saved_->Close() : Status();
  }

  const Scores& scores() const { return scores_; }

 private:
  static std::string Shape(size_t rows, size_t cols) { return std::to_string(rows) + " x " + std::to_string(cols); }

  Status RunWindow(size_t window) {
    const Tokenizer& tokenizer = session_.model().tokenizer();
    const auto begin = windows_.ids.begin() + static_cast<std::ptrdiff_t>(window * windows_.size);
    std::vector<TokenId> ids(begin, begin + static_cast<std::ptrdiff_t>(windows_.size));
    if (tokenizer.adds_bos()) ids[0] = tokenizer.bos();
    if (Status status = session_.Rewind(0); !status.ok()) return status;
    const std::span<const TokenId> all(ids);
    if (Status status = session_.Eval(all.first(windows_.first())); !status.ok()) return status;
    const size_t end = windows_.first() + windows_.scored();
    for (size_t at = windows_.first(); at < end; at += kBlock) {
      const size_t rows = std::min(kBlock, end - at);
      logits_.resize(rows * vocab_size_);
      if (Status status = session_.Eval(all.subspan(at, rows), logits_.data()); !status.ok()) return status;
      if (Status status = ScoreBlock(all.subspan(at + 1, rows)); !status.ok()) return status;
    }
    return Status();
  }

  // logits_[r] predicts targets[r].
  Status ScoreBlock(std::span<const TokenId> targets) {
    const auto rows = static_cast<int64_t>(targets.size());
#pragma omp parallel for schedule(static) num_threads(session_.threads())
    for (int64_t r = 0; r < rows; ++r) LogSoftmax(Row(logits_, r), vocab_size_);
    for (int64_t r = 0; r < rows; ++r) scores_.nll.push_back(Nll(logits_, r, targets));
    if (saved_) {
      if (Status status = saved_->Append(logits_.data(), targets.size() * vocab_size_); !status.ok()) return status;
    }
    return reference_ ? CompareBlock(targets) : Status();
  }

  Status CompareBlock(std::span<const TokenId> targets) {
    reference_rows_.resize(targets.size() * vocab_size_);
    if (Status status = reference_->Read(reference_rows_.data(), reference_rows_.size()); !status.ok()) return status;
    const auto rows = static_cast<int64_t>(targets.size());
    std::vector<double> kl(targets.size());
#pragma omp parallel for schedule(static) num_threads(session_.threads())
    for (int64_t r = 0; r < rows; ++r) {
      LogSoftmax(Row(reference_rows_, r), vocab_size_);  // Logits are as good as log-probabilities then.
      kl[static_cast<size_t>(r)] = KlDivergence(Row(reference_rows_, r), Row(logits_, r), vocab_size_);
    }
    for (int64_t r = 0; r < rows; ++r) {
      scores_.divergence.Add(kl[static_cast<size_t>(r)], Top1(reference_rows_, r) == Top1(logits_, r));
      scores_.reference_nll.push_back(Nll(reference_rows_, r, targets));
    }
    return Status();
  }

  float* Row(std::vector<float>& matrix, int64_t r) const {
    return matrix.data() + static_cast<size_t>(r) * vocab_size_;
  }
  std::ptrdiff_t Top1(std::vector<float>& matrix, int64_t r) const {
    const float* row = Row(matrix, r);
    return std::max_element(row, row + vocab_size_) - row;
  }
  double Nll(std::vector<float>& matrix, int64_t r, std::span<const TokenId> targets) const {
    return -static_cast<double>(Row(matrix, r)[targets[static_cast<size_t>(r)]]);
  }

  Session& session_;
  const Windows& windows_;
  size_t vocab_size_;
  std::optional<NpyReader> reference_;
  std::optional<NpyWriter> saved_;
  std::vector<float> logits_;          // [rows of a block, vocab_size]; log-probabilities once scored
  std::vector<float> reference_rows_;  // the same of the reference
  Scores scores_;
};

struct Perplexity {
  double value;
  double error;  // Standard error, from the spread of the tokens.
};

Perplexity PerplexityOf(const std::vector<double>& nll) {
  double sum = 0.0, squares = 0.0;
  for (const double v : nll) {
    sum += v;
    squares += v * v;
  }
  const auto count = static_cast<double>(nll.size());
  const double mean = sum / count;
  const double variance = std::max(0.0, squares / count - mean * mean);
  const double value = std::exp(mean);
  return {value, nll.size() > 1 ? value * std::sqrt(variance / (count - 1)) : 0.0};
}

std::string Json(const Session& session, const Windows& windows, const Scores& scores) {
  const Perplexity ppl = PerplexityOf(scores.nll);
  nlohmann::ordered_json json = NewJson(session.threads());
  json["tokens"] = scores.nll.size();
  json["ppl"] = ppl.value;
  json["ppl_error"] = ppl.error;
  json["windows"] = windows.count;
  json["window_tokens"] = windows.size;
  if (!scores.reference_nll.empty()) {
    const DivergenceTotals& kl = scores.divergence;
    json["kl"] = {{"mean", kl.mean()},
                  {"p99", kl.quantile(0.99)},
                  {"max", kl.quantile(1.0)},
                  {"same_top1", kl.same_top1()},
                  {"reference_ppl", PerplexityOf(scores.reference_nll).value}};
  }
  return JsonLine(json);
}

std::string Table(const Windows& windows, const Scores& scores) {
  const Perplexity ppl = PerplexityOf(scores.nll);
  char text[512];
  std::snprintf(text, sizeof text, "perplexity   %.4f +- %.4f   (%zu tokens scored in %zu windows of %zu)\n", ppl.value,
                ppl.error, scores.nll.size(), windows.count, windows.size);
  std::string table = text;
  if (!scores.reference_nll.empty()) {
    const DivergenceTotals& kl = scores.divergence;
    std::snprintf(
        text, sizeof text, "reference    %.4f\nKL           mean %.3g   p99 %.3g   max %.3g\nsame top-1   %.2f %%\n",
        PerplexityOf(scores.reference_nll).value, kl.mean(), kl.quantile(0.99), kl.quantile(1.0), 100 * kl.same_top1());
    table += text;
  }
  return table;
}

}  // namespace

int RunPerplexity(const Options& options) {
  Result<std::optional<std::string>> text = ReadPrompt(options);
  if (!text.ok()) return Fail(text.status());
  if (!text->has_value())
    return Fail(MissingText(options, "text", "--file, --prompt or piped input", "prenorm perplexity -p",
                            "prenorm perplexity model.gguf -f text.txt"));
  Result<OpenedModel> opened = OpenModel(options);
  if (!opened.ok()) return FailModel(opened.status());
  Result<Windows> windows = CutText(opened->model->tokenizer(), **text, options);
  if (!windows.ok()) return Fail(windows.status());
  Options session_options = options;
  session_options.context = options.window;
  Result<std::unique_ptr<Session>> session = OpenSession(*opened, session_options);
  if (!session.ok()) return Fail(session.status());
  (*session)->set_cancel_flag(&InterruptFlag());

  Scorer scorer(**session, *windows);
  if (Status status = scorer.Open(options); !status.ok()) return Fail(status);
  Status status;
  {
    ProgressBar bar("scoring", static_cast<double>(windows->count * windows->size), "tokens");
    status = scorer.Run(bar);
  }
  if (!status.ok()) return Fail(status);
  return PrintAnswer(options.json ? Json(**session, *windows, scorer.scores()) : Table(*windows, scorer.scores()));
}

}  // namespace prenorm::tools
