// Tables are merged only when they are read.
#include "prenorm/op_totals.h"

#include <algorithm>

namespace prenorm {

OpTotals::OpTotals(int threads, size_t layers) : layers_(layers), tables_(static_cast<size_t>(threads)) {
  for (Table& table : tables_) table.cells.resize((layers + 1) * kKinds * kSites);
}

void OpTotals::Record(const OpEvent& event) {
  const size_t layer = event.layer < 0 ? layers_ : static_cast<size_t>(event.layer);
  const size_t index = (layer * kKinds + static_cast<size_t>(event.kind)) * kSites + static_cast<size_t>(event.site);
  Cell& cell = tables_[static_cast<size_t>(event.thread)].cells[index];
  ++cell.calls;
  cell.ns += event.end_ns - event.begin_ns;
}

void OpTotals::Clear() {
  for (Table& table : tables_) std::fill(table.cells.begin(), table.cells.end(), Cell());
}

std::vector<OpRow> OpTotals::Rows() const {
  std::vector<OpRow> rows;
  for (size_t index = 0; index < (layers_ + 1) * kKinds * kSites; ++index) {
    const size_t layer = index / (kKinds * kSites);
    OpRow row{static_cast<OpKind>(index / kSites % kKinds), static_cast<OpSite>(index % kSites),
              layer == layers_ ? -1 : static_cast<int32_t>(layer)};
    for (const Table& table : tables_) {
      row.calls += table.cells[index].calls;
      row.ns += table.cells[index].ns;
      row.most_calls = std::max(row.most_calls, table.cells[index].calls);
    }
    if (row.calls > 0) rows.push_back(row);
  }
  return rows;
}

uint64_t OpTotals::NsOf(OpKind kind) const {
  uint64_t ns = 0;
  for (const OpRow& row : Rows()) ns += row.kind == kind ? row.ns : 0;
  return ns;
}

}  // namespace prenorm
