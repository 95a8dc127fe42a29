// Types of the members of a tokenizer.json.
#pragma once

#include <simdjson.h>

#include <string>

namespace prenorm {

/// What is wrong with the first switch or text, in `value` or below it, that is there with another type: read as absent
/// it would silently cut texts otherwise than the file's author. Empty if none is; null counts as absent.
std::string WrongJsonType(simdjson::dom::element value);

}  // namespace prenorm
