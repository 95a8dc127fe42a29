// A JSON object as Metadata, so that config.json is looked up like the keys of a GGUF file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/loader/metadata.h"

namespace prenorm {

/// Numbers become i64 or f64, arrays of one kind of scalar arrays, members of nested objects keys joined by dots.
/// Nulls, empty arrays and arrays of anything else are left out. `storage` receives keys and values and must outlive
/// `metadata`. Errors: kBadModel where the text is no JSON object or nests deeper than 16 objects.
Status ReadJsonMetadata(const std::string& text, const std::string& path, std::vector<uint8_t>& storage,
                        Metadata& metadata);

}  // namespace prenorm
