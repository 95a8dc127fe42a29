// prenorm models from outside: the catalog, the cache, fetching from addresses and from a hub that is a folder.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kTinySha = "2dd300c9779f7221f13d3b17564e9a4931e459e43260131666f8347aabc63db5";

class ModelsCliTest : public testing::Test {
 protected:
  CommandResult Models(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "models");
    return RunCommand(arguments, {.environment = {"XDG_CACHE_HOME=" + folder_.path("cache"),
                                                  "HF_ENDPOINT=" + Address("hub"), "HF_TOKEN"}});
  }
  std::string InCache(const std::string& name) const { return folder_.path("cache/prenorm/models/" + name); }
  // A file that is fetched from; addresses cannot have the space of the folder's name.
  std::string Address(const std::string& name) const {
    std::string url = "file://" + folder_.path(name);
    for (size_t at = 0; (at = url.find(' ')) != std::string::npos;) url.replace(at, 1, "%20");
    return url;
  }
  bool CanFetch() { return Models({"fetch", "file:///none.gguf"}).err.find("without libcurl") == std::string::npos; }
  // The hub's list of a repository's files, with sizes but no hashes unless one is given.
  void WriteRepository(const std::string& id, const std::vector<std::string>& files, const std::string& sha256 = "") {
    json siblings = json::array();
    for (const std::string& file : files) {
      const fs::path path = folder_.path("hub/" + id + "/resolve/c0ffee/" + file);
      fs::create_directories(path.parent_path());
      fs::copy_file(TinyModel(), path);
      siblings.push_back({{"rfilename", file}, {"size", fs::file_size(path)}});
      if (!sha256.empty()) siblings.back()["lfs"] = {{"sha256", sha256}};
    }
    const fs::path list = folder_.path("hub/api/models/" + id);
    fs::create_directories(list.parent_path());
    std::ofstream(list) << json({{"sha", "c0ffee"}, {"siblings", siblings}});
  }
  TemporaryFolder folder_;
};

TEST_F(ModelsCliTest, ListsTheCatalogAndWhatElseIsThere) {
  fs::create_directories(InCache("owner--name"));
  fs::copy_file(TinyModel(), InCache("mine.gguf"));
  fs::copy_file(TinyModel(), InCache("smollm2-135m-instruct-q4_1.gguf"));
  const CommandResult result = Models({"list", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, json> models;
  const json object = json::parse(result.out);
  for (const json& model : object.at("models")) models[model.at("name")] = model;
  EXPECT_EQ(models.at("smollm2-135m-instruct-q4_1").at("cached"), true);
  EXPECT_EQ(models.at("gemma3-270m-q4_k_m").at("cached"), false);
  EXPECT_EQ(models.at("mine.gguf").at("bytes"), fs::file_size(TinyModel()));
  EXPECT_TRUE(models.contains("owner/name"));
  EXPECT_NE(Models({}).out.find("mine.gguf"), std::string::npos) << "list is what models does by itself";
}

TEST_F(ModelsCliTest, PrepareMakesWhatPreparedUsesAndRemoveTakesItAway) {
  fs::create_directories(InCache(""));
  fs::copy_file(TinyModel(), InCache("mine.gguf"));
  const CommandResult prepared = Models({"prepare", "mine"});
  ASSERT_EQ(prepared.exit_code, 0) << prepared.err;
  const std::string path = prepared.out.substr(0, prepared.out.size() - 1);
  EXPECT_TRUE(path.starts_with(folder_.path("cache/prenorm/prepared/mine.gguf-"))) << path;
  const auto time = fs::last_write_time(path);
  const auto generate = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"generate", "mine", "-p", "Once there was", "-n", "16", "--temp", "0", "-q"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunCommand(arguments, {.environment = {"XDG_CACHE_HOME=" + folder_.path("cache")}});
  };
  const CommandResult plain = generate({}), shared = generate({"--prepared"});
  EXPECT_EQ(shared.exit_code, 0) << shared.err;
  EXPECT_EQ(shared.out, plain.out);
  EXPECT_EQ(fs::last_write_time(path), time) << "it was there already";
  EXPECT_EQ(generate({"--prepared", "--no-mmap"}).exit_code, 2);
  fs::copy_file(TinyModel(), InCache("mine.gguf-other"));
  ASSERT_EQ(Models({"prepare", "mine.gguf-other"}).exit_code, 0);
  EXPECT_EQ(Models({"remove", "mine"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(path));
  const auto left = fs::directory_iterator(folder_.path("cache/prenorm/prepared"));
  EXPECT_EQ(std::distance(begin(left), end(left)), 1) << "that of the other model";
}

TEST_F(ModelsCliTest, RemoveTakesPreparedWeightsOfThatModelAlone) {
  // Two models of a hub with files of one name, and one whose name is too long for that of a prepared file.
  const std::string names[] = {"owner/one", "owner/two", std::string(160, 'n')};
  const std::string files[] = {"owner--one/same.gguf", "owner--two/same.gguf", names[2] + ".gguf"};
  std::string prepared[3];
  for (int i = 0; i < 3; ++i) {
    fs::create_directories(fs::path(InCache(files[i])).parent_path());
    fs::copy_file(TinyModel(), InCache(files[i]));
    fs::last_write_time(InCache(files[i]), fs::file_time_type::clock::now() - std::chrono::hours(i));
    const CommandResult result = Models({"prepare", names[i]});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    prepared[i] = result.out.substr(0, result.out.size() - 1);
    ASSERT_TRUE(fs::exists(prepared[i])) << prepared[i];
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Models({"remove", names[i]}).exit_code, 0);
    for (int j = 0; j < 3; ++j) EXPECT_EQ(fs::exists(prepared[j]), j > i) << names[j] << " after " << names[i];
  }
}

TEST_F(ModelsCliTest, PathAndRemove) {
  fs::create_directories(InCache(""));
  fs::copy_file(TinyModel(), InCache("mine.gguf"));
  EXPECT_EQ(Models({"path", "mine"}).out, InCache("mine.gguf") + "\n");
  EXPECT_EQ(Models({"path", "mine.gguf"}).out, InCache("mine.gguf") + "\n");
  EXPECT_EQ(Models({"path", "gemma3-270m-q4_k_m"}).exit_code, 3);
  EXPECT_EQ(Models({"remove", "mine"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(InCache("mine.gguf")));
  EXPECT_EQ(Models({"remove", "mine"}).exit_code, 1);
  EXPECT_EQ(Models({"remove"}).exit_code, 2);
  for (const char* name : {"../mine", "..", ".", "a/../..", "/etc"})
    EXPECT_EQ(Models({"remove", name}).exit_code, 1) << name;
  EXPECT_TRUE(fs::exists(InCache("")));
}

TEST_F(ModelsCliTest, UnknownNamesGetASuggestion) {
  const CommandResult result = Models({"fetch", "smollm2-135m-instruct-q4"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("Did you mean smollm2-135m-instruct-q4_1?"), std::string::npos) << result.err;
  EXPECT_EQ(Models({"fetsh"}).exit_code, 2);
}

TEST_F(ModelsCliTest, FetchesAnAddressOnce) {
  if (!CanFetch()) GTEST_SKIP() << "built without libcurl";
  fs::copy_file(TinyModel(), folder_.path("tiny.gguf"));
  const CommandResult first = Models({"fetch", Address("tiny.gguf"), "--sha256", kTinySha});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out, InCache("tiny.gguf") + "\n");
  EXPECT_EQ(fs::file_size(InCache("tiny.gguf")), fs::file_size(TinyModel()));
  fs::remove(folder_.path("tiny.gguf"));
  EXPECT_EQ(Models({"fetch", Address("tiny.gguf")}).out, first.out) << "what is there is not fetched again";
  const CommandInput input = {.environment = {"XDG_CACHE_HOME=" + folder_.path("cache")}};
  EXPECT_EQ(RunCommand({"generate", "tiny", "-p", "x", "-n", "1"}, input).exit_code, 0);
}

TEST_F(ModelsCliTest, GoesOnWithAPart) {
  if (!CanFetch()) GTEST_SKIP() << "built without libcurl";
  std::ifstream in(TinyModel(), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  fs::create_directories(InCache(""));
  std::ofstream(InCache("tiny.gguf.part"), std::ios::binary) << bytes.substr(0, 1000);
  // Only what is behind the part can be read from the source.
  folder_.Write("tiny.gguf", std::string(1000, '?') + bytes.substr(1000));
  const CommandResult result = Models({"fetch", Address("tiny.gguf"), "--sha256", kTinySha});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(fs::exists(InCache("tiny.gguf.part")));
}

TEST_F(ModelsCliTest, AWrongHashLeavesNothing) {
  if (!CanFetch()) GTEST_SKIP() << "built without libcurl";
  folder_.Write("tiny.gguf", "GGUF, but not the one");
  const CommandResult result = Models({"fetch", Address("tiny.gguf"), "--sha256", kTinySha});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find(kTinySha), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(InCache("tiny.gguf")));
  EXPECT_FALSE(fs::exists(InCache("tiny.gguf.part")));
  fs::copy_file(TinyModel(), InCache("tiny.gguf"));
  EXPECT_EQ(Models({"fetch", Address("tiny.gguf"), "--sha256", kTinySha}).exit_code, 0);
  const CommandResult other = Models({"fetch", Address("tiny.gguf"), "--sha256", std::string(64, '0')});
  EXPECT_EQ(other.exit_code, 1) << "what was there is checked as well";
  EXPECT_NE(other.err.find(kTinySha), std::string::npos) << other.err;
  EXPECT_EQ(Models({"fetch", Address("tiny.gguf"), "--sha256", "zz"}).exit_code, 2);
  EXPECT_EQ(Models({"fetch", "owner/name", "--sha256", kTinySha}).exit_code, 2);
  for (const std::vector<std::string>& action : {std::vector<std::string>{"list"}, {"path", Address("tiny.gguf")}}) {
    std::vector<std::string> arguments = action;
    arguments.insert(arguments.end(), {"--sha256", kTinySha});
    const CommandResult refused = Models(arguments);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("given to " + action[0]), std::string::npos) << refused.err;
  }
  EXPECT_EQ(Models({"fetch", Address("none.gguf")}).exit_code, 1);
  EXPECT_EQ(Models({"fetch", Address("page.html")}).exit_code, 2);
  EXPECT_EQ(Models({"fetch", "gopher://example.org/a.gguf"}).exit_code, 2);
}

TEST_F(ModelsCliTest, HubRepositoriesWithOneModel) {
  if (!CanFetch()) GTEST_SKIP() << "built without libcurl";
  WriteRepository("owner/one", {"README.md", "one-q4.gguf"}, kTinySha);
  const CommandResult result = Models({"fetch", "owner/one"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, InCache("owner--one/one-q4.gguf") + "\n");
  EXPECT_FALSE(fs::exists(InCache("owner--one/README.md")));
  EXPECT_EQ(Models({"path", "owner/one"}).out, result.out);
  EXPECT_EQ(Models({"remove", "owner/one"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(InCache("owner--one")));
}

TEST_F(ModelsCliTest, HubRepositoriesWithSeveralModelsAskWhich) {
  if (!CanFetch()) GTEST_SKIP() << "built without libcurl";
  WriteRepository("owner/many", {"m-Q4_0.gguf", "m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf"});
  const CommandResult which = Models({"fetch", "owner/many"});
  EXPECT_EQ(which.exit_code, 2);
  EXPECT_NE(which.err.find("m-Q4_0.gguf, m-Q8_0.gguf"), std::string::npos) << which.err;
  const CommandResult result = Models({"fetch", "owner/many:q8"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, InCache("owner--many/m-Q8_0-00001-of-00002.gguf") + "\n");
  EXPECT_TRUE(fs::exists(InCache("owner--many/m-Q8_0-00002-of-00002.gguf")));
  EXPECT_EQ(Models({"fetch", "owner/many:q5"}).exit_code, 1);
}

TEST_F(ModelsCliTest, HubRepositoriesOfSafetensorsBecomeFolders) {
  if (!CanFetch()) GTEST_SKIP() << "built without libcurl";
  WriteRepository("owner/folder",
                  {"config.json", "model.safetensors", "onnx/model.onnx", "tokenizer.json", "../evil.safetensors"});
  const CommandResult result = Models({"fetch", "owner/folder"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, InCache("owner--folder") + "\n");
  const auto files = std::distance(fs::directory_iterator(InCache("owner--folder")), fs::directory_iterator());
  EXPECT_EQ(files, 4) << "three files and the lock";
  EXPECT_FALSE(fs::exists(InCache("evil.safetensors")));
  EXPECT_EQ(Models({"fetch", "owner/none"}).exit_code, 1);
}

}  // namespace
}  // namespace prenorm
