// Lookup of filters.
#include "runtime/chat_template/filters.h"

namespace prenorm::chat_template {

const FilterEntry* FindFilter(std::string_view name) {
  for (const FilterEntry* table : {kTextFilters, kListFilters}) {
    for (const FilterEntry* entry = table; entry->apply != nullptr; ++entry) {
      if (entry->name == name) return entry;
    }
  }
  return nullptr;
}

}  // namespace prenorm::chat_template
