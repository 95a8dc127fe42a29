// Texts that count as HTML: what `safe` and `escape` make, and what comes of them.
#pragma once

#include "runtime/chat_template/text.h"
#include "runtime/chat_template/value.h"

namespace prenorm::chat_template {

/// `text` with & < > ' " as entities.
Text EscapeHtml(Budget& budget, const Text& text);

/// `text` as what is added to a markup text: escaped, unless it is one itself.
Text AsMarkup(Budget& budget, const Text& text);

/// `result`, and where it is a text made of the markup `subject`, a markup too.
Value LikeMarkup(const Value& subject, Value result);

}  // namespace prenorm::chat_template
