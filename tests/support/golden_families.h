// The tiny models of tests/golden/families.json and what transformers gives for them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "prenorm/model.h"
#include "prenorm/session.h"

namespace prenorm {

inline const nlohmann::json& Goldens() {
  static const nlohmann::json goldens = [] {
    std::ifstream file(PRENORM_SOURCE_DIR "/tests/golden/families.json");
    return nlohmann::json::parse(file);
  }();
  return goldens;
}

inline const nlohmann::json& GoldenOf(const std::string& name) {
  for (const auto& golden : Goldens()) {
    if (golden["name"] == name) return golden;
  }
  ADD_FAILURE() << "no golden values of " << name;
  return Goldens()[0];
}

inline std::vector<std::string> GoldenNames() {
  std::vector<std::string> names;
  for (const auto& golden : Goldens()) names.push_back(golden["name"]);
  return names;
}

/// Names of the tensors that WithUnusedTensors adds: a scalar, one without values, one with a long name.
inline std::vector<std::string> UnusedTensorNames() { return {"a.scalar", "no.values", std::string(300, 'x')}; }

/// The golden model `name` with tensors of which no layer knows.
inline nlohmann::json WithUnusedTensors(const std::string& name) {
  nlohmann::json golden = GoldenOf(name);
  const std::vector<std::vector<uint64_t>> shapes = {{}, {0}, {4}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::string tensor = UnusedTensorNames()[i];
    golden["tensors"].push_back(
        {{"hf", tensor}, {"gguf", tensor}, {"op", ""}, {"shape", shapes[i]}, {"offset", 0.0}, {"amplitude", 1.0}});
  }
  return golden;
}

/// Logits of all positions, the tokens given to the session `step` at a time.
inline std::vector<float> AllLogits(std::shared_ptr<const Model> model, const std::vector<TokenId>& ids, size_t step,
                                    int threads = 2) {
  SessionOptions options;
  options.cache = SessionOptions::Cache::kF32;
  options.threads = threads;
  options.context = ids.size();
  Result<std::unique_ptr<Session>> session = Session::Create(model, options);
  const size_t vocab_size = model->config().vocab_size;
  std::vector<float> logits(ids.size() * vocab_size);
  EXPECT_TRUE(session.ok()) << session.status().message();
  if (!session.ok()) return logits;
  for (size_t done = 0; done < ids.size(); done += step) {
    const auto part = std::span(ids).subspan(done, std::min(step, ids.size() - done));
    EXPECT_TRUE((*session)->Eval(part, logits.data() + done * vocab_size).ok());
  }
  return logits;
}

/// Largest distance of `logits` [positions, vocabulary] from the golden values, as a share of what is allowed.
inline double GoldenDistance(const nlohmann::json& golden, const std::vector<float>& logits) {
  const auto picked = golden["picked"].get<std::vector<size_t>>();
  const double allowed = 1e-4 * std::max(1.0, golden["max_logit"].get<double>());
  const size_t positions = golden["ids"].size();
  const size_t vocab_size = logits.size() / positions;
  double most = 0.0;
  for (size_t t = 0; t < positions; ++t) {
    for (size_t i = 0; i < picked.size(); ++i) {
      const double expected = golden["logits"][t][i];
      const double distance = std::abs(static_cast<double>(logits[t * vocab_size + picked[i]]) - expected);
      most = std::isnan(distance) ? INFINITY : std::max(most, distance);
    }
  }
  return most / allowed;
}

}  // namespace prenorm
