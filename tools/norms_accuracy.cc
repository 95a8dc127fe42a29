// Takes the rows of the corpus through every operation under every target, and writes them out for other programs.
#include "tools/norms_accuracy.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "prenorm/output_file.h"
#include "prenorm/target.h"
#include "tools/common/norm_corpus.h"
#include "tools/common/progress_bar.h"
#include "tools/common/prompt.h"
#include "tools/norms_measure.h"

namespace prenorm::tools {
namespace {

void RunRow(const std::vector<float>& x, float eps, const Gains& gains, const std::vector<std::string>& targets,
            Cases& cases) {
  const std::vector<bf16> x16 = Narrowed<bf16>(x);
  const RowOracle oracle(x, eps), oracle16(x16, eps);
  for (const std::string& target : targets) {
    if (!ForceTarget(target).ok()) continue;
    RunRowNorms(x, eps, oracle, gains, cases);
    RunRowNorms(x16, eps, oracle16, gains, cases);
    RunMapNorms(x, eps, oracle, gains, cases);
    RunMapNorms(x16, eps, oracle16, gains, cases);
  }
}

// The f32 values of a file, and where each part of them begins.
class RowFile {
 public:
  explicit RowFile(OutputFile file) : file_(std::move(file)) {}

  nlohmann::ordered_json Add(const std::vector<float>& values) {
    const size_t offset = size_;
    if (status_.ok()) status_ = file_.Write(values.data(), values.size() * sizeof(float));
    size_ += values.size();
    return {{"offset", offset}, {"cols", values.size()}};
  }
  Status Commit() { return status_.ok() ? file_.Commit() : status_; }

 private:
  OutputFile file_;
  size_t size_ = 0;
  Status status_;
};

}  // namespace

std::vector<AccuracyRow> MeasureNormAccuracy(size_t cols_max, const std::string& target) {
  const std::vector<std::string> targets = target.empty() ? RunnableTargets() : std::vector<std::string>{target};
  const std::vector<size_t> lengths = CorpusLengths(cols_max);
  size_t all = 0, done = 0;
  for (const size_t cols : lengths) all += cols;
  ProgressBar bar("comparing", static_cast<double>(all), "columns");
  Cases cases;
  for (const size_t cols : lengths) {
    const Gains gains(cols);
    const std::vector<CorpusRow> rows = CorpusRows(cols);
    for (size_t r = 0; r < rows.size(); ++r) {
      for (const float eps : rows[r].eps) RunRow(rows[r].x, eps, gains, targets, cases);
      bar.Update((static_cast<double>(done) + static_cast<double>(cols * (r + 1)) / static_cast<double>(rows.size())) /
                 static_cast<double>(all));
    }
    for (const std::string& name : targets) {
      if (!ForceTarget(name).ok()) continue;
      for (const CorpusRow& row : SoftmaxRows(cols)) RunSoftmax(row.x, cases);
    }
    done += cols;
  }
  static_cast<void>(ForceTarget(target));
  return cases.Finish();
}

Status ExportNormRows(size_t cols_max, const std::string& path) {
  Result<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.status();
  RowFile out(std::move(file).value());
  nlohmann::ordered_json index = {{"schema", 1}, {"rows", nlohmann::ordered_json::array()}};
  for (const size_t cols : CorpusLengths(cols_max)) {
    const size_t gain = out.Add(CorpusGain(cols)).at("offset"), bias = out.Add(CorpusBias(cols)).at("offset");
    const auto add = [&](const char* kind, const CorpusRow& row) {
      nlohmann::ordered_json entry = out.Add(row.x);
      entry.update({{"kind", kind}, {"name", row.name}, {"eps", row.eps}, {"gain", gain}, {"bias", bias}});
      index["rows"].push_back(std::move(entry));
    };
    for (const CorpusRow& row : CorpusRows(cols)) add("norm", row);
    for (const CorpusRow& row : SoftmaxRows(cols)) add("softmax", row);
  }
  if (Status status = out.Commit(); !status.ok()) return status;
  return WriteFile(path + ".json", index.dump() + "\n");
}

}  // namespace prenorm::tools
