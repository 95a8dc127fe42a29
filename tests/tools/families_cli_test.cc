// Models of every family, from both formats, give the logits of transformers from the command; and files with numbers,
// tensors and names out of the ordinary.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/golden_families.h"
#include "tests/support/hashed_model.h"
#include "tests/support/npy_values.h"
#include "tests/support/small_llama.h"
#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

class FamiliesCliTest : public testing::Test {
 protected:
  std::vector<float> Logits(const std::string& model, const nlohmann::json& ids) {
    const std::string list = ids.dump(), out = folder_.path("x.npy");
    const CommandResult result =
        RunCommand({"logits", model, "--tokens", list.substr(1, list.size() - 2), "--out", out});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    said_ = result.err;
    return NpyValues(out);
  }

  TemporaryFolder folder_;
  std::string said_;
};

TEST_F(FamiliesCliTest, BothFormatsGiveTheLogitsOfTransformers) {  // F18, F19, F20, F21, F22, F23, F24, F25, F26, F32
  for (const std::string& name : GoldenNames()) {
    const nlohmann::json& golden = GoldenOf(name);
    HashedModel(golden).WriteGguf(folder_.path(name + ".gguf"));
    HashedModel(golden).WriteFolder(folder_.path(name));
    for (const std::string& path : {folder_.path(name + ".gguf"), folder_.path(name)}) {
      EXPECT_LE(GoldenDistance(golden, Logits(path, golden["ids"])), 1.0) << path;
    }
  }
}

TEST_F(FamiliesCliTest, TheEmbeddingIsTheOutputWhereNoneIsStored) {  // F17
  const nlohmann::json& golden = GoldenOf("llama_scaled");
  WriteTiedAndStored(golden, folder_.path("tied"), folder_.path("stored"));
  EXPECT_EQ(Logits(folder_.path("tied"), golden["ids"]), Logits(folder_.path("stored"), golden["ids"]));
}

TEST_F(FamiliesCliTest, TensorsThatNoLayerUsesAreNamed) {  // F11, F16, F26
  const nlohmann::json golden = WithUnusedTensors("llama");
  HashedModel(golden).WriteGguf(folder_.path("more.gguf"));
  EXPECT_LE(GoldenDistance(golden, Logits(folder_.path("more.gguf"), golden["ids"])), 1.0);
  const CommandResult inspected = RunCommand({"inspect", folder_.path("more.gguf"), "--json"});
  for (const std::string& name : UnusedTensorNames()) {
    EXPECT_NE(said_.find(name), std::string::npos) << said_;
    EXPECT_NE(inspected.out.find('"' + name + '"'), std::string::npos) << inspected.out;
  }
}

TEST_F(FamiliesCliTest, SubnormalWeightsOfSixteenBitsCount) {  // F27, F28
  for (const DType type : {DType::kF16, DType::kBF16}) {
    const std::vector<uint8_t> bytes = SubnormalLlama(type).Build();
    const std::string model = folder_.Write("model.gguf", std::string(bytes.begin(), bytes.end()));
    for (const int token : {0, 1, 2}) {
      const double expected = SubnormalLogits(type)[static_cast<size_t>(token)];
      for (const float logit : Logits(model, {token})) EXPECT_NEAR(logit / expected, 1.0, 2e-6) << token;
    }
  }
}

}  // namespace
}  // namespace prenorm
