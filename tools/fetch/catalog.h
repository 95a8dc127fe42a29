// From what the user calls a model to its file: paths, names of the catalog, models fetched into the cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "prenorm/status.h"

namespace prenorm::tools {

/// A Python package that holds a model or a part of it.
struct CatalogWheel {
  std::string package;
  std::string version;
  std::string sha256;
  std::string member;  ///< The file in it,
  std::string folder;  ///< or the folder.
};

/// A model of models/catalog.json.
struct CatalogModel {
  std::string name;
  std::string title;
  std::string licence;
  std::string path;  ///< In the cache.
  uint64_t bytes = 0;
  std::string sha256;                ///< Empty for folders.
  std::string url;                   ///< Empty where no single file is published.
  std::vector<CatalogWheel> wheels;  ///< In the order of the parts.
};

const std::vector<CatalogModel>& Catalog();
const CatalogModel& DefaultModel();
/// Null if the catalog has no such name.
const CatalogModel* FindInCatalog(const std::string& name);

/// ${XDG_CACHE_HOME:-~/.cache}/prenorm/models. Errors: kNotFound where neither variable is set.
Result<std::string> ModelFolder();

/// Beside it, .../prenorm/prepared: for LoadOptions::prepared_folder. Errors: as ModelFolder.
Result<std::string> PreparedFolder();

/// The folder in the cache for the files of the hub's OWNER/NAME.
std::string HubFolder(const std::string& folder, const std::string& id);

/// The model of that name in the cache, complete: a file or folder, a file without its ".gguf", the catalog's name, or
/// OWNER/NAME[:PART] of the hub. Empty if it is not there.
std::string FindInCache(const std::string& name);

/// `name` is a path, a name that FindInCache knows, or empty for the default model.
/// Errors: kNotFound, with the command that fetches the model where there is one.
Result<std::string> FindModelFile(const std::string& name);

/// kNotFound for a name that nothing goes by, with a suggestion.
Status NoSuchModel(const std::string& name);

}  // namespace prenorm::tools
