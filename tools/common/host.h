// What the machine is and has.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace prenorm::tools {

/// Name of the processor, e.g. from /proc/cpuinfo; "unknown" where it cannot be told.
std::string CpuName();

/// {"cpu", "target", "threads", "version"}: the host object of every JSON output.
nlohmann::ordered_json HostJson(int threads);

/// One object with "schema" and "host" first, for a command's fields to follow.
nlohmann::ordered_json NewJson(int threads);

/// The object as one line; text that is no valid UTF-8 gets U+FFFD.
std::string JsonLine(const nlohmann::ordered_json& json);

}  // namespace prenorm::tools
