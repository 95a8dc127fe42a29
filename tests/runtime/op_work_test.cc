// Work counts against sums by hand from the tensors of the tiny model's file.
#include "prenorm/op_work.h"

#include <gtest/gtest.h>

#include "prenorm/inspect.h"
#include "tests/support/tiny_model.h"

namespace prenorm {
namespace {

class OpWorkTest : public testing::Test {
 protected:
  void SetUp() override {
    model_ = LoadTinyModel();
    ASSERT_NE(model_, nullptr);
  }
  std::shared_ptr<const Model> model_;
};

// Every matrix is read once a step: the file's own list of tensors is the oracle.
TEST_F(OpWorkTest, ProductsOfATokenReadTheMatricesOfTheFileOnce) {
  const Result<Inspection> file = Inspect(TinyModelPath());
  ASSERT_TRUE(file.ok()) << file.status().message();
  uint64_t bytes = 0, elements = 0, in_out = 0;
  for (const InspectedTensor& tensor : file->tensors) {
    if (tensor.shape.size() != 2) continue;
    bytes += tensor.bytes;  // The embedding is the output too, or stands for its like.
    elements += tensor.shape[0] * tensor.shape[1];
    in_out += tensor.shape[0] + tensor.shape[1];
  }
  ASSERT_TRUE(model_->config().tied_embeddings);
  OpWork sum;
  const auto add = [&](OpSite site, int32_t layer) {
    const OpWork work = WorkOf(*model_, OpKind::kMatMul, site, layer, {});
    sum.bytes += work.bytes;
    sum.flops += work.flops;
  };
  for (int32_t layer = 0; layer < static_cast<int32_t>(model_->config().n_layers); ++layer) {
    for (const OpSite site : {OpSite::kQkv, OpSite::kAttnOutput, OpSite::kGateUp, OpSite::kDown}) add(site, layer);
  }
  add(OpSite::kOutput, -1);
  EXPECT_EQ(sum.bytes, bytes + 4 * in_out);
  EXPECT_EQ(sum.flops, 2 * elements);
}

TEST_F(OpWorkTest, APromptReadsWeightsOnceAndLeavesTheLastLayersEndToOneToken) {
  const ModelConfig& config = model_->config();
  const auto last = static_cast<int32_t>(config.n_layers) - 1;
  const StepShape prompt{.tokens = 10};
  const auto flops = [&](OpKind kind, OpSite site, int32_t layer, const StepShape& step) {
    return WorkOf(*model_, kind, site, layer, step).flops;
  };
  EXPECT_EQ(flops(OpKind::kMatMul, OpSite::kDown, 0, prompt), 10 * flops(OpKind::kMatMul, OpSite::kDown, 0, {}));
  EXPECT_EQ(flops(OpKind::kMatMul, OpSite::kDown, last, prompt), flops(OpKind::kMatMul, OpSite::kDown, last, {}));
  EXPECT_EQ(flops(OpKind::kMatMul, OpSite::kQkv, last, prompt), 10 * flops(OpKind::kMatMul, OpSite::kQkv, last, {}));
  EXPECT_LT(WorkOf(*model_, OpKind::kMatMul, OpSite::kDown, 0, prompt).bytes,
            10 * WorkOf(*model_, OpKind::kMatMul, OpSite::kDown, 0, {}).bytes);
}

TEST_F(OpWorkTest, NormsAndAttentionCountAsOnPaper) {
  const ModelConfig& config = model_->config();
  const OpWork norm = WorkOf(*model_, OpKind::kNorm, OpSite::kAttnNorm, 0, {.tokens = 3});
  EXPECT_EQ(norm.bytes, 4 * config.dim * (3 + 3 + 1));
  EXPECT_EQ(norm.flops, 3 * (4 * config.dim + 4));
  // Three tokens behind five see 6, 7 and 8 positions.
  const OpWork attention = WorkOf(*model_, OpKind::kAttention, OpSite::kAttention, 0, {.tokens = 3, .position = 5});
  EXPECT_EQ(attention.flops, (6 + 7 + 8) * config.n_heads * (4 * config.head_dim + 8));
  EXPECT_EQ(attention.bytes,
            2 * 8 * config.n_kv_heads * config.head_dim * 2 + 2 * 3 * config.n_heads * config.head_dim * 4);
  // 34 bytes hold 32 values of an int8 cache.
  const OpWork int8 =
      WorkOf(*model_, OpKind::kAttention, OpSite::kAttention, 0, {.tokens = 3, .position = 5, .cache = DType::kQ8_0});
  EXPECT_EQ(int8.cold_bytes, 2 * 8 * config.n_kv_heads * config.head_dim / 32 * 34);
}

TEST_F(OpWorkTest, WaitingAndWhatIsNotThereIsNoWork) {
  for (const auto& [kind, site, layer] :
       {std::tuple(OpKind::kBarrier, OpSite::kQkv, 0), std::tuple(OpKind::kMatMul, OpSite::kAttnNorm, 0),
        std::tuple(OpKind::kNorm, OpSite::kQkv, 0), std::tuple(OpKind::kMatMul, OpSite::kQkv, -1)}) {
    const OpWork work = WorkOf(*model_, kind, site, layer, {});
    EXPECT_EQ(work.bytes + work.flops, 0u);
  }
}

TEST(TimerCostTest, PartsAreOrdered) {
  const TimerCost cost = MeasureTimerCost();
  EXPECT_GT(cost.inside_ns, 0);
  EXPECT_GE(cost.whole_ns, cost.inside_ns);
  EXPECT_GE(cost.off_ns, 0);
}

}  // namespace
}  // namespace prenorm
