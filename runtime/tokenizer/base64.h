// Base64 as tokenizer.json uses it for binary tables.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace prenorm {

/// The bytes, or nothing if `text` is not base64 (RFC 4648, with or without padding).
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace prenorm
