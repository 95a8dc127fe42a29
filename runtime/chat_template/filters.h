// The filters that templates may name.
#pragma once

#include <string>
#include <string_view>

#include "runtime/chat_template/arguments.h"

namespace prenorm::chat_template {

struct FilterEntry {
  std::string_view name;
  Native apply;
};

/// Null for a filter that there is not.
const FilterEntry* FindFilter(std::string_view name);
/// What is said of such a one: its name, and those that there are.
std::string UnknownFilter(std::string_view name);

/// Tables of the files that hold them, each ended by an entry without function.
extern const FilterEntry kTextFilters[];
extern const FilterEntry kNumberFilters[];
extern const FilterEntry kWebFilters[];
extern const FilterEntry kListFilters[];

}  // namespace prenorm::chat_template
