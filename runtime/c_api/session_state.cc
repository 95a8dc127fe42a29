// Sessions of the C interface that go back, branch, and are kept: rewind, fork, save, restore.
#include "runtime/c_api/handles.h"

namespace prenorm::c_api {
namespace {

Outcome CheckBytes(const char* function, const void* bytes, size_t n_bytes) {
  if (bytes == nullptr) return IsNull(function, "bytes");
  if (n_bytes <= static_cast<size_t>(PTRDIFF_MAX)) return {};
  return Invalid(std::string(function) + ": n_bytes is " + std::to_string(n_bytes) + ", more than memory has");
}

Outcome CheckPath(const char* function, const char* path) {
  if (path == nullptr) return IsNull(function, "path");
  return path[0] != '\0' ? Outcome() : Invalid(std::string(function) + ": path is empty");
}

}  // namespace
}  // namespace prenorm::c_api

using namespace prenorm::c_api;  // NOLINT(google-build-using-namespace): the functions below have C names.

prenorm_status prenorm_session_rewind(prenorm_session* session, uint64_t position, prenorm_error* error) {
  return LeasedCall("prenorm_session_rewind", session, error,
                    [&]() -> Outcome { return session->session->Rewind(position); });
}

prenorm_status prenorm_session_fork(prenorm_session* session, prenorm_session* from, uint64_t position,
                                    prenorm_error* error) {
  return LeasedCall("prenorm_session_fork", session, error, [&]() -> Outcome {
    if (from == nullptr) return IsNull("prenorm_session_fork", "from");
    if (from->tag != Tag::kSession) return Invalid("prenorm_session_fork: from is no session");
    if (from == session) return Invalid("prenorm_session_fork: a session cannot be forked from itself");
    const Lease lease(from);
    if (!lease.outcome().ok()) return lease.outcome();
    return session->session->ForkFrom(*from->session, position);
  });
}

prenorm_status prenorm_session_save(prenorm_session* session, prenorm_buffer** buffer, prenorm_error* error) {
  return LeasedCall("prenorm_session_save", session, error, [&]() -> Outcome {
    if (buffer == nullptr) return IsNull("prenorm_session_save", "buffer");
    auto handle = std::make_unique<prenorm_buffer>();
    prenorm::Result<std::vector<uint8_t>> bytes = session->session->Save();
    if (!bytes.ok()) return bytes.status();
    handle->bytes = std::move(bytes).value();
    *buffer = handle.release();
    return {};
  });
}

prenorm_status prenorm_session_restore(prenorm_session* session, const void* bytes, size_t n_bytes,
                                       prenorm_error* error) {
  return LeasedCall("prenorm_session_restore", session, error, [&]() -> Outcome {
    if (Outcome outcome = CheckBytes("prenorm_session_restore", bytes, n_bytes); !outcome.ok()) return outcome;
    return session->session->Restore({static_cast<const uint8_t*>(bytes), n_bytes});
  });
}

prenorm_status prenorm_session_save_file(prenorm_session* session, const char* path, prenorm_error* error) {
  return LeasedCall("prenorm_session_save_file", session, error, [&]() -> Outcome {
    if (Outcome outcome = CheckPath("prenorm_session_save_file", path); !outcome.ok()) return outcome;
    return session->session->SaveFile(path);
  });
}

prenorm_status prenorm_session_restore_file(prenorm_session* session, const char* path, prenorm_error* error) {
  return LeasedCall("prenorm_session_restore_file", session, error, [&]() -> Outcome {
    if (Outcome outcome = CheckPath("prenorm_session_restore_file", path); !outcome.ok()) return outcome;
    return session->session->RestoreFile(path);
  });
}

prenorm_status prenorm_buffer_get(const prenorm_buffer* buffer, const void** bytes, size_t* n_bytes,
                                  prenorm_error* error) {
  return Call(error, [&]() -> Outcome {
    if (buffer == nullptr) return IsNull("prenorm_buffer_get", "buffer");
    if (buffer->tag != Tag::kBuffer) return Invalid("prenorm_buffer_get: this is no buffer");
    if (bytes == nullptr || n_bytes == nullptr) return IsNull("prenorm_buffer_get", "bytes or n_bytes");
    *bytes = buffer->bytes.data();
    *n_bytes = buffer->bytes.size();
    return {};
  });
}

void prenorm_buffer_free(prenorm_buffer* buffer) {
  if (buffer != nullptr && buffer->tag == Tag::kBuffer) delete buffer;
}
