// prenorm chat: a conversation in the model's own template, at a terminal or one answer to a piped text.
#include <algorithm>
#include <filesystem>

#include "prenorm/chat.h"
#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/chat_history.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/interrupt.h"
#include "tools/common/line_reader.h"
#include "tools/common/open_model.h"
#include "tools/common/prompt.h"
#include "tools/common/terminal.h"
#include "tools/common/text_run.h"
#include "tools/common/truncate.h"
#include "tools/common/words.h"

namespace prenorm::tools {
namespace {

using Json = nlohmann::ordered_json;

// --template-args and --tools as one object of template variables; --chat-template.
Result<ChatOptions> MakeChatOptions(const Options& options) {
  ChatOptions out;
  Json arguments = Json::object();
  if (options.template_args) {
    arguments = Json::parse(*options.template_args, nullptr, false);
    if (!arguments.is_object()) {
      return Status(StatusCode::kInvalidArgument,
                    "The template's variables cannot be read.\n--template-args: expected a JSON object, found '" +
                        *options.template_args + "'\nFor example: --template-args '{\"enable_thinking\": false}'");
    }
  }
  if (options.tools) {
    Result<std::string> text = ReadFile(*options.tools);
    if (!text.ok()) return text.status();
    Json tools = Json::parse(*text, nullptr, false);
    if (!tools.is_array()) {
      return Status(StatusCode::kInvalidArgument,
                    "The tools cannot be read.\n" + *options.tools +
                        ": expected a JSON list of tools, found something else\n"
                        "For example: [{\"type\": \"function\", \"function\": {\"name\": ...}}]");
    }
    arguments["tools"] = std::move(tools);
  }
  if (!arguments.empty()) out.arguments = arguments.dump();
  if (options.chat_template) {
    out.chat_template = *options.chat_template;
    std::error_code error;  // A template's name is a word, so what exists as a file is one.
    if (std::filesystem::is_regular_file(*options.chat_template, error)) {
      Result<std::string> text = ReadFile(*options.chat_template);
      if (!text.ok()) return text.status();
      out.chat_template = *std::move(text);
    }
  }
  return out;
}

// The messages so far, and the session that answers.
class Conversation {
 public:
  Conversation(const OpenedModel& opened, Session& session, const Options& options,
               const GenerateOptions& generate_options, const ChatOptions& chat_options)
      : opened_(opened),
        session_(session),
        options_(options),
        generate_options_(generate_options),
        chat_options_(chat_options),
        run_(opened, session, options) {
    if (options.system) history_.SetSystem(*options.system);
    const Result<std::string> chat_template = ChooseChatTemplate(*opened.model, chat_options);
    run_.SplitReasoning(FindReasoningMarkers(chat_template.ok() ? *chat_template : ""), options.reasoning == "show");
  }

  /// The prompt with `text` as the newest question, which stays in the history unless there is an error.
  Result<ChatPrompt> Render(const std::string& text) {
    history_.AddQuestion(text);
    Result<ChatPrompt> prompt = RenderTold();
    if (!prompt.ok()) history_.Undo();
    const size_t room = PromptRoom(session_, options_);
    if (!prompt.ok() || options_.truncate == "never" || prompt->ids.size() <= room) return prompt;
    // Tokens of the question alone are left out, never those of the template.
    const Tokenizer& tokenizer = opened_.model->tokenizer();
    Result<std::vector<TokenId>> ids = tokenizer.Encode(text);
    if (!ids.ok()) return ids.status();
    const size_t others = prompt->ids.size() - std::min(prompt->ids.size(), ids->size());
    if (others >= room) return prompt;
    history_.Undo();
    history_.AddQuestion(tokenizer.Decode(Truncate(std::move(*ids), room - others, 0, options_)));
    prompt = RenderTold();
    if (!prompt.ok()) history_.Undo();
    return prompt;
  }

  /// Answers on stdout. What the session holds of the prompt, all but the newest question as a rule, is not evaluated
  /// again. After an error the conversation is what it was before.
  Result<FinishReason> Answer(const std::string& text) {
    Result<ChatPrompt> prompt = Render(text);
    if (!prompt.ok()) return prompt.status();
    Result<GenerateResult> result = run_.Run(prompt->ids, generate_options_);
    if (!result.ok()) {
      history_.Undo();
      return result.status();
    }
    if (result->ids.empty()) {  // Interrupted before a word was said: as if the question had not been asked.
      history_.Undo();
    } else {
      history_.AddAnswer(result->text, run_.reasoning());
    }
    return result->finish_reason;
  }

  ChatHistory& history() { return history_; }
  bool reader_gone() const { return run_.reader_gone(); }
  std::string Statistics() const {
    return std::to_string(history_.exchanges()) + " exchanges, " + std::to_string(history_.forgotten()) +
           " of them left out; " + std::to_string(session_.position()) + " of " + std::to_string(session_.capacity()) +
           " tokens of the context in use";
  }

 private:
  // With --context-shift without as many of the oldest exchanges as it takes to leave a quarter of the context free.
  Result<ChatPrompt> RenderTold() {
    const size_t before = history_.forgotten();
    while (true) {
      Result<ChatPrompt> prompt = RenderChat(*opened_.model, history_.Told(), chat_options_);
      const size_t room = session_.capacity() / 4;
      if (!prompt.ok() || !options_.context_shift || prompt->ids.size() + room <= session_.capacity() ||
          !history_.Forget()) {
        if (history_.forgotten() > before && !options_.quiet) {
          Note(Styled(Style::kDim,
                      "the context is full: " + std::to_string(history_.forgotten()) + " exchanges are left out"));
        }
        return prompt;
      }
    }
  }

  const OpenedModel& opened_;
  Session& session_;
  const Options& options_;
  const GenerateOptions& generate_options_;
  const ChatOptions& chat_options_;
  TextRun run_;
  ChatHistory history_;
};

int ShowPrompt(const ChatPrompt& prompt, const Options& options) {
  Json json = NewJson(0);
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

constexpr const char* kCommandHelp =
    "/help          this list\n"
    "/reset         forget everything but the system message\n"
    "/system TEXT   set the system message; without a text remove it\n"
    "/undo          take the last question and its answer back\n"
    "/retry         answer the last question again\n"
    "/save FILE     write the conversation to a file\n"
    "/load FILE     go on with one\n"
    "/stats         length of the conversation, use of the context\n"
    "Ctrl-C stops an answer, Ctrl-D ends the chat.";

// "/word" or "/word text": a path such as /usr/bin is a message.
bool IsCommand(const std::string& line) {
  const size_t end = std::min(line.find(' '), line.size());
  return end > 1 && line[0] == '/' &&
         std::all_of(line.begin() + 1, line.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char c) { return c >= 'a' && c <= 'z'; });
}

void NoteOrFail(const Status& status, const std::string& note) {
  if (status.ok())
    Note(Styled(Style::kDim, note));
  else
    Fail(status);
}

void RunCommand(Conversation& conversation, const std::string& line, const Options& options) {
  static const std::vector<std::string> kNames = {"/help",  "/reset", "/system", "/undo",
                                                  "/retry", "/save",  "/load",   "/stats"};
  const std::string name = line.substr(0, line.find(' '));
  const size_t begin = std::min(line.find_first_not_of(' ', name.size()), line.size());
  const std::string text = line.substr(begin, line.find_last_not_of(' ') + 1 - begin);
  ChatHistory& history = conversation.history();
  if ((name == "/save" || name == "/load") && text.empty()) {
    Note(Styled(Style::kDim, "For example: " + name + " conversation.json"));
  } else if (name == "/help") {
    Note(Styled(Style::kDim, kCommandHelp));
  } else if (name == "/reset") {
    history.Clear();
    Note(Styled(Style::kDim, "A new conversation."));
  } else if (name == "/system") {
    history.SetSystem(text);
    Note(Styled(Style::kDim, text.empty() ? "There is no system message now." : "The system message is set."));
  } else if (name == "/undo") {
    Note(Styled(Style::kDim, history.Undo() ? "The last question is taken back." : "There is no question yet."));
  } else if (name == "/retry") {
    if (const std::optional<std::string> question = history.Undo())
      AnswerOnce(conversation, *question, options);
    else
      Note(Styled(Style::kDim, "There is no question yet."));
  } else if (name == "/save") {
    NoteOrFail(history.Save(text), "Saved as " + text + ".");
  } else if (name == "/load") {
    NoteOrFail(history.Load(text), "The conversation of " + text + " goes on.");
  } else if (name == "/stats") {
    Note(Styled(Style::kDim, conversation.Statistics()));
  } else {
    const std::string near = DidYouMean(name, kNames);
    Note(Styled(Style::kDim, "There is no command " + name + ". " +
                                 (near.empty() ? "" : "Did you mean " + near + "? ") + "See /help."));
  }
}

int Converse(Conversation& conversation, const Options& options) {
  Note(Styled(Style::kDim, "Ctrl-C stops an answer, Ctrl-D ends the chat. More: /help"));
  LineReader reader("> ");
  while (true) {
    const std::optional<std::string> line = reader.Read();
    if (!line) return InterruptFlag() ? kExitInterrupted : kExitOk;
    if (line->empty()) continue;
    // An error concerns this line only: it has been printed, and the conversation goes on.
    if (IsCommand(*line))
      RunCommand(conversation, *line, options);
    else
      AnswerOnce(conversation, *line, options);
    if (conversation.reader_gone()) return kExitOk;
    if (IsEnding()) return kExitInterrupted;
    InterruptFlag() = false;
  }
}

}  // namespace

int RunChat(const Options& options) {
  Result<GenerateOptions> generate_options = MakeGenerateOptions(options);
  if (!generate_options.ok()) return Fail(generate_options.status());
  if (Result<Sampler> sampler = Sampler::Create(generate_options->sampler); !sampler.ok())
    return Fail(sampler.status());
  Result<ChatOptions> chat_options = MakeChatOptions(options);
  if (!chat_options.ok()) return Fail(chat_options.status());
  Result<std::optional<std::string>> prompt = ReadPrompt(options);
  if (!prompt.ok()) return Fail(prompt.status());
  if (!prompt->has_value() && options.model.find(' ') != std::string::npos && IsNoModel(options)) {
    return Fail(MissingText(options, "prompt", "--prompt, --file or piped input", "prenorm chat -p",
                            "prenorm chat -p \"Why is the sky blue?\""));
  }
  if (!prompt->has_value() && !StdinIsTerminal()) return kExitOk;  // Nobody to talk to.

  Result<OpenedModel> opened = OpenModel(options);
  if (!opened.ok()) return FailModel(opened.status());
  Result<std::unique_ptr<Session>> session = OpenSession(*opened, options);
  if (!session.ok()) return Fail(session.status());
  Result<OpenedDraft> draft = OpenDraft(options);
  if (!draft.ok()) return FailModel(draft.status());
  generate_options->speculation.draft = draft->session.get();
  if (Status status = RestoreSession(**session, options); !status.ok()) return Fail(status);
  Conversation conversation(*opened, **session, options, *generate_options, *chat_options);
  const int code = prompt->has_value() ? AnswerOnce(conversation, **prompt, options) : Converse(conversation, options);
  if (Status status = KeepSession(**session, options); !status.ok()) return Fail(status);
  return code;
}

}  // namespace prenorm::tools
