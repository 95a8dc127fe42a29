// Status numbers and messages of the C interface, and the versions.
#include "runtime/c_api/call.h"

namespace prenorm::c_api {
namespace {

// The C numbers are frozen, the C++ ones are not.
prenorm_status NumberOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return PRENORM_OK;
    case StatusCode::kInvalidArgument:
      return PRENORM_E_INVALID_ARGUMENT;
    case StatusCode::kNotFound:
      return PRENORM_E_NOT_FOUND;
    case StatusCode::kIo:
      return PRENORM_E_IO;
    case StatusCode::kBadModel:
      return PRENORM_E_BAD_MODEL;
    case StatusCode::kUnsupported:
      return PRENORM_E_UNSUPPORTED;
    case StatusCode::kOutOfMemory:
      return PRENORM_E_OUT_OF_MEMORY;
    case StatusCode::kContextFull:
      return PRENORM_E_CONTEXT_FULL;
    case StatusCode::kTemplate:
      return PRENORM_E_TEMPLATE;
    case StatusCode::kVerification:
      return PRENORM_E_VERIFICATION;
    case StatusCode::kCancelled:
      return PRENORM_E_CANCELLED;
    case StatusCode::kBusy:
      return PRENORM_E_BUSY;
  }
  return PRENORM_E_INTERNAL;
}

}  // namespace

Outcome::Outcome(const Status& from) : status(NumberOf(from.code())), message(from.message()) {}

prenorm_status Report(Outcome outcome, prenorm_error* error) noexcept {
  if (error != nullptr) {
    error->status = outcome.status;
    error->text = std::move(outcome.message);
    error->message = error->text.c_str();
  }
  return outcome.status;
}

prenorm_status ReportLiteral(prenorm_status status, const char* message, prenorm_error* error) noexcept {
  if (error != nullptr) {
    error->status = status;
    error->message = message;
  }
  return status;
}

}  // namespace prenorm::c_api

uint32_t prenorm_abi_version(void) { return PRENORM_ABI_VERSION; }
const char* prenorm_version(void) { return PRENORM_VERSION; }

const char* prenorm_status_name(prenorm_status status) {
  switch (status) {
    case PRENORM_OK:
      return "ok";
    case PRENORM_E_INVALID_ARGUMENT:
      return "invalid_argument";
    case PRENORM_E_NOT_FOUND:
      return "not_found";
    case PRENORM_E_IO:
      return "io";
    case PRENORM_E_BAD_MODEL:
      return "bad_model";
    case PRENORM_E_UNSUPPORTED:
      return "unsupported";
    case PRENORM_E_OUT_OF_MEMORY:
      return "out_of_memory";
    case PRENORM_E_CONTEXT_FULL:
      return "context_full";
    case PRENORM_E_TEMPLATE:
      return "template";
    case PRENORM_E_VERIFICATION:
      return "verification";
    case PRENORM_E_CANCELLED:
      return "cancelled";
    case PRENORM_E_BUSY:
      return "busy";
    case PRENORM_E_BUFFER_TOO_SMALL:
      return "buffer_too_small";
    case PRENORM_E_INTERNAL:
      return "internal";
    default:
      return "unknown";
  }
}

prenorm_error* prenorm_error_new(void) { return new (std::nothrow) prenorm_error; }
void prenorm_error_free(prenorm_error* error) { delete error; }
prenorm_status prenorm_error_status(const prenorm_error* error) {
  return error == nullptr ? PRENORM_OK : error->status;
}
const char* prenorm_error_message(const prenorm_error* error) { return error == nullptr ? "" : error->message; }
