// One request for the list of files, with sizes and hashes; the commit found there is the one that is fetched.
#include "tools/fetch/hub.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

#include <nlohmann/json.hpp>

#include "tools/fetch/catalog.h"

namespace prenorm::tools {
namespace {

constexpr const char* kPublicHub = "https://huggingface.co";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool IsPlain(std::string_view word) {
  return !word.empty() && word.front() != '.' && word.find("..") == std::string_view::npos &&
         std::all_of(word.begin(), word.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
         });
}

// "model-00002-of-00003.gguf" -> "model.gguf": the parts of one model share it.
std::string Stem(const std::string& name) {
  const size_t at = name.rfind("-of-");
  if (at == std::string::npos || at < 6 || name[at - 6] != '-') return name;
  return name.substr(0, at - 6) + name.substr(std::min(at + 9, name.size()));
}

std::string Base(const std::string& path) { return path.substr(path.rfind('/') + 1); }

struct Repository {
  std::string id;
  std::string address;  // Of its files, up to the name.
  std::string target;   // Folder that they go to.
  std::string token;
  std::vector<nlohmann::json> files;
};

Download Entry(const Repository& repository, const nlohmann::json& file) {
  const std::string name = file.at("rfilename");
  Download download;
  download.url = repository.address + name;
  download.path = repository.target + "/" + Base(name);
  download.token = repository.token;
  const nlohmann::json lfs = file.value("lfs", nlohmann::json::object());
  if (file.contains("size") && file["size"].is_number_unsigned()) download.bytes = file["size"];
  if (lfs.is_object()) download.sha256 = lfs.value("sha256", "");
  return download;
}

Result<HubModel> ChooseGguf(const Repository& repository, const std::string& part) {
  std::set<std::string> models;
  HubModel out{repository.id, {}};
  for (const nlohmann::json& file : repository.files) {
    const std::string name = file.at("rfilename");
    if (!name.ends_with(".gguf") || !IsPlain(Base(name)) || Lower(Base(name)).find(Lower(part)) == std::string::npos)
      continue;
    models.insert(Stem(name));
    out.files.push_back(Entry(repository, file));
  }
  if (models.size() == 1) {
    std::sort(out.files.begin(), out.files.end(), [](const Download& a, const Download& b) { return a.path > b.path; });
    return out;
  }
  std::string names;
  for (const std::string& model : models) names += (names.empty() ? "" : ", ") + model;
  if (models.empty()) {
    return Status(StatusCode::kNotFound,
                  "There is no such model file.\n" + repository.id + ": no .gguf file has '" + part +
                      "' in its name\nLeave the part behind the colon out to see which there are.");
  }
  return Status(StatusCode::kInvalidArgument, "There is more than one model there.\n" + repository.id + ": " + names +
                                                  "\nChoose one by a part of its name: prenorm models fetch " +
                                                  repository.id + ":PART");
}

Result<HubModel> ChooseFolder(const Repository& repository) {
  constexpr const char* kTexts[] = {"tokenizer.json",      "tokenizer.model",        "tokenizer_config.json",
                                    "chat_template.jinja", "generation_config.json", "model.safetensors.index.json"};
  HubModel out{repository.id, {}};
  const nlohmann::json* config = nullptr;
  bool has_weights = false;
  for (const nlohmann::json& file : repository.files) {
    const std::string name = file.at("rfilename");
    if (!IsPlain(name)) continue;  // Of a subfolder too.
    if (name == "config.json") config = &file;
    const bool weights = name.ends_with(".safetensors");
    has_weights = has_weights || weights;
    if (weights || std::find(std::begin(kTexts), std::end(kTexts), name) != std::end(kTexts)) {
      out.files.push_back(Entry(repository, file));
    }
  }
  if (config == nullptr || !has_weights) {
    return Status(StatusCode::kNotFound,
                  "There is no model that Prenorm could read.\n" + repository.id +
                      ": neither .gguf files nor config.json with .safetensors\nTake another repository.");
  }
  out.files.push_back(Entry(repository, *config));
  return out;
}

}  // namespace

bool IsHubName(const std::string& name) {
  const size_t slash = name.find('/'), colon = name.find(':');
  if (slash == std::string::npos || colon < slash) return false;
  if (colon != std::string::npos && !IsPlain(std::string_view(name).substr(colon + 1))) return false;
  const std::string_view id = std::string_view(name).substr(0, colon);
  return IsPlain(id.substr(0, slash)) && IsPlain(id.substr(slash + 1));
}

Result<HubModel> ReadHubModel(const std::string& name, const std::string& folder, const FetchWatch& watch) {
  const size_t colon = name.find(':');
  const std::string part = colon == std::string::npos ? "" : name.substr(colon + 1);
  const std::string endpoint = Variable("HF_ENDPOINT").empty() ? kPublicHub : Variable("HF_ENDPOINT");
  Repository repository{name.substr(0, colon), "", "", Variable("HF_TOKEN"), {}};
  const std::string list_url = endpoint + "/api/models/" + repository.id + "?blobs=true";
  Result<std::string> text = FetchText(list_url, repository.token, watch);
  if (!text.ok()) return text.status();
  const nlohmann::json list = nlohmann::json::parse(*text, nullptr, false);
  const Status odd(StatusCode::kIo,
                   "The hub's answer cannot be understood.\n" + list_url +
                       ": expected a JSON object with sha and siblings\nCheck HF_ENDPOINT, or try again later.");
  if (!list.is_object() || !list.contains("siblings") || !list["siblings"].is_array() || !list.contains("sha") ||
      !list["sha"].is_string() || !IsPlain(list["sha"].get<std::string>())) {
    return odd;
  }
  repository.address = endpoint + "/" + repository.id + "/resolve/" + list["sha"].get<std::string>() + "/";
  repository.target = HubFolder(folder, repository.id);
  bool has_gguf = false;
  for (const nlohmann::json& file : list["siblings"]) {
    if (!file.is_object() || !file.contains("rfilename") || !file["rfilename"].is_string()) return odd;
    repository.files.push_back(file);
    has_gguf = has_gguf || file["rfilename"].get<std::string>().ends_with(".gguf");
  }
  if (has_gguf || !part.empty()) return ChooseGguf(repository, part);
  return ChooseFolder(repository);
}

}  // namespace prenorm::tools
