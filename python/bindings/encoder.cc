// Texts to vectors.
#include "prenorm/encoder.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string_view>
#include <vector>

#include "python/bindings/bindings.h"

namespace nb = nanobind;

namespace prenorm::python {
namespace {

class PyEncoder {
 public:
  PyEncoder(const PyModel& model, int threads, const std::optional<std::string>& pooling, std::optional<bool> normalize,
            size_t max_tokens, bool truncate, bool parse_special) {
    EncoderOptions options;
    options.threads = threads;
    if (pooling) options.pooling = PoolingOf(*pooling);
    options.normalize = normalize;
    options.max_tokens = max_tokens;
    options.truncate = truncate;
    options.parse_special = parse_special;
    encoder_ = Take(Encoder::Create(model.model, options));
  }

  // [texts, dim], owned by Python.
  nb::ndarray<nb::numpy, float, nb::ndim<2>> Embed(const std::vector<std::string>& texts, const CancelFlag& cancel) {
    const Exclusive exclusive(busy_);
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    auto out = std::make_unique<std::vector<float>>(texts.size() * encoder_->dim());
    {
      const nb::gil_scoped_release no_gil;
      encoder_->set_cancel_flag(&cancel.set);
      const Status status = encoder_->Embed(views, out->data());
      encoder_->set_cancel_flag(nullptr);
      Check(status);
    }
    float* data = out->data();
    const nb::capsule owner(out.release(), [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
    return {data, {texts.size(), encoder_->dim()}, owner};
  }

  const Encoder& encoder() const { return *encoder_; }

 private:
  static Pooling PoolingOf(const std::string& name) {
    for (const Pooling pooling : {Pooling::kMean, Pooling::kCls, Pooling::kLast}) {
      if (name == PoolingName(pooling)) return pooling;
    }
    throw StatusError(StatusCode::kInvalidArgument, "pooling: expected mean, cls or last, found " + name);
  }

  std::unique_ptr<Encoder> encoder_;
  std::atomic<bool> busy_{false};
};

}  // namespace

void BindEncoder(nb::module_& m) {
  nb::class_<PyEncoder>(m, "Encoder", "Turns texts into vectors.")
      .def(nb::init<const PyModel&, int, const std::optional<std::string>&, std::optional<bool>, size_t, bool, bool>(),
           nb::arg("model"), nb::arg("threads") = 0, nb::arg("pooling") = nb::none(), nb::arg("normalize") = nb::none(),
           nb::arg("max_tokens") = 0, nb::arg("truncate") = false, nb::arg("parse_special") = false)
      .def("embed", &PyEncoder::Embed, nb::arg("texts"), nb::arg("cancel"))
      .def_prop_ro("dim", [](const PyEncoder& self) { return self.encoder().dim(); })
      .def_prop_ro("max_tokens", [](const PyEncoder& self) { return self.encoder().max_tokens(); })
      .def_prop_ro("pooling", [](const PyEncoder& self) { return std::string(PoolingName(self.encoder().pooling())); })
      .def_prop_ro("normalizes", [](const PyEncoder& self) { return self.encoder().normalizes(); });
}

}  // namespace prenorm::python
