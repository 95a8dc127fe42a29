// The picture, from top to bottom for each phase: one bar of all kinds, bars of kinds and sites, heat map, roofline.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "tools/profile/render.h"
#include "tools/profile/svg_canvas.h"
#include "tools/profile/svg_roofline.h"

namespace prenorm::tools {
namespace {

constexpr size_t kSites = OpTotals::kSites;
constexpr double kLeft = 20, kRight = kSvgWidth - 20;
constexpr size_t kMostBars = 16;

std::string Percent(double share) {
  char text[24];
  std::snprintf(text, sizeof text, "%.2f %%", 100 * share);
  return text;
}

double PerToken(double ns, const ProfilePhase& phase) { return ns / static_cast<double>(phase.tokens); }

class Picture {
 public:
  explicit Picture(const ProfileReport& report) : report_(report) {}

  std::string Draw() {
    y_ = 34;
    canvas_.Text(kLeft, y_, report_.model + ": where the time of a token goes", "title");
    Note(report_.type + ", " + report_.target + ", threads: " + std::to_string(report_.threads) +
         (report_.placement == "apart" ? ", nothing fused" : ""));
    for (const ProfilePhase& phase : report_.phases) {
      Head(phase);
      WholeBar(phase);
      Bars(phase);
      HeatMap(phase);
      y_ = DrawRoofline(canvas_, y_ + 26, phase, report_.roofline);
    }
    return canvas_.Finish(y_ + 20, "Profile of " + report_.model);
  }

 private:
  void Note(const std::string& text) {
    y_ += 20;
    canvas_.Text(kLeft, y_, text);
  }

  void Head(const ProfilePhase& phase) {
    y_ += 40;
    canvas_.Text(kLeft, y_, phase.name + ": " + TimeText(PerToken(phase.wall_ns, phase)) + " a token", "head");
    canvas_.Text(kRight, y_, "normalization " + Percent(ShareOf(phase, OpKind::kNorm)), "head", "end");
  }

  // All kinds in one bar as long as the token, and their legend.
  void WholeBar(const ProfilePhase& phase) {
    y_ += 12;
    std::vector<std::pair<double, OpKind>> kinds;
    for (size_t k = 0; k < OpTotals::kKinds; ++k) {
      const auto kind = static_cast<OpKind>(k);
      if (const double share = ShareOf(phase, kind); share > 0) kinds.emplace_back(share, kind);
    }
    std::sort(kinds.rbegin(), kinds.rend());
    canvas_.Rect(kLeft, y_, kRight - kLeft, 26, ".rest", "not attributed");
    double x = kLeft;
    for (const auto& [share, kind] : kinds) {
      const double width = share * (kRight - kLeft);
      canvas_.Rect(x, y_, width, 26, KindColor(kind), std::string(OpKindName(kind)) + " " + Percent(share));
      x += width;
    }
    y_ += 46;
    x = kLeft;
    for (const auto& [share, kind] : kinds) {
      const std::string label = std::string(OpKindName(kind)) + " " + Percent(share);
      const double width = 22 + 6.8 * static_cast<double>(label.size());
      if (x + width > kRight) {
        x = kLeft;
        y_ += 20;
      }
      canvas_.Rect(x, y_ - 10, 11, 11, KindColor(kind));
      canvas_.Text(x + 16, y_, label, kind == OpKind::kNorm ? "norm" : "text");
      x += width + 12;
    }
  }

  void Bars(const ProfilePhase& phase) {
    std::vector<ProfileRow> rows = SumLayers(phase, report_.roofline);
    // Norms are what the picture is about: they are shown however short.
    std::stable_partition(rows.begin(), rows.end(),
                          [&](const ProfileRow& row) { return !IsWait(row) && (IsNorm(row) || row.share > 0.002); });
    const auto shown = std::find_if(rows.begin(), rows.end(), [](const ProfileRow& row) {
      return IsWait(row) || (!IsNorm(row) && row.share <= 0.002);
    });
    rows.erase(shown, rows.end());
    if (rows.size() > kMostBars) rows.resize(kMostBars);
    double longest = 0;
    for (const ProfileRow& row : rows) longest = std::max(longest, row.share);
    const double x = 222, width = 310;
    y_ += 14;
    for (const ProfileRow& row : rows) {
      y_ += 20;
      const char* style = IsNorm(row) ? "norm" : "text";
      canvas_.Text(x - 8, y_, KindText(row) + " " + OpSiteName(row.site), style, "end");
      canvas_.Rect(x, y_ - 11, std::max(1.5, width * row.share / std::max(longest, 1e-9)), 14, KindColor(row.kind));
      canvas_.Text(x + width + 84, y_, TimeText(PerToken(row.ns, phase)), style, "end");
      canvas_.Text(x + width + 154, y_, Percent(row.share), style, "end");
      canvas_.Text(kRight, y_, row.bound, "text", "end");
    }
  }

  struct Grid {
    std::vector<OpSite> sites;
    std::vector<double> ns;  // [sites][layers], a token
    double low = 0, high = 0;
  };

  Grid MakeGrid(const ProfilePhase& phase) const {
    Grid grid;
    std::array<double, kSites> sums{};
    std::vector<double> all(kSites * report_.n_layers);
    for (const ProfileRow& row : phase.rows) {
      if (row.layer < 0 || IsWait(row)) continue;
      const auto site = static_cast<size_t>(row.site);
      const double ns = PerToken(row.ns, phase);
      sums[site] += ns;
      all[site * report_.n_layers + static_cast<size_t>(row.layer)] += ns;
    }
    for (size_t s = 0; s < kSites; ++s) {
      if (sums[s] <= 0) continue;
      grid.sites.push_back(static_cast<OpSite>(s));
      for (size_t layer = 0; layer < report_.n_layers; ++layer) {
        const double ns = all[s * report_.n_layers + layer];
        grid.ns.push_back(ns);
        if (ns <= 0) continue;
        grid.low = grid.low == 0 ? ns : std::min(grid.low, ns);
        grid.high = std::max(grid.high, ns);
      }
    }
    return grid;
  }

  void HeatMap(const ProfilePhase& phase) {
    const Grid grid = MakeGrid(phase);
    if (grid.sites.empty()) return;
    const double x = 130, cell = std::min(40.0, (kRight - x) / static_cast<double>(report_.n_layers)), height = 18;
    y_ += 34;
    canvas_.Text(kLeft, y_, "by layer and site, waiting left out", "norm");
    Legend(grid);
    y_ += 10;
    const double range = std::log(std::max(1.0001, grid.high / grid.low));
    for (size_t s = 0; s < grid.sites.size(); ++s) {
      const std::string name = OpSiteName(grid.sites[s]);
      canvas_.Text(x - 8, y_ + 13, name, name.find("norm") == std::string::npos ? "small" : "norm", "end");
      for (size_t layer = 0; layer < report_.n_layers; ++layer) {
        const double ns = grid.ns[s * report_.n_layers + layer];
        const double t = ns > 0 ? std::log(ns / grid.low) / range : 0;
        canvas_.Rect(x + cell * static_cast<double>(layer), y_, cell - 1, height - 1, ns > 0 ? HeatColor(t) : ".rest",
                     "layer " + std::to_string(layer) + ", " + name + ": " + TimeText(ns));
      }
      y_ += height;
    }
    const size_t step = report_.n_layers <= 12 ? 1 : report_.n_layers <= 40 ? 5 : 10;
    for (size_t layer = 0; layer < report_.n_layers; layer += step) {
      canvas_.Text(x + cell * (static_cast<double>(layer) + 0.5), y_ + 14, std::to_string(layer), "small", "middle");
    }
    canvas_.Text(x - 8, y_ + 14, "layer", "small", "end");
    y_ += 16;
  }

  void Legend(const Grid& grid) {
    const double width = 150, x = kRight - width - 70;
    canvas_.Text(x - 6, y_, TimeText(grid.low), "small", "end");
    for (int i = 0; i < 30; ++i) canvas_.Rect(x + i * width / 30, y_ - 10, width / 30 + 0.5, 11, HeatColor(i / 29.0));
    canvas_.Text(x + width + 6, y_, TimeText(grid.high), "small");
  }

  const ProfileReport& report_;
  SvgCanvas canvas_;
  double y_ = 0;
};

}  // namespace

std::string ProfileSvg(const ProfileReport& report) { return Picture(report).Draw(); }

}  // namespace prenorm::tools
