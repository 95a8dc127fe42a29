// Writes matrices as NumPy .npy files, row block by row block.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

#include "prenorm/status.h"

namespace prenorm::tools {

/// An f32 matrix in a .npy file of format version 1.0, little-endian, row-major.
class NpyWriter {
 public:
  /// Creates the file and writes the header. Errors: kIo.
  static Result<NpyWriter> Create(const std::string& path, size_t rows, size_t cols);
  /// Appends `count` values. Errors: kIo.
  Status Append(const float* values, size_t count);
  /// Ends the file; reports what the system could not write. Errors: kIo.
  Status Close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Closer> file_;
  std::string path_;
};

}  // namespace prenorm::tools
