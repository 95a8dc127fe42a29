// What a generation or a rendered conversation gave, in the C interface.
#include "runtime/c_api/handles.h"

using namespace prenorm::c_api;  // NOLINT(google-build-using-namespace): the functions below have C names.

namespace {

int32_t NumberOf(prenorm::FinishReason reason) {
  switch (reason) {
    case prenorm::FinishReason::kStop:
      return PRENORM_FINISH_STOP;
    case prenorm::FinishReason::kLength:
      return PRENORM_FINISH_LENGTH;
    case prenorm::FinishReason::kInterrupted:
      return PRENORM_FINISH_INTERRUPTED;
  }
  return PRENORM_FINISH_STOP;
}

}  // namespace

prenorm_status prenorm_result_get_info(const prenorm_result* result, prenorm_result_info* info, prenorm_error* error) {
  return Call(error, [&]() -> Outcome {
    if (result == nullptr) return IsNull("prenorm_result_get_info", "result");
    if (result->tag != Tag::kResult) return Invalid("prenorm_result_get_info: this is no result");
    const prenorm::GenerateResult& from = result->result;
    prenorm_result_info known = PRENORM_RESULT_INFO_INIT;
    known.finish_reason = NumberOf(from.finish_reason);
    known.text = from.text.c_str();
    known.n_bytes = from.text.size();
    known.tokens = from.ids.data();
    known.n_tokens = from.ids.size();
    known.prompt_tokens = from.prompt_tokens;
    known.prefill_ns = from.timings.prefill_ns;
    known.decode_ns = from.timings.decode_ns;
    known.ttft_ns = from.timings.ttft_ns;
    return WriteStruct("prenorm_result_info", known, info);
  });
}

void prenorm_result_free(prenorm_result* result) {
  if (result != nullptr && result->tag == Tag::kResult) delete result;
}
