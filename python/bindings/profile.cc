// Times of operators of a prompt and of the tokens behind it, with the work that each has to do.
#include "prenorm/profile.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <span>
#include <tuple>
#include <vector>

#include "prenorm/op_totals.h"
#include "prenorm/op_work.h"
#include "python/bindings/session.h"

namespace nb = nanobind;

namespace prenorm::python {
namespace {

// Kind, site, layer, calls, nanoseconds, bytes, arithmetic.
using Row = std::tuple<std::string, std::string, int32_t, uint64_t, double, uint64_t, uint64_t>;

// Evaluates `tokens` in steps of `step` and returns the wall time in nanoseconds and the rows of what ran.
std::tuple<double, std::vector<Row>> Profile(PySession& self, const std::vector<TokenId>& tokens, size_t step,
                                             const CancelFlag& cancel) {
  if (step == 0) throw StatusError(StatusCode::kInvalidArgument, "step: expected at least 1, found 0");
  Session& session = self.session();
  const Model& model = session.model();
  OpTotals totals(session.threads(), model.config().n_layers);
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
  for (const OpRow& row : totals.Rows()) {
    OpWork work;
    for (const StepShape& shape : steps) {
      const OpWork one = WorkOf(model, row.kind, row.site, row.layer, shape);
      work.bytes += one.bytes;
      work.flops += one.flops;
    }
    rows.emplace_back(OpKindName(row.kind), OpSiteName(row.site), row.layer, row.most_calls,
                      static_cast<double>(row.ns) / session.threads(), work.bytes, work.flops);
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
