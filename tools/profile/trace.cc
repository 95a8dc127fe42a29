// Layers are no events of the engine: one spans what ran between two changes of the layer on a thread.
#include "tools/profile/trace.h"

#include <algorithm>

#include "tools/common/measure.h"

namespace prenorm::tools {
namespace {

using Json = nlohmann::ordered_json;

class Writer {
 public:
  Writer(const TraceRecorder& recorder, const std::vector<TracedStep>& steps) : recorder_(recorder), steps_(steps) {}

  Json Write() {
    Name("process_name", 0, "prenorm");
    for (int thread = 0; thread < recorder_.threads(); ++thread) {
      Name("thread_name", thread, "thread " + std::to_string(thread));
      size_t at = 0;
      for (const TracedStep& step : steps_) at = Step(step, thread, at);
    }
    Json json = {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events_)}};
    if (recorder_.dropped() > 0) json["otherData"]["dropped_events"] = recorder_.dropped();
    return json;
  }

 private:
  void Name(const char* what, int thread, const std::string& name) {
    events_.push_back({{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", thread}, {"args", {{"name", name}}}});
  }

  void Span(const std::string& name, const char* category, int thread, uint64_t begin, uint64_t end, int32_t layer) {
    const auto us = [&](uint64_t ns) { return static_cast<double>(ns - steps_.front().begin_ns) / 1e3; };
    Json event = {{"name", name}, {"cat", category}, {"ph", "X"}, {"ts", us(begin)}, {"dur", us(end) - us(begin)},
                  {"pid", 1},     {"tid", thread}};
    if (layer >= 0) event["args"] = {{"layer", layer}};
    events_.push_back(std::move(event));
  }

  // The events of `step` from index `at` on. Returns the index behind them.
  size_t Step(const TracedStep& step, int thread, size_t at) {
    const std::vector<OpEvent>& events = recorder_.events(thread);
    Span(step.name, "step", thread, step.begin_ns, step.end_ns, -1);
    while (at < events.size() && events[at].end_ns <= step.end_ns) {
      const int32_t layer = events[at].layer;
      size_t end = at;
      while (end < events.size() && events[end].end_ns <= step.end_ns && events[end].layer == layer) ++end;
      if (layer >= 0) {
        Span("layer " + std::to_string(layer), "layer", thread, events[at].begin_ns, events[end - 1].end_ns, layer);
      }
      for (; at < end; ++at) {
        const OpEvent& event = events[at];
        Span(std::string(OpKindName(event.kind)) + " " + OpSiteName(event.site), OpKindName(event.kind), thread,
             event.begin_ns, event.end_ns, event.layer);
      }
    }
    return at;
  }

  const TraceRecorder& recorder_;
  const std::vector<TracedStep>& steps_;
  Json events_ = Json::array();
};

}  // namespace

TraceRecorder::TraceRecorder(int threads, size_t events_a_thread) : threads_(static_cast<size_t>(threads)) {
  for (OfThread& thread : threads_) thread.events.reserve(events_a_thread);
}

void TraceRecorder::Record(const OpEvent& event) {
  OfThread& thread = threads_[static_cast<size_t>(event.thread)];
  if (thread.events.size() < thread.events.capacity())
    thread.events.push_back(event);
  else
    ++thread.dropped;
}

uint64_t TraceRecorder::dropped() const {
  uint64_t sum = 0;
  for (const OfThread& thread : threads_) sum += thread.dropped;
  return sum;
}

Json TraceJson(const TraceRecorder& recorder, const std::vector<TracedStep>& steps) {
  return Writer(recorder, steps).Write();
}

Result<Json> RecordTrace(Session& session, std::span<const TokenId> prompt, std::span<const TokenId> decode,
                         size_t events_a_token) {
  // A prompt longer than the session's chunk takes several steps, as many as it has tokens at most.
  const size_t prompt_steps = std::min<size_t>(prompt.size(), 64);
  TraceRecorder recorder(session.threads(), events_a_token * (prompt_steps + decode.size()));
  std::vector<TracedStep> steps;
  Status status = session.Rewind(0);
  const auto run = [&](std::span<const TokenId> tokens, const std::string& name) {
    const uint64_t begin = NowNs();
    status = session.Eval(tokens);
    steps.push_back({name, begin, NowNs()});
  };
  session.set_observer(&recorder);
  if (status.ok() && !prompt.empty()) run(prompt, "prompt of " + std::to_string(prompt.size()) + " tokens");
  for (size_t i = 0; i < decode.size() && status.ok(); ++i) run(decode.subspan(i, 1), "token " + std::to_string(i));
  session.set_observer(nullptr);
  if (!status.ok()) return status;
  return TraceJson(recorder, steps);
}

}  // namespace prenorm::tools
