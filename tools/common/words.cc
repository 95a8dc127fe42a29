// Edit distance for the nearest name; decimal units for sizes; greedy lines.
#include "tools/common/words.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace prenorm::tools {

std::string DidYouMean(std::string_view word, std::span<const std::string> candidates) {
  const auto distance = [](std::string_view a, std::string_view b) {  // Levenshtein, one row at a time.
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= b.size(); ++j) {
        const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
      }
    }
    return row[b.size()];
  };
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() < 3) continue;  // Any two short names are near each other.
    const size_t d = distance(word, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

std::string Wrapped(std::string_view text, size_t indent, size_t width) {
  const size_t room = std::max<size_t>(width, indent + 2) - indent - 1;
  std::string lines;
  for (;;) {
    if (text.size() <= room) return lines.append(text);
    size_t end = text.rfind(' ', room), next = end + 1;  // A space in front of the last column that is left may go.
    if (end == std::string_view::npos) {
      const size_t bar = text.rfind('|', room - 1);
      end = next = bar == std::string_view::npos ? std::min(text.find(' '), text.size()) : bar + 1;
      if (next < text.size() && text[next] == ' ') ++next;
    }
    lines.append(text.substr(0, end)).append("\n");
    text.remove_prefix(next);
    if (text.empty()) return lines.substr(0, lines.size() - 1);
    lines.append(indent, ' ');
  }
}

std::string CountText(uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string SizeText(uint64_t bytes) {
  char text[32];
  const double value = static_cast<double>(bytes);
  if (bytes >= 1000000000) {
    std::snprintf(text, sizeof text, "%.1f GB", value / 1e9);
  } else {
    std::snprintf(text, sizeof text, "%.1f MB", value / 1e6);
  }
  return text;
}

}  // namespace prenorm::tools
