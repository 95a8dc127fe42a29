// The header of NEP 1: magic, version, length, a Python dict padded to 64 bytes.
#include "tools/common/npy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace prenorm::tools {
namespace {

Status NotSuchAFile(const std::string& path, const std::string& found) {
  return Status(StatusCode::kInvalidArgument, "A file has not the form that is needed.\n" + path +
                                                  ": expected a .npy matrix of '<f4' in C order, found " + found +
                                                  "\nWrite it with: numpy.save(path, x.astype('<f4'))");
}

// The two sizes behind 'shape': "(12, 768)".
bool ParseShape(const std::string& dict, size_t& rows, size_t& cols) {
  const size_t at = dict.find('(', std::min(dict.find("'shape'"), dict.size()));
  unsigned long long first = 0, second = 0;
  int length = 0;
  if (at == std::string::npos || std::sscanf(dict.c_str() + at, "( %llu , %llu %n", &first, &second, &length) != 2)
    return false;
  rows = first;
  cols = second;
  const char next = dict[at + static_cast<size_t>(length)];
  return next == ')' || next == ',';
}

}  // namespace

Result<NpyWriter> NpyWriter::Create(const std::string& path, size_t rows, size_t cols) {
  Result<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.status();
  std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                     std::to_string(cols) + "), }";
  dict.resize((10 + dict.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dict.size() & 0xFF);
  header += static_cast<char>(dict.size() >> 8);
  header += dict;
  if (Status status = file->Write(header.data(), header.size()); !status.ok()) return status;
  return NpyWriter(std::move(file).value());
}

Status NpyWriter::Append(const float* values, size_t count) { return file_.Write(values, count * sizeof(float)); }

Status NpyWriter::Close() { return file_.Commit(); }

Result<NpyReader> NpyReader::Open(const std::string& path) {
  NpyReader reader;
  reader.path_ = path;
  reader.file_.reset(std::fopen(path.c_str(), "rb"));
  if (!reader.file_) {
    return Status(errno == ENOENT ? StatusCode::kNotFound : StatusCode::kIo,
                  "A file cannot be opened.\n" + path + ": " + std::strerror(errno) + "\nCheck the path.");
  }
  unsigned char head[12] = {};
  std::FILE* file = reader.file_.get();
  if (std::fread(head, 1, 10, file) != 10 || std::memcmp(head, "\x93NUMPY", 6) != 0) {
    return NotSuchAFile(path, "no .npy file");
  }
  size_t length = head[8] | static_cast<size_t>(head[9]) << 8;
  if (head[6] >= 2) {  // The length has four bytes from version 2 on.
    if (std::fread(head + 10, 1, 2, file) != 2) return NotSuchAFile(path, "no .npy file");
    length |= static_cast<size_t>(head[10]) << 16 | static_cast<size_t>(head[11]) << 24;
  }
  constexpr size_t kLongestHeader = 1 << 16;  // Of a matrix it is some 100 bytes.
  std::string dict(std::min(length, kLongestHeader), '\0');
  if (length > kLongestHeader || std::fread(dict.data(), 1, length, file) != length)
    return NotSuchAFile(path, "no header");
  if (dict.find("'<f4'") == dict.npos || dict.find("'fortran_order': False") == dict.npos ||
      !ParseShape(dict, reader.rows_, reader.cols_)) {
    return NotSuchAFile(path, dict.substr(0, 100));
  }
  return reader;
}

Status NpyReader::Read(float* values, size_t count) {
  if (std::fread(values, sizeof(float), count, file_.get()) == count) return Status();
  return Status(StatusCode::kIo, "A file ends too early.\n" + path_ + ": expected " + std::to_string(rows_) + " x " +
                                     std::to_string(cols_) + " values\nWrite it again.");
}

}  // namespace prenorm::tools
