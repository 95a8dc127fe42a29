// Experiment "accumulation": the sum of squares of a row in accumulators of several widths.
#include <algorithm>
#include <cmath>

#include "prenorm/norm.h"
#include "tools/lab/experiment.h"
#include "tools/lab/random.h"

namespace prenorm::tools {
namespace {

constexpr size_t kRows = 8;

double RelativeError(double value, double exact) { return std::fabs(value - exact) / exact; }

}  // namespace

LabTable MeasureAccumulation(uint64_t seed) {
  LabRandom random(seed);
  LabTable table{"columns", {"bf16 sum", "f32 sum", "InvRms, lanes", "InvRms, exact"}, {}};
  for (size_t cols = 64; cols <= 16384; cols *= 2) {
    LabRow row{std::to_string(cols), std::vector<double>(table.columns.size())};
    for (size_t r = 0; r < kRows; ++r) {
      std::vector<bf16> x;
      for (size_t c = 0; c < cols; ++c) x.push_back(ToBf16(static_cast<float>(random.Normal())));
      bf16 narrow = ToBf16(0.0f);
      float single = 0;
      double exact = 0;
      for (const bf16 value : x) {
        const float square = ToF32(value) * ToF32(value);
        narrow = ToBf16(ToF32(narrow) + square);
        single += square;
        exact += static_cast<double>(ToF32(value)) * ToF32(value);
      }
      const auto count = static_cast<double>(cols);
      const double right = 1 / std::sqrt(exact / count);
      float lanes = 0, exactly = 0;
      InvRms(x.data(), cols, &lanes, 1, cols, {.eps = 0.0f});
      InvRms(x.data(), cols, &exactly, 1, cols, {.eps = 0.0f, .accumulation = Accumulation::kExact});
      const double found[] = {1 / std::sqrt(static_cast<double>(ToF32(narrow)) / count),
                              1 / std::sqrt(static_cast<double>(single) / count), lanes, exactly};
      for (size_t i = 0; i < row.values.size(); ++i) {
        row.values[i] = std::max(row.values[i], RelativeError(found[i], right));
      }
    }
    table.rows.push_back(row);
  }
  return table;
}

Verdict JudgeAccumulation(const LabTable& table) {
  Verdict verdict;
  const double longest = table.At("16384", "bf16 sum"), shortest = table.At("64", "bf16 sum");
  verdict.AtLeast("bf16 sum, error at 16384 columns", longest, 0.1);
  verdict.AtLeast("bf16 sum, error at 16384 columns over that at 64", longest / shortest, 10);
  verdict.AllAtMost("f32 sum, any length", table.Column("f32 sum"), 1e-4);
  verdict.AllAtMost("lanes of the library, any length", table.Column("InvRms, lanes"), 0x1p-22);
  verdict.AllAtMost("exact sums of the library, any length", table.Column("InvRms, exact"), 0x1p-23);
  return verdict;
}

}  // namespace prenorm::tools
