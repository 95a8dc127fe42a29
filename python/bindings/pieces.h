// The pieces of an answer on their way from the thread that makes them to the one that reads them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace prenorm::python {

/// Whoever makes an answer never asks for the GIL: where another thread of Python is busy, each token would wait for
/// that one's turn to end, 5 ms (SmolLM2 wrote on one thread at half its speed beside such a thread).
class Pieces {
 public:
  void Put(std::string_view text) {
    if (text.empty()) return;
    {
      const std::lock_guard lock(mutex_);
      pieces_.emplace_back(text);
    }
    ready_.notify_one();
  }

  /// Nothing comes after that.
  void End() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    ready_.notify_all();
  }

  /// The next piece; an empty one where none came in that time, none behind the last. Called without the GIL.
  std::optional<std::string> Take(std::chrono::duration<double> patience) {
    std::unique_lock lock(mutex_);
    ready_.wait_for(lock, patience, [&] { return ended_ || !pieces_.empty(); });
    if (pieces_.empty()) return ended_ ? std::nullopt : std::optional<std::string>("");
    std::string first = std::move(pieces_.front());
    pieces_.pop_front();
    return first;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::string> pieces_;
  bool ended_ = false;
};

}  // namespace prenorm::python
