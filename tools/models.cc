// prenorm models: what the catalog and the cache hold; fetching, preparing and removing.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "prenorm/model.h"
#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/open_model.h"
#include "tools/common/terminal.h"
#include "tools/common/words.h"
#include "tools/fetch/catalog.h"
#include "tools/fetch/fetch.h"
#include "tools/fetch/hub.h"

namespace prenorm::tools {
namespace {

namespace fs = std::filesystem;

// Of a file, or of all files of a folder.
uint64_t BytesOf(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const uintmax_t bytes = fs::file_size(path, error);
    return error ? 0 : bytes;
  }
  uint64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) bytes += entry.file_size(error);
  }
  return bytes;
}

struct Listed {
  std::string name;
  std::string title;
  std::string licence;
  uint64_t bytes;
  std::string path;  // Empty: not in the cache.
};

// The catalog, then what else is in the cache: files by their names, folders of a hub's models by their ids.
std::vector<Listed> ListModels(const std::string& folder) {
  std::vector<Listed> models, others;
  for (const CatalogModel& model : Catalog()) {
    const std::string path = FindInCache(model.name);
    models.push_back({model.name, model.title, model.licence, path.empty() ? model.bytes : BytesOf(path), path});
  }
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    const bool known =
        std::any_of(models.begin(), models.end(), [&](const Listed& m) { return m.path == entry.path(); });
    if (known || name.starts_with('.')) continue;
    if (const size_t at = name.find("--"); entry.is_directory(error) && at != std::string::npos)
      name.replace(at, 2, "/");
    const bool part = name.ends_with(kPartSuffix);
    others.push_back({name, part ? "partly fetched" : "", "", BytesOf(entry.path()), entry.path().string()});
  }
  std::sort(others.begin(), others.end(), [](const Listed& a, const Listed& b) { return a.name < b.name; });
  models.insert(models.end(), others.begin(), others.end());
  return models;
}

// A line a model; on a terminal that is too narrow for that, what a model is goes below its name.
std::string Table(const std::vector<Listed>& models) {
  size_t widest = 0;
  for (const Listed& model : models) widest = std::max(widest, model.name.size());
  const size_t column = widest + 22;
  const bool narrow = StdoutIsTerminal() && LineWidth() < column + 40;
  std::string text;
  for (const Listed& model : models) {
    char line[32];
    std::snprintf(line, sizeof line, "%9s  %-5s  ", SizeText(model.bytes).c_str(), model.path.empty() ? "-" : "here");
    std::string title = model.title + (model.licence.empty() ? "" : " (" + model.licence + ")");
    if (narrow && !title.empty()) title = "\n    " + Wrapped(title, 4, LineWidth());
    text += "  " + model.name + std::string(widest - model.name.size(), ' ') + " " + line + title + "\n";
  }
  return text;
}

int List(const std::string& folder, const Options& options) {
  const std::vector<Listed> models = ListModels(folder);
  if (options.json) {
    nlohmann::ordered_json json = NewJson(0);
    json["host"].erase("threads");  // Nothing runs.
    json["folder"] = folder;
    json["models"] = nlohmann::ordered_json::array();
    for (const Listed& model : models) {
      nlohmann::ordered_json entry = {{"name", model.name},
                                      {"title", model.title},
                                      {"licence", model.licence},
                                      {"bytes", model.bytes},
                                      {"cached", !model.path.empty()}};
      entry["path"] = model.path.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(model.path);
      json["models"].push_back(std::move(entry));
    }
    return PrintAnswer(JsonLine(json));
  }
  return PrintAnswer("Models in " + folder + "\n\n" + Table(models));
}

int Fetch(const std::string& name, const Options& options) {
  const Result<std::string> path = FetchModel(name, {options.sha256, [](const std::string& text) { Note(text); }, {}});
  return path.ok() ? PrintAnswer(*path + "\n") : Fail(path.status());
}

// A check that is asked for is made or refused, never forgotten.
Status CheckSha256Option(const std::string& name, const Options& options) {
  if (options.sha256.empty()) return {};
  if (options.action != "fetch") {
    return {StatusCode::kInvalidArgument, "A hash is checked where a file is fetched.\n--sha256: given to " +
                                              options.action + "\nUse prenorm models fetch, or leave it out."};
  }
  if (name.find("://") == std::string::npos) {
    return {StatusCode::kInvalidArgument,
            "A hash can be given for addresses only.\n--sha256: " + name +
                " is none; the catalog and the hub bring their own hashes\nLeave it out, or fetch the file's address."};
  }
  const bool is_hash =
      options.sha256.size() == 64 && options.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (is_hash) return {};
  return {StatusCode::kInvalidArgument, "This is no SHA-256.\n--sha256: expected 64 small hexadecimal digits, found '" +
                                            options.sha256 + "'\nGive what sha256sum prints."};
}

// Prepared weights of what is at `path`: a model, or a hub's folder, which may be one and may hold some.
std::vector<std::string> PreparedOf(const fs::path& path) {
  std::vector<std::string> models = {path.string()}, found;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path, error)) {
      if (entry.path().extension() == ".gguf") models.push_back(entry.path().string());
    }
  }
  const Result<std::string> folder = PreparedFolder();
  for (const std::string& model : models) {
    const Result<std::vector<std::string>> files =
        folder.ok() ? PreparedFilesOf(model, *folder) : Result<std::vector<std::string>>(folder.status());
    if (files.ok()) found.insert(found.end(), files->begin(), files->end());  // What is no model has none.
  }
  return found;
}

int Prepare(const std::string& name, Options options) {
  options.model = name;
  options.prepared = true;
  const Result<OpenedModel> opened = OpenModel(options);
  return opened.ok() ? PrintAnswer(opened->model->prepared_path() + "\n") : FailModel(opened.status());
}

int Remove(const std::string& name, const std::string& folder) {
  std::string path = FindInCache(name);
  if (IsHubName(name) && name.find(':') == std::string::npos) path = HubFolder(folder, name);  // All of it.
  const std::string file = FindInCatalog(name) != nullptr ? FindInCatalog(name)->path : name;
  std::error_code error;
  const bool part = file.find('/') == std::string::npos && fs::remove(folder + "/" + file + kPartSuffix, error);
  if (path.empty() || !fs::exists(path, error)) return part ? kExitOk : Fail(NoSuchModel(name));
  uint64_t bytes = BytesOf(path);
  for (const std::string& prepared : PreparedOf(path)) {
    bytes += BytesOf(prepared);
    fs::remove(prepared, error);
  }
  fs::remove_all(path, error);
  if (error) {
    return Fail(Status(StatusCode::kIo,
                       "The model cannot be removed.\n" + path + ": " + error.message() + "\nCheck its rights."));
  }
  Note("removed " + path + ", " + SizeText(bytes));
  return kExitOk;
}

}  // namespace

int RunModels(const Options& options) {
  const Result<std::string> folder = ModelFolder();
  if (!folder.ok()) return Fail(folder.status());
  const std::string name = options.model.empty() ? DefaultModel().name : options.model;
  if (Status status = CheckSha256Option(name, options); !status.ok()) return Fail(status);
  if (options.action == "list" && !options.model.empty()) {
    return Fail(Status(StatusCode::kInvalidArgument, "There is one argument too many.\nprenorm models list: '" +
                                                         options.model + "'\nSee: prenorm models --help"));
  }
  if (options.action == "list") return List(*folder, options);
  if (options.action == "remove" && options.model.empty()) {
    return Fail(Status(StatusCode::kInvalidArgument,
                       "Something is missing.\nprenorm models remove: expected a name, found none\n"
                       "See which there are: prenorm models"));
  }
  if (options.action == "fetch") return Fetch(name, options);
  if (options.action == "prepare") return Prepare(name, options);
  if (options.action == "remove") return Remove(name, *folder);
  Result<std::string> path = FindModelFile(name);
  return path.ok() ? PrintAnswer(*path + "\n") : FailModel(path.status());
}

}  // namespace prenorm::tools
