// Experiment "stream-depth": the residual stream of a trained model by depth, and what each block adds to it.
#include <cmath>
#include <limits>
#include <map>

#include "tools/lab/experiment.h"
#include "tools/lab/model_run.h"

namespace prenorm::tools {
namespace {

// The stream in front of each norm that reads it: 2 * layer, one more for the feed-forward part's; the final norm's
// comes last.
class StreamRecorder : public NormStandIn {
 public:
  StreamRecorder(size_t n_layers, int threads) : n_layers_(n_layers), rows_(static_cast<size_t>(threads)) {}

  void Normalize(const NormCall& call) override {
    const auto layer = static_cast<size_t>(call.layer);
    const bool reads_stream =
        call.site == OpSite::kAttnNorm || call.site == OpSite::kFfnNorm || call.site == OpSite::kFinalNorm;
    if (reads_stream) {
      const size_t at =
          call.site == OpSite::kFinalNorm ? 2 * n_layers_ : 2 * layer + (call.site == OpSite::kFfnNorm ? 1 : 0);
      std::vector<float>& rows = rows_[static_cast<size_t>(call.thread)].streams[at];
      rows.insert(rows.end(), call.x, call.x + call.rows * call.cols);
      rows_[static_cast<size_t>(call.thread)].cols = call.cols;
    }
    NormalizeAs(call, OwnChoice(call));
  }

  // Geometric means over the tokens, as a first token's stream can be a thousand times as large as others; NaN where
  // the model has no such norm. Rows are shared out alike at every norm.
  double Variance(size_t at) const {
    return Mean(at, at, [](const float* row, const float*, size_t cols) {
      double mean = 0, squares = 0;
      for (size_t c = 0; c < cols; ++c) mean += static_cast<double>(row[c]) / static_cast<double>(cols);
      for (size_t c = 0; c < cols; ++c) squares += std::pow(static_cast<double>(row[c]) - mean, 2);
      return squares / static_cast<double>(cols);
    });
  }
  // What was added between two places, over what was there.
  double Added(size_t from, size_t to) const {
    return Mean(from, to, [](const float* before, const float* behind, size_t cols) {
      double added = 0, size = 0;
      for (size_t c = 0; c < cols; ++c) {
        added += std::pow(static_cast<double>(behind[c]) - static_cast<double>(before[c]), 2);
        size += std::pow(static_cast<double>(before[c]), 2);
      }
      return std::sqrt(added / size);
    });
  }

 private:
  struct alignas(64) OfThread {
    std::map<size_t, std::vector<float>> streams;
    size_t cols = 0;
  };

  template <typename Value>
  double Mean(size_t from, size_t to, const Value& value) const {
    double logarithms = 0;
    size_t count = 0;
    for (const OfThread& thread : rows_) {
      const auto a = thread.streams.find(from), b = thread.streams.find(to);
      if (a == thread.streams.end() || b == thread.streams.end() || a->second.size() != b->second.size()) continue;
      for (size_t at = 0; at < a->second.size(); at += thread.cols, ++count) {
        logarithms += std::log(value(&a->second[at], &b->second[at], thread.cols));
      }
    }
    if (count == 0) return std::numeric_limits<double>::quiet_NaN();
    return std::exp(logarithms / static_cast<double>(count));
  }

  size_t n_layers_;
  std::vector<OfThread> rows_;
};

}  // namespace

Result<LabTable> MeasureStreamDepth(const LabModel& model) {
  Result<ModelRun> run = ModelRun::Create(model);
  if (!run.ok()) return run.status();
  StreamRecorder recorder(run->n_layers(), run->session().threads());
  const NormExperiment norms{NormPlacement::kEngine, &recorder};
  if (Result<std::vector<float>> logits = run->Logits(&norms); !logits.ok()) return logits.status();
  LabTable table{"blocks before", {"variance", "attention adds", "feed-forward adds", "block adds"}, {}};
  for (size_t layer = 0; layer < run->n_layers(); ++layer) {
    const size_t at = 2 * layer;
    table.rows.push_back({std::to_string(layer),
                          {recorder.Variance(at), recorder.Added(at, at + 1), recorder.Added(at + 1, at + 2),
                           recorder.Added(at, at + 2)}});
  }
  return table;
}

Verdict JudgeStreamDepth(const LabTable& table) {
  std::vector<double> depths;
  for (size_t i = 0; i < table.rows.size(); ++i) depths.push_back(static_cast<double>(i + 1));
  Verdict verdict;
  verdict.AtLeast("variance, exponent of depth", FittedExponent(depths, table.Column("variance")), 0.5);
  verdict.AtMost("what a block adds, exponent of depth", FittedExponent(depths, table.Column("block adds")), -0.2);
  return verdict;
}

}  // namespace prenorm::tools
