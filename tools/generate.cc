// prenorm generate: continues raw text. The shortest way through the library, from a file name to streamed words:
// open the model, make the ids of the prompt, generate.
#include "tools/commands.h"
#include "tools/common/errors.h"
#include "tools/common/open_model.h"
#include "tools/common/prompt.h"
#include "tools/common/text_run.h"

namespace prenorm::tools {

int RunGenerate(const Options& options) {
  // Options first: what is wrong with them should not take the time to load a model.
  Result<GenerateOptions> generate_options = MakeGenerateOptions(options);
  if (!generate_options.ok()) return Fail(generate_options.status());
  if (Result<Sampler> sampler = Sampler::Create(generate_options->sampler); !sampler.ok()) return Fail(sampler.status());
  Result<std::optional<std::string>> prompt = ReadPrompt(options);
  if (!prompt.ok()) return Fail(prompt.status());
  if (!prompt->has_value()) {
    return Fail(Status(StatusCode::kInvalidArgument,
                       "There is no prompt.\n--prompt, --file or piped input: expected one of them, found none\n"
                       "For example: prenorm generate -p \"Once upon a time\""));
  }

  Result<OpenedModel> opened = OpenModel(options);
  if (!opened.ok()) return FailModel(opened.status());
  Result<std::unique_ptr<Session>> session = OpenSession(*opened, options);
  if (!session.ok()) return Fail(session.status());

  // What the model puts before a text comes first; an empty prompt starts from the beginning token in any case.
  const Tokenizer& tokenizer = opened->model->tokenizer();
  Result<std::vector<TokenId>> ids =
      tokenizer.Encode(**prompt, {.add_special = true, .parse_special = options.special});
  if (!ids.ok()) return Fail(ids.status());
  if (ids->empty() && tokenizer.bos() >= 0) ids->push_back(tokenizer.bos());

  TextRun run(*opened, **session, options);
  Result<GenerateResult> result = run.Run(*ids, *ids, *generate_options);
  if (!result.ok()) return Fail(result.status());
  if (run.reader_gone()) return kExitOk;
  return result->finish_reason == FinishReason::kInterrupted ? kExitInterrupted : kExitOk;
}

}  // namespace prenorm::tools
