// Storage of many short strings without an allocation for each; views stay valid as long as the arena.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace prenorm {

class StringArena {
 public:
  std::string_view Copy(std::string_view text) {
    if (text.size() > left_) {
      const size_t bytes = std::max(text.size(), kBlockBytes);
      blocks_.push_back(std::make_unique<char[]>(bytes));
      next_ = blocks_.back().get();
      left_ = bytes;
    }
    if (!text.empty()) std::memcpy(next_, text.data(), text.size());
    const std::string_view copy(next_, text.size());
    next_ += text.size();
    left_ -= text.size();
    return copy;
  }

 private:
  static constexpr size_t kBlockBytes = size_t{1} << 16;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace prenorm
