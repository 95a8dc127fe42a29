// Names of the status codes.
#include "prenorm/status.h"

namespace prenorm {

const char* StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid_argument";
    case StatusCode::kNotFound:
      return "not_found";
    case StatusCode::kIo:
      return "io";
    case StatusCode::kBadModel:
      return "bad_model";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kOutOfMemory:
      return "out_of_memory";
    case StatusCode::kContextFull:
      return "context_full";
    case StatusCode::kTemplate:
      return "template";
    case StatusCode::kVerification:
      return "verification";
    case StatusCode::kCancelled:
      return "cancelled";
    case StatusCode::kBusy:
      return "busy";
  }
  return "unknown";
}

}  // namespace prenorm
