// Reads /proc/self/cgroup and walks up from there.
#include "runtime/parallel/cgroup.h"

#include <fstream>
#include <sstream>

namespace prenorm {

std::optional<std::string> ReadSystemFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<std::string> CgroupPath(const std::string& root, std::string_view controller) {
  const std::optional<std::string> text = ReadSystemFile(root + "/proc/self/cgroup");
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {  // hierarchy-id:controllers:path
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find("," + std::string(controller) + ",") != std::string::npos) return line.substr(second + 1);
  }
  return std::nullopt;
}

void VisitCgroupFolders(const std::string& mount, std::string path,
                        const std::function<void(const std::string&)>& visit) {
  while (true) {
    visit(mount + (path == "/" ? "" : path));
    if (path.empty() || path == "/") return;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

}  // namespace prenorm
