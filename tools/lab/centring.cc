// Experiment "centring": whether RMSNorm's rows have a mean at all, and what LayerNorm in its place would change.
#include <cmath>
#include <map>

#include "prenorm/profile.h"
#include "tools/lab/experiment.h"
#include "tools/lab/model_run.h"

namespace prenorm::tools {
namespace {

using Site = std::pair<int32_t, OpSite>;

std::string NameOf(const Site& site) {
  return (site.first < 0 ? "" : std::to_string(site.first) + " ") + OpSiteName(site.second);
}

// |mean| / RMS of every row.
class MeanRecorder : public NormStandIn {
 public:
  explicit MeanRecorder(int threads) : threads_(static_cast<size_t>(threads)) {}

  void Normalize(const NormCall& call) override {
    Totals& totals = threads_[static_cast<size_t>(call.thread)].sites[{call.layer, call.site}];
    for (size_t r = 0; r < call.rows; ++r) {
      double sum = 0, squares = 0;
      for (size_t i = r * call.cols; i < (r + 1) * call.cols; ++i) {
        sum += static_cast<double>(call.x[i]);
        squares += static_cast<double>(call.x[i]) * static_cast<double>(call.x[i]);
      }
      if (squares > 0) totals.sum += std::fabs(sum) / std::sqrt(squares * static_cast<double>(call.cols));
      ++totals.rows;
    }
    NormalizeAs(call, OwnChoice(call));
  }

  // The mean over a site's rows, in the order of the layers; what lies outside of them comes last.
  std::vector<std::pair<Site, double>> Sites() const {
    std::map<Site, Totals> merged;
    for (const OfThread& thread : threads_) {
      for (const auto& [site, totals] : thread.sites) {
        merged[site].sum += totals.sum;
        merged[site].rows += totals.rows;
      }
    }
    std::vector<std::pair<Site, double>> layers, outside;
    for (const auto& [site, totals] : merged) {
      (site.first < 0 ? outside : layers).emplace_back(site, totals.sum / static_cast<double>(totals.rows));
    }
    layers.insert(layers.end(), outside.begin(), outside.end());
    return layers;
  }

 private:
  struct Totals {
    double sum = 0;
    size_t rows = 0;
  };
  struct alignas(64) OfThread {
    std::map<Site, Totals> sites;
  };
  std::vector<OfThread> threads_;
};

// The other kind of norm at one site, or at all.
struct OtherKind : NormStandIn {
  void Normalize(const NormCall& call) override {
    NormChoice choice = OwnChoice(call);
    if (all || Site{call.layer, call.site} == site) choice.layer_norm = !choice.layer_norm;
    NormalizeAs(call, choice);
  }
  Site site{-2, OpSite::kCount};
  bool all = false;
};

}  // namespace

Result<LabTable> MeasureCentring(const LabModel& model) {
  Result<ModelRun> run = ModelRun::Create(model);
  if (!run.ok()) return run.status();
  MeanRecorder means(run->session().threads());
  const Result<std::vector<float>> own = run->LogProbs(means);
  if (!own.ok()) return own.status();
  LabTable table{"norm", {"|mean| / RMS", "KL, other kind", "same top-1"}, {}};
  const auto add = [&](const std::string& name, double mean, OtherKind& other) {
    const Result<std::vector<float>> found = run->LogProbs(other);
    if (!found.ok()) return found.status();
    const Departure departure = Compare(*own, *found, run->vocab_size());
    table.rows.push_back({name, {mean, departure.kl, departure.same_top1}});
    return Status();
  };
  double largest = 0;
  for (const auto& [site, mean] : means.Sites()) {
    OtherKind one;
    one.site = site;
    largest = std::max(largest, mean);
    if (Status status = add(NameOf(site), mean, one); !status.ok()) return status;
  }
  OtherKind every;
  every.all = true;
  if (Status status = add("all", largest, every); !status.ok()) return status;
  return table;
}

Verdict JudgeCentring(const LabTable& table) {
  std::vector<double> each = table.Column("KL, other kind");
  if (!each.empty()) each.pop_back();  // That of all.
  Verdict verdict;
  verdict.AtMost("largest |mean| / RMS of a norm's rows", table.At("all", "|mean| / RMS"), 0.1);
  verdict.AllAtMost("largest KL with one norm of the other kind", each, 0.02);
  verdict.AtMost("KL with all norms of the other kind", table.At("all", "KL, other kind"), 0.05);
  return verdict;
}

}  // namespace prenorm::tools
