// Status codes into exit codes, messages onto stderr.
#include "tools/common/errors.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "tools/common/terminal.h"

namespace prenorm::tools {
namespace {

int ExitCodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return kExitOk;
    case StatusCode::kInvalidArgument:
      return kExitUsage;
    case StatusCode::kBadModel:
    case StatusCode::kUnsupported:
      return kExitModel;
    case StatusCode::kOutOfMemory:
      return kExitMemory;
    case StatusCode::kContextFull:
      return kExitContext;
    case StatusCode::kTemplate:
      return kExitTemplate;
    case StatusCode::kVerification:
      return kExitVerify;
    case StatusCode::kCancelled:
      return kExitInterrupted;
    case StatusCode::kNotFound:
    case StatusCode::kIo:
    case StatusCode::kBusy:
      return kExitOther;
  }
  return kExitOther;
}

const CommandInfo* g_command = nullptr;

// `text` where the command has the option `name`.
std::string IfItHas(const char* name, const char* text) {
  for (const OptionSpec& spec : OptionTable()) {
    if (g_command != nullptr && (spec.commands & g_command->command) != 0 && OptionName(spec) == name) return text;
  }
  return "";
}

// What to do, where a message does not say it.
std::string HintOf(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return std::string("See: prenorm ") + (g_command == nullptr ? "" : g_command->name + std::string(" ")) + "--help";
    case StatusCode::kBadModel:
      return "Take another model, or fetch or convert this one again.";
    case StatusCode::kUnsupported:
      return "prenorm models lists models that run here.";
    case StatusCode::kOutOfMemory:
      return "Close other programs, or take a smaller model" + IfItHas("context", " or context (-c)") + ".";
    case StatusCode::kContextFull:
      return "Give a shorter text" + IfItHas("context", ", a larger context (-c)") +
             IfItHas("truncate", ", or --truncate") + ".";
    case StatusCode::kTemplate:
      return IfItHas("chat-template",
                     "Give another template (--chat-template), or use prenorm generate, which needs none.");
    case StatusCode::kNotFound:
      return "Check the path: it begins in the current folder unless it begins with /.";
    case StatusCode::kIo:
      return "Check the rights of the path, and the space that is left.";
    default:
      return {};
  }
}

}  // namespace

void SetCommand(const CommandInfo& info) { g_command = &info; }

std::string Shown(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20 && byte != 0x7F) return std::string(1, c);
  char escape[8];
  std::snprintf(escape, sizeof(escape), "\\x%02x", byte);
  return escape;
}

std::string Indented(std::string_view message) {
  std::string text;
  for (const char c : message) text += c == '\n' ? "\n  " : c == '\t' ? "\t" : Shown(c);
  return text;
}

int Fail(const Status& status) {
  if (status.code() != StatusCode::kCancelled) {
    std::string message = status.message();
    const bool complete = std::count(message.begin(), message.end(), '\n') >= 2;
    if (const std::string hint = HintOf(status.code()); !complete && !hint.empty()) message += "\n" + hint;
    Note(Styled(Style::kError, "prenorm: ") + Indented(message));
  }
  return ExitCodeOf(status.code());
}

int FailModel(const Status& status) {
  const int code = Fail(status);
  return status.code() == StatusCode::kNotFound || status.code() == StatusCode::kIo ? kExitModel : code;
}

Status OutOfRange(const char* name, int64_t value, const std::string& range) {
  return Status(StatusCode::kInvalidArgument, std::string("An option is out of range.\n") + name + ": expected " +
                                                  range + ", found " + std::to_string(value) +
                                                  "\nGive a value in that range.");
}

Status CheckThreads(int64_t threads) {
  if (threads >= 0 && threads <= 1024) return {};
  return OutOfRange("--threads", threads, "0 (as many as may be used) to 1024");
}

}  // namespace prenorm::tools
