// Colours of text and ground follow prefers-color-scheme; fills are the same on both.
#include "tools/profile/svg_canvas.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace prenorm::tools {
namespace {

constexpr char kStyle[] =
    "<style>"
    ".prenorm-svg{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}"
    ".prenorm-svg .ground{fill:#ffffff}.prenorm-svg text{fill:#1b1f24}"
    ".prenorm-svg .title{font-size:18px;font-weight:600}.prenorm-svg .head{font-size:15px;font-weight:600}"
    ".prenorm-svg .text{font-size:12px}.prenorm-svg .small{font-size:11px}"
    ".prenorm-svg .norm{font-size:12px;font-weight:700}"
    ".prenorm-svg .mark{font-size:9.5px;font-weight:700;fill:#ffffff}.prenorm-svg .dark-mark{fill:#000000}"
    ".prenorm-svg .axis{stroke:#57606a;stroke-width:1}.prenorm-svg .grid{stroke:#d0d7de;stroke-width:1}"
    ".prenorm-svg .roof{stroke:#1b1f24;stroke-width:2}.prenorm-svg .rest{fill:#d0d7de}"
    ".prenorm-svg circle{stroke:#1b1f24;stroke-width:1}"
    "@media (prefers-color-scheme:dark){"
    ".prenorm-svg .ground{fill:#14171c}.prenorm-svg text{fill:#e6e8eb}"
    ".prenorm-svg .axis{stroke:#9aa4af}.prenorm-svg .grid{stroke:#343a43}"
    ".prenorm-svg .roof{stroke:#e6e8eb}.prenorm-svg .rest{fill:#454c56}"
    ".prenorm-svg circle{stroke:#e6e8eb}}"
    "</style>";

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string Attribute(const char* name, double value) { return std::string(" ") + name + "=\"" + Number(value) + "\""; }

std::string Hint(std::string_view hint) { return hint.empty() ? "" : "<title>" + EscapeXml(hint) + "</title>"; }

}  // namespace

std::string EscapeXml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

const char* KindColor(OpKind kind) {
  switch (kind) {
    case OpKind::kNorm:
      return "#d55e00";
    case OpKind::kResidual:
      return "#e69f00";
    case OpKind::kMatMul:
      return "#0072b2";
    case OpKind::kAttention:
      return "#56b4e9";
    case OpKind::kPack:
      return "#009e73";
    case OpKind::kActivation:
      return "#cc79a7";
    case OpKind::kRope:
      return "#f0e442";
    case OpKind::kEmbedding:
      return "#7f5539";
    case OpKind::kBarrier:
      return "#7d858e";
    case OpKind::kIdle:
      return "#aab1b8";
    case OpKind::kCount:
      break;
  }
  return "#000000";
}

std::string HeatColor(double t) {
  constexpr int kStops[][3] = {{0, 34, 78},     {18, 53, 112},   {59, 73, 108},   {87, 93, 109},  {112, 113, 115},
                               {138, 135, 121}, {166, 157, 117}, {196, 181, 108}, {228, 207, 91}, {254, 232, 56}};
  const double at = std::clamp(t, 0.0, 1.0) * 9;
  const auto low = std::min<size_t>(8, static_cast<size_t>(at));
  const double part = at - static_cast<double>(low);
  int rgb[3];
  for (int i = 0; i < 3; ++i) {
    rgb[i] = static_cast<int>(std::lround(kStops[low][i] * (1 - part) + kStops[low + 1][i] * part));
  }
  char text[16];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
  return text;
}

void SvgCanvas::Text(double x, double y, std::string_view text, const char* classes, const char* anchor) {
  body_ += "<text" + Attribute("x", x) + Attribute("y", y) + " class=\"" + classes + "\" text-anchor=\"" + anchor +
           "\">" + EscapeXml(text) + "</text>\n";
}

void SvgCanvas::Rect(double x, double y, double width, double height, const std::string& fill, std::string_view hint) {
  const std::string look = fill.starts_with('.') ? " class=\"" + fill.substr(1) + "\"" : " fill=\"" + fill + "\"";
  body_ += "<rect" + Attribute("x", x) + Attribute("y", y) + Attribute("width", std::max(0.0, width)) +
           Attribute("height", height) + look + ">" + Hint(hint) + "</rect>\n";
}

void SvgCanvas::Line(double x1, double y1, double x2, double y2, const char* classes) {
  body_ += "<line" + Attribute("x1", x1) + Attribute("y1", y1) + Attribute("x2", x2) + Attribute("y2", y2) +
           " class=\"" + classes + "\"/>\n";
}

void SvgCanvas::Circle(double x, double y, double radius, const std::string& fill, std::string_view hint) {
  body_ += "<circle" + Attribute("cx", x) + Attribute("cy", y) + Attribute("r", radius) + " fill=\"" + fill + "\">" +
           Hint(hint) + "</circle>\n";
}

std::string SvgCanvas::Finish(double height, std::string_view title) const {
  const std::string size = Number(kSvgWidth) + " " + Number(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"prenorm-svg\" role=\"img\" width=\"" + Number(kSvgWidth) +
         "\" height=\"" + Number(height) + "\" viewBox=\"0 0 " + size + "\">\n<title>" + EscapeXml(title) +
         "</title>\n" + kStyle + "\n<rect class=\"ground\" x=\"0\" y=\"0\" width=\"100%\" height=\"100%\"/>\n" + body_ +
         "</svg>\n";
}

}  // namespace prenorm::tools
