// Matrices in NumPy .npy files, written and read block of rows by block of rows.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "prenorm/output_file.h"
#include "prenorm/status.h"

namespace prenorm::tools {

struct NpyFileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// An f32 matrix in a .npy file of format version 1.0, little-endian, row-major.
class NpyWriter {
 public:
  /// Writes the header. The file appears with Close; see OutputFile. Errors: kIo.
  static Result<NpyWriter> Create(const std::string& path, size_t rows, size_t cols);
  /// Appends `count` values. Errors: kIo.
  Status Append(const float* values, size_t count);
  /// Ends the file; reports what the system could not write. Errors: kIo.
  Status Close();

 private:
  explicit NpyWriter(OutputFile file) : file_(std::move(file)) {}
  OutputFile file_;
};

/// The f32 matrix of a .npy file of format version 1 to 3, little-endian, row-major.
class NpyReader {
 public:
  /// Reads the header. Errors: kNotFound, kIo; kInvalidArgument for another file, element type or order.
  static Result<NpyReader> Open(const std::string& path);
  size_t rows() const { return rows_; }
  size_t cols() const { return cols_; }
  /// The next `count` values. Errors: kIo, and where the file ends too early.
  Status Read(float* values, size_t count);

 private:
  std::unique_ptr<std::FILE, NpyFileCloser> file_;
  std::string path_;
  size_t rows_ = 0;
  size_t cols_ = 0;
};

}  // namespace prenorm::tools
