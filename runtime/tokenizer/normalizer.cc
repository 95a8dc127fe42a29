// The steps of Normalize; tables of Unicode are utf8proc's.
#include "runtime/tokenizer/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/tokenizer/utf8.h"

namespace prenorm {
namespace {

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Status UnicodeForm(int options, std::string* text) {
  if (IsAscii(*text)) return Status();  // ASCII is its own normal form.
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text->data()), static_cast<utf8proc_ssize_t>(text->size()),
                   &mapped, static_cast<utf8proc_option_t>(options | UTF8PROC_STABLE));
  if (size < 0) {
    return Status(size == UTF8PROC_ERROR_NOMEM ? StatusCode::kOutOfMemory : StatusCode::kInvalidArgument,
                  std::string("Unicode normalization: ") + utf8proc_errmsg(size));
  }
  text->assign(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
  std::free(mapped);
  return Status();
}

/// Rebuilds `text` character by character: `emit(c, out)`.
template <typename Emit>
void MapChars(std::string* text, Emit emit) {
  std::string out;
  out.reserve(text->size());
  for (size_t offset = 0; offset < text->size();) emit(NextChar(*text, &offset), &out);
  *text = std::move(out);
}

void Lowercase(char32_t c, std::string* out) {
  if (c == 0x130) {  // The only character whose lower case is two: dotted capital I.
    out->append("i\xCC\x87");
    return;
  }
  AppendUtf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), out);
}

void CleanText(char32_t c, std::string* out) {
  if (c == '\t' || c == '\n' || c == '\r') {
    out->push_back(' ');
    return;
  }
  if (c == 0 || c == 0xFFFD) return;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CC:  // the other controls that are white space too, such as U+000B and U+0085
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:  // Unassigned characters stay.
      return;
    default:
      break;
  }
  if (IsWhiteSpace(c))
    out->push_back(' ');
  else
    AppendUtf8(c, out);
}

// The controls of Google's machine translation, as SentencePiece's nmt rules have them.
void Nmt(char32_t c, std::string* out) {
  const bool drops =
      (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
  const bool is_space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                        (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
                        c == 0xFFFD;
  if (is_space)
    out->push_back(' ');
  else if (!drops)
    AppendUtf8(c, out);
}

bool IsCjkIdeograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

void SpaceCjk(char32_t c, std::string* out) {
  const bool ideograph = IsCjkIdeograph(c);
  if (ideograph) out->push_back(' ');
  AppendUtf8(c, out);
  if (ideograph) out->push_back(' ');
}

void Strip(bool left, bool right, std::string* text) {
  size_t begin = text->size();
  size_t end = 0;  // behind the last character that stays
  for (size_t offset = 0; offset < text->size();) {
    const size_t at = offset;
    if (IsWhiteSpace(NextChar(*text, &offset))) continue;
    begin = std::min(begin, at);
    end = offset;
  }
  if (begin == text->size()) {  // nothing but white space
    if (left || right) text->clear();
    return;
  }
  if (right) text->resize(end);
  if (left) text->erase(0, begin);
}

void CollapseSpaces(std::string* text) {
  std::string out;
  out.reserve(text->size());
  bool pending = false;
  for (const char c : *text) {
    if (c == ' ') {
      pending = !out.empty();
      continue;
    }
    if (pending) out.push_back(' ');
    pending = false;
    out.push_back(c);
  }
  *text = std::move(out);
}

// These stop behind `most` bytes, which Normalize then refuses.
void ReplaceAll(std::string_view pattern, std::string_view with, size_t most, std::string* text) {
  size_t at = pattern.empty() ? std::string::npos : text->find(pattern);
  if (at == std::string::npos) return;
  std::string out;
  out.reserve(text->size() + text->size() / 2);
  size_t done = 0;
  for (; at != std::string::npos && out.size() <= most; at = text->find(pattern, done)) {
    out.append(*text, done, at - done).append(with);
    done = at + pattern.size();
  }
  out.append(*text, done);
  *text = std::move(out);
}

Status ReplaceRegex(const Regex& regex, std::string_view with, size_t most, std::string* text) {
  RegexScratch scratch;
  std::string out;
  size_t done = 0;
  for (size_t from = 0; from <= text->size() && out.size() <= most;) {
    Regex::Match match;
    if (Status status = regex.Find(*text, from, &scratch, &match); !status.ok()) return status;
    if (!match.found) break;
    out.append(*text, done, match.begin - done).append(with);
    done = match.end;
    from = match.end;
    if (match.end == match.begin) {
      if (from == text->size()) break;
      from += Utf8Length((*text)[from]);
    }
  }
  out.append(*text, done);
  *text = std::move(out);
  return Status();
}

Status Apply(const NormalizerStep& step, size_t most, std::string* text) {
  using Kind = NormalizerStep::Kind;
  switch (step.kind) {
    case Kind::kNfc:
      return UnicodeForm(UTF8PROC_COMPOSE, text);
    case Kind::kNfd:
      return UnicodeForm(UTF8PROC_DECOMPOSE, text);
    case Kind::kNfkc:
      return UnicodeForm(UTF8PROC_COMPOSE | UTF8PROC_COMPAT, text);
    case Kind::kNfkd:
      return UnicodeForm(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, text);
    case Kind::kLowercase:
      MapChars(text, Lowercase);
      break;
    case Kind::kStripAccents:
      MapChars(text, [](char32_t c, std::string* out) {
        if (utf8proc_category(static_cast<utf8proc_int32_t>(c)) != UTF8PROC_CATEGORY_MN) AppendUtf8(c, out);
      });
      break;
    case Kind::kStripMarks:
      MapChars(text, [](char32_t c, std::string* out) {
        const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
        const bool mark =
            category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_ME;
        if (!mark) AppendUtf8(c, out);
      });
      break;
    case Kind::kCleanText:
      MapChars(text, CleanText);
      break;
    case Kind::kNmt:
      MapChars(text, Nmt);
      break;
    case Kind::kSpaceCjk:
      MapChars(text, SpaceCjk);
      break;
    case Kind::kStrip:
      Strip(step.left, step.right, text);
      break;
    case Kind::kCollapseSpaces:
      CollapseSpaces(text);
      break;
    case Kind::kPrepend:
      if (!text->empty()) text->insert(0, step.text);
      break;
    case Kind::kReplace:
      ReplaceAll(step.pattern, step.text, most, text);
      break;
    case Kind::kReplaceRegex:
      return ReplaceRegex(step.regex, step.text, most, text);
    case Kind::kCharsmap:
      *text = step.charsmap->Apply(*text, most);
      break;
  }
  return Status();
}

}  // namespace

Status GrowsTooMuch(size_t bytes) {
  return Status(StatusCode::kUnsupported, "the tokenizer replaces too much\nof a text of " + std::to_string(bytes) +
                                              " bytes it makes more than " + std::to_string(MostGrownBytes(bytes)) +
                                              "\nDownload its files again, or shorten a text this long.");
}

Status Normalize(const NormalizerSteps& steps, std::string* text) {
  const size_t bytes = text->size(), most = MostGrownBytes(bytes);
  for (const NormalizerStep& step : steps) {
    if (Status status = Apply(step, most, text); !status.ok()) return status;
    if (text->size() > most) return GrowsTooMuch(bytes);
  }
  return Status();
}

}  // namespace prenorm
