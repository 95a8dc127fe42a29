// /proc/cpuinfo; JSON that names the host.
#include "tools/common/host.h"

#include <fstream>

#include "prenorm/target.h"

namespace prenorm::tools {
std::string CpuName() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

nlohmann::ordered_json HostJson(int threads) {
  return {{"cpu", CpuName()}, {"target", ActiveTarget()}, {"threads", threads}, {"version", PRENORM_VERSION}};
}

nlohmann::ordered_json NewJson(int threads) { return {{"schema", 1}, {"host", HostJson(threads)}}; }

std::string JsonLine(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace prenorm::tools
