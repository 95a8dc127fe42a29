// Writes the values of a JSON object in GGUF's encoding.
#include "runtime/loader/json_metadata.h"

#include <optional>
#include <string_view>

#include <simdjson.h>

#include "runtime/limits.h"
#include "runtime/loader/json_numbers.h"

namespace prenorm {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// An entry whose key and value are still offsets, because the storage grows.
struct Pending {
  size_t key_start, key_bytes, data_start;
  MetaEntry entry;
};

class Flattener {
 public:
  explicit Flattener(std::vector<uint8_t>& storage) : storage_(storage) {}

  bool Object(const simdjson::dom::object& object, const std::string& prefix, int depth) {
    if (depth > kMaxConfigDepth) return false;
    for (const auto& [key, value] : object) {
      const std::string full = prefix + std::string(key);
      simdjson::dom::object nested;
      simdjson::dom::array items;
      if (value.get(nested) == simdjson::SUCCESS) {
        if (!Object(nested, full + ".", depth + 1)) return false;
      } else if (value.get(items) == simdjson::SUCCESS) {
        Array(full, items);
      } else if (const std::optional<MetaType> type = TypeOf(value)) {
        Begin(full, *type, false, 1);
        Append(value, *type);
      }
    }
    return true;
  }

  Status Finish(const std::string& path, Metadata& metadata) const {
    for (const Pending& pending : entries_) {
      MetaEntry entry = pending.entry;
      entry.key = {reinterpret_cast<const char*>(storage_.data()) + pending.key_start, pending.key_bytes};
      entry.data = storage_.data() + pending.data_start;
      if (Status status = metadata.Add(entry); !status.ok()) {
        return Status(status.code(), "'" + path + "': " + status.message());
      }
    }
    return Status();
  }

 private:
  static std::optional<MetaType> TypeOf(const element& value) {
    switch (value.type()) {
      case element_type::INT64:
        return MetaType::kI64;
      case element_type::UINT64:
        return MetaType::kU64;
      case element_type::DOUBLE:
        return MetaType::kF64;
      case element_type::BOOL:
        return MetaType::kBool;
      case element_type::STRING:
        return MetaType::kString;
      default:
        return std::nullopt;
    }
  }

  // What is no array of one type is kept as a text: who expects an array finds that there is none, instead of nothing.
  void Array(const std::string& key, const simdjson::dom::array& items) {
    std::optional<MetaType> common;
    for (const element item : items) {
      const std::optional<MetaType> type = TypeOf(item);
      const bool numbers = type && common && *common != *type && IsNumber(*common) && IsNumber(*type);
      if (!type || (common && *common != *type && !numbers)) {
        Begin(key, MetaType::kString, false, 1);
        return PutText(simdjson::minify(items));
      }
      common = numbers ? MetaType::kF64 : *type;  // [1, 0.5] is an array of f64.
    }
    if (!common) return;
    Begin(key, *common, true, items.size());
    for (const element item : items) Append(item, *common);
  }

  static bool IsNumber(MetaType type) {
    return type == MetaType::kI64 || type == MetaType::kU64 || type == MetaType::kF64;
  }

  void Begin(const std::string& key, MetaType type, bool is_array, uint64_t count) {
    Pending pending{storage_.size(), key.size(), storage_.size() + key.size(), {}};
    pending.entry.type = type;
    pending.entry.is_array = is_array;
    pending.entry.count = count;
    storage_.insert(storage_.end(), key.begin(), key.end());
    entries_.push_back(pending);
  }

  // `value` has the type, or is a number where that is kF64.
  void Append(const element& value, MetaType type) {
    switch (type) {
      case MetaType::kI64:
        return Put(value.get_int64().value_unsafe());
      case MetaType::kU64:
        return Put(value.get_uint64().value_unsafe());
      case MetaType::kF64:
        return Put(value.get_double().value_unsafe());
      case MetaType::kBool:
        return Put(static_cast<uint8_t>(value.get_bool().value_unsafe()));
      default:
        break;
    }
    PutText(value.get_string().value_unsafe());
  }

  void PutText(std::string_view text) {
    Put(static_cast<uint64_t>(text.size()));
    storage_.insert(storage_.end(), text.begin(), text.end());
  }

  template <typename T>
  void Put(T value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    storage_.insert(storage_.end(), bytes, bytes + sizeof(value));
  }

  std::vector<uint8_t>& storage_;
  std::vector<Pending> entries_;
};

}  // namespace

Status ReadJsonMetadata(const std::string& text, const std::string& path, std::vector<uint8_t>& storage,
                        Metadata& metadata) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  const auto error = parser.parse(WithLongIntegersAsFloats(text)).get(object);
  if (error != simdjson::SUCCESS) {
    return Status(StatusCode::kBadModel, "a file of the model is no JSON object\n'" + path +
                                             "': " + simdjson::error_message(error) + "\nFetch it again.");
  }
  Flattener flattener(storage);
  if (!flattener.Object(object, "", 1)) {
    return Status(StatusCode::kBadModel, "lists and objects inside each other are too deep\n'" + path +
                                             "'\nNo model needs that: fetch the file again.");
  }
  return flattener.Finish(path, metadata);
}

}  // namespace prenorm
