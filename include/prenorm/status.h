// Status and Result<T>: errors as values. Nothing in the library throws across its API.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace prenorm {

/// What kind of thing went wrong. The message of a Status says the rest.
enum class StatusCode {
  kOk,               ///< Success.
  kInvalidArgument,  ///< The caller passed something that no model or shape makes valid.
  kNotFound,         ///< A file, tensor, key or name does not exist.
  kIo,               ///< The operating system refused to read, write or map a file.
  kBadModel,         ///< A model file, or a stored session, breaks its own format.
  kUnsupported,      ///< A well-formed file or request that Prenorm cannot run.
  kOutOfMemory,      ///< An allocation failed or would not fit.
  kContextFull,      ///< The tokens do not fit in the context.
  kTemplate,         ///< A chat template or grammar raised an error.
  kVerification,     ///< A comparison with a reference path failed.
  kCancelled,        ///< The caller's cancel flag was set.
  kBusy,             ///< The object is in use by another thread.
};

/// Stable lower-case name of a code, e.g. "bad_model".
const char* StatusCodeName(StatusCode code);

/// Success, or a code with a message: what is wrong; where (file, key, tensor: expected, found); what to do.
/// Lines of the message are separated by '\n' in that order; later lines may be absent.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

/// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor): return a value
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor): return an error

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  /// Requires ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace prenorm
