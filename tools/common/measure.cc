// The probe is an OpenMP loop without kernels: it measures the machine, not Prenorm.
#include "tools/common/measure.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>

#include "prenorm/doctor.h"
#include "tools/common/interrupt.h"

namespace prenorm::tools {

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<size_t>(std::floor(at));
  const size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

double ProbeReadBandwidth(int threads, int64_t megabytes) {
  constexpr size_t kLineWords = 8;  // 64 bytes.
  const size_t bytes = std::min<uint64_t>(static_cast<uint64_t>(std::clamp<int64_t>(megabytes, 0, 1 << 20)) << 20,
                                          AvailableMemory() / 4) /
                       4096 * 4096;
  const size_t words = bytes / sizeof(uint64_t);
  const std::unique_ptr<uint64_t[]> buffer(new (std::nothrow) uint64_t[words]);
  if (words == 0 || buffer == nullptr) return 0.0;
  const auto lines = static_cast<int64_t>(words / kLineWords);
  uint64_t* data = buffer.get();
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t line = 0; line < lines; ++line) {  // Touch each page on the thread that will read it.
    if (InterruptFlag()) continue;
    for (size_t i = 0; i < kLineWords; ++i)
      data[static_cast<size_t>(line) * kLineWords + i] = static_cast<uint64_t>(line);
  }
  double best = 0.0;
  uint64_t sink = 0;
  for (int pass = 0; pass < 5 && !InterruptFlag(); ++pass) {
    uint64_t sum = 0;
    const uint64_t begin = NowNs();
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : sum)
    for (int64_t line = 0; line < lines; ++line) sum += data[static_cast<size_t>(line) * kLineWords];
    const uint64_t ns = NowNs() - begin;
    sink += sum;
    best = std::max(best, static_cast<double>(bytes) * 1e9 / static_cast<double>(ns));
  }
  return sink == 1 ? 0.0 : best;  // The sum is used, so that the loop is not left out; it is never 1.
}

std::vector<TokenId> SpreadTokens(size_t count, size_t vocab_size) {
  std::vector<TokenId> ids(count);
  for (size_t i = 0; i < count; ++i) ids[i] = static_cast<TokenId>((i * 7919 + 101) % vocab_size);
  return ids;
}

}  // namespace prenorm::tools
