// Times of operators of a prompt and of the tokens behind it, with the work that each has to do.
#include "prenorm/profile.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <span>
#include <tuple>
#include <vector>

#include "prenorm/op_work.h"
#include "python/bindings/session.h"

namespace nb = nanobind;

namespace prenorm::python {
namespace {

constexpr size_t kKinds = static_cast<size_t>(OpKind::kCount), kSites = static_cast<size_t>(OpSite::kCount);

// Nanoseconds and calls by kind, site and layer, one table a thread; layer -1 comes first.
class Totals : public OpObserver {
 public:
  Totals(int threads, size_t n_layers) : layers_(n_layers + 1), tables_(static_cast<size_t>(threads)) {
    for (Table& table : tables_) table.cells.resize(kKinds * kSites * layers_);
  }
  void Record(const OpEvent& event) override {
    Cell& cell = tables_[static_cast<size_t>(event.thread)].cells[IndexOf(event.kind, event.site, event.layer)];
    cell.ns += event.end_ns - event.begin_ns;
    ++cell.calls;
  }

  struct Sum {
    uint64_t calls = 0;  ///< Of the thread with most of them.
    double ns = 0;       ///< Mean of the threads.
  };
  Sum SumOf(OpKind kind, OpSite site, int32_t layer) const {
    Sum sum;
    for (const Table& table : tables_) {
      const Cell& cell = table.cells[IndexOf(kind, site, layer)];
      sum.calls = std::max(sum.calls, cell.calls);
      sum.ns += static_cast<double>(cell.ns) / static_cast<double>(tables_.size());
    }
    return sum;
  }

 private:
  struct Cell {
    uint64_t ns = 0, calls = 0;
  };
  struct alignas(64) Table {
    std::vector<Cell> cells;
  };
  size_t IndexOf(OpKind kind, OpSite site, int32_t layer) const {
    return (static_cast<size_t>(layer + 1) * kKinds + static_cast<size_t>(kind)) * kSites + static_cast<size_t>(site);
  }
  size_t layers_;
  std::vector<Table> tables_;
};

// Kind, site, layer, calls, nanoseconds, bytes, arithmetic.
using Row = std::tuple<std::string, std::string, int32_t, uint64_t, double, uint64_t, uint64_t>;

// Evaluates `tokens` in steps of `step` and returns the wall time in nanoseconds and the rows of what ran.
std::tuple<double, std::vector<Row>> Profile(PySession& self, const std::vector<TokenId>& tokens, size_t step,
                                             const CancelFlag& cancel) {
  if (step == 0) throw StatusError(StatusCode::kInvalidArgument, "step: expected at least 1, found 0");
  Session& session = self.session();
  const Model& model = session.model();
  const auto n_layers = static_cast<int32_t>(model.config().n_layers);
  Totals totals(session.threads(), model.config().n_layers);
  std::vector<StepShape> steps;
  std::chrono::duration<double, std::nano> wall{};
  session.set_observer(&totals);
  try {
    for (size_t at = 0; at < tokens.size(); at += step) {
      const std::span part = std::span(tokens).subspan(at, std::min(step, tokens.size() - at));
      steps.push_back({part.size(), session.position(), session.cache_type(), true});
      const auto begin = std::chrono::steady_clock::now();
      self.Eval(part, cancel);
      wall += std::chrono::steady_clock::now() - begin;
    }
  } catch (...) {
    session.set_observer(nullptr);
    throw;
  }
  session.set_observer(nullptr);

  std::vector<Row> rows;
  for (int32_t layer = -1; layer < n_layers; ++layer) {
    for (size_t k = 0; k < kKinds; ++k) {
      for (size_t s = 0; s < kSites; ++s) {
        const auto kind = static_cast<OpKind>(k);
        const auto site = static_cast<OpSite>(s);
        const Totals::Sum sum = totals.SumOf(kind, site, layer);
        if (sum.calls == 0) continue;
        OpWork work;
        for (const StepShape& shape : steps) {
          const OpWork one = WorkOf(model, kind, site, layer, shape);
          work.bytes += one.bytes;
          work.flops += one.flops;
        }
        rows.emplace_back(OpKindName(kind), OpSiteName(site), layer, sum.calls, sum.ns, work.bytes, work.flops);
      }
    }
  }
  return {wall.count(), std::move(rows)};
}

}  // namespace

void BindProfile(nb::module_& m) {
  m.def(
      "profile", &Profile, nb::arg("session"), nb::arg("tokens"), nb::arg("step"), nb::arg("cancel"),
      "Evaluates tokens in steps of that many: (wall time in ns, rows of kind, site, layer, calls, ns, bytes, flops).");
}

}  // namespace prenorm::python
