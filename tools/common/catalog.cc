// The catalog is compiled in: the command needs no file of its own at run time.
#include "tools/common/catalog.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include "catalog_json.h"
#include "tools/common/options.h"

namespace prenorm::tools {
namespace {

namespace fs = std::filesystem;

// Empty where neither variable is set.
fs::path CacheFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "prenorm" / "models";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "prenorm" / "models";
  return {};
}

}  // namespace

Result<std::string> FindModelFile(const std::string& name) {
  std::error_code error;
  if (!name.empty() && fs::exists(name, error)) return name;

  const nlohmann::json catalog = nlohmann::json::parse(kCatalogJson);
  const std::string wanted = name.empty() ? catalog.at("default").get<std::string>() : name;
  std::vector<std::string> names;
  for (const auto& model : catalog.at("models")) {
    names.push_back(model.at("name").get<std::string>());
    if (names.back() != wanted) continue;
    const fs::path folder = CacheFolder();
    const fs::path path = folder / model.at("path").get<std::string>();
    if (!folder.empty() && fs::exists(path, error)) return path.string();
    return Status(StatusCode::kNotFound, (name.empty() ? std::string("The default model is not there yet.\n")
                                                       : std::string("This model of the catalog is not there yet.\n")) +
                                             wanted + ": " + (folder.empty() ? "HOME is not set" : path.string() + " not found") +
                                             "\nFetch it with: tools/fetch_model.sh " + wanted + "   or give the path of a model file.");
  }
  const std::string near = DidYouMean(name, names);
  return Status(StatusCode::kNotFound, "There is no such model.\n" + name + ": neither a file nor a name of the catalog\n" +
                                           (near.empty() ? "Check the path, or see: tools/fetch_model.sh --list"
                                                         : "Did you mean " + near + "?"));
}

}  // namespace prenorm::tools
