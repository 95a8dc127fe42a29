// The lexer: text and tags first, then what is inside of tags.
#include "runtime/chat_template/lexer.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "runtime/chat_template/string_literal.h"
#include "runtime/chat_template/text.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }
bool IsNameChar(char c) { return IsNameStart(c) || IsDigit(c); }

// Line ends become "\n", and one at the very end is dropped, as Jinja does.
std::string Normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : owned_(Normalized(source)), source_(owned_) {}

  std::vector<Token> Run() {
    while (at_ < source_.size()) {
      const size_t tag = NextTag();
      LexText(tag);
      if (at_ < source_.size()) LexTag();
    }
    Add(TokenKind::kEnd, "", at_);
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void Fail(const std::string& message, size_t offset) {
    throw TemplateError(message, ErrorKind::kTemplate, PositionOf(offset));
  }

  // Asked for in ascending order but for errors, so that counting takes linear time.
  Position PositionOf(size_t offset) {
    if (offset < counted_) {
      counted_ = 0;
      position_ = Position();
    }
    for (; counted_ < offset; ++counted_) {
      const char c = source_[counted_];
      if (c == '\n') {
        ++position_.line;
        position_.column = 1;
      } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
        ++position_.column;
      }
    }
    return position_;
  }

  void Add(TokenKind kind, std::string text, size_t offset) {
    tokens_.push_back({kind, std::move(text), PositionOf(offset)});
  }

  bool At(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  size_t NextTag() const {
    for (size_t i = source_.find('{', at_); i != std::string_view::npos; i = source_.find('{', i + 1)) {
      if (i + 1 < source_.size() && (source_[i + 1] == '%' || source_[i + 1] == '{' || source_[i + 1] == '#')) return i;
    }
    return source_.size();
  }

  // The end of the text before the tag at `tag`, without what the tag takes away.
  size_t TextEnd(size_t begin, size_t tag) const {
    const std::string_view text = source_.substr(begin, tag - begin);
    if (tag == source_.size()) return tag;
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    if (sign == '-') return begin + TrimSpace(text, Side::kRight).end;
    if (sign == '+' || source_[tag + 1] == '{') return tag;
    const size_t newline = text.rfind('\n');
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    if (line == 0 && !line_starting_) return tag;
    return TrimSpace(text.substr(line), Side::kRight).end == 0 ? begin + line : tag;
  }

  void LexText(size_t tag) {
    const size_t begin = at_;
    const size_t end = TextEnd(begin, tag);
    if (end > begin) Add(TokenKind::kText, std::string(source_.substr(begin, end - begin)), begin);
    at_ = tag;
  }

  void SkipSpace() {
    while (at_ < source_.size()) {
      size_t next = at_;
      if (!IsPythonSpace(NextChar(source_, &next))) break;
      at_ = next;
    }
  }

  // Behind the sign and the closing mark of a block or comment; false if it is not here.
  bool Close(std::string_view mark) {
    const size_t begin = at_;
    const bool strip = At("-");
    if (strip || At("+")) ++at_;
    if (!At(mark)) {
      at_ = begin;
      return false;
    }
    const bool keep = at_ > begin && !strip;
    at_ += mark.size();
    if (strip) {
      SkipSpace();
    } else if (!keep && At("\n")) {
      ++at_;  // trim_blocks
    }
    line_starting_ = source_[at_ - 1] == '\n';
    return true;
  }

  void SkipSign() {
    if (At("-") || At("+")) ++at_;
  }

  void LexTag() {
    const size_t begin = at_;
    const char kind = source_[at_ + 1];
    at_ += 2;
    if (kind == '#') {
      SkipSign();
      return LexComment(begin);
    }
    if (kind == '%' && LexRaw(begin)) return;
    SkipSign();
    Add(kind == '%' ? TokenKind::kBlockBegin : TokenKind::kPrintBegin, "", begin);
    kind == '%' ? LexInside("%}", TokenKind::kBlockEnd, begin) : LexInside("}}", TokenKind::kPrintEnd, begin);
  }

  void LexComment(size_t begin) {
    // The text may end in the sign that belongs to the closing mark.
    const size_t close = source_.find("#}", at_);
    if (close == std::string_view::npos) Fail("a comment is not closed", begin);
    const bool sign = close > at_ && (source_[close - 1] == '-' || source_[close - 1] == '+');
    at_ = close - (sign ? 1 : 0);
    Close("#}");
  }

  // `{% raw %}` up to its end, copied; false if the block at `begin` is another one.
  bool LexRaw(size_t begin) {
    const size_t inside = at_;
    SkipSign();
    SkipSpace();
    const bool raw = At("raw");
    at_ += raw ? 3 : 0;
    SkipSpace();
    const bool strip = At("-%}");
    if (!raw || (!strip && !At("%}"))) {
      at_ = inside;
      return false;
    }
    at_ += strip ? 3 : 2;
    if (strip) SkipSpace();
    line_starting_ = source_[at_ - 1] == '\n';
    const size_t text = at_;
    for (size_t tag = source_.find("{%", at_); tag != std::string_view::npos; tag = source_.find("{%", tag + 2)) {
      at_ = tag + 2;
      SkipSign();
      SkipSpace();
      if (!At("endraw")) continue;
      at_ += 6;
      SkipSpace();
      const size_t end = TextEnd(text, tag);  // Before Close notes how this line begins.
      if (!Close("%}")) continue;
      if (end > text) Add(TokenKind::kText, std::string(source_.substr(text, end - text)), text);
      return true;
    }
    Fail("a raw block is not closed", begin);
  }

  void LexInside(std::string_view close, TokenKind end_kind, size_t begin) {
    brackets_.clear();
    while (true) {
      SkipSpace();
      if (at_ == source_.size()) Fail("a tag is not closed", begin);
      const size_t start = at_;
      if (brackets_.empty() && Ends(close)) return Add(end_kind, "", start);
      const char c = source_[at_];
      if (c == '\'' || c == '"') {
        LexString(c);
      } else if (IsDigit(c)) {
        LexNumber();
      } else if (IsNameStart(c)) {
        while (at_ < source_.size() && IsNameChar(source_[at_])) ++at_;
        Add(TokenKind::kName, std::string(source_.substr(start, at_ - start)), start);
      } else {
        LexSymbol();
      }
    }
  }

  bool Ends(std::string_view close) {
    if (close == "%}") return Close(close);
    const bool strip = At("-}}");
    if (!strip && !At("}}")) return false;
    at_ += strip ? 3 : 2;
    if (strip) SkipSpace();
    line_starting_ = source_[at_ - 1] == '\n';
    return true;
  }

  void LexString(char quote) {
    const size_t start = at_++;
    while (at_ < source_.size() && source_[at_] != quote) at_ += source_[at_] == '\\' ? 2 : 1;
    if (at_ >= source_.size()) Fail("a string is not closed", start);
    const std::string_view body = source_.substr(start + 1, at_ - start - 1);
    ++at_;
    std::string text;
    if (const char* problem = Unescape(body, text)) Fail(problem, start);
    Add(TokenKind::kString, std::move(text), start);
  }

  void Digits() {
    while (at_ < source_.size() &&
           (IsDigit(source_[at_]) || (source_[at_] == '_' && at_ + 1 < source_.size() && IsDigit(source_[at_ + 1])))) {
      ++at_;
    }
  }

  void LexNumber() {
    const size_t start = at_;
    TokenKind kind = TokenKind::kInteger;
    if (source_[at_] == '0' && at_ + 2 < source_.size() &&
        std::string_view("xXoObB").find(source_[at_ + 1]) != std::string_view::npos &&
        std::isxdigit(static_cast<unsigned char>(source_[at_ + 2])) != 0) {
      at_ += 2;
      while (at_ < source_.size() &&
             (std::isxdigit(static_cast<unsigned char>(source_[at_])) != 0 || source_[at_] == '_'))
        ++at_;
    } else {
      const bool after_dot = !tokens_.empty() && tokens_.back().IsSymbol(".") && source_[start - 1] == '.';
      Digits();
      if (!after_dot && at_ + 1 < source_.size() && source_[at_] == '.' && IsDigit(source_[at_ + 1])) {
        kind = TokenKind::kFloat;
        ++at_;
        Digits();
      }
      if (!after_dot && at_ < source_.size() && (source_[at_] == 'e' || source_[at_] == 'E')) {
        const size_t sign = at_ + 1 < source_.size() && (source_[at_ + 1] == '+' || source_[at_ + 1] == '-') ? 1 : 0;
        if (at_ + 1 + sign < source_.size() && IsDigit(source_[at_ + 1 + sign])) {
          kind = TokenKind::kFloat;
          at_ += 1 + sign;
          Digits();
        }
      }
    }
    std::string digits(source_.substr(start, at_ - start));
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    Add(kind, std::move(digits), start);
  }

  void LexSymbol() {
    const size_t start = at_;
    static constexpr std::string_view kLong[] = {"//", "**", "==", "!=", ">=", "<="};
    static constexpr std::string_view kShort = "+-/*%~[](){}><=.:|,";
    size_t length = 0;
    for (std::string_view symbol : kLong) {
      if (At(symbol)) length = 2;
    }
    if (length == 0 && kShort.find(source_[at_]) != std::string_view::npos) length = 1;
    if (length == 0)
      Fail("unexpected character '" + std::string(source_.substr(at_, Utf8Length(source_[at_]))) + "'", at_);
    const char c = source_[at_];
    if (c == '(' || c == '[' || c == '{') brackets_.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    if (c == ')' || c == ']' || c == '}') {
      if (brackets_.empty() || brackets_.back() != c) Fail(std::string("unexpected '") + c + "'", at_);
      brackets_.pop_back();
    }
    at_ += length;
    Add(TokenKind::kSymbol, std::string(source_.substr(start, length)), start);
  }

  std::string owned_;
  std::string_view source_;
  size_t at_ = 0;
  bool line_starting_ = true;  // Whether the text at at_ begins a line.
  std::string brackets_;       // Closing brackets that are due: within them "}}" ends no tag.
  size_t counted_ = 0;
  Position position_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> Tokenize(std::string_view source) { return Lexer(source).Run(); }

}  // namespace prenorm::chat_template
