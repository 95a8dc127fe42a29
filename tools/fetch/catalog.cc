// The catalog is compiled in: the command needs no file of its own at run time.
#include "tools/fetch/catalog.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "catalog_json.h"
#include "tools/common/words.h"
#include "tools/fetch/download.h"

namespace prenorm::tools {
namespace {

namespace fs = std::filesystem;

struct ParsedCatalog {
  std::vector<CatalogModel> models;
  size_t default_index = 0;
};

const ParsedCatalog& Parsed() {
  static const ParsedCatalog parsed = [] {
    ParsedCatalog out;
    const nlohmann::json json = nlohmann::json::parse(kCatalogJson);
    for (const auto& model : json.at("models")) {
      if (model.at("name") == json.at("default")) out.default_index = out.models.size();
      out.models.push_back({model.at("name"),
                            model.at("title"),
                            model.at("licence"),
                            model.at("path"),
                            model.at("bytes"),
                            model.value("sha256", ""),
                            model.value("url", ""),
                            {}});
      for (const auto& wheel : model.at("wheels")) {
        out.models.back().wheels.push_back({wheel.at("package"), wheel.at("version"), wheel.at("sha256"),
                                            wheel.value("member", ""), wheel.value("folder", "")});
      }
    }
    return out;
  }();
  return parsed;
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Of the files in a hub's folder the first, in the order of names, that is a model and has `part` in its name. A folder
// counts once it has its config.json, a split file with its first part: they are fetched last.
std::string FindInHubFolder(const fs::path& folder, const std::string& part) {
  std::error_code error;
  if (part.empty() && fs::exists(folder / "config.json", error)) return folder.string();
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".gguf") && Lower(name).find(Lower(part)) != std::string::npos)
      found.push_back(entry.path().string());
  }
  if (found.empty()) return "";
  const std::string first = *std::min_element(found.begin(), found.end());
  const bool later_part = first.find("-of-") != std::string::npos && first.find("-00001-of-") == std::string::npos;
  return later_part ? "" : first;
}

Result<std::string> CacheFolder(const char* name, const char* content) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return (fs::path(cache) / "prenorm" / name).string();
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return (fs::path(home) / ".cache" / "prenorm" / name).string();
  return Status(StatusCode::kNotFound,
                std::string("There is no folder for ") + content +
                    ".\nXDG_CACHE_HOME, HOME: expected one of them, found none\nSet one of them.");
}

}  // namespace

const std::vector<CatalogModel>& Catalog() { return Parsed().models; }
const CatalogModel& DefaultModel() { return Parsed().models[Parsed().default_index]; }

const CatalogModel* FindInCatalog(const std::string& name) {
  for (const CatalogModel& model : Catalog()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

Result<std::string> ModelFolder() { return CacheFolder("models", "models"); }
Result<std::string> PreparedFolder() { return CacheFolder("prepared", "prepared weights"); }

std::string HubFolder(const std::string& folder, const std::string& id) {
  std::string name = id;
  if (const size_t slash = name.find('/'); slash != std::string::npos) name.replace(slash, 1, "--");
  return (fs::path(folder) / name).string();
}

std::string FindInCache(const std::string& name) {
  const Result<std::string> folder = ModelFolder();
  if (!folder.ok() || name.empty()) return "";
  std::error_code error;
  const auto there = [&](const std::string& file) {
    const fs::path path = fs::path(*folder) / file;
    return fs::exists(path, error) ? path.string() : std::string();
  };
  if (const CatalogModel* model = FindInCatalog(name); model != nullptr) return there(model->path);
  if (name.find('/') == std::string::npos) {
    if (name.starts_with('.') || name.ends_with(kPartSuffix)) return "";
    const std::string exact = there(name);
    return exact.empty() ? there(name + ".gguf") : exact;
  }
  const size_t colon = name.find(':');
  const std::string id = name.substr(0, colon);
  if (std::count(id.begin(), id.end(), '/') != 1 || id.find("..") != std::string::npos) return "";
  return FindInHubFolder(HubFolder(*folder, id), colon == std::string::npos ? "" : name.substr(colon + 1));
}

Status NoSuchModel(const std::string& name) {
  std::vector<std::string> names;
  for (const CatalogModel& model : Catalog()) names.push_back(model.name);
  const std::string near = DidYouMean(name, names);
  return Status(StatusCode::kNotFound,
                "There is no such model.\n" + name + ": neither a file nor a model of the cache or the catalog\n" +
                    (near.empty() ? "Check the path, or see: prenorm models" : "Did you mean " + near + "?"));
}

Result<std::string> FindModelFile(const std::string& name) {
  std::error_code error;
  if (!name.empty() && fs::exists(name, error)) return name;
  const std::string wanted = name.empty() ? DefaultModel().name : name;
  if (std::string path = FindInCache(wanted); !path.empty()) return path;
  const CatalogModel* model = FindInCatalog(wanted);
  if (model == nullptr) return NoSuchModel(name);
  const Result<std::string> folder = ModelFolder();
  if (!folder.ok()) return folder.status();
  return Status(StatusCode::kNotFound, (name.empty() ? std::string("The default model is not there yet.\n")
                                                     : std::string("This model of the catalog is not there yet.\n")) +
                                           wanted + ": " + (fs::path(*folder) / model->path).string() +
                                           " not found\nFetch it with: " + std::string("prenorm models fetch ") +
                                           wanted + "   or give the path of a model file.");
}

}  // namespace prenorm::tools
