// Plants one mistake at a time in the description of each family's blocks: the golden logits must notice it. Otherwise a
// family could be read wrongly and families_test.cc would pass.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "prenorm/model.h"
#include "runtime/model/parts.h"
#include "tests/support/golden_families.h"
#include "tests/support/hashed_model.h"
#include "tests/support/temporary_folder.h"

namespace prenorm {
namespace {

struct Mutation {
  std::string name;
  std::function<bool(ModelParts&)> plant;  // false: the model has nothing of the kind
};

template <typename T>
bool Set(T& value, T other) {
  if (value == other) return false;
  value = other;
  return true;
}

bool Ones(NormWeights& norm) { return Set(norm.gain, std::vector<float>(norm.gain.size(), 1.0f)); }

bool Clear(std::vector<float>& values) {
  const bool there = !values.empty();
  values.clear();
  return there;
}

/// Changes all of them; whether there was one to change.
template <typename Things, typename F>
bool Each(Things& things, const F& change) {
  bool changed = false;
  for (auto& thing : things) changed |= change(thing);
  return changed;
}

template <typename F>
Mutation OfLayers(std::string name, F change) {
  return {std::move(name), [change](ModelParts& parts) { return Each(parts.weights.layers, change); }};
}

template <typename F>
Mutation OfBlock(std::string name, F change) {
  return {std::move(name), [change](ModelParts& parts) { return change(parts.block); }};
}

template <typename F>
Mutation OfRopes(std::string name, F change) {
  return OfBlock(std::move(name), [change](BlockSpec& block) { return Each(block.ropes, change); });
}

template <typename F>
Mutation OfSpecs(std::string name, F change) {
  return OfBlock(std::move(name), [change](BlockSpec& block) { return Each(block.layers, change); });
}

void AddNorms(std::vector<Mutation>& all) {
  using Norm = std::pair<const char*, NormWeights LayerWeights::*>;
  for (const auto& [name, norm] : {Norm{"attn_norm", &LayerWeights::attn_norm},
                                   {"ffn_norm", &LayerWeights::ffn_norm},
                                   {"post_attn_norm", &LayerWeights::post_attn_norm},
                                   {"post_ffn_norm", &LayerWeights::post_ffn_norm},
                                   {"q_norm", &LayerWeights::q_norm},
                                   {"k_norm", &LayerWeights::k_norm}}) {
    all.push_back(OfLayers(name + std::string(" without its gain"), [n = norm](auto& l) { return Ones(l.*n); }));
    if (norm != &LayerWeights::attn_norm && norm != &LayerWeights::ffn_norm) continue;  // The others are RMSNorms.
    all.push_back(
        OfLayers(name + std::string(" without its bias"), [n = norm](auto& l) { return Clear((l.*n).bias); }));
  }
  all.push_back(OfLayers("no norm behind attention", [](auto& l) { return Clear(l.post_attn_norm.gain); }));
  all.push_back(OfLayers("no norm behind the feed-forward", [](auto& l) { return Clear(l.post_ffn_norm.gain); }));
  all.push_back({"final_norm without its gain", [](auto& parts) { return Ones(parts.weights.final_norm); }});
  all.push_back({"final_norm without its bias", [](auto& parts) { return Clear(parts.weights.final_norm.bias); }});
  all.push_back(
      {"ten times the eps", [](auto& parts) { return Set(parts.config.norm_eps, parts.config.norm_eps * 10); }});
  all.push_back(OfBlock("the other kind of norm", [](auto& block) {
    return Set(block.norm, block.norm == NormKind::kRms ? NormKind::kLayer : NormKind::kRms);
  }));
  all.push_back(
      OfBlock("queries and keys without norms", [](auto& block) { return Set(block.qk_norm, QkNorm::kNone); }));
}

void AddMatrices(std::vector<Mutation>& all) {
  using Map = std::pair<const char*, Linear LayerWeights::*>;
  for (const auto& [name, map] : {Map{"wq", &LayerWeights::wq},
                                  {"wv", &LayerWeights::wv},
                                  {"wo", &LayerWeights::wo},
                                  {"w_up", &LayerWeights::w_up},
                                  {"w_down", &LayerWeights::w_down}}) {
    all.push_back(OfLayers(name + std::string(" without its bias"), [m = map](auto& l) { return Clear((l.*m).bias); }));
  }
  // The bias of keys that do not turn adds the same to all scores of a query: that changes nothing.
  all.push_back({"wk without its bias", [](auto& parts) {
                   const bool changed = Each(parts.weights.layers, [](auto& l) { return Clear(l.wk.bias); });
                   return changed && !parts.block.ropes.empty();
                 }});
  all.push_back(OfLayers("gate and up exchanged", [](auto& l) {
    if (l.w_gate) std::swap(l.w_gate, l.w_up);
    return bool(l.w_gate);
  }));
  all.push_back({"two layers exchanged", [](auto& parts) {
                   std::swap(parts.weights.layers[0], parts.weights.layers[1]);
                   return true;
                 }});
  all.push_back({"no learned positions", [](auto& parts) { return Set(parts.weights.position_embd.rows, size_t{0}); }});
}

void AddExperts(std::vector<Mutation>& all) {
  all.push_back(OfLayers("two experts exchanged", [](auto& l) {
    if (l.experts.size() > 1) std::swap(l.experts[0], l.experts[1]);
    return l.experts.size() > 1;
  }));
  all.push_back(OfLayers("gate and up of the experts exchanged", [](auto& l) {
    for (Expert& expert : l.experts) std::swap(expert.w_gate, expert.w_up);
    return !l.experts.empty();
  }));
  all.push_back(OfLayers("the shared expert at its full weight", [](auto& l) { return Clear(l.shared_gate); }));
  all.push_back(OfLayers("no shared expert", [](auto& l) {
    const bool there = !l.experts.empty() && l.w_up;
    if (there) l.w_gate = l.w_up = l.w_down = Linear{};
    return there;
  }));
  all.push_back(OfBlock("one expert more",
                        [](auto& b) { return b.n_experts > 0 && Set(b.n_experts_used, b.n_experts_used + 1); }));
  all.push_back(OfBlock("one expert less",
                        [](auto& b) { return b.n_experts > 0 && Set(b.n_experts_used, b.n_experts_used - 1); }));
  all.push_back(OfBlock("weights of the experts normalized or not", [](auto& b) {
    return b.n_experts > 0 && Set(b.normalize_expert_weights, !b.normalize_expert_weights);
  }));
}

void AddFactors(std::vector<Mutation>& all) {
  using Factor = std::pair<const char*, float BlockSpec::*>;
  for (const auto& [name, factor] : {Factor{"embedding_scale", &BlockSpec::embedding_scale},
                                     {"residual_scale", &BlockSpec::residual_scale},
                                     {"logit_scale", &BlockSpec::logit_scale}}) {
    all.push_back(OfBlock(name + std::string(" forgotten"), [f = factor](auto& block) { return Set(block.*f, 1.0f); }));
  }
  all.push_back(OfBlock("embedding_scale in bf16",
                        [](auto& block) { return Set(block.embedding_scale, ToF32(ToBf16(block.embedding_scale))); }));
  for (const auto& [name, factor] :
       {Factor{"attention_soft_cap", &BlockSpec::attention_soft_cap}, {"logit_soft_cap", &BlockSpec::logit_soft_cap}}) {
    all.push_back(OfBlock(name + std::string(" forgotten"), [f = factor](auto& block) { return Set(block.*f, 0.0f); }));
  }
  all.push_back({"attention_scale by the size of heads", [](auto& parts) {
                   const float usual = 1.0f / std::sqrt(static_cast<float>(parts.config.head_dim));
                   // The same number, reached in another way, is no mistake.
                   if (std::abs(parts.block.attention_scale / usual - 1.0f) < 1e-6f) return false;
                   return Set(parts.block.attention_scale, usual);
                 }});
  all.push_back(OfBlock("attention_scale wrong by 1 %",
                        [](auto& block) { return Set(block.attention_scale, block.attention_scale * 1.01f); }));
  all.push_back(OfBlock("branches one after the other", [](auto& block) { return Set(block.parallel, false); }));
  for (const Gate gate : {Gate::kSilu, Gate::kGeluTanh, Gate::kGeluErf}) {
    all.push_back(OfBlock("activation " + std::to_string(static_cast<int>(gate)),
                          [gate](auto& block) { return Set(block.gate, gate); }));
  }
}

void AddPositions(std::vector<Mutation>& all) {
  all.push_back(OfSpecs("no window", [](auto& layer) { return Set(layer.window, size_t{0}); }));
  for (const size_t by : {size_t{1}, static_cast<size_t>(-1)}) {
    all.push_back(OfSpecs(by == 1 ? "a window one wider" : "a window one narrower",
                          [by](auto& layer) { return layer.window != 0 && Set(layer.window, layer.window + by); }));
  }
  all.push_back(OfSpecs("one window for all layers", [](auto& layer) { return Set(layer.window, size_t{8}); }));
  all.push_back(OfSpecs("the first frequencies in all layers",
                        [](auto& layer) { return layer.rope != kNoRope && Set(layer.rope, size_t{0}); }));
  all.push_back(OfBlock("frequencies in layers without", [](auto& block) {
    return !block.ropes.empty() &&
           Each(block.layers, [](auto& layer) { return layer.rope == kNoRope && Set(layer.rope, size_t{0}); });
  }));
  all.push_back(OfSpecs("no frequencies", [](auto& layer) { return Set(layer.rope, kNoRope); }));
  all.push_back(OfBlock("the other pairs", [](auto& block) {
    const bool halves = block.rope_pairs == RopePairs::kHalves;
    return !block.ropes.empty() && Set(block.rope_pairs, halves ? RopePairs::kNeighbours : RopePairs::kHalves);
  }));
  all.push_back({"frequencies without their scaling", [](ModelParts& parts) {
                   bool changed = false;
                   for (RopeTable& rope : parts.block.ropes) {
                     const double size = 2.0 * static_cast<double>(rope.inv_freq.size());
                     double most = 0.0;
                     std::vector<float> plain;
                     for (size_t i = 0; i < rope.inv_freq.size(); ++i) {
                       plain.push_back(static_cast<float>(std::pow(static_cast<double>(parts.config.rope_theta),
                                                                   -2.0 * static_cast<double>(i) / size)));
                       most = std::max(most, std::abs(static_cast<double>(rope.inv_freq[i] / plain[i]) - 1.0));
                     }
                     if (most < 1e-5) continue;  // No scaling, but for rounding.
                     rope.inv_freq = plain;
                     rope.long_inv_freq.clear();
                     changed = true;
                   }
                   return changed;
                 }});
  all.push_back(OfRopes("the last frequency wrong by half", [](auto& rope) {
    rope.inv_freq.back() *= 1.5f;
    if (!rope.long_inv_freq.empty()) rope.long_inv_freq.back() *= 1.5f;
    return true;
  }));
  all.push_back(OfRopes("cos and sin without their factor", [](auto& rope) { return Set(rope.magnitude, 1.0f); }));
}

std::vector<Mutation> AllMutations() {
  std::vector<Mutation> all;
  AddNorms(all);
  AddMatrices(all);
  AddExperts(all);
  AddFactors(all);
  AddPositions(all);
  return all;
}

TEST(FamilyMutationsTest, TheGoldenLogitsNoticeEachMistakeInEachFamily) {
  const TemporaryFolder folder;
  const std::vector<Mutation> mutations = AllMutations();
  std::set<std::string> planted;
  for (const auto& golden : Goldens()) {
    const std::string name = golden["name"];
    const std::string path = folder.path(name + ".gguf");
    HashedModel(golden).WriteGguf(path);
    const auto model = Model::Load(path);
    ASSERT_TRUE(model.ok()) << model.status().message();
    const auto ids = golden["ids"].get<std::vector<TokenId>>();
    ASSERT_LE(GoldenDistance(golden, AllLogits(*model, ids, ids.size())), 1.0) << name;
    ModelParts& parts = const_cast<ModelParts&>((*model)->parts());
    const ModelConfig config = parts.config;
    const BlockSpec block = parts.block;
    const ModelWeights weights = parts.weights;
    for (const Mutation& mutation : mutations) {
      if (mutation.plant(parts)) {
        planted.insert(mutation.name);
        const double distance = GoldenDistance(golden, AllLogits(*model, ids, ids.size()));
        EXPECT_GT(distance, 1.0) << name << ": " << mutation.name;
      }
      parts.config = config;
      parts.block = block;
      parts.weights = weights;
    }
  }
  for (const Mutation& mutation : mutations)
    EXPECT_TRUE(planted.contains(mutation.name)) << mutation.name << ": nowhere";
}

}  // namespace
}  // namespace prenorm
