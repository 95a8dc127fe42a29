// Each allocation of an encoder fails once: being made, and given texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "prenorm/encoder.h"
#include "prenorm/model.h"
#include "tests/support/fail_each.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

FaultOutcome OutcomeOf(const Status& status) {
  return {status.ok(), status.code() == StatusCode::kOutOfMemory || status.code() == StatusCode::kIo, status.message()};
}

TEST(EncoderFaultsTest, TextsToVectors) {
  const auto model = LoadTinyModel();
  ASSERT_NE(model, nullptr);
  const std::string_view texts[] = {"Once there was a fox", "who lived", "beside the river, and slept"};
  std::vector<float> out(3 * model->config().dim), expected;
  FailEach([&] {
    const auto encoder = Encoder::Create(model, {.threads = 2, .batch_tokens = 16});
    if (!encoder.ok()) return OutcomeOf(encoder.status());
    return OutcomeOf((*encoder)->Embed(texts, out.data()));
  });
  expected = out;
  // One that met a fault goes on, with the same vectors.
  const auto encoder = Encoder::Create(model, {.threads = 2, .batch_tokens = 16});
  ASSERT_TRUE(encoder.ok()) << encoder.status().message();
  FailEach([&] {
    std::fill(out.begin(), out.end(), 0.0f);
    return OutcomeOf((*encoder)->Embed(texts, out.data()));
  });
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace prenorm
