// Runs the engine with a tap, then goes through the layers again with the reference, each operator from what the engine
// itself had before it.
#include "prenorm/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "runtime/loader/open.h"
#include "runtime/model/binder.h"
#include "runtime/model/families/family.h"
#include "runtime/model/forward.h"
#include "runtime/model/parts.h"
#include "runtime/model/verify_reference.h"

namespace prenorm {
namespace {

using reference::Rows;

// All rows of each point, those of one step after those of another.
class Trace : public StepTap {
 public:
  void Record(TapPoint point, size_t layer, const float* rows, size_t n, size_t width) override {
    std::vector<float>& all = rows_[{layer, point}];
    all.insert(all.end(), rows, rows + n * width);
  }
  bool Has(size_t layer, TapPoint point) const { return rows_.count({layer, point}) != 0; }
  /// Requires Has.
  Rows At(size_t layer, TapPoint point, size_t n) const {
    const std::vector<float>& all = rows_.at({layer, point});
    Rows rows(n, all.size() / n);
    rows.values.assign(all.begin(), all.end());
    return rows;
  }

 private:
  std::map<std::pair<size_t, TapPoint>, std::vector<float>> rows_;
};

// The weights as the file has them.
Result<std::unique_ptr<ModelParts>> LoadStored(const Model& model) {
  auto parts = std::make_unique<ModelParts>();
  Result<std::unique_ptr<TensorSource>> source = OpenModelFile(model.parts().source->path(), FileAccess::kMap);
  if (!source.ok()) return source.status();
  parts->source = std::move(source).value();
  const Result<const Family*> family = FamilyOf(*parts->source);
  if (!family.ok()) return family.status();
  Binder binder(*parts->source);
  if (Status status = BuildDecoder(**family, model.tokenizer().vocab_size(), *parts, binder); !status.ok())
    return status;
  parts->made_weights = binder.TakeMade();
  parts->block.embedding_scale = model.parts().block.embedding_scale;  // Which an option of loading may have rounded.
  return parts;
}

constexpr float kRounding = 0x1p-22f;  // Of a sum x + branch, as a share of x: no error of the branch.

// Largest distance, and largest share of its row's greatest element, both without `base`, the x that a
// branch was added to.
void Compare(const Rows& found, const Rows& expected, const Rows* base, OpDeviation& out) {
  for (size_t t = 0; t < expected.n; ++t) {
    double most = 0.0, distance = 0.0;
    for (size_t i = 0; i < expected.width; ++i) {
      const double value = expected[t][i];
      most = std::max(most, std::abs(base == nullptr ? value : value - (*base)[t][i]));
      const double rounding = base == nullptr ? 0.0 : static_cast<double>(kRounding) * std::abs(value);
      const double here = std::max(0.0, std::abs(found[t][i] - value) - rounding);
      distance = std::isnan(found[t][i]) ? std::numeric_limits<double>::infinity() : std::max(distance, here);
    }
    out.max_abs = std::max(out.max_abs, distance);
    if (distance > 0.0) out.max_rel = std::max(out.max_rel, distance / most);
  }
}

class Verifier {
 public:
  Verifier(const ModelParts& stored, Session& session, size_t n, const VerifyOptions& options)
      : decoder_{stored.config, stored.block, stored.weights, session.capacity()},
        session_(session),
        n_(n),
        options_(options),
        team_(session.threads()) {}

  Status Run(std::span<const TokenId> tokens) {
    if (Status status = RunEngine(tokens); !status.ok()) return status;
    if (Status status = CheckTrace(); !status.ok()) return status;
    const size_t n_layers = decoder_.config.n_layers;
    Embedding(tokens);
    for (size_t layer = 0; layer < n_layers; ++layer) {
      const float share = static_cast<float>(layer) / static_cast<float>(n_layers + 1);
      if (options_.progress && !options_.progress(share))
        return {StatusCode::kCancelled, "the comparison was cancelled"};
      Layer(layer, decoder_.weights.layers[layer]);
    }
    Output();
    for (size_t i = 0; i < result_.ops.size() && !result_.first_departure; ++i) {
      if (!result_.ops[i].holds()) result_.first_departure = i;
    }
    return {};
  }
  Verification TakeResult() { return std::move(result_); }

 private:
  Status RunEngine(std::span<const TokenId> tokens) {
    const size_t vocab_size = decoder_.config.vocab_size;
    logits_.resize(tokens.size() * vocab_size);
    const size_t prompt = tokens.size() - std::min(options_.decode, tokens.size());
    session_.set_tap(&trace_);
    Status status;
    for (size_t at = 0; status.ok() && at < tokens.size();) {
      const size_t count = at < prompt ? prompt : 1;
      status = session_.Eval(tokens.subspan(at, count), logits_.data() + at * vocab_size);
      at += count;
    }
    session_.set_tap(nullptr);
    return status;
  }

  // A model that runs other operators than those of this reference is refused, by the first that is missing.
  Status CheckTrace() const {
    struct Expected {
      TapPoint point;
      const char* name;
    };
    const size_t n_layers = decoder_.config.n_layers;
    const auto missing = [](size_t layer, const char* name) {
      return Status(StatusCode::kUnsupported, "this model cannot be compared with the reference\nlayer " +
                                                  std::to_string(layer) + ": expected the operator " + name +
                                                  ", found none");
    };
    if (!trace_.Has(n_layers, TapPoint::kEmbedding)) return missing(0, "embedding");
    for (size_t layer = 0; layer < n_layers; ++layer) {
      const bool mixture = !decoder_.weights.layers[layer].experts.empty();
      for (const Expected& op : {Expected{TapPoint::kQuery, "q"},
                                 {TapPoint::kKey, "k"},
                                 {TapPoint::kValue, "v"},
                                 {TapPoint::kAttention, "attention"},
                                 {TapPoint::kAttnOutput, "attn_output"},
                                 mixture ? Expected{TapPoint::kRouter, "router"} : Expected{TapPoint::kGate, "gate_up"},
                                 {TapPoint::kDown, "down"}}) {
        if (!trace_.Has(layer, op.point)) return missing(layer, op.name);
      }
    }
    return {};
  }

  // A product's allowance is that of the form in which it takes its input.
  double AllowedOf(const WeightMatrix& w) const {
    if (options_.tolerance > 0.0) return options_.tolerance;
    return ActivationFormatOf(w.type) == ActivationFormat::kF32 ? kExact : kInt8;
  }
  double AllowedOfAttention() const {
    if (options_.tolerance > 0.0) return options_.tolerance;
    if (session_.cache_type() == DType::kF32) return kExact;
    if (session_.cache_type() == DType::kQ8_0) return kInt8;
    return session_.cache_type() == DType::kF16 ? kF16Cache : kBf16Cache;
  }

  void Add(int32_t layer, std::string_view op, double allowed, const Rows& found, const Rows& expected,
           const Rows* base = nullptr) {
    OpDeviation deviation{layer, op, 0.0, 0.0, allowed};
    Compare(found, expected, base, deviation);
    result_.ops.push_back(deviation);
  }

  Rows At(size_t layer, TapPoint point) const { return trace_.At(layer, point, n_); }

  void Embedding(std::span<const TokenId> tokens) {
    Rows expected(n_, decoder_.config.dim);
    for (size_t t = 0; t < n_; ++t) {
      const std::vector<double> row = reference::RowOf(decoder_.weights.token_embd, static_cast<size_t>(tokens[t]));
      for (size_t i = 0; i < row.size(); ++i)
        expected[t][i] = row[i] * static_cast<double>(decoder_.block.embedding_scale);
      if (decoder_.weights.position_embd.rows == 0) continue;
      const std::vector<double> position = reference::RowOf(decoder_.weights.position_embd, t);
      for (size_t i = 0; i < position.size(); ++i) expected[t][i] += position[i];
    }
    x_ = At(decoder_.config.n_layers, TapPoint::kEmbedding);
    Add(-1, "embedding", options_.tolerance > 0.0 ? options_.tolerance : kExact, x_, expected);
  }

  void Layer(size_t index, const LayerWeights& layer) {
    const auto id = static_cast<int32_t>(index);
    const Rows input = reference::Norm(decoder_, layer.attn_norm, x_);
    const auto product = [&](std::string_view op, TapPoint point, const Linear& linear) {
      const Rows found = At(index, point);
      Add(id, op, AllowedOf(linear.w), found, reference::Multiply(linear.w, linear.bias, input, team_));
      return found;
    };
    const Rows q = product("q", TapPoint::kQuery, layer.wq);
    const Rows k = product("k", TapPoint::kKey, layer.wk);
    const Rows v = product("v", TapPoint::kValue, layer.wv);
    const Rows attention = At(index, TapPoint::kAttention);
    Add(id, "attention", AllowedOfAttention(), attention,
        reference::Attention(decoder_, index, session_.cache_type(), q, k, v));
    Branch(id, "attn_output", TapPoint::kAttnOutput, AllowedOf(layer.wo.w), layer.post_attn_norm,
           reference::Multiply(layer.wo.w, layer.wo.bias, attention, team_));
    const Rows ffn_input = decoder_.block.parallel ? input : reference::Norm(decoder_, layer.ffn_norm, x_);
    if (layer.experts.empty())
      FeedForward(index, layer, ffn_input);
    else
      Experts(index, layer, ffn_input);
  }

  // x with a branch added.
  void Branch(int32_t layer, std::string_view op, TapPoint point, double allowed, const NormWeights& norm,
              const Rows& branch) {
    const Rows found = At(static_cast<size_t>(layer), point);
    Add(layer, op, allowed, found, reference::Join(decoder_, x_, norm, branch), &x_);
    x_ = found;
  }

  void FeedForward(size_t index, const LayerWeights& layer, const Rows& input) {
    const auto id = static_cast<int32_t>(index);
    Rows expected = reference::Multiply(layer.w_up.w, layer.w_up.bias, input, team_);
    if (layer.w_gate) {
      const Rows gate = reference::Multiply(layer.w_gate.w, layer.w_gate.bias, input, team_);
      for (size_t i = 0; i < gate.values.size(); ++i) {
        expected.values[i] *= reference::Activate(decoder_.block.gate, gate.values[i]);
      }
    } else {
      for (double& value : expected.values) value = reference::Activate(decoder_.block.gate, value);
    }
    const Rows gate = At(index, TapPoint::kGate);
    Add(id, "gate_up", AllowedOf(layer.w_up.w), gate, expected);
    Branch(id, "down", TapPoint::kDown, AllowedOf(layer.w_down.w), layer.post_ffn_norm,
           reference::Multiply(layer.w_down.w, layer.w_down.bias, gate, team_));
  }

  // The engine's choice of experts is taken over after it has been checked: near a tie another one would be as right.
  void Experts(size_t index, const LayerWeights& layer, const Rows& input) {
    const auto id = static_cast<int32_t>(index);
    const Rows router = At(index, TapPoint::kRouter);
    Rows shares = router;
    for (double& share : shares.values) share = std::abs(share);
    Add(id, "router", AllowedOf(layer.router), shares, reference::Router(layer, input, team_));
    for (size_t t = 0; t < router.n; ++t) {
      size_t chosen = 0;
      double least = std::numeric_limits<double>::infinity(), most_left = 0.0;
      for (const double share : router[t]) {
        chosen += share < 0.0 ? 1 : 0;
        if (share < 0.0)
          least = std::min(least, -share);
        else
          most_left = std::max(most_left, share);
      }
      if (chosen == decoder_.block.n_experts_used && least >= most_left) continue;
      result_.ops.back().max_rel = std::numeric_limits<double>::infinity();
    }
    Branch(id, "down", TapPoint::kDown, AllowedOf(layer.experts.front().w_down), layer.post_ffn_norm,
           reference::MixExperts(decoder_, layer, input, router, team_));
  }

  void Output() {
    const WeightMatrix& w = decoder_.weights.output;
    Rows expected = reference::Multiply(w, {}, reference::Norm(decoder_, decoder_.weights.final_norm, x_), team_);
    for (double& value : expected.values) {
      value *= static_cast<double>(decoder_.block.logit_scale);
      const auto cap = static_cast<double>(decoder_.block.logit_soft_cap);
      if (cap != 0.0) value = cap * std::tanh(value / cap);
    }
    Rows found(n_, decoder_.config.vocab_size);
    found.values.assign(logits_.begin(), logits_.end());
    Add(-1, "output", AllowedOf(w), found, expected);
  }

  static constexpr double kExact = 1e-4;
  static constexpr double kInt8 = 1e-2;
  static constexpr double kF16Cache = 5e-3;
  static constexpr double kBf16Cache = 4e-2;

  const reference::Decoder decoder_;
  Session& session_;
  const size_t n_;
  const VerifyOptions& options_;
  Team team_;
  Trace trace_;
  std::vector<float> logits_;  // [n, vocab_size]
  Rows x_;                     // The engine's residual stream at the present place.
  Verification result_;
};

}  // namespace

Result<Verification> Verify(Session& session, std::span<const TokenId> tokens, const VerifyOptions& options) {
  if (session.position() != 0 || tokens.empty()) {
    return Status(
        StatusCode::kInvalidArgument,
        std::string(tokens.empty() ? "a comparison needs at least one token" : "a comparison needs an empty session") +
            "\nfound " + std::to_string(tokens.size()) + " tokens after " + std::to_string(session.position()) +
            " in the session\nCreate a session for it, and give it tokens.");
  }
  Result<std::unique_ptr<ModelParts>> stored = LoadStored(session.model());
  if (!stored.ok()) return stored.status();
  Verifier verifier(**stored, session, tokens.size(), options);
  if (Status status = verifier.Run(tokens); !status.ok()) return status;
  return verifier.TakeResult();
}

}  // namespace prenorm
