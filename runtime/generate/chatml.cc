// Lexer for the few Jinja constructs of ChatML templates, and one function a construct to match them.
#include "runtime/generate/chatml.h"

#include <cctype>
#include <initializer_list>
#include <utility>

namespace prenorm {
namespace {

struct Token {
  enum class Kind { kText, kBlockBegin, kPrintBegin, kEnd, kName, kString, kSymbol, kNumber } kind;
  std::string text;
};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The source as tokens; nothing if it holds anything else than text, `{% %}` and `{{ }}`.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::optional<std::vector<Token>> Run() {
    while (at_ < source_.size()) {
      LexText();
      if (at_ < source_.size() && !LexTag()) return std::nullopt;
    }
    return std::move(tokens_);
  }

 private:
  // Text up to the next tag, without what trim_blocks, lstrip_blocks and '-' take away.
  void LexText() {
    const size_t next = source_.find('{', at_);
    size_t end = next == std::string_view::npos ? source_.size() : next;
    while (end + 1 < source_.size() && source_[end + 1] != '%' && source_[end + 1] != '{' && source_[end + 1] != '#') {
      const size_t brace = source_.find('{', end + 1);
      end = brace == std::string_view::npos ? source_.size() : brace;
    }
    if (end + 1 == source_.size()) end = source_.size();  // A lone brace at the end is text.
    std::string_view text = source_.substr(at_, end - at_);
    const bool at_line_start = at_ == 0;
    at_ = end;
    if (trim_left_) {
      while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
    }
    bool newline_dropped = false;
    if (!trim_left_ && after_block_ && text.starts_with('\n')) {
      text.remove_prefix(1);
      newline_dropped = true;
    }
    if (end < source_.size()) {
      if (end + 2 < source_.size() && source_[end + 2] == '-') {
        while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
      } else if (source_[end + 1] == '%') {
        const size_t blanks = text.find_last_not_of(" \t");
        const bool all_blank = blanks == std::string_view::npos;
        if (all_blank ? at_line_start || newline_dropped : text[blanks] == '\n') text = text.substr(0, all_blank ? 0 : blanks + 1);
      }
    } else if (!text.empty() && text.back() == '\n') {
      text.remove_suffix(1);  // Jinja drops one newline at the end of a template.
    }
    if (!text.empty()) tokens_.push_back({Token::Kind::kText, std::string(text)});
  }

  bool LexTag() {
    const bool block = source_[at_ + 1] == '%';
    if (!block && source_[at_ + 1] != '{') return false;  // A comment.
    const std::string_view close = block ? "%}" : "}}";
    at_ += 2;
    if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) {
      if (source_[at_] == '+') return false;
      ++at_;
    }
    tokens_.push_back({block ? Token::Kind::kBlockBegin : Token::Kind::kPrintBegin, ""});
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (IsSpace(c)) {
        ++at_;
        continue;
      }
      trim_left_ = c == '-' && source_.substr(at_ + 1, 2) == close;
      if (trim_left_ || source_.substr(at_, 2) == close) {
        at_ += trim_left_ ? 3 : 2;
        after_block_ = block;
        tokens_.push_back({Token::Kind::kEnd, ""});
        return true;
      }
      if (c == '\'' || c == '"') {
        if (!LexString(c)) return false;
      } else if (IsNameChar(c)) {
        const size_t begin = at_;
        while (at_ < source_.size() && IsNameChar(source_[at_])) ++at_;
        const bool number = std::isdigit(static_cast<unsigned char>(c)) != 0;
        tokens_.push_back({number ? Token::Kind::kNumber : Token::Kind::kName, std::string(source_.substr(begin, at_ - begin))});
      } else {
        const size_t length = source_.substr(at_, 2) == "!=" || source_.substr(at_, 2) == "==" ? 2 : 1;
        tokens_.push_back({Token::Kind::kSymbol, std::string(source_.substr(at_, length))});
        at_ += length;
      }
    }
    return false;
  }

  bool LexString(char quote) {
    std::string text;
    for (++at_; at_ < source_.size() && source_[at_] != quote; ++at_) {
      if (source_[at_] != '\\') {
        text += source_[at_];
        continue;
      }
      if (++at_ == source_.size()) return false;
      switch (source_[at_]) {
        case 'n': text += '\n'; break;
        case 't': text += '\t'; break;
        case '\\': case '\'': case '"': text += source_[at_]; break;
        default: return false;
      }
    }
    if (at_ == source_.size()) return false;
    ++at_;
    tokens_.push_back({Token::Kind::kString, std::move(text)});
    return true;
  }

  std::string_view source_;
  size_t at_ = 0;
  bool trim_left_ = false;    // The tag before ended with '-'.
  bool after_block_ = false;  // The tag before was a block.
  std::vector<Token> tokens_;
};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::optional<ChatMlTemplate> Run() {
    ChatMlTemplate out;
    if (!Block({"for", "message", "in", "messages"})) return std::nullopt;
    if (Block({"if", "loop", ".", "first", "and", "messages", "[", "0", "]", "[", "'role'", "]", "!=", "'system'"}) ||
        Block({"if", "loop", ".", "first", "and", "messages", "[", "0", "]", ".", "role", "!=", "'system'"})) {
      std::vector<ChatMlTemplate::Part> parts;
      if (!Output(parts) || !OneLiteral(parts, out.default_system) || !Block({"endif"})) return std::nullopt;
    }
    if (!Output(out.message) || !Block({"endfor"})) return std::nullopt;
    size_t contents = 0;
    for (const auto& part : out.message) contents += part.kind == ChatMlTemplate::PartKind::kContent ? 1 : 0;
    if (contents != 1) return std::nullopt;
    if (Block({"if", "add_generation_prompt"})) {
      std::vector<ChatMlTemplate::Part> parts;
      if (!Output(parts) || !OneLiteral(parts, out.generation_prompt) || !Block({"endif"})) return std::nullopt;
    }
    if (at_ != tokens_.size()) return std::nullopt;
    return out;
  }

 private:
  using Kind = Token::Kind;
  using PartKind = ChatMlTemplate::PartKind;

  bool Is(size_t at, Kind kind, std::string_view text) const {
    return at < tokens_.size() && tokens_[at].kind == kind && tokens_[at].text == text;
  }

  // The given words, symbols and 'strings' from `at` on. Returns how many tokens they are, 0 if they are not there.
  size_t Matches(size_t at, std::initializer_list<std::string_view> words) const {
    size_t i = at;
    for (std::string_view word : words) {
      const bool quoted = word.starts_with('\'');
      if (quoted) word = word.substr(1, word.size() - 2);
      if (i >= tokens_.size() || tokens_[i].text != word || (tokens_[i].kind == Kind::kString) != quoted) return 0;
      ++i;
    }
    return i - at;
  }

  // `{% words %}`.
  bool Block(std::initializer_list<std::string_view> words) {
    if (!Is(at_, Kind::kBlockBegin, "")) return false;
    const size_t count = Matches(at_ + 1, words);
    if (count == 0 || !Is(at_ + 1 + count, Kind::kEnd, "")) return false;
    at_ += count + 2;
    return true;
  }

  // Text and `{{ a + b + … }}`, as long as they go on; at least one.
  bool Output(std::vector<ChatMlTemplate::Part>& parts) {
    const size_t begin = at_;
    while (at_ < tokens_.size() && (tokens_[at_].kind == Kind::kText || tokens_[at_].kind == Kind::kPrintBegin)) {
      if (tokens_[at_].kind == Kind::kText) {
        Append(parts, tokens_[at_++].text);
        continue;
      }
      ++at_;
      while (true) {
        if (!Term(parts)) return false;
        if (!Is(at_, Kind::kSymbol, "+")) break;
        ++at_;
      }
      if (!Is(at_, Kind::kEnd, "")) return false;
      ++at_;
    }
    return at_ != begin;
  }

  bool Term(std::vector<ChatMlTemplate::Part>& parts) {
    if (at_ < tokens_.size() && tokens_[at_].kind == Kind::kString) {
      Append(parts, tokens_[at_++].text);
      return true;
    }
    PartKind kind = PartKind::kRole;
    size_t count = Matches(at_, {"message", "[", "'role'", "]"}) + Matches(at_, {"message", ".", "role"});
    if (count == 0) {
      kind = PartKind::kContent;
      count = Matches(at_, {"message", "[", "'content'", "]"}) + Matches(at_, {"message", ".", "content"});
    }
    if (count == 0) return false;
    at_ += count;
    parts.push_back({kind, ""});
    return true;
  }

  static void Append(std::vector<ChatMlTemplate::Part>& parts, const std::string& literal) {
    if (parts.empty() || parts.back().kind != PartKind::kLiteral) parts.push_back({PartKind::kLiteral, ""});
    parts.back().text += literal;
  }

  static bool OneLiteral(const std::vector<ChatMlTemplate::Part>& parts, std::string& out) {
    if (parts.size() != 1 || parts[0].kind != PartKind::kLiteral) return false;
    out = parts[0].text;
    return true;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace

std::optional<ChatMlTemplate> ParseChatMl(std::string_view source) {
  std::optional<std::vector<Token>> tokens = Lexer(source).Run();
  if (!tokens) return std::nullopt;
  return Parser(std::move(*tokens)).Run();
}

std::vector<TextSegment> ChatMlSegments(const ChatMlTemplate& chat, std::span<const ChatMessage> messages) {
  std::vector<TextSegment> segments;
  const auto add = [&](std::string_view text, bool of_template) {
    if (!text.empty()) segments.push_back({text, of_template});
  };
  if (messages.empty() || messages[0].role != "system") add(chat.default_system, true);
  for (const ChatMessage& message : messages) {
    for (const ChatMlTemplate::Part& part : chat.message) {
      switch (part.kind) {
        case ChatMlTemplate::PartKind::kLiteral: add(part.text, true); break;
        case ChatMlTemplate::PartKind::kRole: add(message.role, false); break;
        case ChatMlTemplate::PartKind::kContent: add(message.content, false); break;
      }
    }
  }
  add(chat.generation_prompt, true);
  return segments;
}

}  // namespace prenorm
