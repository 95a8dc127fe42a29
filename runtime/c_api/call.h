// What every function of the C interface does around its work: catch, report, check arguments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "prenorm/prenorm.h"
#include "prenorm/status.h"

/// The last outcome, and its message.
struct prenorm_error {
  prenorm_status status = PRENORM_OK;
  std::string text;
  const char* message = "";  // text, or a literal where there was no memory for text
};

namespace prenorm::c_api {

/// A status with a number of the C interface, which has some that the C++ one lacks.
struct Outcome {
  Outcome() = default;
  Outcome(const Status& from);  // NOLINT(google-explicit-constructor): what the library returns is returned
  Outcome(prenorm_status number, std::string text) : status(number), message(std::move(text)) {}
  bool ok() const { return status == PRENORM_OK; }

  prenorm_status status = PRENORM_OK;
  std::string message;
};

inline Outcome Invalid(std::string message) { return {PRENORM_E_INVALID_ARGUMENT, std::move(message)}; }
inline Outcome IsNull(const char* function, const char* argument) {
  return Invalid(std::string(function) + ": " + argument + " is null");
}

/// Puts an outcome where the caller looks for it. `error` may be null.
prenorm_status Report(Outcome outcome, prenorm_error* error) noexcept;
prenorm_status ReportLiteral(prenorm_status status, const char* message, prenorm_error* error) noexcept;

/// Runs body(), which returns an Outcome. No exception leaves.
template <class Body>
prenorm_status Call(prenorm_error* error, const Body& body) noexcept {
  try {
    return Report(body(), error);
  } catch (const std::bad_alloc&) {
    return ReportLiteral(PRENORM_E_OUT_OF_MEMORY, "out of memory", error);
  } catch (...) {
    return ReportLiteral(PRENORM_E_INTERNAL, "an exception that nobody expected", error);
  }
}

/// Larger than any struct of this interface will be: what says it is larger is no struct of this interface.
inline constexpr uint32_t kMaxStructBytes = 4096;

/// Reads options of another age: fields that the caller does not know keep their defaults, those that this library does
/// not know must be zero, which is what "as before" is for every later field.
template <class T>
Outcome ReadStruct(const char* name, const T* from, T& to) {
  if (from == nullptr) return {};
  uint32_t size = 0;
  std::memcpy(&size, from, sizeof(size));
  if (size < sizeof(size) || size > kMaxStructBytes) {
    return Invalid(std::string(name) + ": size is " + std::to_string(size) + ", expected " + std::to_string(sizeof(T)) +
                   "\nstart with the initializer of the struct");
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  for (size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] == 0) continue;
    return Invalid(std::string(name) + ": has options that this version of the library does not know");
  }
  std::memcpy(&to, from, std::min<size_t>(size, sizeof(T)));
  to.size = sizeof(T);
  return {};
}

/// Fills the part of a struct that the caller knows; what this library does not know becomes zero.
template <class T>
Outcome WriteStruct(const char* name, T from, T* to) {
  if (to == nullptr) return IsNull(name, "info");
  const uint32_t size = to->size;
  if (size < sizeof(size) || size > kMaxStructBytes) {
    return Invalid(std::string(name) + ": size is " + std::to_string(size) + ", expected " + std::to_string(sizeof(T)) +
                   "\nstart with the initializer of the struct");
  }
  from.size = size;
  auto* bytes = reinterpret_cast<unsigned char*>(to);
  std::memcpy(bytes, &from, std::min<size_t>(size, sizeof(T)));
  if (size > sizeof(T)) std::memset(bytes + sizeof(T), 0, size - sizeof(T));
  return {};
}

/// Copies `count` elements and `zeros` more (a terminator) to the caller, or says how many there are.
template <class T>
Outcome WriteArray(const char* what, const T* from, size_t count, size_t zeros, T* to, size_t capacity,
                   size_t* written) {
  if (written == nullptr) return IsNull(what, "the place for the size");
  if (to == nullptr && capacity != 0) return IsNull(what, "the buffer");
  *written = count;
  if (to == nullptr) return {};
  if (capacity < count + zeros) {
    return {PRENORM_E_BUFFER_TOO_SMALL, std::string(what) + ": the buffer is too small\nexpected room for " +
                                            std::to_string(count + zeros) + ", found " + std::to_string(capacity)};
  }
  if (count != 0) std::memcpy(to, from, count * sizeof(T));
  for (size_t i = 0; i < zeros; ++i) to[count + i] = T();
  return {};
}

/// Flags outside `known` are refused, so that they can get a meaning later.
inline Outcome CheckFlags(const char* function, uint32_t flags, uint32_t known) {
  if ((flags & ~known) == 0) return {};
  return Invalid(std::string(function) + ": flags " + std::to_string(flags) + " has bits beyond " +
                 std::to_string(known));
}

}  // namespace prenorm::c_api
