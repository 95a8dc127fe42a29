// What a session promises: the same bytes however it is driven, and refusals that lose nothing.
#include "prenorm/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "prenorm/target.h"
#include "runtime/model/forward.h"
#include "tests/support/session_helpers.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    model_ = LoadTinyModel();
    ASSERT_NE(model_, nullptr);
  }
  std::shared_ptr<const Model> model_;
};

TEST_F(SessionTest, LogitsDoNotDependOnThreadsOrChunks) {
  const std::vector<TokenId> tokens = SomeTokens(40, *model_);
  SessionOptions options;
  options.threads = 1;
  const std::vector<float> expected = AllLogits(*MakeSession(model_, options), tokens);
  for (const int threads : {1, 2, 3, 8}) {
    for (const size_t chunk : {1, 7, 64, 512}) {
      options.threads = threads;
      options.chunk = chunk;
      EXPECT_TRUE(SameBytes(AllLogits(*MakeSession(model_, options), tokens), expected))
          << threads << " threads, chunks of " << chunk;
    }
  }
}

TEST_F(SessionTest, AnInt8CacheGivesTheSameBytesHoweverItIsFilled) {
  const std::vector<TokenId> tokens = SomeTokens(300, *model_);
  SessionOptions options;
  options.cache = SessionOptions::Cache::kInt8;
  options.threads = 1;
  const std::vector<float> expected = AllLogits(*MakeSession(model_, options), tokens);
  for (const int threads : {2, 3}) {
    for (const size_t chunk : {1, 7, 64}) {
      options.threads = threads;
      options.chunk = chunk;
      EXPECT_TRUE(SameBytes(AllLogits(*MakeSession(model_, options), tokens), expected)) << threads << " " << chunk;
    }
  }
  const auto f16 = MakeSession(model_), int8 = MakeSession(model_, options);
  EXPECT_EQ(int8->cache_type(), DType::kQ8_0);
  EXPECT_LT(int8->memory_bytes(), f16->memory_bytes());
}

TEST_F(SessionTest, LastLogitsEqualTheLastRowOfAllLogits) {
  const std::vector<TokenId> tokens = SomeTokens(70, *model_);
  const auto whole = MakeSession(model_);
  const std::vector<float> all = AllLogits(*whole, tokens);
  const size_t vocab_size = model_->config().vocab_size;
  const std::span<const float> last(all.data() + 69 * vocab_size, vocab_size);
  EXPECT_TRUE(SameBytes(whole->logits(), last));

  const auto at_once = MakeSession(model_);
  ASSERT_TRUE(at_once->Eval(tokens).ok());
  EXPECT_TRUE(SameBytes(at_once->logits(), last));

  const auto one_by_one = MakeSession(model_);
  for (const TokenId token : tokens) ASSERT_TRUE(one_by_one->Eval({&token, 1}).ok());
  EXPECT_TRUE(SameBytes(one_by_one->logits(), last));
}

TEST_F(SessionTest, RewindAndGoOnEqualsAFreshSession) {
  const std::vector<TokenId> tokens = SomeTokens(90, *model_);
  const std::vector<TokenId> detour = SomeTokens(40, *model_);
  const auto fresh = MakeSession(model_);
  ASSERT_TRUE(fresh->Eval(tokens).ok());

  const auto rewound = MakeSession(model_);
  ASSERT_TRUE(rewound->Eval(std::span(tokens).first(33)).ok());
  ASSERT_TRUE(rewound->Eval(detour).ok());
  ASSERT_TRUE(rewound->Rewind(33).ok());
  ASSERT_TRUE(rewound->Eval(std::span(tokens).subspan(33)).ok());
  EXPECT_TRUE(SameBytes(rewound->logits(), fresh->logits()));
  EXPECT_EQ(rewound->Rewind(91).code(), StatusCode::kInvalidArgument);
}

TEST_F(SessionTest, CacheTypesAgreeWithinTheirRounding) {
  const std::vector<TokenId> tokens = SomeTokens(50, *model_);
  SessionOptions options;
  options.cache = SessionOptions::Cache::kF32;
  const std::vector<float> exact = AllLogits(*MakeSession(model_, options), tokens);
  const auto distance = [&](SessionOptions::Cache cache) {
    options.cache = cache;
    const std::vector<float> logits = AllLogits(*MakeSession(model_, options), tokens);
    float most = 0.0f;
    for (size_t i = 0; i < logits.size(); ++i) most = std::max(most, std::abs(logits[i] - exact[i]));
    return most;
  };
  const float f16_distance = distance(SessionOptions::Cache::kF16);
  const float bf16_distance = distance(SessionOptions::Cache::kBF16);
  EXPECT_GT(f16_distance, 0.0f);
  EXPECT_LT(f16_distance, 0.05f);
  EXPECT_GT(bf16_distance, f16_distance);
  EXPECT_LT(bf16_distance, 0.5f);
  const float int8_distance = distance(SessionOptions::Cache::kInt8);
  EXPECT_GT(int8_distance, f16_distance);
  EXPECT_LT(int8_distance, 0.5f);
}

TEST_F(SessionTest, WithoutMappingTheSameLogits) {
  LoadOptions options;
  options.use_mmap = false;
  const auto copied = LoadTinyModel(options);
  const std::vector<TokenId> tokens = SomeTokens(20, *model_);
  EXPECT_TRUE(SameBytes(AllLogits(*MakeSession(copied), tokens), AllLogits(*MakeSession(model_), tokens)));
}

TEST_F(SessionTest, TooManyTokensAreRefusedWithBothNumbersAndLeaveTheSessionUsable) {  // R1
  SessionOptions options;
  options.context = 32;
  const auto session = MakeSession(model_, options);
  ASSERT_TRUE(session->Eval(SomeTokens(30, *model_)).ok());
  const Status status = session->Eval(SomeTokens(3, *model_));
  EXPECT_EQ(status.code(), StatusCode::kContextFull);
  EXPECT_NE(status.message().find("3 tokens after 30"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("32"), std::string::npos) << status.message();
  EXPECT_EQ(session->position(), 30u);
  EXPECT_TRUE(session->Eval(SomeTokens(2, *model_)).ok());
  EXPECT_EQ(session->position(), session->capacity());
}

TEST_F(SessionTest, IdsOutsideTheEmbeddingAreRefused) {
  const auto session = MakeSession(model_);
  for (const TokenId id : {-1, static_cast<TokenId>(model_->config().vocab_size)}) {
    const Status status = session->Eval({&id, 1});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(std::to_string(id)), std::string::npos) << status.message();
  }
  EXPECT_EQ(session->position(), 0u);
  EXPECT_TRUE(session->logits().empty());
}

TEST_F(SessionTest, OptionsOutOfRangeAreRefused) {
  const auto code = [&](const SessionOptions& options) { return Session::Create(model_, options).status().code(); };
  SessionOptions options;
  options.context = model_->config().max_seq_len + 1;
  EXPECT_EQ(code(options), StatusCode::kInvalidArgument);
  options = {};
  options.threads = -1;
  EXPECT_EQ(code(options), StatusCode::kInvalidArgument);
  options = {};
  options.chunk = 0;
  EXPECT_EQ(code(options), StatusCode::kInvalidArgument);
  EXPECT_EQ(Session::Create(nullptr).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(SessionTest, ASetCancelFlagStopsTheStepAndKeepsThePosition) {
  const auto session = MakeSession(model_);
  const std::vector<TokenId> tokens = SomeTokens(40, *model_);
  ASSERT_TRUE(session->Eval(std::span(tokens).first(10)).ok());
  std::atomic<bool> cancel{true};
  session->set_cancel_flag(&cancel);
  EXPECT_EQ(session->Eval(std::span(tokens).subspan(10)).code(), StatusCode::kCancelled);
  EXPECT_EQ(session->position(), 10u);
  cancel = false;
  ASSERT_TRUE(session->Eval(std::span(tokens).subspan(10)).ok());
  const auto fresh = MakeSession(model_);
  ASSERT_TRUE(fresh->Eval(tokens).ok());
  EXPECT_TRUE(SameBytes(session->logits(), fresh->logits()));
}

TEST_F(SessionTest, ProgressGrowsOverThePromptAndMayCancel) {
  SessionOptions options;
  options.chunk = 8;
  options.threads = 2;
  const auto session = MakeSession(model_, options);
  const std::vector<TokenId> tokens = SomeTokens(20, *model_);
  std::vector<float> shares;
  const std::thread::id caller = std::this_thread::get_id();
  session->set_progress([&](float share) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    shares.push_back(share);
    return shares.size() != 40;  // Not reached by the first Eval.
  });
  ASSERT_TRUE(session->Eval(tokens).ok());
  const size_t n_layers = model_->config().n_layers;
  ASSERT_EQ(shares.size(), 3 * n_layers) << "each layer of chunks of 8, 8 and 4 tokens";
  for (size_t i = 0; i < shares.size(); ++i) {
    const double chunk = i / n_layers < 2 ? 8 : 4, before = 8.0 * static_cast<double>(i / n_layers);
    const double layers = static_cast<double>(i % n_layers) / static_cast<double>(n_layers);
    EXPECT_NEAR(shares[i], (before + chunk * layers) / 20, 1e-6) << i;
  }
  ASSERT_TRUE(session->Eval(std::span(tokens).first(1)).ok());
  EXPECT_EQ(shares.size(), 3 * n_layers) << "a single token is not worth a word";
  shares.resize(38);
  EXPECT_EQ(session->Eval(tokens).code(), StatusCode::kCancelled);
  EXPECT_EQ(session->position(), 21u);
  session->set_progress({});
  EXPECT_TRUE(session->Eval(tokens).ok());
}

TEST_F(SessionTest, CancelEndsAStepWithinOneLayer) {
  // Asks for the end in the middle of layer 1, and notes what still runs.
  struct Canceller : StepTap, OpObserver {
    void Record(TapPoint point, size_t layer, const float*, size_t, size_t) override {
      if (layer == 1 && point == TapPoint::kAttention) cancel = true;
    }
    void Record(const OpEvent& event) override {
      const bool begins_layer = event.site == OpSite::kAttnNorm || event.site == OpSite::kQkv;
      const bool ends_step = event.site == OpSite::kFinalNorm || event.site == OpSite::kOutput;
      if (ends_step || event.layer > 2 || (event.layer == 2 && !begins_layer)) ++too_late;
    }
    std::atomic<bool> cancel{false};
    std::atomic<int> too_late{0};
  };
  const std::vector<TokenId> tokens = SomeTokens(40, *model_);
  for (const int threads : {1, 2}) {
    for (const size_t count : {tokens.size(), size_t{1}}) {  // A prompt, an answer.
      SessionOptions options;
      options.threads = threads;
      const auto session = MakeSession(model_, options);
      Canceller canceller;
      session->set_cancel_flag(&canceller.cancel);
      session->set_observer(&canceller);
      session->set_tap(&canceller);
      EXPECT_EQ(session->Eval(std::span(tokens).first(count)).code(), StatusCode::kCancelled);
      EXPECT_EQ(canceller.too_late, 0) << threads << " threads, " << count << " tokens";
      EXPECT_EQ(session->position(), 0u);
    }
  }
}

TEST_F(SessionTest, ASecondThreadGetsBusy) {
  const auto session = MakeSession(model_);
  // The observer runs inside a step: from there the session is in use.
  class Intruder : public OpObserver {
   public:
    explicit Intruder(Session& target) : session(target) {}
    void Record(const OpEvent& event) override {
      if (event.thread == 0 && code == StatusCode::kOk) {
        const TokenId token = 3;
        code = session.Eval({&token, 1}).code();
      }
    }
    Session& session;
    StatusCode code = StatusCode::kOk;
  };
  Intruder intruder(*session);
  session->set_observer(&intruder);
  ASSERT_TRUE(session->Eval(SomeTokens(5, *model_)).ok());
  EXPECT_EQ(intruder.code, StatusCode::kBusy);
}

TEST_F(SessionTest, EventsNestInTheStepAndNameEveryNormSite) {
  class Collector : public OpObserver {
   public:
    void Record(const OpEvent& event) override { events.push_back(event); }
    std::vector<OpEvent> events;
  };
  SessionOptions options;
  options.threads = 1;
  const auto session = MakeSession(model_, options);
  Collector collector;
  session->set_observer(&collector);
  ASSERT_TRUE(session->Eval(SomeTokens(1, *model_)).ok());
  size_t attn_norms = 0, ffn_norms = 0, final_norms = 0;
  uint64_t last_end = 0;
  for (const OpEvent& event : collector.events) {
    EXPECT_GE(event.begin_ns, last_end);
    EXPECT_GE(event.end_ns, event.begin_ns);
    last_end = event.end_ns;
    if (event.kind != OpKind::kNorm) continue;
    attn_norms += event.site == OpSite::kAttnNorm;
    ffn_norms += event.site == OpSite::kFfnNorm;
    final_norms += event.site == OpSite::kFinalNorm;
  }
  // Sums of squares behind the stage before, and the pack.
  EXPECT_EQ(attn_norms, 2 * model_->config().n_layers);
  EXPECT_EQ(ffn_norms, 2 * model_->config().n_layers);
  EXPECT_EQ(final_norms, 2u);
}

TEST_F(SessionTest, ForcedTargetsAgreeOnTheGreedyToken) {
  const std::vector<TokenId> tokens = SomeTokens(40, *model_);
  std::vector<TokenId> expected;
  for (const std::string& target : RunnableTargets()) {
    ASSERT_TRUE(ForceTarget(target).ok());
    const auto model = LoadTinyModel();  // Weights are interleaved for the target.
    const auto session = MakeSession(model);
    const std::vector<float> logits = AllLogits(*session, tokens);
    std::vector<TokenId> greedy;
    const size_t vocab_size = model->config().vocab_size;
    for (size_t t = 0; t < tokens.size(); ++t) {
      const float* row = logits.data() + t * vocab_size;
      greedy.push_back(static_cast<TokenId>(std::max_element(row, row + vocab_size) - row));
    }
    if (expected.empty()) expected = greedy;
    EXPECT_EQ(greedy, expected) << target;
  }
  ASSERT_TRUE(ForceTarget("").ok());
}

TEST_F(SessionTest, RefusalsSayWhatWhereAndWhatToDo) {
  const auto session = MakeSession(model_, {});
  const auto created = [&](auto SessionOptions::*option, auto value) {
    SessionOptions options;
    options.*option = value;
    return Session::Create(model_, options).status();
  };
  const TokenId beyond = static_cast<TokenId>(model_->config().vocab_size);
  const std::vector<TokenId> many(session->capacity() + 1, 1);
  for (const Status& status :
       {created(&SessionOptions::threads, -1), created(&SessionOptions::chunk, size_t{0}),
        created(&SessionOptions::context, model_->config().max_seq_len + 1), Session::Create(nullptr).status(),
        session->Eval(std::span(&beyond, 1)), session->Eval(many), session->Rewind(1),
        session->Rewind(0, std::vector<float>(3)), session->ForkFrom(*session, 0)}) {
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(std::count(status.message().begin(), status.message().end(), '\n'), 2) << status.message();
  }
}

}  // namespace
}  // namespace prenorm
