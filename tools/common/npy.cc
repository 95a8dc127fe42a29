// The header of NEP 1: magic, version, length, a Python dict padded to 64 bytes.
#include "tools/common/npy.h"

#include <cerrno>
#include <cstring>

namespace prenorm::tools {
namespace {

Status CannotWrite(const std::string& path) {
  return Status(StatusCode::kIo, "A file cannot be written.\n" + path + ": " + std::strerror(errno) + "\nChoose another path.");
}

}  // namespace

Result<NpyWriter> NpyWriter::Create(const std::string& path, size_t rows, size_t cols) {
  NpyWriter writer;
  writer.path_ = path;
  writer.file_.reset(std::fopen(path.c_str(), "wb"));
  if (!writer.file_) return CannotWrite(path);
  std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                     std::to_string(cols) + "), }";
  dict.resize((10 + dict.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dict.size() & 0xFF);
  header += static_cast<char>(dict.size() >> 8);
  header += dict;
  if (std::fwrite(header.data(), 1, header.size(), writer.file_.get()) != header.size()) return CannotWrite(path);
  return writer;
}

Status NpyWriter::Append(const float* values, size_t count) {
  return std::fwrite(values, sizeof(float), count, file_.get()) == count ? Status() : CannotWrite(path_);
}

Status NpyWriter::Close() { return std::fclose(file_.release()) == 0 ? Status() : CannotWrite(path_); }

}  // namespace prenorm::tools
