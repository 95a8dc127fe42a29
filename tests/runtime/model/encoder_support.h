// What tests of encoders share: golden models of tests/golden/make_encoders.py, and vectors of texts.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "prenorm/encoder.h"
#include "prenorm/model.h"
#include "tests/support/hashed_model.h"
#include "tests/support/temporary_folder.h"

namespace prenorm {

namespace fs = std::filesystem;
using Texts = std::vector<std::vector<TokenId>>;

inline fs::path operator/(const TemporaryFolder& folder, const std::string& name) { return folder.path(name); }

inline const nlohmann::json& GoldenOf(const std::string& name) {
  static const nlohmann::json goldens = [] {
    std::ifstream file(PRENORM_SOURCE_DIR "/tests/golden/encoders.json");
    return nlohmann::json::parse(file);
  }();
  for (const auto& golden : goldens) {
    if (golden["name"] == name) return golden;
  }
  ADD_FAILURE() << "no golden values of " << name;
  return goldens[0];
}

inline std::shared_ptr<const Model> Load(const fs::path& path) {
  Result<std::shared_ptr<const Model>> model = Model::Load(path.string());
  if (!model.ok()) ADD_FAILURE() << model.status().message();
  return model.ok() ? *model : nullptr;
}

inline std::unique_ptr<Encoder> Make(std::shared_ptr<const Model> model, const EncoderOptions& options = {}) {
  Result<std::unique_ptr<Encoder>> encoder = Encoder::Create(std::move(model), options);
  if (!encoder.ok()) ADD_FAILURE() << encoder.status().message();
  return encoder.ok() ? std::move(*encoder) : nullptr;
}

inline std::vector<float> Embeddings(Encoder& encoder, const Texts& texts) {
  std::vector<float> out(texts.size() * encoder.dim());
  const Status status = encoder.EmbedTokens(texts, out.data());
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

}  // namespace prenorm
