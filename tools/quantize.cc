// prenorm quantize: a model in a smaller type, as a GGUF file that other runtimes read too.
#include "prenorm/quantize.h"

#include <filesystem>

#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/words.h"
#include "tools/fetch/catalog.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/interrupt.h"
#include "tools/common/measure.h"
#include "tools/common/progress_bar.h"
#include "tools/common/terminal.h"

namespace prenorm::tools {
namespace {

std::string Json(const std::string& from, const Options& options, const QuantizeReport& report, uint64_t ns) {
  nlohmann::ordered_json json = NewJson(report.threads);
  json["from"] = from;
  json["to"] = options.to;
  json["recipe"] = options.recipe;
  json["bytes_before"] = report.bytes_before;
  json["bytes_after"] = report.bytes_after;
  json["bits_per_weight"] = report.bits_per_weight;
  json["notes"] = report.notes;
  json["ns"] = ns;
  return JsonLine(json);
}

// Of a file, or of the files of a folder.
uintmax_t BytesOf(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return fs::file_size(path, error);
  uintmax_t bytes = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const uintmax_t size = entry.is_regular_file(error) ? entry.file_size(error) : 0;
    if (!error) bytes += size;
  }
  return bytes;
}

void Summarize(const Options& options, const QuantizeReport& report, uint64_t ns) {
  char text[128];
  std::snprintf(text, sizeof text, ": %s -> %s, %.2f bits a weight, in %.1f s", SizeText(report.bytes_before).c_str(),
                SizeText(report.bytes_after).c_str(), report.bits_per_weight, static_cast<double>(ns) * 1e-9);
  Note(options.to + text);
}

}  // namespace

int RunQuantize(const Options& options) {
  if (options.from.empty() || options.to.empty()) {
    return Fail(
        Status(StatusCode::kInvalidArgument,
               std::string("A file name is missing.\n") + (options.from.empty() ? "IN" : "OUT") +
                   ": expected a path, found none\nFor example: prenorm quantize model-f16.gguf model-q4.gguf Q4_K_M"));
  }
  if (Status status = CheckThreads(options.threads); !status.ok()) return Fail(status);
  Result<std::string> from = FindModelFile(options.from);
  if (!from.ok()) return FailModel(from.status());

  ProgressBar bar("quantizing", static_cast<double>(BytesOf(*from)), "B");
  QuantizeOptions quantize;
  quantize.recipe = options.recipe;
  quantize.threads = static_cast<int>(options.threads);
  quantize.progress = [&](float share) {
    bar.Update(static_cast<double>(share));
    return !InterruptFlag();
  };
  const uint64_t begin = NowNs();
  Result<QuantizeReport> report = QuantizeFile(*from, options.to, quantize);
  // A target that cannot be written says nothing about the model.
  if (!report.ok()) return Fail(report.status());
  const uint64_t ns = NowNs() - begin;
  if (!options.quiet) {
    for (const std::string& note : report->notes) Note("prenorm: note: " + note);
  }
  if (options.json) return PrintAnswer(Json(*from, options, *report, ns));
  if (!options.quiet) Summarize(options, *report, ns);
  return kExitOk;
}

}  // namespace prenorm::tools
