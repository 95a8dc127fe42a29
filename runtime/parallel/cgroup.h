// Control groups of this process, versions 1 and 2: where a limit may stand.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace prenorm {

/// The whole text of a file of /proc or /sys; absent if it cannot be read.
std::optional<std::string> ReadSystemFile(const std::string& path);

/// Path of this process in the hierarchy that has `controller` ("" for version 2), e.g. "/user.slice/x"; absent if not
/// listed. `root` is prefixed to /proc paths.
std::optional<std::string> CgroupPath(const std::string& root, std::string_view controller);

/// Calls `visit` with the folder of the process's own group and of every ancestor up to `mount`: limits of all bind.
void VisitCgroupFolders(const std::string& mount, std::string path,
                        const std::function<void(const std::string&)>& visit);

}  // namespace prenorm
