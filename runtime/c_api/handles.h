// The objects behind the handles of the C interface.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "prenorm/encoder.h"
#include "prenorm/generate.h"
#include "prenorm/model.h"
#include "prenorm/session.h"
#include "runtime/c_api/call.h"

namespace prenorm::c_api {

/// First member of every handle but prenorm_error: a handle of another type, which a language without C's types passes
/// easily, is refused.
enum class Tag : uint32_t {
  kModel = 0x6D6F6431,
  kSession = 0x73657331,
  kResult = 0x72657331,
  kBuffer = 0x62756631,
  kEncoder = 0x656E6331
};

/// Hands engine events to a C function.
class ProfileSink : public OpObserver {
 public:
  ProfileSink(prenorm_profile_fn function, void* user) : function_(function), user_(user) {}
  void Record(const OpEvent& event) override;

 private:
  prenorm_profile_fn function_;
  void* user_;
};

}  // namespace prenorm::c_api

struct prenorm_model {
  prenorm::c_api::Tag tag = prenorm::c_api::Tag::kModel;
  std::shared_ptr<const prenorm::Model> model;
};

struct prenorm_session {
  static constexpr prenorm::c_api::Tag kTag = prenorm::c_api::Tag::kSession;
  static constexpr const char *kName = "session", *kOne = "a session";
  prenorm::c_api::Tag tag = kTag;
  std::atomic<uint32_t> state{0};  // Bits of Lease.
  std::atomic<bool> cancel{false};
  std::unique_ptr<prenorm::c_api::ProfileSink> profile;  // Outlives session's use of it.
  std::unique_ptr<prenorm::Session> session;
};

struct prenorm_encoder {
  static constexpr prenorm::c_api::Tag kTag = prenorm::c_api::Tag::kEncoder;
  static constexpr const char *kName = "encoder", *kOne = "an encoder";
  prenorm::c_api::Tag tag = kTag;
  std::atomic<uint32_t> state{0};  // Bits of Lease.
  std::atomic<bool> cancel{false};
  std::unique_ptr<prenorm::Encoder> encoder;
};

struct prenorm_buffer {
  prenorm::c_api::Tag tag = prenorm::c_api::Tag::kBuffer;
  std::vector<uint8_t> bytes;
};

struct prenorm_result {
  prenorm::c_api::Tag tag = prenorm::c_api::Tag::kResult;
  prenorm::GenerateResult result;
};

namespace prenorm::c_api {

/// The right to use a session or an encoder, for one call. Gives it back at its end, and frees the object if that was
/// asked for meanwhile: nothing may touch the object after a lease.
template <class Handle>
class Lease {
 public:
  explicit Lease(Handle* handle) {
    uint32_t idle = 0;
    if (handle->state.compare_exchange_strong(idle, kInUse, std::memory_order_acquire)) {
      handle_ = handle;
      return;
    }
    outcome_ = {PRENORM_E_BUSY, std::string("the ") + Handle::kName + " is in use by another call\nuse " +
                                    Handle::kOne + " a thread, and none from its callbacks"};
  }
  ~Lease() {
    if (handle_ == nullptr) return;
    if ((handle_->state.fetch_and(~kInUse, std::memory_order_acq_rel) & kToBeFreed) != 0) delete handle_;
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  /// Why it was not granted.
  const Outcome& outcome() const { return outcome_; }

  static void Free(Handle* handle) {
    // Of this call and a lease's end the later one deletes. Cancelled first: afterwards the object may be gone.
    handle->cancel.store(true, std::memory_order_relaxed);
    if ((handle->state.fetch_or(kToBeFreed, std::memory_order_acq_rel) & kInUse) == 0) delete handle;
  }

 private:
  static constexpr uint32_t kInUse = 1, kToBeFreed = 2;
  Handle* handle_ = nullptr;  // Null: not granted.
  Outcome outcome_;
};

/// As Call, with a session or an encoder leased for the time of body().
template <class Handle, class Body>
prenorm_status LeasedCall(const char* function, Handle* handle, prenorm_error* error, const Body& body) {
  return Call(error, [&]() -> Outcome {
    if (handle == nullptr) return IsNull(function, Handle::kName);
    if (handle->tag != Handle::kTag) return Invalid(std::string(function) + ": this is no " + Handle::kName);
    const Lease lease(handle);
    return lease.outcome().ok() ? body() : lease.outcome();
  });
}

/// Null or another type of handle.
Outcome CheckModel(const char* function, const prenorm_model* model);

/// A generation, shared by prenorm_generate and prenorm_chat. `whole_prompt`: the prompt takes the place of what the
/// session holds.
Outcome RunGeneration(prenorm_session* session, std::span<const TokenId> prompt, bool whole_prompt,
                      const prenorm_generate_options* options, prenorm_result** result);
/// A rendered conversation.
Outcome Render(const char* function, const Model& model, const prenorm_chat_message* messages, size_t n_messages,
               const prenorm_chat_options* options, GenerateResult& rendered);

}  // namespace prenorm::c_api
