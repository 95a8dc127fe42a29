// A stored session, from its header to a step that attends to what it holds.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "prenorm/session.h"
#include "runtime/model/session_state.h"

namespace prenorm {
namespace {

Session& TinySession() {
  static const std::unique_ptr<Session> session = [] {
    const auto model = Model::Load(PRENORM_SOURCE_DIR "/models/tiny/prenorm-tiny.gguf");
    auto created = model.ok() ? Session::Create(*model, {.context = 64, .threads = 1}) : model.status();
    return created.ok() ? std::move(created).value() : nullptr;
  }();
  if (session == nullptr) __builtin_trap();
  return *session;
}

}  // namespace
}  // namespace prenorm

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace prenorm;
  Session& session = TinySession();
  std::vector<uint8_t> bytes(data, data + size);
  (void)session.Restore(bytes).ok();
  RepairSessionState(bytes, session.model().parts());  // Else no input would get past the checksum.
  if (!session.Restore(bytes).ok() || session.position() == session.capacity()) return 0;
  const TokenId token = 3;
  if (!session.Eval({&token, 1}).ok()) __builtin_trap();
  return 0;
}
