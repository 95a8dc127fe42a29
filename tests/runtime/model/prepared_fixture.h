// A tiny model of its own for each test, and the folder of its prepared weights.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "prenorm/quantize.h"
#include "prenorm/session.h"
#include "tests/support/session_helpers.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_model.h"

namespace prenorm {

namespace fs = std::filesystem;

class PreparedTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_.path("model.gguf");
    fs::copy_file(TinyModelPath(), path_);
    options_.prepared_folder = folder_.path("a/folder of weights");
  }
  std::shared_ptr<const Model> Load(const LoadOptions& options) {
    Result<std::shared_ptr<const Model>> model = Model::Load(path_, options);
    EXPECT_TRUE(model.ok()) << model.status().message();
    return model.ok() ? *model : nullptr;
  }
  // The tiny model in another type, at path_.
  void WriteQuantized(const std::string& recipe) const {
    QuantizeOptions options;
    options.recipe = recipe;
    const Result<QuantizeReport> report = QuantizeFile(TinyModelPath(), path_, options);
    ASSERT_TRUE(report.ok()) << report.status().message();
  }
  static std::string Content(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(options_.prepared_folder, error)) files.push_back(entry.path());
    return files;
  }
  static std::vector<float> Logits(const std::shared_ptr<const Model>& model) {
    SessionOptions options;
    options.threads = 2;
    const auto session = MakeSession(model, options);
    return AllLogits(*session, SomeTokens(20, *model));
  }

  TemporaryFolder folder_;
  std::string path_;
  LoadOptions options_;
};

}  // namespace prenorm
