// What the parts of the extension module share: errors as exceptions, flags that cancel, and who binds what.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "prenorm/model.h"
#include "prenorm/status.h"

namespace prenorm::python {

/// Thrown with or without the GIL; module.cc makes a Python exception of it.
class StatusError : public std::runtime_error {
 public:
  explicit StatusError(const Status& status) : std::runtime_error(status.message()), code_(status.code()) {}
  StatusError(StatusCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  StatusCode code() const { return code_; }

 private:
  StatusCode code_;
};

inline void Check(const Status& status) {
  if (!status.ok()) throw StatusError(status);
}
template <typename T>
T Take(Result<T> result) {
  if (!result.ok()) throw StatusError(result.status());
  return std::move(result).value();
}

/// Calls functions of Python from work that runs without the GIL. What one raises ends the work and comes out of it.
class Callbacks {
 public:
  /// call(), true or false; false once something was raised.
  template <class Call>
  bool operator()(const Call& call) {
    if (raised_) return false;
    const nanobind::gil_scoped_acquire gil;
    try {
      return call();
    } catch (...) {
      raised_ = std::current_exception();
      return false;
    }
  }
  /// With the GIL, when the work is done.
  void Rethrow() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  std::exception_ptr raised_;
};

/// Ends one call: every call that computes has its own, so that a late cancellation hits no later call.
struct CancelFlag {
  std::atomic<bool> set{false};
};

/// Keeps the second of two calls at once out of an object; the library's own check does not cover the cancel flag.
class Exclusive {
 public:
  explicit Exclusive(std::atomic<bool>& busy) : busy_(busy) {
    if (busy_.exchange(true)) throw StatusError(StatusCode::kBusy, "The object is in use by another thread.");
  }
  ~Exclusive() { busy_ = false; }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  std::atomic<bool>& busy_;
};

struct PyModel {
  std::shared_ptr<const Model> model;
};

void BindEncoder(nanobind::module_& module);
void BindFetch(nanobind::module_& module);
void BindModel(nanobind::module_& module);
void BindNorm(nanobind::module_& module);
void BindSession(nanobind::module_& module);

}  // namespace prenorm::python
