// Models of the C interface.
#include "prenorm/model.h"

#include <cstddef>
#include <limits>
#include <new>

#include "runtime/c_api/handles.h"

namespace prenorm::c_api {
namespace {

// A callback of a C++ host that throws, although it must not, stops the loading instead of ending the process.
LoadOptions OptionsOf(const prenorm_model_options& options) {
  LoadOptions result;
  result.use_mmap = options.no_mmap == 0;
  if (options.prepared_folder != nullptr) result.prepared_folder = options.prepared_folder;
  if (options.progress != nullptr) {
    result.progress = [options](float share) {
      try {
        return options.progress(options.progress_user, share) == PRENORM_CONTINUE;
      } catch (...) {
        return false;
      }
    };
  }
  return result;
}

template <class Load>
Outcome LoadWith(const char* function, const prenorm_model_options* given, prenorm_model** model, const Load& load) {
  if (model == nullptr) return IsNull(function, "model");
  prenorm_model_options options = PRENORM_MODEL_OPTIONS_INIT;
  if (Outcome outcome = ReadStruct("prenorm_model_options", given, options); !outcome.ok()) return outcome;
  auto handle = std::make_unique<prenorm_model>();
  Result<std::shared_ptr<const Model>> loaded = load(OptionsOf(options));
  if (!loaded.ok()) return loaded.status();
  handle->model = std::move(loaded).value();
  if (options.log != nullptr) {
    for (const std::string& text : handle->model->tokenizer().warnings()) {
      options.log(options.log_user, PRENORM_LOG_WARNING, text.c_str());
    }
    for (const std::string& text : handle->model->warnings()) {
      options.log(options.log_user, PRENORM_LOG_WARNING, text.c_str());
    }
  }
  *model = handle.release();
  return {};
}

}  // namespace

Outcome CheckModel(const char* function, const prenorm_model* model) {
  if (model == nullptr) return IsNull(function, "model");
  if (model->tag != Tag::kModel) return Invalid(std::string(function) + ": this is no model");
  return {};
}

}  // namespace prenorm::c_api

using namespace prenorm::c_api;  // NOLINT(google-build-using-namespace): the functions below have C names.

prenorm_status prenorm_model_load(const char* path, const prenorm_model_options* options, prenorm_model** model,
                                  prenorm_error* error) {
  return Call(error, [&]() -> Outcome {
    if (path == nullptr) return IsNull("prenorm_model_load", "path");
    if (path[0] == '\0') return Invalid("prenorm_model_load: path is empty");
    return LoadWith("prenorm_model_load", options, model,
                    [&](const prenorm::LoadOptions& load_options) { return prenorm::Model::Load(path, load_options); });
  });
}

prenorm_status prenorm_model_load_memory(const void* bytes, size_t n_bytes, const prenorm_model_options* options,
                                         prenorm_model** model, prenorm_error* error) {
  return Call(error, [&]() -> Outcome {
    if (bytes == nullptr) return IsNull("prenorm_model_load_memory", "bytes");
    if (n_bytes > static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max())) {
      return Invalid("prenorm_model_load_memory: n_bytes is " + std::to_string(n_bytes) + ", more than memory has");
    }
    return LoadWith("prenorm_model_load_memory", options, model, [&](const prenorm::LoadOptions& load_options) {
      return prenorm::Model::LoadFromMemory({static_cast<const uint8_t*>(bytes), n_bytes}, load_options);
    });
  });
}

void prenorm_model_free(prenorm_model* model) {
  if (model != nullptr && model->tag == Tag::kModel) delete model;
}

prenorm_status prenorm_model_get_info(const prenorm_model* model, prenorm_model_info* info, prenorm_error* error) {
  return Call(error, [&]() -> Outcome {
    if (Outcome outcome = CheckModel("prenorm_model_get_info", model); !outcome.ok()) return outcome;
    const prenorm::ModelConfig& config = model->model->config();
    const prenorm::Tokenizer& tokenizer = model->model->tokenizer();
    prenorm_model_info known = PRENORM_MODEL_INFO_INIT;
    known.bos = tokenizer.bos();
    known.eos = tokenizer.eos();
    known.adds_bos = tokenizer.adds_bos() ? 1 : 0;
    known.vocab_size = config.vocab_size;
    known.max_seq_len = config.max_seq_len;
    known.dim = config.dim;
    known.n_layers = config.n_layers;
    known.weight_bytes = model->model->weight_bytes();
    return WriteStruct("prenorm_model_info", known, info);
  });
}

prenorm_status prenorm_model_get_text(const prenorm_model* model, int32_t which, const char** text,
                                      prenorm_error* error) {
  return Call(error, [&]() -> Outcome {
    if (Outcome outcome = CheckModel("prenorm_model_get_text", model); !outcome.ok()) return outcome;
    if (text == nullptr) return IsNull("prenorm_model_get_text", "text");
    // All four are views of whole strings, which end in a zero byte.
    switch (which) {
      case PRENORM_MODEL_ARCHITECTURE:
        *text = model->model->config().architecture.c_str();
        return {};
      case PRENORM_MODEL_NAME:
        *text = model->model->config().name.c_str();
        return {};
      case PRENORM_MODEL_QUANTIZATION:
        *text = model->model->quantization().data();
        return {};
      case PRENORM_MODEL_CHAT_TEMPLATE:
        *text = model->model->chat_template().data();
        return {};
      default:
        return Invalid("prenorm_model_get_text: there is no text " + std::to_string(which));
    }
  });
}
