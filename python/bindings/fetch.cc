// From a model's name to its file, as the command does it.
#include "tools/fetch/fetch.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <string>

#include "python/bindings/bindings.h"
#include "tools/fetch/catalog.h"

namespace nb = nanobind;

namespace prenorm::python {
namespace {

std::string Fetch(const std::string& name, const std::function<void(std::string)>& note,
                  const std::function<bool(std::string, double)>& progress, const CancelFlag& cancel) {
  Callbacks callbacks;
  tools::FetchOptions options;
  options.note = [&](const std::string& text) {
    callbacks([&] {
      note(text);
      return true;
    });
  };
  options.watch.progress = [&](const std::string& file, double share) {
    return callbacks([&] { return progress(file, share); });
  };
  options.watch.cancelled = [&] { return cancel.set.load(); };
  Result<std::string> path = Status();
  {
    const nb::gil_scoped_release no_gil;
    path = tools::FetchModel(name, options);
  }
  callbacks.Rethrow();
  return Take(std::move(path));
}

}  // namespace

void BindFetch(nb::module_& m) {
  m.def(
      "find_model", [](const std::string& name) { return Take(tools::FindModelFile(name)); }, nb::arg("name"),
      "The path of a model that is here: itself, or what the cache has by that name; \"\": the default model.");
  m.def("can_download", &tools::CanDownload, "Whether this build can fetch at all.");
  m.def("can_fetch", &tools::CanFetch, nb::arg("name"), "Whether the catalog or a hub may have a model of that name.");
  m.def("fetch_model", &Fetch, nb::arg("name"), nb::arg("note"), nb::arg("progress"), nb::arg("cancel"),
        "Fetches a model into the cache unless it is there; returns its path. progress(file, share) may return False.");
  m.def(
      "default_model", [] { return tools::DefaultModel().name; }, "The name of the model of those who name none.");
  m.def(
      "prepared_folder", [] { return Take(tools::PreparedFolder()); }, "Where prepared weights are kept.");
}

}  // namespace prenorm::python
