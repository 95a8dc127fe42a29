// Chrome trace events: every operator on its thread's track, inside its layer, inside its step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "prenorm/session.h"

namespace prenorm::tools {

/// One step and when it ran.
struct TracedStep {
  std::string name;
  uint64_t begin_ns;
  uint64_t end_ns;
};

/// Keeps events, one list a thread, allocated before: Record neither locks nor allocates.
class TraceRecorder : public OpObserver {
 public:
  /// `events_a_thread`: further ones are counted and dropped.
  TraceRecorder(int threads, size_t events_a_thread);

  void Record(const OpEvent& event) override;
  const std::vector<OpEvent>& events(int thread) const { return threads_[static_cast<size_t>(thread)].events; }
  int threads() const { return static_cast<int>(threads_.size()); }
  uint64_t dropped() const;

 private:
  struct alignas(64) OfThread {
    std::vector<OpEvent> events;
    uint64_t dropped = 0;
  };
  std::vector<OfThread> threads_;
};

/// The object that chrome://tracing and Perfetto open: complete events ("ph": "X") in microseconds from the first
/// step's begin, one track a thread; on each track steps contain layers, and layers operators.
nlohmann::ordered_json TraceJson(const TraceRecorder& recorder, const std::vector<TracedStep>& steps);

/// Evaluates `prompt` and then `decode` one by one in the session, which is emptied first, and returns their trace.
/// `events_a_token`: operators of one step on one thread at most. Errors: those of Session::Eval.
Result<nlohmann::ordered_json> RecordTrace(Session& session, std::span<const TokenId> prompt,
                                           std::span<const TokenId> decode, size_t events_a_token);

}  // namespace prenorm::tools
