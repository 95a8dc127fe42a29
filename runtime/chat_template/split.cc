// Splitting and replacing.
#include "runtime/chat_template/split.h"

#include <algorithm>
#include <iterator>

#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

class Parts {
 public:
  Parts(Budget& budget, const Text& text) : budget_(budget), text_(text) {}
  void Add(size_t begin, size_t end) {
    budget_.Step();
    budget_.Work(end - begin + sizeof(Text));
    values_.push_back(Value(text_.Substr(begin, end - begin)));
  }
  Values Take(bool reversed) {
    if (!reversed) return std::move(values_);
    return Values(std::make_move_iterator(values_.rbegin()), std::make_move_iterator(values_.rend()));
  }

 private:
  Budget& budget_;
  const Text& text_;
  Values values_;
};

Values SplitAtSpace(Budget& budget, const Text& text, size_t limit, bool from_right) {
  const std::string_view bytes = text.bytes();
  std::vector<Range> words;
  size_t begin = std::string_view::npos;
  for (size_t at = 0; at <= bytes.size();) {
    const size_t here = at;
    const bool space = at == bytes.size() || IsPythonSpace(NextChar(bytes, &at));
    if (here == bytes.size()) ++at;
    if (!space && begin == std::string_view::npos) begin = here;
    if (space && begin != std::string_view::npos) {
      words.push_back({begin, here});
      begin = std::string_view::npos;
    }
  }
  budget.Work(words.size() * sizeof(Range));
  Parts parts(budget, text);
  const size_t whole = std::min(limit, words.size());  // Words that stand alone; the others stay together.
  if (!from_right) {
    for (size_t i = 0; i < whole; ++i) parts.Add(words[i].begin, words[i].end);
    if (whole < words.size()) parts.Add(words[whole].begin, bytes.size());
    return parts.Take(false);
  }
  for (size_t i = 0; i < whole; ++i) parts.Add(words[words.size() - 1 - i].begin, words[words.size() - 1 - i].end);
  if (whole < words.size()) parts.Add(0, words[words.size() - 1 - whole].end);
  return parts.Take(true);
}

}  // namespace

Values SplitText(Budget& budget, const Text& text, std::string_view separator, int64_t limit, bool from_right) {
  const size_t most = limit < 0 ? std::string_view::npos : static_cast<size_t>(limit);
  budget.Work(text.size());
  if (separator.empty()) return SplitAtSpace(budget, text, most, from_right);
  const std::string_view bytes = text.bytes();
  budget.Search(bytes.size(), separator.size());
  Parts parts(budget, text);
  size_t begin = 0;
  size_t end = bytes.size();
  for (size_t splits = 0; splits < most; ++splits) {
    const size_t at = from_right ? bytes.substr(0, end).rfind(separator) : bytes.find(separator, begin);
    if (at == std::string_view::npos) break;
    if (from_right) {
      parts.Add(at + separator.size(), end);
      end = at;
    } else {
      parts.Add(begin, at);
      begin = at + separator.size();
    }
  }
  parts.Add(begin, end);
  return parts.Take(from_right);
}

Values SplitTextLines(Budget& budget, const Text& text, bool keep_ends) {
  const std::string_view bytes = text.bytes();
  Parts parts(budget, text);
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t here = at;
    const char32_t c = NextChar(bytes, &at);
    const bool ends = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
    if (!ends) continue;
    if (c == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    parts.Add(begin, keep_ends ? at : here);
    begin = at;
  }
  if (begin < bytes.size()) parts.Add(begin, bytes.size());
  return parts.Take(false);
}

Text ReplaceText(Budget& budget, const Text& text, const Text& from, const Text& to, int64_t limit) {
  const std::string& bytes = text.bytes();
  budget.Search(bytes.size(), from.size());
  TextBuilder out(budget);
  size_t done = 0;
  size_t at = 0;
  for (int64_t count = 0; limit < 0 || count < limit; ++count) {
    const size_t found = bytes.find(from.bytes(), at);
    if (found == std::string::npos) break;
    out.Add(text, done, found - done);
    out.Add(to);
    done = found + from.size();
    at = done;
    if (from.empty()) {
      if (found == bytes.size()) break;
      at = found + Utf8Length(bytes[found]);
    }
  }
  out.Add(text, done, text.size() - done);
  return out.Take();
}

}  // namespace prenorm::chat_template
