// Sessions of the C interface: who may use one when, evaluation, what came of it.
#include "prenorm/session.h"

#include "runtime/c_api/handles.h"

namespace prenorm::c_api {

void ProfileSink::Record(const OpEvent& event) {
  const prenorm_profile_event c_event = {
      sizeof(prenorm_profile_event), event.layer,    event.thread, 0, OpKindName(event.kind),
      OpSiteName(event.site),        event.begin_ns, event.end_ns};
  function_(user_, &c_event);
}

namespace {

Outcome OptionsOf(const prenorm_session_options& from, SessionOptions& to) {
  constexpr SessionOptions::Cache kCaches[] = {SessionOptions::Cache::kAuto, SessionOptions::Cache::kF32,
                                               SessionOptions::Cache::kF16, SessionOptions::Cache::kBF16,
                                               SessionOptions::Cache::kInt8};
  if (from.cache < PRENORM_CACHE_AUTO || from.cache > PRENORM_CACHE_INT8) {
    return Invalid("cache: expected 0 to 4 (PRENORM_CACHE_...), found " + std::to_string(from.cache));
  }
  to.threads = from.threads;
  to.context = from.context;
  if (from.chunk != 0) to.chunk = from.chunk;
  to.cache = kCaches[from.cache];
  return {};
}

void LogPlan(const prenorm_session_options& options, const Session& session) {
  if (options.log == nullptr) return;
  const std::string why = options.threads == 0 ? " (" + DefaultThreads().reason + ")" : "";
  const std::string text = "threads " + std::to_string(session.threads()) + why + ", context " +
                           std::to_string(session.capacity()) + " tokens, " + std::to_string(session.memory_bytes()) +
                           " bytes";
  options.log(options.log_user, PRENORM_LOG_INFO, text.c_str());
}

Outcome CheckHasLogits(const char* function, const Session& session) {
  if (!session.logits().empty()) return {};
  return Invalid(std::string(function) +
                 ": the session has no logits: nothing was evaluated yet, or not since a rewind");
}

}  // namespace
}  // namespace prenorm::c_api

using namespace prenorm::c_api;  // NOLINT(google-build-using-namespace): the functions below have C names.

prenorm_status prenorm_session_new(const prenorm_model* model, const prenorm_session_options* options,
                                   prenorm_session** session, prenorm_error* error) {
  return Call(error, [&]() -> Outcome {
    if (Outcome outcome = CheckModel("prenorm_session_new", model); !outcome.ok()) return outcome;
    if (session == nullptr) return IsNull("prenorm_session_new", "session");
    prenorm_session_options c_options = PRENORM_SESSION_OPTIONS_INIT;
    if (Outcome outcome = ReadStruct("prenorm_session_options", options, c_options); !outcome.ok()) return outcome;
    prenorm::SessionOptions session_options;
    if (Outcome outcome = OptionsOf(c_options, session_options); !outcome.ok()) return outcome;
    auto handle = std::make_unique<prenorm_session>();
    prenorm::Result<std::unique_ptr<prenorm::Session>> created =
        prenorm::Session::Create(model->model, session_options);
    if (!created.ok()) return created.status();
    handle->session = std::move(created).value();
    LogPlan(c_options, *handle->session);
    *session = handle.release();
    return {};
  });
}

void prenorm_session_free(prenorm_session* session) {
  if (session != nullptr && session->tag == Tag::kSession) Lease<prenorm_session>::Free(session);
}

void prenorm_session_cancel(prenorm_session* session) {
  if (session != nullptr && session->tag == Tag::kSession) session->cancel.store(true, std::memory_order_relaxed);
}

prenorm_status prenorm_session_get_info(prenorm_session* session, prenorm_session_info* info, prenorm_error* error) {
  return LeasedCall("prenorm_session_get_info", session, error, [&] {
    prenorm_session_info known = PRENORM_SESSION_INFO_INIT;
    known.threads = session->session->threads();
    known.position = session->session->position();
    known.capacity = session->session->capacity();
    known.memory_bytes = session->session->memory_bytes();
    return WriteStruct("prenorm_session_info", known, info);
  });
}

prenorm_status prenorm_session_eval(prenorm_session* session, const int32_t* tokens, size_t n_tokens,
                                    prenorm_error* error) {
  return LeasedCall("prenorm_session_eval", session, error, [&]() -> Outcome {
    if (n_tokens == 0) return Invalid("prenorm_session_eval: there are no tokens");
    if (tokens == nullptr) return IsNull("prenorm_session_eval", "tokens");
    session->session->set_cancel_flag(&session->cancel);
    Outcome outcome = session->session->Eval({tokens, n_tokens});
    session->cancel.store(false, std::memory_order_relaxed);
    return outcome;
  });
}

prenorm_status prenorm_session_logits(prenorm_session* session, float* values, size_t capacity, size_t* n_values,
                                      prenorm_error* error) {
  return LeasedCall("prenorm_session_logits", session, error, [&]() -> Outcome {
    if (Outcome outcome = CheckHasLogits("prenorm_session_logits", *session->session); !outcome.ok()) return outcome;
    const std::span<const float> logits = session->session->logits();
    return WriteArray("prenorm_session_logits", logits.data(), logits.size(), 0, values, capacity, n_values);
  });
}

prenorm_status prenorm_session_logprobs(prenorm_session* session, float* values, size_t capacity, size_t* n_values,
                                        prenorm_error* error) {
  return LeasedCall("prenorm_session_logprobs", session, error, [&]() -> Outcome {
    if (Outcome outcome = CheckHasLogits("prenorm_session_logprobs", *session->session); !outcome.ok()) return outcome;
    const prenorm::Result<std::vector<float>> logprobs = session->session->LogProbs();
    if (!logprobs.ok()) return logprobs.status();
    return WriteArray("prenorm_session_logprobs", logprobs->data(), logprobs->size(), 0, values, capacity, n_values);
  });
}

prenorm_status prenorm_session_set_profile(prenorm_session* session, prenorm_profile_fn profile, void* user,
                                           prenorm_error* error) {
  return LeasedCall("prenorm_session_set_profile", session, error, [&]() -> Outcome {
    auto sink = profile == nullptr ? nullptr : std::make_unique<ProfileSink>(profile, user);
    session->session->set_observer(sink.get());
    session->profile = std::move(sink);
    return {};
  });
}
