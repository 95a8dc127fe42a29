// Arithmetic intensity and rate on logarithmic axes: under the slope an operator could be faster by moving fewer bytes,
// under the flat part by less arithmetic; far below both it waits for something else.
#include "tools/profile/svg_roofline.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace prenorm::tools {
namespace {

constexpr double kX = 66, kWidth = 540, kHeight = 230;

// A logarithmic axis.
struct Axis {
  double low, high;  // Powers of ten.
  double at;         // Pixel of low.
  double length;     // Pixels; negative: upwards.
  double operator()(double value) const {
    const double t = (std::log10(value) - low) / (high - low);
    return at + std::clamp(t, 0.0, 1.0) * length;
  }
};

std::string Power(double exponent) {
  char text[24];
  std::snprintf(text, sizeof text, "%g", std::pow(10.0, exponent));
  return text;
}

struct Point {
  const ProfileRow* row;
  double intensity;  // FLOP a byte.
  double rate;       // GFLOP a second.
};

}  // namespace

double DrawRoofline(SvgCanvas& canvas, double y, const ProfilePhase& phase, const Roofline& roofline) {
  const double memory = roofline.memory_bytes_s / 1e9, product = roofline.product_flops_s / 1e9,
               f32 = roofline.f32_flops_s / 1e9, cache = roofline.cache_bytes_s / 1e9;
  if (memory <= 0 || product <= 0 || f32 <= 0 || cache <= 0) return y;
  const std::vector<ProfileRow> rows = SumLayers(phase, roofline);
  std::vector<Point> points;
  double lowest = std::min(product, f32), most = 1;
  for (const ProfileRow& row : rows) {
    if (row.work.bytes == 0 || row.work.flops == 0 || row.ns <= 0) continue;
    const auto flops = static_cast<double>(row.work.flops);
    points.push_back({&row, flops / static_cast<double>(row.work.bytes), flops / row.ns});
    lowest = std::min(lowest, points.back().rate);
    most = std::max(most, points.back().intensity);
  }
  if (points.empty()) return y;
  const Axis x{-1.0, std::max(2.0, std::ceil(std::log10(most * 1.5))), kX, kWidth};
  const Axis v{std::floor(std::log10(lowest)), std::ceil(std::log10(std::max(product, f32) * 1.2)), y + 30 + kHeight,
               -kHeight};

  canvas.Text(20, y, "roofline: arithmetic against bytes, measured limits", "norm");
  for (double p = x.low; p <= x.high; ++p) {
    canvas.Line(x(std::pow(10, p)), y + 30, x(std::pow(10, p)), v.at, "grid");
    canvas.Text(x(std::pow(10, p)), v.at + 15, Power(p), "small", "middle");
  }
  for (double p = v.low; p <= v.high; ++p) {
    canvas.Line(kX, v(std::pow(10, p)), kX + kWidth, v(std::pow(10, p)), "grid");
    canvas.Text(kX - 6, v(std::pow(10, p)) + 4, Power(p), "small", "end");
  }
  canvas.Text(kX + kWidth / 2, v.at + 31, "FLOP a byte", "small", "middle");
  canvas.Text(20, y + 17, "GFLOP/s", "small");

  // Slopes of memory and caches, and the flat roofs that they reach.
  const auto slope = [&](double bytes, double roof) {
    const double from = std::max(std::pow(10, x.low), std::pow(10, v.low) / bytes), to = roof / bytes;
    if (to > from) canvas.Line(x(from), v(from * bytes), x(to), v(roof), "roof");
  };
  slope(memory, product);
  slope(cache, product);
  canvas.Line(x(product / cache), v(product), kX + kWidth, v(product), "roof");
  canvas.Line(x(f32 / cache), v(f32), kX + kWidth, v(f32), "roof");

  // Numbered by time: labels beside the chart never collide.
  double label = y + 30;
  char text[120];
  std::snprintf(text, sizeof text, "memory %.0f, caches %.0f GB/s", memory, cache);
  canvas.Text(kX + kWidth + 14, label, text, "small");
  std::snprintf(text, sizeof text, "products %.0f, f32 %.0f", product, f32);
  canvas.Text(kX + kWidth + 14, label + 14, text, "small");
  label += 34;
  for (size_t i = std::min<size_t>(points.size(), 14); i-- > 0;) {  // Long ones last, on top.
    const Point& point = points[i];
    const std::string name = std::string(OpKindName(point.row->kind)) + " " + OpSiteName(point.row->site);
    canvas.Circle(x(point.intensity), v(point.rate), 8, KindColor(point.row->kind), name);
  }
  for (size_t i = 0; i < std::min<size_t>(points.size(), 14); ++i) {
    const Point& point = points[i];
    const char* style = point.row->kind == OpKind::kRope ? "mark dark-mark" : "mark";
    canvas.Text(x(point.intensity), v(point.rate) + 3.5, std::to_string(i + 1), style, "middle");
    const std::string name =
        std::to_string(i + 1) + " " + OpKindName(point.row->kind) + " " + OpSiteName(point.row->site);
    canvas.Text(kX + kWidth + 14, label, name, "small");
    label += 14.5;
  }
  return v.at + 36;
}

}  // namespace prenorm::tools
