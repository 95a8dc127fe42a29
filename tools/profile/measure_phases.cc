// Each repetition is a prompt and a decoding; the first one warms up and is not counted.
#include "tools/profile/measure_phases.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "prenorm/op_totals.h"
#include "tools/common/measure.h"
#include "tools/profile/turns.h"

namespace prenorm::tools {
namespace {

struct Repetition {
  double wall_ns = 0;
  std::vector<OpRow> rows;
  std::vector<CounterValue> counters;
};

// What measuring a session and an encoder have in common.
class PhaseMeasurer {
 protected:
  PhaseMeasurer(const Model& model, DType cache, int threads, const PhaseOptions& options, const TimerCost& timer,
                const Roofline& roofline, Counters& counters)
      : model_(model),
        cache_(cache),
        options_(options),
        timer_(timer),
        roofline_(roofline),
        counters_(counters),
        totals_(threads, model.config().n_layers) {}

  // Nanoseconds a thread without what the timer adds to them.
  double Corrected(const OpRow& row) const {
    const double ns = static_cast<double>(row.ns) - static_cast<double>(row.calls) * timer_.inside_ns;
    return std::max(0.0, ns) / static_cast<double>(totals_.threads());
  }

  OpWork WorkOfPhase(const ProfilePhase& phase, const OpRow& row) const {
    StepShape step;
    step.cache = cache_;
    const size_t most = phase.name == "decode" ? 1 : phase.name == "encode" ? phase.tokens : options_.chunk;
    OpWork sum;
    for (size_t at = 0; at < phase.tokens; at += most) {
      step.position = phase.depth + at;
      step.tokens = std::min(most, phase.tokens - at);
      step.logits = phase.name == "decode" || at + step.tokens == phase.tokens;
      const OpWork work = WorkOf(model_, row.kind, row.site, row.layer, step);
      sum.bytes += work.bytes;
      sum.cold_bytes += work.cold_bytes;
      sum.flops += work.flops;
    }
    return sum;
  }

  ProfilePhase Summarize(const char* name, size_t depth, size_t tokens, std::vector<Repetition>& repetitions) const {
    std::sort(repetitions.begin(), repetitions.end(),
              [](const Repetition& a, const Repetition& b) { return a.wall_ns < b.wall_ns; });
    std::vector<double> walls;
    std::map<std::tuple<int32_t, OpKind, OpSite>, std::vector<double>> times;
    for (const Repetition& repetition : repetitions) {
      walls.push_back(repetition.wall_ns);
      for (const OpRow& row : repetition.rows) times[{row.layer, row.kind, row.site}].push_back(Corrected(row));
    }
    const Repetition& median = repetitions[repetitions.size() / 2];
    ProfilePhase phase;
    phase.name = name;
    phase.tokens = tokens;
    phase.depth = depth;
    phase.wall_ns = median.wall_ns;
    phase.p10_ns = Quantile(walls, 0.1);
    phase.p90_ns = Quantile(walls, 0.9);
    phase.counters = median.counters;
    double attributed = 0, events = 0;
    for (const OpRow& from : median.rows) {
      ProfileRow row{from.kind, from.site, from.layer, from.calls, Corrected(from)};
      row.share = row.ns / phase.wall_ns;
      row.p10_ns = Quantile(times[{from.layer, from.kind, from.site}], 0.1);
      row.p90_ns = Quantile(times[{from.layer, from.kind, from.site}], 0.9);
      row.work = WorkOfPhase(phase, from);
      row.bound = BoundOf(row, roofline_);
      phase.rows.push_back(row);
      attributed += row.share;
      events += static_cast<double>(from.calls) / static_cast<double>(totals_.threads());
    }
    NameFusedWork(phase.rows);
    phase.timer_share = events * timer_.whole_ns / phase.wall_ns;
    phase.unattributed_share = 1.0 - attributed - phase.timer_share;
    phase.overhead_off_share = events * timer_.off_ns / phase.wall_ns;
    return phase;
  }

  const Model& model_;
  const DType cache_;
  const PhaseOptions& options_;
  const TimerCost& timer_;
  const Roofline& roofline_;
  Counters& counters_;
  OpTotals totals_;
};

class Measurer : PhaseMeasurer {
 public:
  Measurer(Session& session, const PhaseOptions& options, const TimerCost& timer, const Roofline& roofline,
           Counters& counters)
      : PhaseMeasurer(session.model(), session.cache_type(), session.threads(), options, timer, roofline, counters),
        session_(session) {}

  Result<std::vector<ProfilePhase>> Run() {
    std::vector<Repetition> prefill, decode;
    Status status;
    for (int64_t run = -1; run < options_.runs && status.ok(); ++run) {
      options_.progress("run " + std::to_string(run + 1) + " of " + std::to_string(options_.runs));
      status = session_.Rewind(0);
      Repetition repetition;
      if (status.ok() && !options_.prompt.empty()) {
        status = Once(options_.prompt, options_.prompt.size(), repetition);
        if (run >= 0) prefill.push_back(std::move(repetition));
      }
      if (status.ok() && !options_.decode.empty()) {
        status = GoTo(options_.depth);
        repetition = {};
        if (status.ok()) status = Once(options_.decode, 1, repetition);
        if (run >= 0) decode.push_back(std::move(repetition));
      }
    }
    if (!status.ok()) return status;
    std::vector<ProfilePhase> phases;
    if (!prefill.empty()) phases.push_back(Summarize("prefill", 0, options_.prompt.size(), prefill));
    if (!decode.empty()) phases.push_back(Summarize("decode", options_.depth, options_.decode.size(), decode));
    for (ProfilePhase& phase : phases) {
      if (options_.overhead_seconds > 0) status = MeasureOverhead(phase);
      if (!status.ok()) return status;
    }
    return phases;
  }

 private:
  // Evaluates all of `ids`, `step` at a time, with events.
  Status Once(std::span<const TokenId> ids, size_t step, Repetition& out) {
    totals_.Clear();
    session_.set_observer(&totals_);
    session_.set_norm_experiment(options_.norms);
    counters_.Start();
    const uint64_t begin = NowNs();
    Status status;
    for (size_t at = 0; at < ids.size() && status.ok(); at += step) status = session_.Eval(ids.subspan(at, step));
    out.wall_ns = static_cast<double>(NowNs() - begin);
    out.counters = counters_.Stop(ids.size());
    session_.set_observer(nullptr);
    session_.set_norm_experiment(nullptr);
    out.rows = totals_.Rows();
    return status;
  }

  // Brings the session to `depth` tokens: back, or on with tokens that are not measured.
  Status GoTo(size_t depth) {
    if (depth <= session_.position()) return session_.Rewind(depth);
    const std::vector<TokenId> more = SpreadTokens(depth - session_.position(), session_.model().config().vocab_size);
    return session_.Eval(more);
  }

  Status MeasureOverhead(ProfilePhase& phase) {
    const bool decoding = phase.name == "decode";
    options_.progress("overhead of " + phase.name);
    if (Status status = GoTo(phase.depth); !status.ok()) return status;
    const std::span<const TokenId> tokens = decoding ? std::span(options_.decode).first(1) : std::span(options_.prompt);
    const double step_ns = decoding ? phase.wall_ns / static_cast<double>(phase.tokens) : phase.wall_ns;
    const size_t rounds =
        RoundsWithin(options_.overhead_seconds, 2 * step_ns, 5, 40 * static_cast<size_t>(options_.runs));
    const Way ways[] = {{&totals_, options_.norms}, {nullptr, options_.norms}};
    Result<std::vector<std::vector<double>>> times = TakeTurns(session_, tokens, ways, rounds);
    if (!times.ok()) return times.status();
    phase.overhead = Compare((*times)[0], (*times)[1]);
    return {};
  }

  Session& session_;
};

class EncoderMeasurer : PhaseMeasurer {
 public:
  EncoderMeasurer(Encoder& encoder, const PhaseOptions& options, const TimerCost& timer, const Roofline& roofline,
                  Counters& counters)
      : PhaseMeasurer(encoder.model(), DType::kF32, encoder.threads(), options, timer, roofline, counters),
        encoder_(encoder) {}

  Result<std::vector<ProfilePhase>> Run() {
    const std::vector<std::vector<TokenId>> text = {options_.prompt};
    std::vector<float> out(encoder_.dim());
    std::vector<Repetition> repetitions;
    for (int64_t run = -1; run < options_.runs; ++run) {
      options_.progress("run " + std::to_string(run + 1) + " of " + std::to_string(options_.runs));
      Repetition repetition;
      totals_.Clear();
      encoder_.set_observer(&totals_);
      counters_.Start();
      const uint64_t begin = NowNs();
      const Status status = encoder_.EmbedTokens(text, out.data());
      repetition.wall_ns = static_cast<double>(NowNs() - begin);
      repetition.counters = counters_.Stop(options_.prompt.size());
      encoder_.set_observer(nullptr);
      if (!status.ok()) return status;
      repetition.rows = totals_.Rows();
      if (run >= 0) repetitions.push_back(std::move(repetition));
    }
    return std::vector<ProfilePhase>{Summarize("encode", 0, options_.prompt.size(), repetitions)};
  }

 private:
  Encoder& encoder_;
};

}  // namespace

Result<std::vector<ProfilePhase>> MeasurePhases(Session& session, const PhaseOptions& options, const TimerCost& timer,
                                                const Roofline& roofline, Counters& counters) {
  return Measurer(session, options, timer, roofline, counters).Run();
}

Result<std::vector<ProfilePhase>> MeasureEncoder(Encoder& encoder, const PhaseOptions& options, const TimerCost& timer,
                                                 const Roofline& roofline, Counters& counters) {
  return EncoderMeasurer(encoder, options, timer, roofline, counters).Run();
}

}  // namespace prenorm::tools
