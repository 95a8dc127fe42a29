// Rewinding, forking, saving and restoring: the same bytes as evaluating again, and refusals that change nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "prenorm/quantize.h"
#include "prenorm/session.h"
#include "tests/support/session_helpers.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

using Cache = SessionOptions::Cache;

class SessionStateTest : public testing::TestWithParam<Cache> {
 protected:
  void SetUp() override {
    model_ = LoadTinyModel();
    ASSERT_NE(model_, nullptr);
    options_.cache = GetParam();
    options_.threads = 2;
    options_.context = 300;
  }
  std::unique_ptr<Session> NewSession() { return MakeSession(model_, options_); }
  std::unique_ptr<Session> Evaluated(std::span<const TokenId> tokens) {
    auto session = NewSession();
    EXPECT_TRUE(session->Eval(tokens).ok());
    return session;
  }

  std::shared_ptr<const Model> model_;
  SessionOptions options_;
};

TEST_P(SessionStateTest, ARestoredSessionGoesOnWithTheSameBytes) {
  const std::vector<TokenId> tokens = SomeTokens(150, *model_);
  for (const size_t count : {1, 31, 32, 33, 100}) {
    const auto prefix = std::span(tokens).first(count);
    const auto original = Evaluated(prefix);
    const Result<std::vector<uint8_t>> bytes = original->Save();
    ASSERT_TRUE(bytes.ok());
    options_.context = 200;                                    // The stored form does not depend on the capacity.
    const auto restored = Evaluated(SomeTokens(77, *model_));  // What it held before is gone.
    options_.context = 300;
    const Status status = restored->Restore(*bytes);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(restored->position(), count);
    EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), restored->tokens().begin(), restored->tokens().end()));
    EXPECT_TRUE(SameBytes(restored->logits(), original->logits()));
    const auto rest = std::span(tokens).subspan(count);
    EXPECT_TRUE(SameBytes(AllLogits(*restored, rest), AllLogits(*original, rest))) << count;
  }
}

TEST_P(SessionStateTest, EqualSessionsHaveEqualBytesWhateverHappenedBefore) {
  const std::vector<TokenId> tokens = SomeTokens(60, *model_);
  const auto straight = Evaluated(std::span(tokens).first(40));
  const auto detour = Evaluated(tokens);
  ASSERT_TRUE(detour->Rewind(39).ok());
  ASSERT_TRUE(detour->Eval(std::span(tokens).subspan(39, 1)).ok());
  EXPECT_EQ(*straight->Save(), *detour->Save());
}

TEST_P(SessionStateTest, AForkEqualsARecomputedPrefixAndIsIndependent) {
  const std::vector<TokenId> tokens = SomeTokens(120, *model_);
  const auto other = Evaluated(std::span(tokens).first(90));
  const auto fork = NewSession();
  for (const size_t count : {90, 50, 0}) {
    ASSERT_TRUE(fork->ForkFrom(*other, count).ok());
    EXPECT_EQ(fork->position(), count);
    EXPECT_EQ(fork->logits().empty(), count != 90);
    const auto rest = std::span(tokens).subspan(count);
    EXPECT_TRUE(SameBytes(AllLogits(*fork, rest), AllLogits(*Evaluated(std::span(tokens).first(count)), rest)))
        << count;
  }
  EXPECT_EQ(other->position(), 90u);
  EXPECT_TRUE(SameBytes(AllLogits(*other, std::span(tokens).subspan(90)),
                        AllLogits(*Evaluated(std::span(tokens).first(90)), std::span(tokens).subspan(90))));
}

TEST_P(SessionStateTest, AForkThatIsRefusedChangesNothing) {
  const auto other = Evaluated(SomeTokens(90, *model_));
  options_.context = 20;
  const auto small = Evaluated(SomeTokens(7, *model_));
  EXPECT_EQ(small->ForkFrom(*other, 21).code(), StatusCode::kContextFull);
  EXPECT_EQ(small->ForkFrom(*other, 91).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(small->ForkFrom(*small, 1).code(), StatusCode::kInvalidArgument);
  options_.cache = GetParam() == Cache::kF32 ? Cache::kF16 : Cache::kF32;
  EXPECT_EQ(NewSession()->ForkFrom(*other, 5).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(small->position(), 7u);
  EXPECT_FALSE(small->logits().empty());
}

TEST_P(SessionStateTest, ReusePrefixKeepsWhatIsShared) {
  const std::vector<TokenId> tokens = SomeTokens(50, *model_);
  std::vector<TokenId> other(tokens.begin(), tokens.end());
  other[30] = (other[30] + 1) % static_cast<TokenId>(model_->config().vocab_size);
  const auto session = Evaluated(tokens);
  EXPECT_EQ(*session->ReusePrefix(tokens), 50u);  // All of it, with logits.
  EXPECT_FALSE(session->logits().empty());
  EXPECT_EQ(*session->ReusePrefix(other), 30u);
  EXPECT_TRUE(session->logits().empty());
  EXPECT_TRUE(SameBytes(AllLogits(*session, std::span(other).subspan(30)),
                        AllLogits(*Evaluated(std::span(other).first(30)), std::span(other).subspan(30))));
  EXPECT_EQ(*session->ReusePrefix(std::span(other).first(40)), 39u);  // The last one must be evaluated for its logits.
  EXPECT_EQ(*session->ReusePrefix({}), 0u);
  EXPECT_EQ(session->position(), 0u);
}

TEST_P(SessionStateTest, RewindKeepsLogitsOnlyWhereTheyAreGiven) {
  const std::vector<TokenId> tokens = SomeTokens(12, *model_);
  const auto session = NewSession();
  const std::vector<float> all = AllLogits(*session, tokens);
  const size_t vocab_size = model_->config().vocab_size;
  const std::span<const float> of_fifth(all.data() + 4 * vocab_size, vocab_size);
  EXPECT_EQ(session->Rewind(5, of_fifth.first(3)).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(session->Rewind(12).ok());
  EXPECT_FALSE(session->logits().empty());
  ASSERT_TRUE(session->Rewind(5, of_fifth).ok());
  EXPECT_TRUE(SameBytes(session->logits(), of_fifth));
  EXPECT_EQ(*session->Save(), *Evaluated(std::span(tokens).first(5))->Save());
  ASSERT_TRUE(session->Rewind(4).ok());
  EXPECT_TRUE(session->logits().empty());
  EXPECT_TRUE(session->LogProbs()->empty());
}

TEST_P(SessionStateTest, LogProbsAreTheLogitsLessTheirLogSum) {
  const auto session = Evaluated(SomeTokens(9, *model_));
  const std::vector<float> log_probs = *session->LogProbs();
  long double sum = 0.0L;
  for (const float p : log_probs) sum += std::exp(static_cast<long double>(p));
  EXPECT_NEAR(static_cast<double>(sum), 1.0, 1e-6);
  for (const size_t i : {1, 100, 200}) {
    EXPECT_NEAR(log_probs[i] - log_probs[0], session->logits()[i] - session->logits()[0], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(CacheTypes, SessionStateTest,
                         testing::Values(Cache::kF32, Cache::kF16, Cache::kBF16, Cache::kInt8), [](const auto& test) {
                           if (test.param == Cache::kInt8) return std::string("Int8");
                           return std::string(test.param == Cache::kF32   ? "F32"
                                              : test.param == Cache::kF16 ? "F16"
                                                                          : "BF16");
                         });

class StoredSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    model_ = LoadTinyModel();
    ASSERT_NE(model_, nullptr);
    session_ = MakeSession(model_, {.context = 64, .threads = 1});
    ASSERT_TRUE(session_->Eval(SomeTokens(3, *model_)).ok());
    bytes_ = *session_->Save();
    path_ = std::filesystem::temp_directory_path() / ("prenorm_session_" + std::to_string(getpid()));
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void ExpectRefused(std::span<const uint8_t> bytes, StatusCode code, const char* word) {
    const Status status = session_->Restore(bytes);
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    EXPECT_EQ(*session_->Save(), bytes_) << "the session has changed";
  }

  std::shared_ptr<const Model> model_;
  std::unique_ptr<Session> session_;
  std::vector<uint8_t> bytes_;
  std::string path_;
};

TEST_F(StoredSessionTest, CutAndForeignBytesAreRefused) {
  const std::span<const uint8_t> all(bytes_);
  for (const size_t size : {0, 7, 55}) ExpectRefused(all.first(size), StatusCode::kBadModel, "no stored session");
  for (const size_t size : {56, 57, 100}) ExpectRefused(all.first(size), StatusCode::kBadModel, "damaged");
  ExpectRefused(all.first(all.size() - 1), StatusCode::kBadModel, "damaged");
  std::vector<uint8_t> longer = bytes_;
  longer.push_back(0);
  ExpectRefused(longer, StatusCode::kBadModel, "damaged");
  const std::string text = "GGUF, or anything else that is long enough to hold a header, but is none of it.";
  ExpectRefused({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, StatusCode::kBadModel,
                "no stored session");
}

TEST_F(StoredSessionTest, EveryChangedByteIsNoticed) {
  for (size_t i = 0; i < bytes_.size(); i += i < 128 ? 1 : 101) {
    std::vector<uint8_t> changed = bytes_;
    changed[i] ^= 0x10u;
    EXPECT_FALSE(session_->Restore(changed).ok()) << "byte " << i;
  }
  EXPECT_EQ(*session_->Save(), bytes_);
}

TEST_F(StoredSessionTest, AnotherVersionCacheOrContextIsNamed) {
  std::vector<uint8_t> changed = bytes_;
  changed[8] = 77;
  ExpectRefused(changed, StatusCode::kUnsupported, "found 77");
  const auto f16 = MakeSession(model_, {.context = 64, .threads = 1, .cache = SessionOptions::Cache::kF16});
  const Status type = f16->Restore(bytes_);
  EXPECT_EQ(type.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(type.message().find("expected F16, found F32"), std::string::npos) << type.message();
  const auto small = MakeSession(model_, {.context = 2, .threads = 1});
  const Status context = small->Restore(bytes_);
  EXPECT_EQ(context.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(context.message().find("3 tokens, the context 2"), std::string::npos) << context.message();
}

TEST_F(StoredSessionTest, ASessionOfAnotherModelIsRefused) {
  QuantizeOptions quantize;
  quantize.recipe = "Q8_0";
  ASSERT_TRUE(QuantizeFile(TinyModelPath(), path_, quantize).ok());
  Result<std::shared_ptr<const Model>> other = Model::Load(path_);
  ASSERT_TRUE(other.ok());
  const auto session = MakeSession(*other, {.threads = 1, .cache = SessionOptions::Cache::kF32});
  const Status status = session->Restore(bytes_);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("another model"), std::string::npos) << status.message();
  // The same file loaded twice is the same model.
  EXPECT_TRUE(MakeSession(LoadTinyModel(), {.threads = 1})->Restore(bytes_).ok());
}

TEST_F(StoredSessionTest, FilesAreWrittenWholeAndMessagesNameThem) {
  const TemporaryFolder folder;
  ASSERT_TRUE(session_->SaveFile(folder.path("session")).ok());
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "the session, and nothing beside it";
  ASSERT_TRUE(session_->SaveFile(path_).ok());
  const auto restored = MakeSession(model_, {.threads = 1});
  ASSERT_TRUE(restored->RestoreFile(path_).ok());
  EXPECT_EQ(*restored->Save(), bytes_);
  std::filesystem::resize_file(path_, 1000);
  const Status cut = restored->RestoreFile(path_);
  EXPECT_EQ(cut.code(), StatusCode::kBadModel);
  EXPECT_NE(cut.message().find(path_), std::string::npos) << cut.message();
  EXPECT_EQ(restored->RestoreFile(path_ + "-absent").code(), StatusCode::kNotFound);
  EXPECT_EQ(session_->SaveFile("/absent/folder/file").code(), StatusCode::kIo);
}

TEST_F(StoredSessionTest, AnEmptySessionIsOneToo) {
  const auto empty = MakeSession(model_, {.context = 64, .threads = 1});
  const std::vector<uint8_t> bytes = *empty->Save();
  ASSERT_TRUE(session_->Restore(bytes).ok());
  EXPECT_EQ(session_->position(), 0u);
  EXPECT_TRUE(session_->logits().empty());
}

}  // namespace
}  // namespace prenorm
