// The forms of a profile: text, JSON, a picture, a page.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "tools/profile/report.h"

namespace prenorm::tools {

/// Tables for a terminal.
std::string ProfileTable(const ProfileReport& report);

/// Adds the fields of a profile to `json`, which has schema and host.
void AddProfileJson(const ProfileReport& report, nlohmann::ordered_json& json);

/// One SVG of 800 pixels: bars, heat map of layer and site, roofline, for each phase. It follows the reader's
/// preference for light or dark, and needs nothing from elsewhere.
std::string ProfileSvg(const ProfileReport& report);

/// One page with the picture and tables that sort by a click; it loads nothing.
std::string ProfileHtml(const ProfileReport& report);

}  // namespace prenorm::tools
