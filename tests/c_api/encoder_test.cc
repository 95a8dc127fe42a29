// Embeddings of the C interface: what the C++ layer says too, one call at a time, cancelled and freed from anywhere.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "prenorm/prenorm.hpp"
#include "tests/c_api/c_helpers.h"

namespace prenorm::c_test {
namespace {

const std::vector<std::string> kTexts = {"Once there was a fox.", "a", "Mia and the fox went home.", "Once there was"};

class EncoderTest : public CTest {
 protected:
  Encoder MakeEncoder(const prenorm_encoder_options& options = PRENORM_ENCODER_OPTIONS_INIT) {
    prenorm_encoder* encoder = nullptr;
    EXPECT_EQ(prenorm_encoder_new(model_.get(), &options, &encoder, error()), PRENORM_OK) << message();
    return Encoder(encoder);
  }
  prenorm_encoder_info Info(prenorm_encoder* encoder) {
    prenorm_encoder_info info = PRENORM_ENCODER_INFO_INIT;
    EXPECT_EQ(prenorm_encoder_get_info(encoder, &info, error()), PRENORM_OK) << message();
    return info;
  }
  prenorm_status Embed(prenorm_encoder* encoder, const std::vector<std::string>& texts, std::vector<float>& vectors) {
    std::vector<const char*> begins;
    for (const std::string& text : texts) begins.push_back(text.c_str());
    vectors.assign(texts.size() * Info(encoder).dim, 0.0f);
    return prenorm_encoder_embed(encoder, begins.data(), nullptr, texts.size(), vectors.data(), vectors.size(),
                                 error());
  }
};

TEST_F(EncoderTest, VectorsHaveLengthOneAndDependOnTheirTextAlone) {
  const Encoder encoder = MakeEncoder();
  const prenorm_encoder_info info = Info(encoder.get());
  EXPECT_EQ(info.pooling, PRENORM_POOLING_LAST) << "of a decoder";
  EXPECT_EQ(info.normalizes, 1);
  EXPECT_GT(info.max_tokens, 0u);
  std::vector<float> vectors, alone;
  ASSERT_EQ(Embed(encoder.get(), kTexts, vectors), PRENORM_OK) << message();
  for (size_t i = 0; i < kTexts.size(); ++i) {
    ASSERT_EQ(Embed(encoder.get(), {kTexts[i]}, alone), PRENORM_OK) << message();
    const std::vector<float> row(vectors.begin() + static_cast<ptrdiff_t>(i * info.dim),
                                 vectors.begin() + static_cast<ptrdiff_t>((i + 1) * info.dim));
    EXPECT_EQ(row, alone) << kTexts[i];
    double squares = 0.0;
    for (const float x : row) squares += static_cast<double>(x) * x;
    EXPECT_NEAR(squares, 1.0, 1e-6);
  }
  // Lengths count, not zero bytes; the C++ layer gives the same.
  const char* text = "Once there was a fox. And more.";
  const size_t bytes = kTexts[0].size();
  alone.assign(info.dim, 0.0f);
  ASSERT_EQ(prenorm_encoder_embed(encoder.get(), &text, &bytes, 1, alone.data(), alone.size(), error()), PRENORM_OK);
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), vectors.begin()));
  EXPECT_EQ(api::Encoder(api::Model::Load(TinyModelPath())).Embed(kTexts), vectors);
}

TEST_F(EncoderTest, OptionsReachTheLibrary) {
  prenorm_encoder_options options = PRENORM_ENCODER_OPTIONS_INIT;
  options.threads = 1;
  options.pooling = PRENORM_POOLING_MEAN;
  options.normalize = PRENORM_NORMALIZE_NO;
  options.max_tokens = 4;
  Encoder encoder = MakeEncoder(options);
  const prenorm_encoder_info info = Info(encoder.get());
  EXPECT_EQ(info.threads, 1);
  EXPECT_EQ(info.pooling, PRENORM_POOLING_MEAN);
  EXPECT_EQ(info.normalizes, 0);
  EXPECT_EQ(info.max_tokens, 4u);
  std::vector<float> vectors;
  EXPECT_EQ(Embed(encoder.get(), kTexts, vectors), PRENORM_E_CONTEXT_FULL);
  EXPECT_NE(message().find("text 1"), std::string::npos) << message();
  options.truncate = 1;
  encoder = MakeEncoder(options);
  EXPECT_EQ(Embed(encoder.get(), kTexts, vectors), PRENORM_OK) << message();
}

TEST_F(EncoderTest, TheModelMayBeFreedBefore) {
  const Encoder encoder = MakeEncoder();
  std::vector<float> before, after;
  ASSERT_EQ(Embed(encoder.get(), kTexts, before), PRENORM_OK) << message();
  session_.reset();
  model_.reset();
  ASSERT_EQ(Embed(encoder.get(), kTexts, after), PRENORM_OK) << message();
  EXPECT_EQ(before, after);
}

TEST_F(EncoderTest, ACancelledCallSaysSoAndTheNextOneWorks) {
  const Encoder encoder = MakeEncoder();
  std::vector<float> vectors;
  prenorm_encoder_cancel(encoder.get());
  EXPECT_EQ(Embed(encoder.get(), kTexts, vectors), PRENORM_E_CANCELLED);
  EXPECT_EQ(Embed(encoder.get(), kTexts, vectors), PRENORM_OK) << message();
}

// Enough texts that a call takes long; another thread calls meanwhile, then frees the encoder.
TEST_F(EncoderTest, OfTwoCallsAtOnceTheLaterIsRefusedAndFreeEndsTheFirst) {
  prenorm_encoder* encoder = MakeEncoder().release();
  const size_t dim = Info(encoder).dim;
  const std::vector<const char*> texts(20000, "Once there was a fox who went home with Mia and the others.");
  std::atomic<int> status{-1};
  std::thread first([&] {
    std::vector<float> vectors(texts.size() * dim);
    prenorm_status ended = PRENORM_E_BUSY;  // For as long as the other thread's calls are the earlier ones.
    while (ended == PRENORM_E_BUSY) {
      ended =
          prenorm_encoder_embed(encoder, texts.data(), nullptr, texts.size(), vectors.data(), vectors.size(), nullptr);
    }
    status = ended;
  });
  prenorm_status second = PRENORM_OK;
  while (second != PRENORM_E_BUSY && status == -1) {
    prenorm_encoder_info info = PRENORM_ENCODER_INFO_INIT;
    second = prenorm_encoder_get_info(encoder, &info, error());
  }
  EXPECT_EQ(second, PRENORM_E_BUSY);
  EXPECT_NE(message().find("encoder"), std::string::npos) << message();
  prenorm_encoder_free(encoder);
  first.join();
  EXPECT_EQ(status, PRENORM_E_CANCELLED);
}

}  // namespace
}  // namespace prenorm::c_test
