// prenorm generate: continues raw text. The shortest way through the library, from a file name to streamed words:
// open the model, make the ids of the prompt, generate.
#include "prenorm/infill.h"
#include "tools/commands.h"
#include "tools/common/errors.h"
#include "tools/common/open_model.h"
#include "tools/common/prompt.h"
#include "tools/common/text_run.h"
#include "tools/common/truncate.h"

namespace prenorm::tools {
namespace {

// --prefix and --suffix: what is missing between two texts. Else what the model puts before a text comes first; an
// empty prompt starts from the beginning token in any case.
Result<std::vector<TokenId>> MakeIds(const Model& model, const std::optional<std::string>& prompt,
                                     const Options& options) {
  if (!prompt) return InfillPrompt(model, options.prefix.value_or(""), options.suffix.value_or(""));
  const Tokenizer& tokenizer = model.tokenizer();
  Result<std::vector<TokenId>> ids = tokenizer.Encode(*prompt, {.add_special = true, .parse_special = options.special});
  if (ids.ok() && ids->empty() && tokenizer.bos() >= 0) ids->push_back(tokenizer.bos());
  return ids;
}

}  // namespace

int RunGenerate(const Options& options) {
  // Options first: what is wrong with them should not take the time to load a model.
  Result<GenerateOptions> generate_options = MakeGenerateOptions(options);
  if (!generate_options.ok()) return Fail(generate_options.status());
  if (Result<Sampler> sampler = Sampler::Create(generate_options->sampler); !sampler.ok())
    return Fail(sampler.status());
  Result<std::optional<std::string>> prompt = ReadPrompt(options);
  if (!prompt.ok()) return Fail(prompt.status());
  const bool infill = options.prefix || options.suffix;
  if (infill && prompt->has_value()) {
    return Fail(Status(
        StatusCode::kInvalidArgument,
        "The text is given twice.\n--prefix or --suffix, and --prompt, --file or piped input\nGive one of them."));
  }
  if (!infill && !prompt->has_value()) {
    return Fail(MissingText(options, "prompt", "--prompt, --file or piped input", "prenorm generate -p",
                            "prenorm generate -p \"Once upon a time\""));
  }

  Result<OpenedModel> opened = OpenModel(options);
  if (!opened.ok()) return FailModel(opened.status());
  Result<std::unique_ptr<Session>> session = OpenSession(*opened, options);
  if (!session.ok()) return Fail(session.status());

  Result<OpenedDraft> draft = OpenDraft(options);
  if (!draft.ok()) return FailModel(draft.status());
  generate_options->speculation.draft = draft->session.get();
  if (Status status = RestoreSession(**session, options); !status.ok()) return Fail(status);

  Result<std::vector<TokenId>> ids = MakeIds(*opened->model, *prompt, options);
  if (!ids.ok()) return Fail(ids.status());
  const Tokenizer& tokenizer = opened->model->tokenizer();
  const bool begins = !ids->empty() && ids->front() == tokenizer.bos();
  if (!infill) *ids = Truncate(std::move(*ids), PromptRoom(**session, options), begins ? 1 : 0, options);

  TextRun run(*opened, **session, options);
  Result<GenerateResult> result = run.Run(*ids, *generate_options);
  if (!result.ok()) return Fail(result.status());
  if (Status status = KeepSession(**session, options); !status.ok()) return Fail(status);
  if (run.reader_gone()) return kExitOk;
  return result->finish_reason == FinishReason::kInterrupted ? kExitInterrupted : kExitOk;
}

}  // namespace prenorm::tools
