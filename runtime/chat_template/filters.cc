// Lookup of filters.
#include "runtime/chat_template/filters.h"

namespace prenorm::chat_template {

const FilterEntry* FindFilter(std::string_view name) {
  for (const FilterEntry* table : {kTextFilters, kNumberFilters, kWebFilters, kListFilters}) {
    for (const FilterEntry* entry = table; entry->apply != nullptr; ++entry) {
      if (entry->name == name) return entry;
    }
  }
  return nullptr;
}

std::string UnknownFilter(std::string_view name) {
  std::string text = "the filter '" + std::string(name) + "' is not supported; these are:";
  for (const FilterEntry* table : {kTextFilters, kNumberFilters, kWebFilters, kListFilters}) {
    for (const FilterEntry* entry = table; entry->apply != nullptr; ++entry) text += " " + std::string(entry->name);
  }
  return text;
}

}  // namespace prenorm::chat_template
