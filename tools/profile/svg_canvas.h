// Writes the few SVG elements that the pictures need.
#pragma once

#include <string>
#include <string_view>

#include "prenorm/profile.h"

namespace prenorm::tools {

inline constexpr double kSvgWidth = 800;

/// `text` with what XML reserves written as entities, and without control characters.
std::string EscapeXml(std::string_view text);

/// Fill of a kind: the palette of Okabe and Ito, which colour-blind readers tell apart; norms have its strongest.
const char* KindColor(OpKind kind);

/// `t` in [0, 1] on a scale that grows lighter steadily for every reader (cividis).
std::string HeatColor(double t);

class SvgCanvas {
 public:
  /// `classes` name styles of the sheet that Finish adds: "title", "head", "text", "small", "mono", "axis", "grid";
  /// `anchor`: "start", "middle" or "end".
  void Text(double x, double y, std::string_view text, const char* classes = "text", const char* anchor = "start");
  /// `hint` is shown when the pointer rests on it; "" for none. `fill` is a colour, or a class where
  /// it starts with '.'.
  void Rect(double x, double y, double width, double height, const std::string& fill, std::string_view hint = "");
  void Line(double x1, double y1, double x2, double y2, const char* classes = "axis");
  void Circle(double x, double y, double radius, const std::string& fill, std::string_view hint);

  /// The whole document, `height` pixels high. `title` is what a screen reader says.
  std::string Finish(double height, std::string_view title) const;

 private:
  std::string body_;
};

}  // namespace prenorm::tools
