// How much memory of a kind a mapping of this process has.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>

namespace prenorm {

/// Kilobytes of a kind ("Shared_Clean:", "Private_Dirty:", ...) that this process has of the mapping of `file`.
inline size_t MappedKilobytes(const std::string& file, const std::string& kind) {
  std::ifstream smaps("/proc/self/smaps");
  size_t sum = 0;
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find('-') < line.find(' ') && line.find(':') > line.find(' ')) inside = line.ends_with(file);
    if (inside && line.starts_with(kind)) sum += std::stoul(line.substr(kind.size()));
  }
  return sum;
}

}  // namespace prenorm
