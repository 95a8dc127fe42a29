// Experiments as text and as pictures.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/lab/experiment.h"
#include "tools/profile/svg_canvas.h"

namespace prenorm::tools {
namespace {

std::string Cell(double value) {
  if (std::isnan(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

const char* VerdictText(const Verdict& verdict) { return verdict.holds() ? "holds here" : "does not hold here"; }

std::string Left(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string Right(const std::string& text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

const char* SeriesColor(size_t series) {
  // Of the colours of a profile those that differ most come first.
  constexpr OpKind kOrder[] = {OpKind::kNorm,      OpKind::kMatMul,     OpKind::kPack,
                               OpKind::kResidual,  OpKind::kActivation, OpKind::kRope,
                               OpKind::kAttention, OpKind::kEmbedding,  OpKind::kBarrier};
  return KindColor(kOrder[series % std::size(kOrder)]);
}

// Writes `text` in lines that fit the picture, from `y` downwards; returns where the next line goes.
double Paragraph(SvgCanvas& canvas, double y, std::string text) {
  constexpr size_t kLine = 125;
  while (!text.empty()) {
    const size_t space = text.size() <= kLine ? std::string::npos : text.rfind(' ', kLine);
    canvas.Text(20, y, text.substr(0, space), "small");
    text = space == std::string::npos ? "" : text.substr(space + 1);
    y += 15;
  }
  return y;
}

bool Drawable(double value) { return std::isfinite(value) && value > 0; }

}  // namespace

std::string LabText(const Experiment& experiment, const std::string& model, const LabTable& table,
                    const Verdict& verdict) {
  std::string text = std::string(experiment.name) + "\n  claim     " + experiment.claim + "\n  source    " +
                     experiment.source + "\n  measured  " + experiment.measured + "\n" +
                     (model.empty() ? "" : "  model     " + model + "\n") + "\n";
  size_t label_width = table.label_head.size();
  for (const LabRow& row : table.rows) label_width = std::max(label_width, row.label.size());
  std::string line = "  " + Left(table.label_head, label_width);
  for (const std::string& column : table.columns) line += Right(column, std::max<size_t>(column.size() + 2, 10));
  text += line + "\n";
  for (const LabRow& row : table.rows) {
    line = "  " + Left(row.label, label_width);
    for (size_t i = 0; i < row.values.size(); ++i) {
      line += Right(Cell(row.values[i]), std::max<size_t>(table.columns[i].size() + 2, 10));
    }
    text += line + "\n";
  }
  text += "\n";
  for (const Finding& finding : verdict.findings())
    text += (finding.holds ? "  yes  " : "  no   ") + finding.text + "\n";
  return text + "  verdict: " + VerdictText(verdict) + "\n";
}

std::string LabSvg(const Experiment& experiment, const std::string& model, const LabTable& table,
                   const Verdict& verdict) {
  constexpr double kLeft = 70, kRight = kSvgWidth - 20, kTop = 130, kBottom = 430;
  double low = 1e300, high = 1e-300;
  for (const LabRow& row : table.rows) {
    for (const double value : row.values) {
      if (!Drawable(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const double first = std::floor(std::log10(std::min(low, high)));
  const double last = std::max(first + 1, std::ceil(std::log10(high)));
  const auto height_of = [&](double value) {
    return kBottom - (std::log10(value) - first) / (last - first) * (kBottom - kTop);
  };
  SvgCanvas canvas;
  canvas.Text(20, 30, std::string(experiment.name) + ": " + VerdictText(verdict), "title");
  Paragraph(canvas, Paragraph(canvas, 50, experiment.claim),
            experiment.measured + (model.empty() ? "" : " Model: " + model));
  const double every = std::max(1.0, std::ceil((last - first) / 10));
  for (double power = first; power <= last; power += every) {
    const double y = height_of(std::pow(10.0, power));
    canvas.Line(kLeft, y, kRight, y, "grid");
    canvas.Text(kLeft - 6, y + 4, Cell(std::pow(10.0, power)), "small", "end");
  }
  const double step = (kRight - kLeft) / static_cast<double>(table.rows.size() + 1);
  size_t longest = 1;
  for (const LabRow& row : table.rows) longest = std::max(longest, row.label.size());
  const auto every_label = static_cast<size_t>(std::ceil(static_cast<double>(longest + 1) * 6 / step));
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const LabRow& row = table.rows[r];
    const double x = kLeft + step * static_cast<double>(r + 1);
    if (r % every_label == 0) canvas.Text(x, kBottom + 18, row.label, "small", "middle");
    for (size_t i = 0; i < row.values.size(); ++i) {
      if (!Drawable(row.values[i])) continue;
      canvas.Circle(x, height_of(row.values[i]), 4.5, SeriesColor(i),
                    table.columns[i] + ", " + row.label + ": " + Cell(row.values[i]));
    }
  }
  canvas.Text((kLeft + kRight) / 2, kBottom + 38, table.label_head, "text", "middle");
  double y = kBottom + 44;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    y += 18;
    canvas.Circle(kLeft, y - 4, 4.5, SeriesColor(i), "");
    canvas.Text(kLeft + 12, y, table.columns[i]);
  }
  return canvas.Finish(y + 20, std::string(experiment.name) + ": " + experiment.claim);
}

}  // namespace prenorm::tools
