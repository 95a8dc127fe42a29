// prenorm chat: a conversation in the model's own template, at a terminal or one answer to a piped text.
#include <algorithm>

#include "prenorm/chat.h"
#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/interrupt.h"
#include "tools/common/line_reader.h"
#include "tools/common/open_model.h"
#include "tools/common/prompt.h"
#include "tools/common/terminal.h"
#include "tools/common/text_run.h"

namespace prenorm::tools {
namespace {

// The messages so far and what the session holds of them.
class Conversation {
 public:
  Conversation(const OpenedModel& opened, Session& session, const Options& options, const GenerateOptions& generate_options)
      : opened_(opened), session_(session), generate_options_(generate_options), run_(opened, session, options) {
    if (options.system) messages_.push_back({"system", *options.system});
  }

  Result<ChatPrompt> Render(const std::string& text) {
    messages_.push_back({"user", text});
    Result<ChatPrompt> prompt = RenderChat(*opened_.model, messages_);
    if (!prompt.ok()) messages_.pop_back();
    return prompt;
  }

  /// Answers on stdout. After an error the conversation is what it was before.
  Result<FinishReason> Answer(const std::string& text) {
    Result<ChatPrompt> prompt = Render(text);
    if (!prompt.ok()) return prompt.status();
    // What the session already holds of this prompt need not be evaluated again; the last token must, for its logits.
    const std::vector<TokenId>& ids = prompt->ids;
    const size_t limit = std::min(held_.size(), ids.size() - 1);
    const size_t shared =
        static_cast<size_t>(std::mismatch(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(limit), ids.begin()).first -
                            held_.begin());
    if (Status status = session_.Rewind(shared); !status.ok()) return status;
    held_.resize(shared);
    Result<GenerateResult> result = run_.Run(std::span(ids).subspan(shared), ids, generate_options_);
    if (!result.ok()) {
      messages_.pop_back();
      if (Status status = session_.Rewind(shared); !status.ok()) return status;
      return result.status();
    }
    held_ = ids;
    held_.insert(held_.end(), result->ids.begin(), result->ids.end());
    held_.resize(session_.position());  // Shorter after an interruption; the last token is never evaluated.
    if (result->ids.empty()) {  // Interrupted before a word was said: as if the question had not been asked.
      messages_.pop_back();
    } else {
      messages_.push_back({"assistant", result->text});
    }
    return result->finish_reason;
  }

  bool reader_gone() const { return run_.reader_gone(); }

 private:
  const OpenedModel& opened_;
  Session& session_;
  const GenerateOptions& generate_options_;
  TextRun run_;
  std::vector<ChatMessage> messages_;
  std::vector<TokenId> held_;  // The ids that the session has evaluated.
};

int ShowPrompt(const ChatPrompt& prompt, const Options& options) {
  nlohmann::ordered_json json = NewJson(0);
  json["host"].erase("threads");  // Nothing runs.
  json["text"] = prompt.text;
  json["ids"] = prompt.ids;
  if (options.json) return PrintAnswer(JsonLine(json));
  return PrintAnswer(prompt.text + "\n" + json["ids"].dump() + "\n");
}

int AnswerOnce(Conversation& conversation, const std::string& text, const Options& options) {
  if (options.show_prompt) {
    Result<ChatPrompt> prompt = conversation.Render(text);
    return prompt.ok() ? ShowPrompt(*prompt, options) : Fail(prompt.status());
  }
  Result<FinishReason> reason = conversation.Answer(text);
  if (!reason.ok()) return Fail(reason.status());
  if (conversation.reader_gone()) return kExitOk;
  return *reason == FinishReason::kInterrupted ? kExitInterrupted : kExitOk;
}

int Converse(Conversation& conversation, const Options& options) {
  Note(Styled(Style::kDim, "Ctrl-C stops an answer, Ctrl-D ends the chat."));
  LineReader reader("> ");
  while (true) {
    const std::optional<std::string> line = reader.Read();
    if (!line) return InterruptFlag() ? kExitInterrupted : kExitOk;
    if (line->empty()) continue;
    // An error concerns this message only: it has been printed, and the conversation goes on.
    AnswerOnce(conversation, *line, options);
    if (conversation.reader_gone()) return kExitOk;
    InterruptFlag() = false;
  }
}

}  // namespace

int RunChat(const Options& options) {
  Result<GenerateOptions> generate_options = MakeGenerateOptions(options);
  if (!generate_options.ok()) return Fail(generate_options.status());
  if (Result<Sampler> sampler = Sampler::Create(generate_options->sampler); !sampler.ok()) return Fail(sampler.status());
  Result<std::optional<std::string>> prompt = ReadPrompt(options);
  if (!prompt.ok()) return Fail(prompt.status());
  if (!prompt->has_value() && !StdinIsTerminal()) return kExitOk;  // Nobody to talk to.

  Result<OpenedModel> opened = OpenModel(options);
  if (!opened.ok()) return FailModel(opened.status());
  Result<std::unique_ptr<Session>> session = OpenSession(*opened, options);
  if (!session.ok()) return Fail(session.status());
  Conversation conversation(*opened, **session, options, *generate_options);
  return prompt->has_value() ? AnswerOnce(conversation, **prompt, options) : Converse(conversation, options);
}

}  // namespace prenorm::tools
