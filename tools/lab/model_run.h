// A model that reads a text with other norms in place of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "prenorm/norm_experiment.h"
#include "prenorm/session.h"
#include "tools/common/norm_choice.h"
#include "tools/common/options.h"

namespace prenorm::tools {

/// The model that experiments look at.
struct LabModel {
  std::string name;
  std::shared_ptr<const Model> model;
  int threads = 0;  ///< 0: as many as this process may use.
};

/// --model, else the default model, else the tiny model of the tree where the command runs from its build folder or
/// in the tree; says on stderr where it is not the default one. Errors: those of OpenModel.
Result<LabModel> OpenLabModel(const Options& options);

/// One session and the tokens of a sample text.
class ModelRun {
 public:
  /// Errors: those of Session::Create, and of the tokenizer.
  static Result<ModelRun> Create(const LabModel& model);

  /// Logits behind every token, [tokens, vocab_size]; null: the engine's own norms. Errors: those of Session::Eval.
  Result<std::vector<float>> Logits(const NormExperiment* norms);
  /// The same as log-probabilities. They depend on the stand-in alone where it is deterministic.
  Result<std::vector<float>> LogProbs(NormStandIn& stand_in);

  size_t tokens() const { return tokens_.size(); }
  const std::vector<TokenId>& tokens_of_text() const { return tokens_; }
  size_t vocab_size() const { return session_->model().config().vocab_size; }
  size_t n_layers() const { return session_->model().config().n_layers; }
  Session& session() { return *session_; }

 private:
  std::unique_ptr<Session> session_;
  std::vector<TokenId> tokens_;
};

/// How far log-probabilities `q` are from `p`, both [tokens, vocab_size].
struct Departure {
  double kl = 0;         ///< Mean of the tokens, nats.
  double same_top1 = 0;  ///< Share of the tokens.
};
Departure Compare(const std::vector<float>& p, const std::vector<float>& q, size_t vocab_size);

}  // namespace prenorm::tools
