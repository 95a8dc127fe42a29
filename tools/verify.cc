// prenorm verify: the engine beside a plain reference computation, operator by operator, on this machine.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "prenorm/verify.h"
#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/interrupt.h"
#include "tools/common/open_model.h"
#include "tools/common/progress_bar.h"

namespace prenorm::tools {
namespace {

// Ordinary prose, so that activations are such as the model usually has.
constexpr const char* kText =
    "Once a month the old ferry crosses the bay with flour, lamp oil and letters. The captain knows every rock by its "
    "sound: where the swell breaks twice, there are 3 metres of water; where it hisses, none. \"You learn to listen,\" "
    "she says, \"or you learn to swim.\" In winter nobody crosses, and the island waits for spring.\n";

// As many ids as asked for: the text, again and again.
Result<std::vector<TokenId>> MakeIds(const Tokenizer& tokenizer, size_t n) {
  Result<std::vector<TokenId>> once = tokenizer.Encode(kText, {.add_special = true});
  if (!once.ok() || once->empty()) {
    return once.ok()
               ? Status(StatusCode::kUnsupported,
                        "The model's tokenizer makes no tokens of a text.\nexpected at least one of the sample text\n"
                        "Try prenorm tokenize -p TEXT on this model.")
               : once.status();
  }
  std::vector<TokenId> ids;
  while (ids.size() < n) ids.insert(ids.end(), once->begin(), once->end());
  ids.resize(n);
  return ids;
}

std::string Place(const OpDeviation& op) {
  return op.layer < 0 ? std::string(op.op) : "layer " + std::to_string(op.layer) + ", " + std::string(op.op);
}

// The worst operator of each layer, and what stands alone before and behind the layers.
std::string Table(const Verification& result) {
  std::string text = "layer  worst operator   max abs    max rel    allowed\n";
  for (size_t i = 0; i < result.ops.size();) {
    size_t worst = i, end = i;
    for (; end < result.ops.size() && result.ops[end].layer == result.ops[i].layer; ++end) {
      const OpDeviation &a = result.ops[end], &b = result.ops[worst];
      if (a.max_rel / a.allowed > b.max_rel / b.allowed) worst = end;
    }
    const OpDeviation& op = result.ops[worst];
    char line[128];
    std::snprintf(line, sizeof line, "%5s  %-14s  %9.3g  %9.3g  %9.3g%s\n",
                  op.layer < 0 ? "-" : std::to_string(op.layer).c_str(), std::string(op.op).c_str(), op.max_abs,
                  op.max_rel, op.allowed, op.holds() ? "" : "  departs");
    text += line;
    i = end;
  }
  return text;
}

// JSON has no infinity: a value that is none is null.
nlohmann::ordered_json Number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

std::string Json(const Verification& result, size_t tokens, int threads) {
  nlohmann::ordered_json json = NewJson(threads);
  json["tokens"] = tokens;
  json["layers"] = nlohmann::ordered_json::array();
  for (const OpDeviation& op : result.ops) {
    json["layers"].push_back({{"layer", op.layer},
                              {"op", op.op},
                              {"max_abs", Number(op.max_abs)},
                              {"max_rel", Number(op.max_rel)},
                              {"allowed", op.allowed}});
  }
  json["first_departure"] = nullptr;
  if (result.first_departure) {
    const OpDeviation& op = result.ops[*result.first_departure];
    json["first_departure"] = {{"layer", op.layer}, {"op", op.op}};
  }
  json["holds"] = !result.first_departure.has_value();
  return JsonLine(json);
}

}  // namespace

int RunVerify(const Options& options) {
  if (options.verify_tokens < 1 || options.verify_tokens > 4096) {
    return Fail(OutOfRange("--tokens", options.verify_tokens, "1 to 4096"));
  }
  if (!(options.tolerance >= 0.0)) {
    return Fail(Status(StatusCode::kInvalidArgument,
                       "An option is out of range.\n--tolerance: expected 0 or more\n"
                       "Give a share of the largest element, e.g. 0.01."));
  }
  Result<OpenedModel> opened = OpenModel(options);
  if (!opened.ok()) return FailModel(opened.status());
  if (opened->model->is_encoder()) {
    return Fail(Status(StatusCode::kUnsupported,
                       "Only decoders can be verified, token by token.\n" + options.model + ": is an encoder (" +
                           opened->model->config().architecture +
                           ")\nCompare its vectors with those of another program: prenorm embed MODEL --json TEXT"));
  }
  const auto tokens = std::min(static_cast<size_t>(options.verify_tokens), opened->model->config().max_seq_len);
  Result<std::unique_ptr<Session>> session = OpenSession(*opened, options, tokens);
  if (!session.ok()) return Fail(session.status());
  Result<std::vector<TokenId>> ids = MakeIds(opened->model->tokenizer(), tokens);
  if (!ids.ok()) return Fail(ids.status());

  (*session)->set_cancel_flag(&InterruptFlag());
  VerifyOptions verify_options;
  verify_options.decode = tokens / 2;
  verify_options.tolerance = options.tolerance;
  Result<Verification> result = [&] {
    ProgressBar bar("verifying", static_cast<double>(opened->model->config().n_layers), "layers");
    verify_options.progress = [&](float share) {
      bar.Update(static_cast<double>(share));
      return !InterruptFlag();
    };
    return Verify(**session, *ids, verify_options);
  }();
  if (!result.ok()) return Fail(result.status());

  const int printed = PrintAnswer(options.json ? Json(*result, tokens, (*session)->threads()) : Table(*result));
  if (printed != kExitOk || !result->first_departure) return printed;
  const OpDeviation& op = result->ops[*result->first_departure];
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, "max_rel %.3g, allowed %.3g", op.max_rel, op.allowed);
  return Fail(Status(StatusCode::kVerification,
                     "The engine departs from the reference.\n" + Place(op) + ": " + numbers +
                         "\nTry --target and --threads to narrow it down, and check the file's hash."));
}

}  // namespace prenorm::tools
