// A model file that changes while it is in use: steps fail and say so, before and after the change reaches them; what
// was read and not mapped goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "prenorm/encoder.h"
#include "prenorm/quantize.h"
#include "prenorm/session.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

class ChangedFileTest : public testing::Test {
 protected:
  void SetUp() override { fs::copy_file(TinyModelPath(), path_); }

  std::shared_ptr<const Model> Load(const LoadOptions& options = {}) {
    Result<std::shared_ptr<const Model>> model = Model::Load(path_, options);
    if (!model.ok()) ADD_FAILURE() << model.status().message();
    return model.ok() ? *model : nullptr;
  }
  void Touch() const { fs::last_write_time(path_, fs::last_write_time(path_) + std::chrono::seconds(1)); }
  void ExpectChanged(const Status& status) const {
    EXPECT_EQ(status.code(), StatusCode::kBadModel);
    EXPECT_NE(status.message().find("'" + path_ + "'"), std::string::npos) << status.message();
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path("model.gguf");
  const std::vector<TokenId> tokens_ = {1, 2, 3};
  const std::vector<std::vector<TokenId>> texts_ = {tokens_};
};

TEST_F(ChangedFileTest, TheNextStepFails) {
  for (const bool cut : {false, true}) {
    fs::copy_file(TinyModelPath(), path_, fs::copy_options::overwrite_existing);
    const auto model = Load();
    const auto session = Session::Create(model, {.threads = 1});
    const auto encoder = Encoder::Create(model, {.threads = 1});
    ASSERT_TRUE(session.ok() && encoder.ok());
    std::vector<float> vector((*encoder)->dim());
    EXPECT_TRUE((*session)->Eval(tokens_).ok());
    EXPECT_TRUE((*encoder)->EmbedTokens(texts_, vector.data()).ok());
    cut ? fs::resize_file(path_, fs::file_size(path_) - 1) : Touch();
    ExpectChanged((*session)->Eval(tokens_));
    EXPECT_EQ((*session)->position(), tokens_.size());
    ExpectChanged((*encoder)->EmbedTokens(texts_, vector.data()));
  }
}

TEST_F(ChangedFileTest, SoDoesTheStepThatIsUnderWay) {
  const auto session = Session::Create(Load(), {.threads = 1});
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE((*session)->Eval(tokens_).ok());
  bool changed = false;
  (*session)->set_progress([&](float) {
    if (!changed) Touch();
    return changed = true;
  });
  ExpectChanged((*session)->Eval(tokens_));
  EXPECT_TRUE(changed);
  EXPECT_EQ((*session)->position(), tokens_.size());
  EXPECT_TRUE((*session)->logits().empty()) << "nothing of that step";
}

TEST_F(ChangedFileTest, PreparedWeightsAreWatchedToo) {
  LoadOptions options;
  options.prepared_folder = folder_.path("prepared");
  const auto model = Load(options);
  const auto session = Session::Create(model, {.threads = 1});
  ASSERT_TRUE(session.ok());
  EXPECT_TRUE((*session)->Eval(tokens_).ok());
  fs::resize_file(model->prepared_path(), 4096);
  const Status status = (*session)->Eval(tokens_);
  EXPECT_EQ(status.code(), StatusCode::kBadModel);
  EXPECT_NE(status.message().find(model->prepared_path()), std::string::npos) << status.message();
}

TEST_F(ChangedFileTest, RemovedOrReadItGoesOn) {
  LoadOptions read;
  read.use_mmap = false;
  const auto mapped = Session::Create(Load(), {.threads = 1});
  const auto copied = Session::Create(Load(read), {.threads = 1});
  ASSERT_TRUE(mapped.ok() && copied.ok());
  fs::rename(path_, folder_.path("elsewhere"));
  EXPECT_TRUE((*mapped)->Eval(tokens_).ok());
  fs::remove(folder_.path("elsewhere"));
  EXPECT_TRUE((*mapped)->Eval(tokens_).ok());
  fs::copy_file(TinyModelPath(), path_);  // Another file of that name.
  EXPECT_TRUE((*mapped)->Eval(tokens_).ok());
  EXPECT_TRUE((*copied)->Eval(tokens_).ok());
  fs::resize_file(path_, 0);
  EXPECT_TRUE((*copied)->Eval(tokens_).ok());
}

TEST_F(ChangedFileTest, NothingIsWrittenOfIt) {
  const std::string model = folder_.path("hf"), out = folder_.path("out.gguf");
  fs::copy(PRENORM_SOURCE_DIR "/models/tiny/hf", model);
  QuantizeOptions options;
  options.recipe = "Q8_0";
  options.progress = [&](float) {
    fs::last_write_time(model + "/model.safetensors", fs::file_time_type::clock::now() + std::chrono::seconds(2));
    return true;
  };
  const Status status = QuantizeFile(model, out, options).status();
  EXPECT_EQ(status.code(), StatusCode::kBadModel);
  EXPECT_NE(status.message().find("model.safetensors"), std::string::npos) << status.message();
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace
}  // namespace prenorm
