// The extension module prenorm._prenorm: exceptions, and what is no object.
#include <dlfcn.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <omp.h>

#include <tuple>
#include <vector>

#include "prenorm/doctor.h"
#include "prenorm/session.h"
#include "prenorm/target.h"
#include "python/bindings/bindings.h"

namespace nb = nanobind;

namespace prenorm::python {
namespace {

// prenorm.Error, kept for the life of the process as the module is.
PyObject* error_type = nullptr;

PyObject* TypeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return PyExc_ValueError;
    case StatusCode::kNotFound:
      return PyExc_FileNotFoundError;
    case StatusCode::kIo:
      return PyExc_OSError;
    case StatusCode::kOutOfMemory:
      return PyExc_MemoryError;
    default:
      return error_type;
  }
}

// The code's name is an attribute of prenorm.Error; the others are told apart by their types.
void Translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const StatusError& e) {
    PyObject* type = TypeOf(e.code());
    if (type != error_type) return PyErr_SetString(type, e.what());
    const nb::object error = nb::borrow(type)(e.what());
    error.attr("code") = StatusCodeName(e.code());
    PyErr_SetObject(type, error.ptr());
  }
}

auto Findings() {
  std::vector<std::tuple<std::string, std::string, std::string, std::string>> findings;
  for (const Finding& f : Diagnose()) findings.emplace_back(f.id, FindingLevelName(f.level), f.text, f.hint);
  return findings;
}

// The file whose OpenMP runtime the engine's threads come from: the linker may have found another than the one it was
// linked with (see _openmp.py).
std::string OpenMpLibrary() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&omp_get_thread_num), &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

}  // namespace
}  // namespace prenorm::python

NB_MODULE(_prenorm, m) {
  using namespace prenorm;  // NOLINT(google-build-using-namespace): one function.
  m.doc() = "The compiled part of the package prenorm, which documents what it gives.";
  python::error_type = PyErr_NewExceptionWithDoc(
      "prenorm.Error", "What the library could not do; `code` is the name of its kind, e.g. \"bad_model\".",
      PyExc_RuntimeError, nullptr);
  m.attr("Error") = nb::borrow(python::error_type);
  nb::register_exception_translator(&python::Translate);
  nb::class_<python::CancelFlag>(m, "CancelFlag", "Ends the call that it is given to, within a layer.")
      .def(nb::init<>())
      .def("cancel", [](python::CancelFlag& self) { self.set = true; })
      .def_prop_ro("cancelled", [](const python::CancelFlag& self) { return self.set.load(); });
  m.attr("__version__") = PRENORM_VERSION;
  m.def(
      "target", [] { return std::string(ActiveTarget()); }, "Name of the SIMD target in use, e.g. \"AVX2\".");
  m.def("compiled_targets", &CompiledTargets, "Names of the SIMD targets in this build, best first.");
  m.def(
      "default_threads", [] { return DefaultThreads().threads; }, "Threads that sessions take unless told otherwise.");
  m.def("diagnose", &python::Findings,
        "What on this machine, and in this process, costs speed: (id, \"ok\", \"note\" or \"warning\", text, hint).");
  m.def("openmp_library", &python::OpenMpLibrary, "Path of the OpenMP runtime in use.");
  python::BindFetch(m);
  python::BindModel(m);
  python::BindSession(m);
  python::BindEncoder(m);
  python::BindNorm(m);
}
