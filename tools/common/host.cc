// /proc and the cgroup files; JSON that names the host.
#include "tools/common/host.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "prenorm/target.h"

namespace prenorm::tools {
namespace {

constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

// A file that holds one number; kUnknown for "max" or no file.
uint64_t NumberIn(const std::string& path) {
  std::ifstream in(path);
  uint64_t value = 0;
  return in >> value ? value : kUnknown;
}

// The number behind `key` in a file of "key number" lines, whatever unit follows.
uint64_t NumberOf(const std::string& key, const std::string& path) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key + " ")) return std::strtoull(line.c_str() + key.size(), nullptr, 10);
  }
  return kUnknown;
}

// What the limit of cgroup version 2, as containers see it, leaves. Cached files count as used there, but can go.
uint64_t CgroupMemoryLeft() {
  const uint64_t limit = NumberIn("/sys/fs/cgroup/memory.max"), used = NumberIn("/sys/fs/cgroup/memory.current");
  const uint64_t cached = NumberOf("file", "/sys/fs/cgroup/memory.stat");
  if (limit == kUnknown || used == kUnknown || cached == kUnknown) return kUnknown;
  return limit - std::min(limit, used - std::min(used, cached));
}

}  // namespace

std::string CpuName() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

uint64_t AvailableMemory() {
  const uint64_t kib = NumberOf("MemAvailable:", "/proc/meminfo");
  return std::min(CgroupMemoryLeft(), kib == kUnknown ? kUnknown : kib * 1024);
}

std::string SizeText(uint64_t bytes) {
  char text[32];
  const double value = static_cast<double>(bytes);
  if (bytes >= 1000000000) {
    std::snprintf(text, sizeof text, "%.1f GB", value / 1e9);
  } else {
    std::snprintf(text, sizeof text, "%.1f MB", value / 1e6);
  }
  return text;
}

nlohmann::ordered_json HostJson(int threads) {
  return {{"cpu", CpuName()}, {"target", ActiveTarget()}, {"threads", threads}, {"version", PRENORM_VERSION}};
}

nlohmann::ordered_json NewJson(int threads) { return {{"schema", 1}, {"host", HostJson(threads)}}; }

std::string JsonLine(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace prenorm::tools
