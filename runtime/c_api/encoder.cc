// Embeddings of the C interface.
#include "prenorm/encoder.h"

#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/c_api/handles.h"

namespace prenorm::c_api {
namespace {

Outcome OptionsOf(const prenorm_encoder_options& from, EncoderOptions& to) {
  constexpr std::optional<Pooling> kPoolings[] = {std::nullopt, Pooling::kMean, Pooling::kCls, Pooling::kLast};
  if (from.pooling < PRENORM_POOLING_AUTO || from.pooling > PRENORM_POOLING_LAST) {
    return Invalid("pooling: expected 0 to 3 (PRENORM_POOLING_...), found " + std::to_string(from.pooling));
  }
  if (from.normalize < PRENORM_NORMALIZE_AUTO || from.normalize > PRENORM_NORMALIZE_NO) {
    return Invalid("normalize: expected 0 to 2 (PRENORM_NORMALIZE_...), found " + std::to_string(from.normalize));
  }
  to.threads = from.threads;
  to.pooling = kPoolings[from.pooling];
  if (from.normalize != PRENORM_NORMALIZE_AUTO) to.normalize = from.normalize == PRENORM_NORMALIZE_YES;
  to.max_tokens = from.max_tokens;
  to.truncate = from.truncate != 0;
  to.parse_special = from.parse_special != 0;
  return {};
}

int32_t NumberOf(Pooling pooling) {
  switch (pooling) {
    case Pooling::kMean:
      return PRENORM_POOLING_MEAN;
    case Pooling::kCls:
      return PRENORM_POOLING_CLS;
    case Pooling::kLast:
      return PRENORM_POOLING_LAST;
  }
  return PRENORM_POOLING_AUTO;
}

Outcome TextsOf(const char* const* texts, const size_t* n_bytes, size_t n_texts, std::vector<std::string_view>& views) {
  constexpr const char* kFunction = "prenorm_encoder_embed";
  if (n_texts == 0) return Invalid(std::string(kFunction) + ": there are no texts");
  if (texts == nullptr) return IsNull(kFunction, "texts");
  if (n_texts > static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max()) / sizeof(*texts)) {
    return Invalid(std::string(kFunction) + ": n_texts is " + std::to_string(n_texts) + ", more than memory has");
  }
  for (size_t i = 0; i < n_texts; ++i) {
    const std::string name = "text " + std::to_string(i + 1);
    if (texts[i] == nullptr) return IsNull(kFunction, name.c_str());
    const size_t bytes = n_bytes == nullptr ? std::strlen(texts[i]) : n_bytes[i];
    if (bytes > static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max())) {
      return Invalid(std::string(kFunction) + ": " + name + " has " + std::to_string(bytes) +
                     " bytes, more than memory has");
    }
    views.emplace_back(texts[i], bytes);
  }
  return {};
}

}  // namespace
}  // namespace prenorm::c_api

using namespace prenorm::c_api;  // NOLINT(google-build-using-namespace): the functions below have C names.

prenorm_status prenorm_encoder_new(const prenorm_model* model, const prenorm_encoder_options* options,
                                   prenorm_encoder** encoder, prenorm_error* error) {
  return Call(error, [&]() -> Outcome {
    if (Outcome outcome = CheckModel("prenorm_encoder_new", model); !outcome.ok()) return outcome;
    if (encoder == nullptr) return IsNull("prenorm_encoder_new", "encoder");
    prenorm_encoder_options c_options = PRENORM_ENCODER_OPTIONS_INIT;
    if (Outcome outcome = ReadStruct("prenorm_encoder_options", options, c_options); !outcome.ok()) return outcome;
    prenorm::EncoderOptions encoder_options;
    if (Outcome outcome = OptionsOf(c_options, encoder_options); !outcome.ok()) return outcome;
    auto handle = std::make_unique<prenorm_encoder>();
    prenorm::Result<std::unique_ptr<prenorm::Encoder>> created =
        prenorm::Encoder::Create(model->model, encoder_options);
    if (!created.ok()) return created.status();
    handle->encoder = std::move(created).value();
    handle->encoder->set_cancel_flag(&handle->cancel);
    *encoder = handle.release();
    return {};
  });
}

void prenorm_encoder_free(prenorm_encoder* encoder) {
  if (encoder != nullptr && encoder->tag == Tag::kEncoder) Lease<prenorm_encoder>::Free(encoder);
}

void prenorm_encoder_cancel(prenorm_encoder* encoder) {
  if (encoder != nullptr && encoder->tag == Tag::kEncoder) encoder->cancel.store(true, std::memory_order_relaxed);
}

prenorm_status prenorm_encoder_get_info(prenorm_encoder* encoder, prenorm_encoder_info* info, prenorm_error* error) {
  return LeasedCall("prenorm_encoder_get_info", encoder, error, [&] {
    prenorm_encoder_info known = PRENORM_ENCODER_INFO_INIT;
    known.threads = encoder->encoder->threads();
    known.dim = encoder->encoder->dim();
    known.max_tokens = encoder->encoder->max_tokens();
    known.pooling = NumberOf(encoder->encoder->pooling());
    known.normalizes = encoder->encoder->normalizes() ? 1 : 0;
    return WriteStruct("prenorm_encoder_info", known, info);
  });
}

prenorm_status prenorm_encoder_embed(prenorm_encoder* encoder, const char* const* texts, const size_t* n_bytes,
                                     size_t n_texts, float* vectors, size_t capacity, prenorm_error* error) {
  return LeasedCall("prenorm_encoder_embed", encoder, error, [&]() -> Outcome {
    std::vector<std::string_view> views;
    if (Outcome outcome = TextsOf(texts, n_bytes, n_texts, views); !outcome.ok()) return outcome;
    if (vectors == nullptr) return IsNull("prenorm_encoder_embed", "vectors");
    const size_t dim = encoder->encoder->dim();
    if (capacity / dim < n_texts) {
      return {PRENORM_E_BUFFER_TOO_SMALL, "prenorm_encoder_embed: the buffer is too small\nexpected room for " +
                                              std::to_string(n_texts) + " vectors of " + std::to_string(dim) +
                                              ", found " + std::to_string(capacity) + " elements"};
    }
    Outcome outcome = encoder->encoder->Embed(views, vectors);
    encoder->cancel.store(false, std::memory_order_relaxed);
    return outcome;
  });
}
