// Text to tokens and back in the C interface.
#include "prenorm/tokenizer.h"
#include "runtime/c_api/handles.h"
#include "runtime/limits.h"

using namespace prenorm::c_api;  // NOLINT(google-build-using-namespace): the functions below have C names.

prenorm_status prenorm_tokenize(const prenorm_model* model, const char* text, size_t n_bytes, uint32_t flags,
                                int32_t* tokens, size_t capacity, size_t* n_tokens, prenorm_error* error) {
  return Call(error, [&]() -> Outcome {
    constexpr const char* kName = "prenorm_tokenize";
    if (Outcome outcome = CheckModel(kName, model); !outcome.ok()) return outcome;
    if (text == nullptr && n_bytes != 0) return IsNull(kName, "text");
    if (Outcome outcome = CheckFlags(kName, flags, PRENORM_ADD_SPECIAL | PRENORM_PARSE_SPECIAL); !outcome.ok()) {
      return outcome;
    }
    prenorm::EncodeOptions options;
    options.add_special = (flags & PRENORM_ADD_SPECIAL) != 0;
    options.parse_special = (flags & PRENORM_PARSE_SPECIAL) != 0;
    const prenorm::Result<std::vector<prenorm::TokenId>> ids =
        model->model->tokenizer().Encode(std::string_view(text, n_bytes), options);
    if (!ids.ok()) return ids.status();
    return WriteArray(kName, ids.value().data(), ids.value().size(), 0, tokens, capacity, n_tokens);
  });
}

prenorm_status prenorm_detokenize(const prenorm_model* model, const int32_t* tokens, size_t n_tokens, uint32_t flags,
                                  char* text, size_t capacity, size_t* n_bytes, prenorm_error* error) {
  return Call(error, [&]() -> Outcome {
    constexpr const char* kName = "prenorm_detokenize";
    if (Outcome outcome = CheckModel(kName, model); !outcome.ok()) return outcome;
    if (tokens == nullptr && n_tokens != 0) return IsNull(kName, "tokens");
    if (n_tokens > prenorm::kMaxDetokenized) {
      return Invalid(std::string(kName) + ": n_tokens is " + std::to_string(n_tokens) + ", expected at most " +
                     std::to_string(prenorm::kMaxDetokenized));
    }
    if (Outcome outcome = CheckFlags(kName, flags, PRENORM_WITH_SPECIAL); !outcome.ok()) return outcome;
    const std::string decoded =
        model->model->tokenizer().Decode({tokens, n_tokens}, (flags & PRENORM_WITH_SPECIAL) != 0);
    return WriteArray(kName, decoded.data(), decoded.size(), 1, text, capacity, n_bytes);
  });
}

prenorm_status prenorm_token_piece(const prenorm_model* model, int32_t token, uint32_t flags, char* text,
                                   size_t capacity, size_t* n_bytes, prenorm_error* error) {
  return Call(error, [&]() -> Outcome {
    constexpr const char* kName = "prenorm_token_piece";
    if (Outcome outcome = CheckModel(kName, model); !outcome.ok()) return outcome;
    const size_t rows = model->model->config().vocab_size;
    if (token < 0 || static_cast<size_t>(token) >= rows) {
      return Invalid(std::string(kName) + ": token " + std::to_string(token) + ", expected 0 to " +
                     std::to_string(rows - 1));
    }
    if (Outcome outcome = CheckFlags(kName, flags, PRENORM_WITH_SPECIAL); !outcome.ok()) return outcome;
    const std::string piece = model->model->tokenizer().Piece(token, (flags & PRENORM_WITH_SPECIAL) != 0);
    return WriteArray(kName, piece.data(), piece.size(), 1, text, capacity, n_bytes);
  });
}
