// Takes the rows of the corpus through every operation under every target, and writes them out for other programs.
#include "tools/norms_accuracy.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "prenorm/target.h"
#include "tools/common/norm_corpus.h"
#include "tools/common/progress_bar.h"
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
  explicit RowFile(std::FILE* file) : file_(file) {}

  nlohmann::ordered_json Add(const std::vector<float>& values) {
    const size_t offset = size_;
    good_ = good_ && std::fwrite(values.data(), sizeof(float), values.size(), file_) == values.size();
    size_ += values.size();
    return {{"offset", offset}, {"cols", values.size()}};
  }
  bool good() const { return good_; }

 private:
  std::FILE* file_;
  size_t size_ = 0;
  bool good_ = true;
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
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return {StatusCode::kIo, path + ": cannot be written"};
  RowFile out(file);
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
  const bool closed = std::fclose(file) == 0;
  std::FILE* index_file = std::fopen((path + ".json").c_str(), "wb");
  const std::string text = index.dump() + "\n";
  const bool written = index_file != nullptr && std::fwrite(text.data(), 1, text.size(), index_file) == text.size();
  const bool index_closed = index_file == nullptr || std::fclose(index_file) == 0;
  if (out.good() && closed && written && index_closed) return {};
  return {StatusCode::kIo, path + ": cannot be written (is the disk full?)"};
}

}  // namespace prenorm::tools
