// What a profile says, before it becomes a table, JSON, a picture or a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "prenorm/op_totals.h"
#include "prenorm/op_work.h"
#include "prenorm/profile.h"

namespace prenorm::tools {

/// What the machine reaches in this run with the profile's threads. A rate of 0 was not measured.
struct Roofline {
  double memory_bytes_s = 0;   ///< Reading memory.
  double cache_bytes_s = 0;    ///< Reading what each core's own caches hold.
  double product_flops_s = 0;  ///< Products with weights of the model's type, operands in the caches.
  double f32_flops_s = 0;      ///< Products of f32, likewise.
};

/// One kind, site and layer of one phase, or with layers added up.
struct ProfileRow {
  OpKind kind;
  OpSite site;
  int32_t layer;       ///< -1 outside the layers, and where layers are added up.
  uint64_t calls = 0;  ///< On all threads.
  double ns = 0;       ///< Of the whole phase, averaged over the threads, without the timer's cost.
  double share = 0;    ///< Of the wall time.
  double p10_ns = 0;   ///< Over the repetitions.
  double p90_ns = 0;
  OpWork work{};           ///< Of the whole phase.
  const char* fused = "";  ///< What else is in it: "pack" in a norm, "residual" in a product; "" for nothing.
  const char* bound = "";  ///< "memory", "compute", "latency"; "wait" for barriers.
};

/// A difference of two ways to run the same token, measured in turns: medians, and a 95 % interval of
/// the median difference.
struct Turns {
  double a_ns = 0;
  double b_ns = 0;
  double difference_ns = 0;  ///< a - b.
  double low_ns = 0;
  double high_ns = 0;
  size_t pairs = 0;
};

struct CounterValue {
  std::string name;
  double per_token = 0;
};

/// The prompt, or the tokens after it; the repetition of median wall time, because medians of rows would not add up.
struct ProfilePhase {
  std::string name;  ///< "prefill" or "decode"; of an encoder "encode".
  size_t tokens = 0;
  size_t depth = 0;  ///< Tokens in the cache when it begins.
  double wall_ns = 0;
  double p10_ns = 0;  ///< Of the wall time over the repetitions.
  double p90_ns = 0;
  std::vector<ProfileRow> rows;  ///< Layers ascending, those outside the layers last.
  double timer_share = 0;        ///< Taken off the rows and off what lies between them.
  double unattributed_share = 0;
  Turns overhead;                 ///< With events (a) and without (b), a token.
  double overhead_off_share = 0;  ///< Of the branches that a run without events takes, reckoned.
  std::vector<CounterValue> counters;
};

/// Work around the steps, nanoseconds a token.
struct AroundSteps {
  double tokenize_ns = 0;
  double sample_ns = 0;
  double text_ns = 0;
};

/// Decoding with other threads or behind more tokens.
struct SweepRow {
  int threads = 1;
  size_t depth = 0;
  double token_ns = 0;
  double norm_share = 0, residual_share = 0, matmul_share = 0, attention_share = 0, barrier_share = 0;
};

/// One way to normalize, beside the engine's own.
struct VariantRow {
  std::string id;            ///< Stable, for JSON.
  std::string name;          ///< For people.
  Turns turns;               ///< Its token (a) and one without norms (b).
  double engine_ns = 0;      ///< The engine's own token in the same turns.
  std::optional<double> kl;  ///< Mean, to the engine's own logits; none where the variant is another model.
};

/// What the literature says of norms, beside what was measured.
struct ClaimRow {
  std::string id;
  std::string claim;
  std::string source;
  std::string measured;
  const char* verdict = "";  ///< "confirmed", "refuted", or "undecided" where the interval allows both.
};

/// An answer to --what-if.
struct WhatIfRow {
  std::string id;  ///< "norm=0", "fused", "folded", "layernorm".
  std::string text;
  double bound_ns = 0;  ///< Most that it could save, a token; negative: least that it costs.
  Turns turns;          ///< Measured: as it is (a), as it would be (b).
};

struct ProfileReport {
  std::string model;
  std::string type;
  std::string target;
  int threads = 1;
  size_t n_layers = 0;
  int64_t runs = 0;
  std::string placement;  ///< "engine" or "apart".
  TimerCost timer;
  Roofline roofline;
  AroundSteps around;
  std::vector<ProfilePhase> phases;
  std::vector<SweepRow> sweep;
  std::vector<VariantRow> variants;
  std::vector<ClaimRow> claims;
  std::vector<WhatIfRow> what_if;
  std::vector<std::string> notes;
};

/// Sums of the rows of one kind.
double NsOf(const ProfilePhase& phase, OpKind kind);
double ShareOf(const ProfilePhase& phase, OpKind kind);

/// Rows with their layers added up, longest first; the bounds anew.
std::vector<ProfileRow> SumLayers(const ProfilePhase& phase, const Roofline& roofline);

/// Says of norms and products what is fused into them, from the rows that are not there.
void NameFusedWork(std::vector<ProfileRow>& rows);

/// "norm+pack": the kind with what is fused into it.
std::string KindText(const ProfileRow& row);

/// Which limit explains at least half of a row's time.
const char* BoundOf(const ProfileRow& row, const Roofline& roofline);

/// The norm that takes most time of all norms of a phase, against their median; null where there is none.
struct SlowestNorm {
  const ProfileRow* row = nullptr;
  double times_median = 0;
};
SlowestNorm FindSlowestNorm(const ProfilePhase& phase);

/// Whether the row is where normalization's time shows: its kind, not its site.
inline bool IsNorm(const ProfileRow& row) { return row.kind == OpKind::kNorm; }
inline bool IsWait(const ProfileRow& row) { return row.kind == OpKind::kBarrier || row.kind == OpKind::kIdle; }

/// Nanoseconds in the unit that suits: "340 ns", "1.25 us", "7.61 ms".
std::string TimeText(double ns);

}  // namespace prenorm::tools
