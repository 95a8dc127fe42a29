// Status codes into exit codes, messages onto stderr.
#include "tools/common/errors.h"

#include <algorithm>
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

// What to do, where a message does not say it.
std::string_view HintOf(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return "prenorm COMMAND --help lists the options and what they take.";
    case StatusCode::kBadModel:
      return "Fetch or convert the model again: its files contradict each other, or are damaged.";
    case StatusCode::kUnsupported:
      return "prenorm models lists models that run here.";
    case StatusCode::kOutOfMemory:
      return "Give a smaller context (-c), or close other programs.";
    case StatusCode::kContextFull:
      return "Give a larger context (-c), a shorter prompt, or --truncate.";
    case StatusCode::kTemplate:
      return "Give another template (--chat-template), or use prenorm generate, which needs none.";
    case StatusCode::kNotFound:
      return "Check the path: it begins in the current folder unless it begins with /.";
    case StatusCode::kIo:
      return "Check the rights of the path, and the space that is left.";
    default:
      return {};
  }
}

}  // namespace

int Fail(const Status& status) {
  if (status.code() != StatusCode::kCancelled) {
    std::string text = Styled(Style::kError, "prenorm: ");
    std::string message = status.message();
    const bool complete = std::count(message.begin(), message.end(), '\n') >= 2;
    if (const std::string_view hint = HintOf(status.code()); !complete && !hint.empty())
      message.append("\n").append(hint);
    for (char c : message) text += c == '\n' ? std::string("\n  ") : std::string(1, c);
    Note(text);
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

}  // namespace prenorm::tools
