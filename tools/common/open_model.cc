// Checks before loading, and the one line that says what runs.
#include "tools/common/open_model.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>

#include "prenorm/doctor.h"
#include "prenorm/target.h"
#include "tools/common/words.h"
#include "tools/fetch/catalog.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/interrupt.h"
#include "tools/common/terminal.h"

namespace prenorm::tools {
namespace {

using Clock = std::chrono::steady_clock;

Status CheckMemory(const std::string& path, const Options& options) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  const uint64_t available = AvailableMemory();
  if (error || options.no_memory_check || bytes <= available) return Status();
  return Status(StatusCode::kOutOfMemory, "The model does not fit in memory.\n" + path + ": needs " + SizeText(bytes) +
                                              ", free are " + SizeText(available) +
                                              "\nTake a smaller model, or insist with --no-memory-check.");
}

SessionOptions::Cache CacheType(const std::string& name) {
  if (name == "f32") return SessionOptions::Cache::kF32;
  if (name == "f16") return SessionOptions::Cache::kF16;
  if (name == "int8") return SessionOptions::Cache::kInt8;
  if (name == "bf16") return SessionOptions::Cache::kBF16;
  return SessionOptions::Cache::kAuto;
}

}  // namespace

Result<OpenedModel> OpenModel(const Options& options) {
  if (!options.target.empty()) {
    if (Status status = ForceTarget(options.target); !status.ok()) {
      return Status(StatusCode::kInvalidArgument, status.message());
    }
  }
  Result<std::string> path = FindModelFile(options.model);
  if (!path.ok()) return path.status();
  if (Status status = CheckMemory(*path, options); !status.ok()) return status;

  const auto begin = Clock::now();
  LoadOptions load;
  load.use_mmap = !options.no_mmap;
  if (options.prepared) {
    Result<std::string> folder = PreparedFolder();
    if (!folder.ok()) return folder.status();
    load.prepared_folder = std::move(*folder);
  }
  bool shown = false;
  load.progress = [&](float share) {
    if (Clock::now() - begin > std::chrono::seconds(1)) {  // A second without a sign is long enough.
      char text[64];
      std::snprintf(text, sizeof text, "loading %3.0f %%", static_cast<double>(share) * 100);
      Progress(text);
      shown = true;
    }
    return !InterruptFlag();
  };
  Result<std::shared_ptr<const Model>> model = Model::Load(*path, load);
  if (shown) Progress("");
  if (!model.ok()) return model.status();
  OpenedModel opened;
  opened.model = std::move(model).value();
  opened.load_ns = static_cast<uint64_t>((Clock::now() - begin) / std::chrono::nanoseconds(1));
  if (!options.quiet) {
    for (const std::string& warning : opened.model->warnings()) Note("prenorm: note: " + Indented(warning));
    for (const std::string& warning : opened.model->tokenizer().warnings()) Note("prenorm: note: " + Indented(warning));
  }
  return opened;
}

Result<std::unique_ptr<Session>> OpenSession(const OpenedModel& opened, const Options& options, size_t least_context) {
  if (Status status = CheckThreads(options.threads); !status.ok()) return status;
  if (options.context < 0) return OutOfRange("--context", options.context, "1 or more");
  const size_t longest = opened.model->config().max_seq_len;
  if (static_cast<uint64_t>(options.context) > longest) {
    return OutOfRange("--context", options.context,
                      "1 to " + std::to_string(longest) + ", what the model was made for");
  }
  if (options.chunk < 1) return OutOfRange("--chunk", options.chunk, "1 or more");
  SessionOptions session_options;
  session_options.context =
      options.context > 0 ? static_cast<size_t>(options.context) : std::min(least_context, longest);
  session_options.threads = static_cast<int>(options.threads);
  session_options.cache = CacheType(options.cache);
  session_options.deterministic = options.deterministic;
  if (options.norm == "input") session_options.norm = SessionOptions::Norm::kAtInput;
  if (options.norm == "deferred") session_options.norm = SessionOptions::Norm::kDeferred;
  session_options.chunk = static_cast<size_t>(options.chunk);
  Result<std::unique_ptr<Session>> session = Session::Create(opened.model, session_options);
  if (!session.ok() || options.quiet || !StderrIsTerminal()) return session;

  const Model& model = *opened.model;
  const std::string threads = options.threads > 0 ? "as asked" : DefaultThreads().reason;
  const std::string name = model.config().name.empty() ? model.config().architecture : model.config().name;
  const uint64_t available = AvailableMemory();
  Note(Styled(Style::kDim,
              name + ", " + std::string(model.quantization()) + " | " + std::to_string((*session)->threads()) +
                  " threads (" + threads + ") | " + ActiveTarget() + " | context " +
                  std::to_string((*session)->capacity()) + " | needs " +
                  SizeText(model.weight_bytes() + (*session)->memory_bytes()) +
                  (available == std::numeric_limits<uint64_t>::max() ? "" : ", free " + SizeText(available))));
  return session;
}

Result<OpenedDraft> OpenDraft(const Options& options) {
  OpenedDraft draft;
  if (options.draft.empty()) return draft;
  Options of_draft = options;
  of_draft.model = options.draft;
  of_draft.quiet = true;
  Result<OpenedModel> opened = OpenModel(of_draft);
  if (!opened.ok()) return opened.status();
  of_draft.context = std::min(options.context, static_cast<int64_t>(opened->model->config().max_seq_len));
  Result<std::unique_ptr<Session>> session = OpenSession(*opened, of_draft);
  if (!session.ok()) return session.status();
  draft.opened = std::move(*opened);
  draft.session = std::move(*session);
  return draft;
}

Status RestoreSession(Session& session, const Options& options) {
  if (options.session.empty()) return Status();
  const Status status = session.RestoreFile(options.session);
  if (status.code() != StatusCode::kNotFound) return status;
  // A place that takes no file is refused here, not when an answer is to be kept.
  std::string folder = std::filesystem::path(options.session).parent_path().string();
  if (folder.empty()) folder = ".";
  if (access(folder.c_str(), W_OK | X_OK) == 0) return Status();
  return Status(StatusCode::kIo, "The session cannot be kept.\n'" + options.session +
                                     "' cannot be written: in the folder '" + folder + "' no file can be made: " +
                                     std::strerror(errno) + "\nMake the folder, or give --session a file elsewhere.");
}

Status KeepSession(const Session& session, const Options& options) {
  return options.session.empty() ? Status() : session.SaveFile(options.session);
}

}  // namespace prenorm::tools
