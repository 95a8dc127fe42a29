// Models, their tokenizers and chat templates.
#include "prenorm/model.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>
#include <tuple>

#include "prenorm/chat.h"
#include "prenorm/infill.h"
#include "python/bindings/bindings.h"

namespace nb = nanobind;

namespace prenorm::python {
namespace {

using ProgressFunction = std::optional<std::function<bool(float)>>;
using Message = std::tuple<std::string, std::string, std::string>;  // Role, content, further fields as JSON.

template <class LoadIt>
PyModel LoadModel(LoadOptions options, const ProgressFunction& progress, const CancelFlag& cancel,
                  const LoadIt& load_it) {
  Callbacks callbacks;
  options.progress = [&](float share) {
    return !cancel.set && (!progress || callbacks([&] { return (*progress)(share); }));
  };
  Result<std::shared_ptr<const Model>> model = Status();
  {
    const nb::gil_scoped_release no_gil;
    model = load_it(options);
  }
  callbacks.Rethrow();
  return {Take(std::move(model))};
}

PyModel Load(const std::string& path, bool use_mmap, const std::string& prepared_folder,
             const ProgressFunction& progress, const CancelFlag& cancel) {
  LoadOptions options;
  options.use_mmap = use_mmap;
  options.prepared_folder = prepared_folder;
  return LoadModel(options, progress, cancel, [&](const LoadOptions& given) { return Model::Load(path, given); });
}

PyModel LoadMemory(const nb::bytes& bytes, const CancelFlag& cancel) {
  const std::span data(static_cast<const uint8_t*>(bytes.data()), bytes.size());
  return LoadModel({}, {}, cancel, [&](const LoadOptions& given) { return Model::LoadFromMemory(data, given); });
}

nb::dict Config(const PyModel& self) {
  const ModelConfig& config = self.model->config();
  nb::dict d;
  d["architecture"] = config.architecture;
  d["name"] = config.name;
  d["quantization"] = std::string(self.model->quantization());
  d["dim"] = config.dim;
  d["ffn_dim"] = config.ffn_dim;
  d["n_layers"] = config.n_layers;
  d["n_heads"] = config.n_heads;
  d["n_kv_heads"] = config.n_kv_heads;
  d["head_dim"] = config.head_dim;
  d["vocab_size"] = config.vocab_size;
  d["max_seq_len"] = config.max_seq_len;
  d["norm_eps"] = config.norm_eps;
  d["weight_bytes"] = self.model->weight_bytes();
  return d;
}

std::vector<TokenId> Encode(const PyModel& self, const std::string& text, bool add_special, bool parse_special) {
  const nb::gil_scoped_release no_gil;
  return Take(self.model->tokenizer().Encode(text, {add_special, parse_special}));
}

std::pair<std::string, std::vector<TokenId>> Render(const PyModel& self, const std::vector<Message>& messages,
                                                    bool add_generation_prompt, const std::string& arguments,
                                                    const std::string& chat_template) {
  std::vector<ChatMessage> chat;
  for (const auto& [role, content, fields] : messages) chat.push_back({role, content, fields});
  const nb::gil_scoped_release no_gil;
  ChatPrompt prompt = Take(RenderChat(*self.model, chat, {add_generation_prompt, arguments, chat_template}));
  return {std::move(prompt.text), std::move(prompt.ids)};
}

std::vector<TokenId> Infill(const PyModel& self, const std::string& prefix, const std::string& suffix) {
  return Take(InfillPrompt(*self.model, prefix, suffix));
}

nb::dict SpecialTokens(const PyModel& self) {
  const Tokenizer& tokenizer = self.model->tokenizer();
  const std::span<const TokenId> ends = tokenizer.end_tokens();
  nb::dict d;
  d["bos"] = tokenizer.bos();
  d["eos"] = tokenizer.eos();
  d["ends"] = std::vector<TokenId>(ends.begin(), ends.end());
  return d;
}

}  // namespace

void BindModel(nb::module_& m) {
  nb::class_<PyModel>(m, "Model", "A loaded model.")
      .def_static("load", &Load, nb::arg("path"), nb::arg("use_mmap"), nb::arg("prepared_folder"),
                  nb::arg("progress").none(), nb::arg("cancel"))
      .def_static("load_memory", &LoadMemory, nb::arg("bytes"), nb::arg("cancel"))
      .def_prop_ro("config", &Config)
      .def_prop_ro("chat_template", [](const PyModel& self) { return std::string(self.model->chat_template()); })
      .def_prop_ro("warnings", [](const PyModel& self) { return self.model->warnings(); })
      .def_prop_ro("prepared_path", [](const PyModel& self) { return self.model->prepared_path(); })
      .def_prop_ro("special_tokens", &SpecialTokens)
      .def("encode", &Encode, nb::arg("text"), nb::arg("add_special"), nb::arg("parse_special"))
      .def(
          "decode",
          [](const PyModel& self, const std::vector<TokenId>& ids, bool with_special) {
            return self.model->tokenizer().Decode(ids, with_special);
          },
          nb::arg("ids"), nb::arg("with_special"))
      .def(
          "piece",
          [](const PyModel& self, TokenId id) {
            const std::string piece = self.model->tokenizer().Piece(id, true);
            return nb::bytes(piece.data(), piece.size());
          },
          nb::arg("id"))
      .def("render_chat", &Render, nb::arg("messages"), nb::arg("add_generation_prompt"), nb::arg("arguments"),
           nb::arg("chat_template"))
      .def("infill_prompt", &Infill, nb::arg("prefix"), nb::arg("suffix"));
}

}  // namespace prenorm::python
