// As markupsafe does it, without HTML's other rules.
#include "runtime/chat_template/markup.h"

#include <string_view>

namespace prenorm::chat_template {
namespace {

std::string_view Entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '\'':
      return "&#39;";
    case '"':
      return "&#34;";
    default:
      return "";
  }
}

}  // namespace

Text EscapeHtml(Budget& budget, const Text& text) {
  TextBuilder out(budget);
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view entity = Entity(text.bytes()[at]);
    entity.empty() ? out.Add(text, at, 1) : out.Add(entity, text.OriginAt(at));
  }
  Text escaped = out.Take();
  escaped.set_markup(true);
  return escaped;
}

Text AsMarkup(Budget& budget, const Text& text) { return text.is_markup() ? text : EscapeHtml(budget, text); }

Value LikeMarkup(const Value& subject, Value result) {
  const Text* from = subject.as_text();
  const Text* made = result.as_text();
  if (from == nullptr || !from->is_markup() || made == nullptr || made->is_markup()) return result;
  Text markup = *made;
  markup.set_markup(true);
  return Value(std::move(markup));
}

}  // namespace prenorm::chat_template
