// Ratios come from neighbours in time: each round times every runner twice, forth and back, so that a drift of the
// clock rate or of a busy host falls on all alike. (Google Benchmark interleaves too, but reports no pairs.)
#include "tools/norm_bench/measure_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "prenorm/types.h"
#include "tools/common/measure.h"
#include "tools/norm_bench/cache_mode.h"

namespace prenorm::tools {
namespace {

constexpr double kBlockNs = 1e6;
constexpr size_t kColdCalls = 8;  // At most per block, where each call needs its preparation.

// What an empty measurement takes.
double ClockNs() {
  std::vector<double> empty;
  for (int i = 0; i < 101; ++i) {
    const uint64_t begin = NowNs();
    empty.push_back(static_cast<double>(NowNs() - begin));
  }
  return Quantile(empty, 0.5);
}

class Timer {
 public:
  explicit Timer(std::function<void()> prepare) : prepare_(std::move(prepare)), clock_ns_(ClockNs()) {}

  // Calls in a block, so that it takes about a millisecond.
  size_t Times(const Runner& runner) const {
    if (prepare_ != nullptr) {
      const uint64_t begin = NowNs();
      runner.run(1);
      const double calls = 4 * kBlockNs / static_cast<double>(NowNs() - begin);
      return std::clamp<size_t>(static_cast<size_t>(calls), 1, kColdCalls);
    }
    for (size_t times = 1;; times *= 2) {
      const uint64_t begin = NowNs();
      runner.run(times);
      const double ns = static_cast<double>(NowNs() - begin);
      if (ns >= kBlockNs / 4)
        return std::max<size_t>(1, static_cast<size_t>(static_cast<double>(times) * kBlockNs / ns));
    }
  }

  // Nanoseconds of a call.
  double Block(const Runner& runner, size_t times) const {
    if (prepare_ == nullptr) {
      const uint64_t begin = NowNs();
      runner.run(times);
      return (static_cast<double>(NowNs() - begin) - clock_ns_) / static_cast<double>(times);
    }
    std::vector<double> ns;
    for (size_t i = 0; i < times; ++i) {
      prepare_();
      const uint64_t begin = NowNs();
      runner.run(1);
      ns.push_back(std::max(1.0, static_cast<double>(NowNs() - begin) - clock_ns_));
    }
    return Quantile(ns, 0.5);
  }

 private:
  std::function<void()> prepare_;
  double clock_ns_;
};

std::vector<float> OutOf(const prenorm_peer_case& view) {
  std::vector<float> out(view.rows * view.cols);
  if (view.bf16 != 0) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = ToF32(static_cast<const bf16*>(view.out)[i]);
  } else {
    std::memcpy(out.data(), view.out, out.size() * sizeof(float));
  }
  return out;
}

// Largest difference, relative to 1 + |expected|.
double Difference(const std::vector<float>& a, const std::vector<float>& expected) {
  double worst = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d =
        std::abs(static_cast<double>(a[i]) - expected[i]) / (1.0 + std::abs(static_cast<double>(expected[i])));
    if (std::isnan(d)) return d;
    worst = std::max(worst, d);
  }
  return worst;
}

Spread SpreadOf(const std::vector<double>& values) {
  return {Quantile(values, 0.5), Quantile(values, 0.1), Quantile(values, 0.9)};
}

double VariationOf(const std::vector<double>& values) {
  double mean = 0.0, square = 0.0;
  for (double v : values) mean += v / static_cast<double>(values.size());
  for (double v : values) square += (v - mean) * (v - mean) / static_cast<double>(values.size());
  return std::sqrt(square) / mean;
}

Result<CaseResult> Measure(const NormCase& c, const std::vector<NormPeer>& peers, size_t all_threads, size_t rounds) {
  Operands operands(c);
  CaseResult result;
  result.which = c;
  std::vector<Runner> runners = {OwnRunner(operands.view)};
  for (const NormPeer& peer : peers) {
    Runner runner = peer.Prepare(operands.view);
    if (runner.run == nullptr) continue;
    prenorm_peer_case same = operands.view;
    same.op = runner.computes;
    OwnRunner(same).run(1);
    const std::vector<float> expected = OutOf(operands.view);
    // NaN: a peer that writes nothing differs.
    std::memset(operands.view.out, 0xFF, c.rows * c.cols * (c.bf16 ? sizeof(bf16) : sizeof(float)));
    runner.run(1);
    const double difference = Difference(OutOf(operands.view), expected);
    if (!(difference <= (c.bf16 ? 0x1p-6 : 1e-4))) {
      return Status(StatusCode::kVerification, "A peer computes something else.\n" + peer.name() + ", " + c.OpName() +
                                                   ": largest relative difference " + std::to_string(difference) +
                                                   "\nLeave that peer out.");
    }
    if (runner.computes != c.op) {
      NormCase instead = c;
      instead.op = runner.computes;
      result.instead.push_back(peer.name() + " runs " + instead.OpName());
    }
    runners.push_back(std::move(runner));
  }
  const size_t first_copy = runners.size();
  for (Runner& copy : CopyRunners(operands.view, c.NecessaryBytes())) runners.push_back(std::move(copy));
  const bool has_loads = c.op == PRENORM_PEER_RMS_NORM && !c.bf16 && c.threads == 1 && c.cols % 32 == 0;
  if (has_loads) runners.push_back(LoadsAndStoresRunner(operands.view));
  runners.push_back(OwnRunner(operands.view));

  const Timer timer(CachePreparation(c, operands, all_threads));
  std::vector<size_t> times;
  times.reserve(runners.size());
  for (const Runner& runner : runners) times.push_back(timer.Times(runner));
  std::vector<std::vector<double>> ns(runners.size(), std::vector<double>(rounds));
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < runners.size(); ++i) ns[i][round] = timer.Block(runners[i], times[i]) / 2;
    for (size_t i = runners.size(); i-- != 0;) ns[i][round] += timer.Block(runners[i], times[i]) / 2;
  }

  const auto ratio = [&](size_t i) {
    std::vector<double> ratios;
    for (size_t round = 0; round < rounds; ++round) ratios.push_back(ns[i][round] / ns[0][round]);
    return Quantile(ratios, 0.5);
  };
  result.ns = SpreadOf(ns[0]);
  result.again = ratio(runners.size() - 1);
  for (size_t i = 1; i < first_copy; ++i) {
    result.peers[runners[i].name] = Quantile(ns[i], 0.5);
    result.ratios[runners[i].name] = ratio(i);
  }
  const size_t copy = Quantile(ns[first_copy], 0.5) <= Quantile(ns[first_copy + 1], 0.5) ? first_copy : first_copy + 1;
  result.copy_ns = Quantile(ns[copy], 0.5);
  result.copy_cv = VariationOf(ns[copy]);
  result.ratios["copy"] = ratio(copy);
  if (has_loads) {
    result.loads_ns = Quantile(ns[first_copy + 2], 0.5);
    result.ratios["loads"] = ratio(first_copy + 2);
  }
  return result;
}

}  // namespace

Result<CaseResult> MeasureCase(const NormCase& c, const std::vector<NormPeer>& peers, size_t all_threads,
                               size_t rounds) {
  try {
    return Measure(c, peers, all_threads, rounds);
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, "The operands of " + c.OpName() + " do not fit.\n" +
                                                std::to_string(c.rows) + " x " + std::to_string(c.cols) +
                                                "\nMeasure with --grid goals.");
  }
}

}  // namespace prenorm::tools
