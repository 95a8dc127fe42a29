// Status codes into exit codes, messages onto stderr.
#include "tools/common/errors.h"

#include <string>

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

}  // namespace

int Fail(const Status& status) {
  if (status.code() != StatusCode::kCancelled) {
    std::string text = Styled(Style::kError, "prenorm: ");
    for (char c : status.message()) text += c == '\n' ? std::string("\n  ") : std::string(1, c);
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
