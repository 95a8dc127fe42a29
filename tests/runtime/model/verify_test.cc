// The comparison of the engine with the reference: every family agrees, and a wrong weight is named where it is.
#include "prenorm/verify.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "prenorm/quantize.h"
#include "runtime/model/parts.h"
#include "tests/support/hashed_model.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

fs::path Place(const std::string& name) {
  return fs::path(testing::TempDir()) / ("prenorm_verify_" + std::to_string(getpid()) + name);
}

std::shared_ptr<const Model> Load(const std::string& path) {
  Result<std::shared_ptr<const Model>> model = Model::Load(path);
  if (!model.ok()) ADD_FAILURE() << model.status().message();
  return model.ok() ? *model : nullptr;
}

// The tiny model in another type.
std::shared_ptr<const Model> LoadQuantized(const std::string& recipe) {
  const std::string path = Place(recipe + ".gguf").string();
  QuantizeOptions options;
  options.recipe = recipe;
  const Result<QuantizeReport> report = QuantizeFile(TinyModelPath(), path, options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return Load(path);  // The reference reads the file again: it stays until the test ends.
}

std::vector<TokenId> SomeIds(const Model& model, size_t n) {
  std::vector<TokenId> ids;
  for (size_t i = 0; i < n; ++i) ids.push_back(static_cast<TokenId>((i * 37 + 11) % model.config().vocab_size));
  return ids;
}

Verification VerifyModel(const std::shared_ptr<const Model>& model, const std::vector<TokenId>& ids, size_t decode,
                         SessionOptions::Cache cache = SessionOptions::Cache::kAuto) {
  SessionOptions options;
  options.threads = 2;
  options.cache = cache;
  options.context = ids.size() + decode;  // Two lists of frequencies come with a short usual context.
  Result<std::unique_ptr<Session>> session = Session::Create(model, options);
  if (!session.ok()) {
    ADD_FAILURE() << session.status().message();
    return {};
  }
  Result<Verification> result = Verify(**session, ids, {.decode = decode});
  if (!result.ok()) ADD_FAILURE() << result.status().message();
  return result.ok() ? *result : Verification{};
}

std::string FirstDeparture(const Verification& result) {
  if (!result.first_departure) return "none";
  const OpDeviation& op = result.ops[*result.first_departure];
  return std::to_string(op.layer) + " " + std::string(op.op);
}

void ExpectHolds(const Verification& result, const std::string& name) {
  EXPECT_FALSE(result.ops.empty()) << name;
  for (const OpDeviation& op : result.ops) {
    EXPECT_TRUE(op.holds()) << name << ", layer " << op.layer << ", " << op.op << ": " << op.max_rel;
  }
}

// A session writes nothing to the weights, so that a test may plant an error in the memory that the engine reads.
uint8_t* BytesOf(const WeightMatrix& w) { return static_cast<uint8_t*>(const_cast<void*>(w.data)); }

TEST(VerifyTest, EveryFamilyAgreesInPromptsAndInDecoding) {
  std::ifstream file(PRENORM_SOURCE_DIR "/tests/golden/families.json");
  for (const nlohmann::json& golden : nlohmann::json::parse(file)) {
    const std::string name = golden["name"];
    const fs::path path = Place(name + ".gguf");
    HashedModel(golden).WriteGguf(path);
    const auto model = Load(path.string());
    if (model != nullptr) ExpectHolds(VerifyModel(model, golden["ids"].get<std::vector<TokenId>>(), 8), name);
    fs::remove(path);
  }
}

TEST(VerifyTest, QuantizedModelsAndSmallCachesHaveTheirOwnAllowance) {
  const auto plain = LoadTinyModel();
  ASSERT_NE(plain, nullptr);
  ExpectHolds(VerifyModel(plain, SomeIds(*plain, 32), 8, SessionOptions::Cache::kF16), "f16 cache");
  ExpectHolds(VerifyModel(plain, SomeIds(*plain, 32), 8, SessionOptions::Cache::kBF16), "bf16 cache");
  for (const std::string recipe : {"Q8_0", "Q4_0", "Q4_1"}) {
    const auto model = LoadQuantized(recipe);
    ASSERT_NE(model, nullptr);
    ExpectHolds(VerifyModel(model, SomeIds(*model, 32), 8), recipe);
    fs::remove(Place(recipe + ".gguf"));
  }
}

TEST(VerifyTest, AWrongWeightIsNamedAtItsLayer) {
  struct Case {
    const WeightMatrix& (*matrix)(const ModelWeights&);
    const char* expected;
  };
  const Case cases[] = {
      {[](const ModelWeights& w) -> const WeightMatrix& { return w.layers[2].wk.w; }, "2 k"},
      {[](const ModelWeights& w) -> const WeightMatrix& { return w.layers[0].wo.w; }, "0 attn_output"},
      {[](const ModelWeights& w) -> const WeightMatrix& { return w.layers[1].w_gate.w; }, "1 gate_up"},
      {[](const ModelWeights& w) -> const WeightMatrix& { return w.layers[3].w_down.w; }, "3 down"},
  };
  for (const Case& planted : cases) {
    const auto model = LoadTinyModel();
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(FirstDeparture(VerifyModel(model, SomeIds(*model, 12), 4)), "none");
    const WeightMatrix& w = planted.matrix(model->parts().weights);
    BytesOf(w)[(w.rows / 2 * w.cols + w.cols / 3) * sizeof(float) + 3] ^= 0x20;  // A high bit of the exponent.
    EXPECT_EQ(FirstDeparture(VerifyModel(model, SomeIds(*model, 12), 4)), planted.expected);
  }
}

TEST(VerifyTest, AWrongGainIsNamedByThoseWhoUseIt) {
  const auto model = LoadTinyModel();
  ASSERT_NE(model, nullptr);
  const_cast<float&>(model->parts().weights.layers[2].ffn_norm.gain[7]) *= 1.5f;
  EXPECT_EQ(FirstDeparture(VerifyModel(model, SomeIds(*model, 12), 4)), "2 gate_up");
}

TEST(VerifyTest, AWrongScaleOfAnInterleavedBlockIsNamed) {
  const auto model = LoadQuantized("Q8_0");
  ASSERT_NE(model, nullptr);
  const WeightMatrix& w = model->parts().weights.layers[1].w_up.w;
  ASSERT_TRUE(w.interleaved);
  for (size_t i = 0; i < w.rows * RowBytes(w.type, w.cols) / 2; ++i) BytesOf(w)[i] ^= 0x40;
  EXPECT_EQ(FirstDeparture(VerifyModel(model, SomeIds(*model, 12), 4)), "1 gate_up");
  fs::remove(Place("Q8_0.gguf"));
}

TEST(VerifyTest, RefusesWhatItCannotCompare) {
  const auto model = LoadTinyModel();
  ASSERT_NE(model, nullptr);
  Result<std::unique_ptr<Session>> session = Session::Create(model, {.threads = 1});
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(Verify(**session, {}).status().code(), StatusCode::kInvalidArgument);
  const std::vector<TokenId> ids = SomeIds(*model, 4);
  Result<Verification> cancelled = Verify(**session, ids, {.progress = [](float) { return false; }});
  EXPECT_EQ(cancelled.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(Verify(**session, ids).status().code(), StatusCode::kInvalidArgument)
      << "the session is not empty any more";
}

}  // namespace
}  // namespace prenorm
