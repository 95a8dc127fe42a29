// A single pass over the expression; classes by recursion.
#include "runtime/tokenizer/regex_dialect.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "runtime/limits.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm {
namespace {

// PCRE2's \s also takes U+180E, which lost White_Space in Unicode 6.3. As members of a class, as all of these:
constexpr std::string_view kSpaceMembers =
    "\\x09-\\x0D\\x20\\x85\\xA0\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}"
    "\\x{202F}\\x{205F}\\x{3000}";
constexpr std::string_view kHexMembers = "0-9A-Fa-f";
// Outside of classes \w also takes the superscripts and fractions of Latin-1.
constexpr std::string_view kLatinNumbers = "\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}";

std::string WordMembers() {
  std::string out = "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}";
  constexpr char kDigits[] = "0123456789ABCDEF";
  const auto add = [&](char32_t c) {
    out += "\\x{";
    for (int shift = 16; shift >= 0; shift -= 4) out += kDigits[c >> shift & 15];
    out += "}";
  };
  for (const auto& [first, last] : kLetterLikeSymbols) {
    add(first);
    out += "-";
    add(last);
  }
  return out;
}

/// What stands for "\c" in a class; empty for what is no class of ours.
std::string MembersOf(char c, bool in_class) {
  switch (c) {
    case 's':
    case 'S':
      return std::string(kSpaceMembers);
    case 'w':
    case 'W':
      return WordMembers().append(in_class ? "" : kLatinNumbers);
    case 'h':
    case 'H':
      return std::string(kHexMembers);
    default:
      return {};
  }
}

/// What stands for "[:name:]"; empty for unknown names.
std::string MembersOfPosix(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"alnum", "\\p{Alphabetic}\\p{Nd}"},
      {"alpha", "\\p{Alphabetic}"},
      {"ascii", "\\x00-\\x7F"},
      {"blank", "\\x09\\p{Zs}"},
      {"cntrl", "\\p{Cc}"},
      {"digit", "\\p{Nd}"},
      {"graph", "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}"},
      {"lower", "\\p{Lowercase}"},
      {"print", "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}\\p{Zs}"},
      {"punct", "\\p{P}\\p{S}"},
      {"space", kSpaceMembers},
      {"upper", "\\p{Uppercase}"},
      {"xdigit", kHexMembers},
  };
  if (name == "word") return WordMembers();
  for (const auto& [known, members] : kNames) {
    if (known == name) return std::string(members);
  }
  return {};
}

/// A set of characters: members of a class, and expressions for what a class of PCRE2 cannot hold, such as what is
/// not in another class. Each of them matches one character.
struct CharSet {
  std::string members;
  std::vector<std::string> others;
};

std::string OneOf(const CharSet& set) {
  if (set.members.empty() && set.others.size() == 1) return set.others[0];
  const std::string own = set.members.empty() ? "" : "[" + set.members + "]";
  if (set.others.empty()) return own.empty() ? "[^\\p{Any}]" : own;
  std::string out = "(?:" + own;
  for (const std::string& other : set.others) out.append(out.size() > 3 ? "|" : "").append(other);
  return out + ")";
}

std::string NoneOf(const CharSet& set) {
  const std::string own = set.members.empty() ? "\\p{Any}" : "[^" + set.members + "]";
  if (set.others.empty()) return own;
  std::string out = "(?:";
  for (const std::string& other : set.others) out.append("(?!").append(other).append(")");
  return out + own + ")";
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> Run() {
    while (at_ < pattern_.size() && error_.empty()) {
      if (Accept("[")) {
        out_ += OneOf(Class(0));
      } else if (Rest().starts_with('\\')) {
        Escape();
      } else if (Rest().starts_with('{')) {
        Repetition();
      } else if (Accept("(?")) {
        out_ += "(?";
        Options();
      } else {
        out_ += pattern_[at_++];
      }
    }
    if (error_.empty()) return std::move(out_);
    return Status(StatusCode::kUnsupported, "regular expression of the tokenizer: " + error_ + "\n" +
                                                std::string(pattern_) + " (at byte " +
                                                std::to_string(std::min(at_, pattern_.size())) + ")");
  }

 private:
  std::string_view Rest() const { return pattern_.substr(std::min(at_, pattern_.size())); }

  bool Accept(std::string_view text) {
    if (!Rest().starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  std::string Take(size_t bytes) {
    const std::string taken(Rest().substr(0, bytes));
    at_ += taken.size();
    return taken;
  }

  CharSet Fail(std::string message) {
    if (error_.empty()) error_ = std::move(message);
    return {};
  }

  void Escape() {
    const char c = Rest().size() > 1 ? Rest()[1] : '\0';
    if (const std::string members = MembersOf(c, false); !members.empty()) {
      at_ += 2;
      out_ += (c < 'a' ? "[^" : "[") + members + "]";
    } else if (c == 'b' || c == 'B') {  // Where words, in that sense, begin or end.
      at_ += 2;
      const std::string word = "[" + MembersOf('w', false) + "]";
      const bool at = c == 'b';
      out_.append("(?:(?<=" + word + ")(?" + (at ? "!" : "=") + word + ")|(?<!" + word + ")(?" + (at ? "=" : "!") +
                  word + "))");
    } else {
      out_ += EscapedChar();
    }
  }

  /// "\" and what belongs to it, as PCRE2 writes it.
  std::string EscapedChar() {
    const std::string_view rest = Rest();
    if (Accept("\\v")) return "\\x0B";  // To PCRE2 a class.
    if (rest.starts_with("\\u") && rest.size() >= 6 &&
        std::all_of(rest.begin() + 2, rest.begin() + 6, [](unsigned char c) { return std::isxdigit(c) != 0; })) {
      return "\\x{" + Take(6).substr(2) + "}";
    }
    const char c = rest.size() > 1 ? rest[1] : '\0';
    if ((c == 'x' || c == 'p' || c == 'P') && rest.substr(2).starts_with('{')) {
      const size_t close = rest.find('}');
      return Take(close == std::string_view::npos ? 2 : close + 1);
    }
    if (c == 'x') {
      size_t size = 2;
      while (size < std::min<size_t>(rest.size(), 4) && std::isxdigit(static_cast<unsigned char>(rest[size])) != 0)
        ++size;
      return Take(size);
    }
    if (c >= '0' && c <= '7') {
      size_t size = 2;
      while (size < std::min<size_t>(rest.size(), 4) && rest[size] >= '0' && rest[size] <= '7') ++size;
      return Take(size);
    }
    return Take(rest.size() > 1 ? 1 + Utf8Length(c) : 1);
  }

  /// "{n,m}". In Ruby's syntax, which Oniguruma has here, a "+" behind repeats it, and "{,m}" has a meaning.
  void Repetition() {
    const std::string_view rest = Rest();
    size_t at = 1;
    const auto number = [&] {
      const size_t begin = at;
      while (at < rest.size() && rest[at] >= '0' && rest[at] <= '9') ++at;
      return std::string(rest.substr(begin, at - begin));
    };
    const std::string least = number();
    const bool range = at < rest.size() && rest[at] == ',';
    if (range) ++at;
    const std::string most = range ? number() : least;
    if (at >= rest.size() || rest[at] != '}' || (least.empty() && most.empty())) {  // Characters as others.
      out_ += "\\{";
      ++at_;
      return;
    }
    at_ += at + 1;
    const std::string from = least.empty() ? "0" : least;
    if (Accept("+")) {
      if (from == "0" || from == "1" || most.empty()) {
        out_ += "{" + from + ",}";
      } else {
        Fail("a repetition of a repetition is not supported");
      }
    } else if (!range && Rest().starts_with('?')) {
      Fail("a repetition that may be left out is not supported");
    } else {
      out_ += range ? "{" + from + "," + most + "}" : "{" + from + "}";
    }
  }

  /// Behind "(?": Ruby's m lets a dot match a newline.
  void Options() {
    const std::string_view rest = Rest();
    const size_t end = rest.find_first_not_of("imx-");
    if (end == std::string_view::npos || (rest[end] != ')' && rest[end] != ':')) return;
    std::string options = Take(end);
    std::replace(options.begin(), options.end(), 'm', 's');
    out_ += options;
  }

  /// The class whose "[" is passed already, up to and with its "]".
  CharSet Class(int depth) {
    if (depth > kMaxTokenizerDepth)
      return Fail("classes are nested deeper than " + std::to_string(kMaxTokenizerDepth) + " levels");
    const bool negated = Accept("^");
    std::vector<CharSet> operands(1);
    if (Rest().starts_with(']')) Member(depth, &operands.back());  // There it is one.
    while (!Accept("]")) {
      if (at_ >= pattern_.size()) Fail("a class has no end");
      if (Accept("&&"))
        operands.emplace_back();
      else
        Member(depth, &operands.back());
      if (!error_.empty()) return {};
    }
    if (operands.size() == 1) {
      if (!negated) return std::move(operands[0]);
      return {{}, {NoneOf(operands[0])}};
    }
    std::string all = "(?:";
    for (size_t i = 0; i + 1 < operands.size(); ++i) all += "(?=" + OneOf(operands[i]) + ")";
    all += OneOf(operands.back()) + ")";
    if (negated) all = "(?:(?!" + all + ")\\p{Any})";
    return {{}, {std::move(all)}};
  }

  void Member(int depth, CharSet* set) {
    if (Rest().starts_with("[:")) {
      if (const size_t end = Rest().find(":]"); end != std::string_view::npos) return Posix(end, set);
    }
    if (Accept("[")) {
      const CharSet inner = Class(depth + 1);
      set->members += inner.members;
      set->others.insert(set->others.end(), inner.others.begin(), inner.others.end());
      return;
    }
    const char c = Rest().size() > 1 && Rest()[0] == '\\' ? Rest()[1] : '\0';
    if (const std::string members = MembersOf(c, true); !members.empty()) {
      at_ += 2;
      if (c < 'a')
        set->others.push_back("[^" + members + "]");
      else
        set->members += members;
      return;
    }
    if (c == 'd' || c == 'D' || c == 'p' || c == 'P') {
      set->members += EscapedChar();
      return;
    }
    set->members += OneChar();
    const std::string_view rest = Rest();
    if (!rest.starts_with('-') || rest.starts_with("-]") || rest.starts_with("-&&")) return;
    ++at_;
    const char last = Rest().size() > 1 && Rest()[0] == '\\' ? Rest()[1] : '\0';
    if (Rest().starts_with('[') || last == 'd' || last == 'D' || last == 'p' || last == 'P' ||
        !MembersOf(last, true).empty()) {
      Fail("a class ends a range of characters");
      return;
    }
    set->members += "-" + OneChar();
  }

  void Posix(size_t end, CharSet* set) {
    const bool negated = Rest().starts_with("[:^");
    const std::string name(Rest().substr(negated ? 3 : 2, end - (negated ? 3 : 2)));
    const std::string members = MembersOfPosix(name);
    if (members.empty()) {
      Fail("the class [:" + name + ":] is not known");
      return;
    }
    at_ += end + 2;
    if (negated)
      set->others.push_back("[^" + members + "]");
    else
      set->members += members;
  }

  /// A character, written so that it is one wherever in a class it stands.
  std::string OneChar() {
    const std::string_view rest = Rest();
    if (rest.empty()) return {};
    if (rest[0] == '\\') return EscapedChar();
    const bool special = rest[0] == '-' || rest[0] == '^' || rest[0] == '[' || rest[0] == ']';
    return (special ? "\\" : "") + Take(Utf8Length(rest[0]));
  }

  std::string_view pattern_;
  size_t at_ = 0;
  std::string out_;
  std::string error_;
};

}  // namespace

Result<std::string> ToPcre2(std::string_view pattern) { return Translator(pattern).Run(); }

}  // namespace prenorm
