// Models of every family, from both formats, give the logits of transformers through the C interface; and files with
// numbers, tensors and names out of the ordinary.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/c_api/c_helpers.h"
#include "tests/support/golden_families.h"
#include "tests/support/hashed_model.h"
#include "tests/support/small_llama.h"
#include "tests/support/temporary_folder.h"

namespace prenorm::c_test {
namespace {

class FamiliesCTest : public testing::Test {
 protected:
  // Warnings go to warnings_.
  Model Load(const std::string& path) {
    prenorm_model_options options = PRENORM_MODEL_OPTIONS_INIT;
    options.log_user = &warnings_;
    options.log = [](void* user, int32_t level, const char* text) {
      if (level == PRENORM_LOG_WARNING) static_cast<std::vector<std::string>*>(user)->push_back(text);
    };
    prenorm_model* model = nullptr;
    EXPECT_EQ(prenorm_model_load(path.c_str(), &options, &model, error_.get()), PRENORM_OK)
        << prenorm_error_message(error_.get());
    return Model(model);
  }

  // Of all positions, one after the other.
  std::vector<float> Logits(const prenorm_model* model, const std::vector<int32_t>& tokens) {
    prenorm_session_options options = PRENORM_SESSION_OPTIONS_INIT;
    options.threads = 2;
    options.context = tokens.size();
    options.cache = PRENORM_CACHE_F32;
    prenorm_session* session = nullptr;
    EXPECT_EQ(prenorm_session_new(model, &options, &session, error_.get()), PRENORM_OK)
        << prenorm_error_message(error_.get());
    const Session owner(session);
    prenorm_model_info info = PRENORM_MODEL_INFO_INIT;
    prenorm_model_get_info(model, &info, nullptr);
    std::vector<float> logits(tokens.size() * info.vocab_size);
    size_t count = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      EXPECT_EQ(prenorm_session_eval(session, &tokens[i], 1, error_.get()), PRENORM_OK);
      EXPECT_EQ(prenorm_session_logits(session, logits.data() + i * info.vocab_size, info.vocab_size, &count, nullptr),
                PRENORM_OK);
    }
    return logits;
  }

  TemporaryFolder folder_;
  Error error_{prenorm_error_new()};
  std::vector<std::string> warnings_;
};

// Among them: head sizes of their own, rotation in pairs and in halves, scaled as Llama 3.1 does and by YaRN, norm gains
// with one added, scaled embeddings, capped logits, sliding windows, biases, and what Gemma 3 does not say.
TEST_F(FamiliesCTest, BothFormatsGiveTheLogitsOfTransformers) {  // F18, F19, F20, F21, F22, F23, F24, F25, F26, F32
  for (const std::string& name : GoldenNames()) {
    SCOPED_TRACE(name);
    const nlohmann::json& golden = GoldenOf(name);
    const auto ids = golden["ids"].get<std::vector<int32_t>>();
    HashedModel(golden).WriteGguf(folder_.path(name + ".gguf"));
    HashedModel(golden).WriteFolder(folder_.path(name));
    for (const std::string& path : {folder_.path(name + ".gguf"), folder_.path(name)}) {
      const Model model = Load(path);
      ASSERT_NE(model, nullptr);
      EXPECT_LE(GoldenDistance(golden, Logits(model.get(), ids)), 1.0) << path;
    }
  }
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

TEST_F(FamiliesCTest, TheEmbeddingIsTheOutputWhereNoneIsStored) {  // F17
  const nlohmann::json& golden = GoldenOf("llama_scaled");
  const auto ids = golden["ids"].get<std::vector<int32_t>>();
  WriteTiedAndStored(golden, folder_.path("tied"), folder_.path("stored"));
  const Model a = Load(folder_.path("tied")), b = Load(folder_.path("stored"));
  EXPECT_EQ(Logits(a.get(), ids), Logits(b.get(), ids));
}

// A scalar, an empty tensor and a long name load; what no layer uses is named whole.
TEST_F(FamiliesCTest, TensorsThatNoLayerUsesAreNamed) {  // F11, F16, F26
  const nlohmann::json golden = WithUnusedTensors("llama");
  HashedModel(golden).WriteFolder(folder_.path("more"));
  HashedModel(golden).WriteGguf(folder_.path("more.gguf"));
  const auto ids = golden["ids"].get<std::vector<int32_t>>();
  for (const std::string& path : {folder_.path("more"), folder_.path("more.gguf")}) {
    warnings_.clear();
    const Model model = Load(path);
    ASSERT_NE(model, nullptr);
    EXPECT_LE(GoldenDistance(golden, Logits(model.get(), ids)), 1.0);
    std::string all;
    for (const std::string& warning : warnings_) all += warning;
    for (const std::string& name : UnusedTensorNames()) {
      EXPECT_NE(all.find(name), std::string::npos) << path << ": " << all;
    }
  }
}

TEST_F(FamiliesCTest, SubnormalWeightsOfSixteenBitsCount) {  // F27, F28
  for (const DType type : {DType::kF16, DType::kBF16}) {
    const std::vector<uint8_t> bytes = SubnormalLlama(type).Build();
    prenorm_model* model = nullptr;
    ASSERT_EQ(prenorm_model_load_memory(bytes.data(), bytes.size(), nullptr, &model, error_.get()), PRENORM_OK)
        << prenorm_error_message(error_.get());
    const Model owner(model);
    for (const int32_t token : {0, 1, 2}) {
      const double expected = SubnormalLogits(type)[static_cast<size_t>(token)];
      for (const float logit : Logits(model, {token})) EXPECT_NEAR(logit / expected, 1.0, 2e-6) << token;
    }
  }
}

}  // namespace
}  // namespace prenorm::c_test
