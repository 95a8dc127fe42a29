// A session as Python holds it.
#pragma once

#include "prenorm/session.h"

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "python/bindings/bindings.h"

namespace prenorm::python {

class PySession {
 public:
  PySession(const PyModel& model, size_t context, int threads, const std::string& cache, size_t chunk);

  /// Called with the GIL, which it releases while it computes.
  void Eval(std::span<const TokenId> tokens, const CancelFlag& cancel);

  Session& session() { return *session_; }
  std::atomic<bool>& busy() { return busy_; }

 private:
  std::unique_ptr<Session> session_;
  std::atomic<bool> busy_{false};
};

/// The function profile.
void BindProfile(nanobind::module_& module);

}  // namespace prenorm::python
