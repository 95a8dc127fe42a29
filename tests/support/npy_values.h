// Reads .npy files that the command wrote.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace prenorm {

/// The f32 values of a file, whose header ends with a newline.
inline std::vector<float> NpyValues(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  const size_t begin = bytes.find('\n') + 1;
  std::vector<float> values((bytes.size() - begin) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(float));
  return values;
}

}  // namespace prenorm
