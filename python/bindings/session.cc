// Sessions: evaluation, generation, state. All that computes runs without the GIL.
#include "python/bindings/session.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <vector>

#include "prenorm/generate.h"
#include "python/bindings/pieces.h"

namespace nb = nanobind;

namespace prenorm::python {

PySession::PySession(const PyModel& model, size_t context, int threads, const std::string& cache, size_t chunk) {
  const std::map<std::string, SessionOptions::Cache> caches = {{"auto", SessionOptions::Cache::kAuto},
                                                               {"f32", SessionOptions::Cache::kF32},
                                                               {"f16", SessionOptions::Cache::kF16},
                                                               {"bf16", SessionOptions::Cache::kBF16},
                                                               {"int8", SessionOptions::Cache::kInt8}};
  const auto found = caches.find(cache);
  if (found == caches.end()) {
    throw StatusError(StatusCode::kInvalidArgument, "cache: expected auto, f32, f16, bf16 or int8, found " + cache);
  }
  SessionOptions options;
  options.context = context;
  options.threads = threads;
  options.cache = found->second;
  options.chunk = chunk;
  session_ = Take(Session::Create(model.model, options));
}

void PySession::Eval(std::span<const TokenId> tokens, const CancelFlag& cancel) {
  const Exclusive exclusive(busy_);
  const nb::gil_scoped_release no_gil;
  session_->set_cancel_flag(&cancel.set);
  const Status status = session_->Eval(tokens);
  session_->set_cancel_flag(nullptr);
  Check(status);
}

namespace {

using Floats = nb::ndarray<nb::numpy, float, nb::ndim<1>>;
Floats NumpyOf(std::vector<float> values) {
  auto* owned = new std::vector<float>(std::move(values));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  return Floats(owned->data(), {owned->size()}, owner);
}

nb::dict DictOf(const GenerateResult& result) {
  nb::dict d;
  d["text"] = result.text;
  d["ids"] = result.ids;
  d["prompt_tokens"] = result.prompt_tokens;
  d["reused_tokens"] = result.reused_tokens;
  d["finish_reason"] = FinishReasonName(result.finish_reason);
  d["prefill_ns"] = result.timings.prefill_ns;
  d["decode_ns"] = result.timings.decode_ns;
  d["ttft_ns"] = result.timings.ttft_ns;
  return d;
}

nb::dict GenerateWith(PySession& self, const std::vector<TokenId>& prompt, const CancelFlag& cancel, Pieces* pieces,
                      bool reuse_prefix, int64_t max_new_tokens, const std::vector<std::string>& stop,
                      bool ignore_end_tokens, float temperature, int64_t top_k, float top_p, float min_p,
                      float typical_p, float repetition_penalty, float presence_penalty, float frequency_penalty,
                      size_t no_repeat_ngram_size, const std::map<TokenId, float>& logit_bias, uint64_t seed,
                      bool lookup, PySession* draft) {
  const Exclusive exclusive(self.busy());
  std::optional<Exclusive> draft_exclusive;
  GenerateOptions options;
  options.reuse_prefix = reuse_prefix;
  options.max_new_tokens = max_new_tokens;
  options.stop = stop;
  options.ignore_end_tokens = ignore_end_tokens;
  if (!reuse_prefix) {
    const std::span<const TokenId> held = self.session().tokens();
    options.history.assign(held.begin(), held.end());
  }
  options.sampler = {repetition_penalty,
                     presence_penalty,
                     frequency_penalty,
                     no_repeat_ngram_size,
                     logit_bias,
                     temperature,
                     top_k,
                     top_p,
                     min_p,
                     typical_p,
                     seed};
  if (draft != nullptr) {
    draft_exclusive.emplace(draft->busy());
    options.speculation.kind = Speculation::Kind::kDraft;
    options.speculation.draft = &draft->session();
  } else if (lookup) {
    options.speculation.kind = Speculation::Kind::kLookup;
  }

  TokenCallback callback;
  if (pieces != nullptr) {
    callback = [pieces](std::string_view text, TokenId) {
      pieces->Put(text);
      return true;
    };
  }
  Result<GenerateResult> result = Status();
  {
    const nb::gil_scoped_release no_gil;
    result = Generate(self.session(), prompt, options, callback, &cancel.set);
  }
  return DictOf(Take(std::move(result)));
}

void ForkFrom(PySession& self, PySession& other, size_t position) {
  const Exclusive exclusive(self.busy()), other_exclusive(other.busy());
  const nb::gil_scoped_release no_gil;
  Check(self.session().ForkFrom(other.session(), position));
}

nb::bytes Save(PySession& self) {
  const Exclusive exclusive(self.busy());
  Result<std::vector<uint8_t>> bytes = Status();
  {
    const nb::gil_scoped_release no_gil;
    bytes = self.session().Save();
  }
  const std::vector<uint8_t> saved = Take(std::move(bytes));
  return nb::bytes(saved.data(), saved.size());
}

void Restore(PySession& self, const nb::bytes& bytes) {
  const Exclusive exclusive(self.busy());
  const std::span data(static_cast<const uint8_t*>(bytes.data()), bytes.size());
  const nb::gil_scoped_release no_gil;
  Check(self.session().Restore(data));
}

}  // namespace

void BindSession(nb::module_& m) {
  nb::class_<Pieces>(m, "Pieces", "The text of an answer, from the thread that makes it to the one that reads it.")
      .def(nb::init<>())
      .def("end", &Pieces::End)
      .def(
          "take", [](Pieces& self, double seconds) { return self.Take(std::chrono::duration<double>(seconds)); },
          nb::arg("seconds"), nb::call_guard<nb::gil_scoped_release>());
  nb::class_<PySession>(m, "Session", "One sequence of tokens with its cache.")
      .def(nb::init<const PyModel&, size_t, int, const std::string&, size_t>(), nb::arg("model"), nb::arg("context"),
           nb::arg("threads"), nb::arg("cache"), nb::arg("chunk"))
      .def(
          "eval",
          [](PySession& self, const std::vector<TokenId>& tokens, const CancelFlag& cancel) {
            self.Eval(tokens, cancel);
          },
          nb::arg("tokens"), nb::arg("cancel"))
      .def("logits",
           [](PySession& self) {
             const Exclusive exclusive(self.busy());
             const std::span<const float> logits = self.session().logits();
             return NumpyOf({logits.begin(), logits.end()});
           })
      .def("logprobs",
           [](PySession& self) {
             const Exclusive exclusive(self.busy());
             return NumpyOf(Take(self.session().LogProbs()));
           })
      .def(
          "rewind",
          [](PySession& self, size_t position) {
            const Exclusive exclusive(self.busy());
            Check(self.session().Rewind(position));
          },
          nb::arg("position"))
      .def("fork_from", &ForkFrom, nb::arg("other"), nb::arg("position"))
      .def("save", &Save)
      .def("restore", &Restore, nb::arg("state"))
      .def("generate", &GenerateWith, nb::arg("prompt"), nb::arg("cancel"), nb::arg("pieces").none(), nb::kw_only(),
           nb::arg("reuse_prefix") = false, nb::arg("max_new_tokens") = -1,
           nb::arg("stop") = std::vector<std::string>(), nb::arg("ignore_end_tokens") = false,
           nb::arg("temperature") = 0.0f, nb::arg("top_k") = 0, nb::arg("top_p") = 1.0f, nb::arg("min_p") = 0.0f,
           nb::arg("typical_p") = 1.0f, nb::arg("repetition_penalty") = 1.0f, nb::arg("presence_penalty") = 0.0f,
           nb::arg("frequency_penalty") = 0.0f, nb::arg("no_repeat_ngram_size") = 0,
           nb::arg("logit_bias") = std::map<TokenId, float>(), nb::arg("seed") = 0, nb::arg("lookup") = false,
           nb::arg("draft") = nb::none())
      .def_prop_ro("tokens",
                   [](PySession& self) {
                     const Exclusive exclusive(self.busy());
                     const std::span<const TokenId> held = self.session().tokens();
                     return std::vector<TokenId>(held.begin(), held.end());
                   })
      .def_prop_ro("position", [](PySession& self) { return self.session().position(); })
      .def_prop_ro("capacity", [](PySession& self) { return self.session().capacity(); })
      .def_prop_ro("threads", [](PySession& self) { return self.session().threads(); })
      .def_prop_ro("memory_bytes", [](PySession& self) { return self.session().memory_bytes(); });
  BindProfile(m);
}

}  // namespace prenorm::python
