// Model and session as the options ask for them, with what a user should know on stderr.
#pragma once

#include <memory>

#include "prenorm/model.h"
#include "prenorm/session.h"
#include "tools/common/options.h"

namespace prenorm::tools {

struct OpenedModel {
  std::shared_ptr<const Model> model;
  uint64_t load_ns = 0;
};

/// Forces the SIMD target, finds the file, refuses it if memory is too small, loads it (Ctrl-C cancels) and prints its
/// warnings. Errors: those of FindModelFile, ForceTarget and Model::Load, and kOutOfMemory.
Result<OpenedModel> OpenModel(const Options& options);

/// A session of the options' context, threads and cache. `least_context` raises a context that was not given.
/// Prints the start line on a terminal.
Result<std::unique_ptr<Session>> OpenSession(const OpenedModel& opened, const Options& options,
                                             size_t least_context = 0);

/// --draft: a second model and its session; empty without it.
struct OpenedDraft {
  OpenedModel opened;
  std::unique_ptr<Session> session;
};
Result<OpenedDraft> OpenDraft(const Options& options);

/// --session: what the file holds, if there is one. Errors: those of Session::RestoreFile, but a file that does not
/// exist; kIo if none can be made there.
Status RestoreSession(Session& session, const Options& options);
/// --session: keeps what the session holds. Errors: those of Session::SaveFile.
Status KeepSession(const Session& session, const Options& options);

}  // namespace prenorm::tools
