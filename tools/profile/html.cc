// One page: the picture, every row in a table that sorts, and what stands beside it. Its policy forbids all loading.
#include <cstdio>

#include "tools/profile/render.h"
#include "tools/profile/svg_canvas.h"

namespace prenorm::tools {
namespace {

constexpr char kHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
)";

constexpr char kStyle[] = R"(<style>
:root { --ground: #ffffff; --ink: #1b1f24; --line: #d0d7de; --head: #f3f5f7; --norm: #b34700; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171c; --ink: #e6e8eb; --line: #343a43; --head: #20252c; --norm: #ff9a57; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 800px; background: var(--ground); color: var(--ink);
  font: 14px/1.5 system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; }
svg { max-width: 100%; height: auto; display: block; }
h2, p, .wide { margin: 16px 20px 8px; }
h2 { font-size: 15px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 12px; }
th, td { padding: 2px 8px; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
th { background: var(--head); position: sticky; top: 0; }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid var(--norm); }
th[aria-sort=ascending] button::after { content: ' \25b2'; }
th[aria-sort=descending] button::after { content: ' \25bc'; }
tr.norm td { color: var(--norm); font-weight: 600; }
</style>
)";

// Sorts by what a cell says in data-v, or by its text; a second click turns the order.
constexpr char kScript[] = R"(<script>
for (const table of document.querySelectorAll('table.sortable')) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstElementChild.addEventListener('click', () => {
    const down = head.getAttribute('aria-sort') !== 'descending';
    heads.forEach(other => other.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const key = row => row.cells[column].dataset.v ?? row.cells[column].textContent;
    const compare = (a, b) => {
      const x = key(a), y = key(b), difference = Number(x) - Number(y);
      return Number.isNaN(difference) ? x.localeCompare(y) : difference;
    };
    const rows = [...table.tBodies[0].rows].sort(compare);
    if (down) rows.reverse();
    table.tBodies[0].append(...rows);
  }));
}
</script>
)";

std::string Number(double value, const char* format) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Cell(const std::string& text) { return "<td>" + EscapeXml(text) + "</td>"; }
std::string Cell(const std::string& text, double value) {
  return "<td data-v=\"" + Number(value, "%.9g") + "\">" + EscapeXml(text) + "</td>";
}

std::string Heads(std::initializer_list<const char*> names) {
  std::string text = "<thead><tr>";
  for (const char* name : names) text += std::string("<th scope=\"col\"><button>") + name + "</button></th>";
  return text + "</tr></thead>\n";
}

std::string Row(const ProfileRow& row, const ProfilePhase& phase) {
  const auto tokens = static_cast<double>(phase.tokens);
  const double gb = row.ns > 0 ? static_cast<double>(row.work.bytes) / row.ns : 0;
  const double gflop = row.ns > 0 ? static_cast<double>(row.work.flops) / row.ns : 0;
  return std::string(IsNorm(row) ? "<tr class=\"norm\">" : "<tr>") + Cell(KindText(row)) + Cell(OpSiteName(row.site)) +
         Cell(row.layer < 0 ? "-" : std::to_string(row.layer), row.layer) + Cell(TimeText(row.ns / tokens), row.ns) +
         Cell(Number(100 * row.share, "%.3f %%"), row.share) +
         Cell(TimeText(row.p10_ns / tokens) + " - " + TimeText(row.p90_ns / tokens), row.p90_ns - row.p10_ns) +
         Cell(Number(gb, "%.2f"), gb) + Cell(Number(gflop, "%.2f"), gflop) + Cell(row.bound) + "</tr>\n";
}

std::string PhaseSection(const ProfilePhase& phase) {
  std::string text = "<h2>" + phase.name + ": every row</h2>\n<p>" + std::to_string(phase.tokens) + " tokens, " +
                     TimeText(phase.wall_ns / static_cast<double>(phase.tokens)) + " a token; timer " +
                     Number(100 * phase.timer_share, "%.2f %%") + ", not attributed " +
                     Number(100 * phase.unattributed_share, "%.2f %%") + ". Click a heading to sort.</p>\n" +
                     "<div class=\"wide\"><table class=\"sortable\">\n" +
                     Heads({"kind", "site", "layer", "time", "share", "p10 - p90", "GB/s", "GFLOP/s", "bound"}) +
                     "<tbody>\n";
  for (const ProfileRow& row : phase.rows) text += Row(row, phase);
  return text + "</tbody></table></div>\n";
}

std::string Variants(const ProfileReport& report) {
  if (report.variants.empty()) return "";
  std::string text = "<h2>Norms by differencing</h2>\n<div class=\"wide\"><table class=\"sortable\">\n" +
                     Heads({"id", "variant", "cost a token", "95 % from", "to", "share", "KL"}) + "<tbody>\n";
  for (const VariantRow& row : report.variants) {
    const Turns& turns = row.turns;
    text += "<tr>" + Cell(row.id) + Cell(row.name) + Cell(TimeText(turns.difference_ns), turns.difference_ns) +
            Cell(TimeText(turns.low_ns), turns.low_ns) + Cell(TimeText(turns.high_ns), turns.high_ns) +
            Cell(Number(100 * turns.difference_ns / turns.a_ns, "%.2f %%"), turns.difference_ns / turns.a_ns) +
            (row.kl ? Cell(Number(*row.kl, "%.3g"), *row.kl) : Cell("another model", -1)) + "</tr>\n";
  }
  text += "</tbody></table></div>\n";
  for (const ClaimRow& row : report.claims) {
    text += "<p>" + EscapeXml(row.claim + " (" + row.source + "): " + row.measured + ": " + row.verdict) + "</p>\n";
  }
  return text;
}

}  // namespace

std::string ProfileHtml(const ProfileReport& report) {
  std::string text = std::string(kHead) + "<title>Profile of " + EscapeXml(report.model) + "</title>\n" + kStyle +
                     "</head>\n<body>\n" + ProfileSvg(report) + Variants(report);
  for (const WhatIfRow& row : report.what_if) {
    text += "<p>What if " +
            EscapeXml(row.id + ": " + row.text + ". Bound " + TimeText(row.bound_ns) + ", measured " +
                      TimeText(row.turns.difference_ns) + " (" + TimeText(row.turns.low_ns) + " to " +
                      TimeText(row.turns.high_ns) + ") a token.") +
            "</p>\n";
  }
  for (const ProfilePhase& phase : report.phases) text += PhaseSection(phase);
  for (const std::string& note : report.notes) text += "<p>" + EscapeXml(note) + "</p>\n";
  return text + kScript + "</body>\n</html>\n";
}

}  // namespace prenorm::tools
