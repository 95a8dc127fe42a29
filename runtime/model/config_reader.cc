// Checked lookups of model sizes.
#include "runtime/model/config_reader.h"

#include <cmath>

namespace prenorm {

bool ConfigReader::Has(std::string_view key) const { return source_.metadata().Has(Full(key)); }

void ConfigReader::Fail(StatusCode code, const std::string& message) {
  if (status_.ok()) status_ = Status(code, message + "\nin " + source_.path());
}

void ConfigReader::FailKey(std::string_view key, const std::string& expected, const std::string& found) {
  Fail(StatusCode::kBadModel, "key " + Full(key) + ": expected " + expected + ", found " + found);
}

size_t ConfigReader::Size(std::string_view key, size_t limit, std::optional<size_t> fallback) {
  const std::optional<uint64_t> value = source_.metadata().U64(Full(key));
  if (!value) {
    if (Has(key)) {
      FailKey(key, "a whole number", "another type or a negative number");
    } else if (!fallback) {
      FailKey(key, "a whole number", "no such key");
    }
    return fallback.value_or(0);
  }
  if (*value == 0 || *value > limit) {
    FailKey(key, "a size from 1 to " + std::to_string(limit), std::to_string(*value));
    return 0;
  }
  return static_cast<size_t>(*value);
}

float ConfigReader::Number(std::string_view key, bool positive, std::optional<float> fallback) {
  const std::optional<float> value = source_.metadata().F32(Full(key));
  const char* expected = positive ? "a finite number above 0" : "a finite number, 0 or more";
  if (!value) {
    if (Has(key)) {
      FailKey(key, expected, "another type");
    } else if (!fallback) {
      FailKey(key, expected, "no such key");
    }
    return fallback.value_or(0.0f);
  }
  if (!std::isfinite(*value) || *value < 0.0f || (positive && *value == 0.0f)) {
    FailKey(key, expected, std::to_string(*value));
    return 0.0f;
  }
  return *value;
}

std::string_view ConfigReader::Text(std::string_view key, std::string_view fallback) {
  return source_.metadata().String(Full(key)).value_or(fallback);
}

}  // namespace prenorm
