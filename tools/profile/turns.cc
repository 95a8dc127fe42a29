// A B, B A, A B, ...: with more than two ways each round also starts with another one.
#include "tools/profile/turns.h"

#include <algorithm>
#include <cmath>

#include "tools/common/measure.h"

namespace prenorm::tools {

Result<std::vector<std::vector<double>>> TakeTurns(Session& session, std::span<const TokenId> tokens,
                                                   std::span<const Way> ways, size_t rounds) {
  const size_t position = session.position(), count = ways.size();
  std::vector<std::vector<double>> times(count);
  Status status;
  for (size_t round = 0; round <= rounds && status.ok(); ++round) {  // The first one warms up.
    for (size_t i = 0; i < count && status.ok(); ++i) {
      const size_t turned = round % 2 == 0 ? i : count - 1 - i;
      const size_t way = (turned + round / 2) % count;
      session.set_observer(ways[way].observer);
      session.set_norm_experiment(ways[way].norms);
      const uint64_t begin = NowNs();
      status = session.Eval(tokens);
      const uint64_t ns = NowNs() - begin;
      if (status.ok()) status = session.Rewind(position);
      if (round > 0) times[way].push_back(static_cast<double>(ns));
    }
  }
  session.set_observer(nullptr);
  session.set_norm_experiment(nullptr);
  if (!status.ok()) return status;
  return times;
}

Turns Compare(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  std::sort(differences.begin(), differences.end());
  const auto n = static_cast<double>(differences.size());
  const auto low = static_cast<size_t>(std::max(0.0, std::floor((n - 1.96 * std::sqrt(n)) / 2)));
  Turns turns;
  turns.a_ns = Quantile(a, 0.5);
  turns.b_ns = Quantile(b, 0.5);
  turns.difference_ns = Quantile(differences, 0.5);
  turns.low_ns = differences[low];
  turns.high_ns = differences[differences.size() - 1 - low];
  turns.pairs = differences.size();
  return turns;
}

size_t RoundsWithin(double seconds, double round_ns, size_t least, size_t most) {
  const double rounds = seconds * 1e9 / std::max(1.0, round_ns);
  return rounds >= static_cast<double>(most) ? most : std::max(least, static_cast<size_t>(rounds));
}

}  // namespace prenorm::tools
