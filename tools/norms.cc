// prenorm norms: how exactly, and how fast, the normalization layer computes on this machine.
#include <algorithm>
#include <cstdio>

#include "prenorm/target.h"
#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/interrupt.h"
#include "tools/norms_accuracy.h"
#include "tools/norms_bench.h"

namespace prenorm::tools {
namespace {

std::string Json(const std::vector<AccuracyRow>& rows) {
  nlohmann::ordered_json json = NewJson(1);
  json["ulp_bins"] = kUlpBins;
  json["results"] = nlohmann::ordered_json::array();
  for (const AccuracyRow& row : rows) {
    json["results"].push_back({{"op", row.op},
                               {"in", row.in},
                               {"gain", row.gain},
                               {"out", row.out},
                               {"target", row.target},
                               {"mode", row.mode},
                               {"cols_max", row.cols_max},
                               {"values", row.values},
                               {"max_ulp", row.max_ulp},
                               {"p999_ulp", row.p999_ulp},
                               {"correctly_rounded", row.correctly_rounded},
                               {"histogram", row.histogram},
                               {"promise", row.promise},
                               {"promise_used", row.promise_used},
                               {"holds", row.holds}});
  }
  return JsonLine(json);
}

// "f32 * bf16 > f32": x, gain and output.
std::string Types(const AccuracyRow& row) {
  return row.in + (row.gain == "none" ? "" : " * " + row.gain) + " > " + row.out;
}

std::string Table(const std::vector<AccuracyRow>& rows) {
  char line[256];
  std::string text, target;
  for (const AccuracyRow& row : rows) {
    if (row.target != target) {
      target = row.target;
      text += (text.empty() ? "" : "\n") + target +
              ": errors in units of the last place of the output, in % of the values\n";
      std::snprintf(line, sizeof line, "%-20s %-15s %-16s %6s %6s %6s %6s %6s %6s %9s %9s %8s\n", "operation", "mode",
                    "types", "<=0.5", "<=1", "<=1.5", "<=2", "<=3", "more", "p99.9", "max", "promise");
      text += line;
    }
    std::snprintf(line, sizeof line, "%-20s %-15s %-16s %6.2f %6.2f %6.2f %6.2f %6.2f %6.2f %9.3g %9.3g %8s\n",
                  row.op.c_str(), row.mode.c_str(), Types(row).c_str(), 100 * row.histogram[0], 100 * row.histogram[1],
                  100 * row.histogram[2], 100 * row.histogram[3], 100 * row.histogram[4], 100 * row.histogram[5],
                  row.p999_ulp, row.max_ulp, row.holds ? "holds" : "BROKEN");
    text += line;
  }
  return text +
         "\nLayerNorm promises an absolute error, hence many units where gain * x^ and the bias cancel. Promises: "
         "--json.\n";
}

}  // namespace

int RunNorms(const Options& options) {
  if (options.accuracy == options.bench_norms) {
    return Fail(Status(StatusCode::kInvalidArgument,
                       "There is nothing to do, or too much.\n--accuracy or --bench: expected one of "
                       "them\nFor example: prenorm norms --accuracy"));
  }
  if (options.cols_max < 1) return Fail(OutOfRange("--cols-max", options.cols_max, "1 or more"));
  if (!options.target.empty()) {
    if (Status status = ForceTarget(options.target); !status.ok()) {
      return Fail(Status(StatusCode::kInvalidArgument, status.message()));
    }
  }
  if (options.bench_norms) {
    EndAtInterrupt();
    return RunNormsBench(options);
  }
  if (!options.export_rows.empty()) {
    if (Status status = ExportNormRows(static_cast<size_t>(options.cols_max), options.export_rows); !status.ok()) {
      return Fail(status);
    }
  }
  EndAtInterrupt();  // No file is under way any more.
  const std::vector<AccuracyRow> rows =
      MeasureNormAccuracy(static_cast<size_t>(options.cols_max), options.target.empty() ? "" : ActiveTarget());
  const bool all_hold = std::all_of(rows.begin(), rows.end(), [](const AccuracyRow& row) { return row.holds; });
  const int printed = PrintAnswer(options.json ? Json(rows) : Table(rows));
  return printed != kExitOk || all_hold ? printed : kExitVerify;
}

}  // namespace prenorm::tools
