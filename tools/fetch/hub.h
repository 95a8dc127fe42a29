// The files of a model on a hub that speaks the Hugging Face protocol.
#pragma once

#include <string>
#include <vector>

#include "prenorm/status.h"
#include "tools/fetch/download.h"

namespace prenorm::tools {

/// What of a repository makes a model, in the order in which it is fetched: what shows that a model is complete comes
/// last (config.json, the first part of a split file).
struct HubModel {
  std::string id;  ///< OWNER/NAME
  std::vector<Download> files;
};

/// Whether a name is OWNER/NAME or OWNER/NAME:PART, each of letters, digits, '-', '_' and '.'.
bool IsHubName(const std::string& name);

/// Asks the hub (HF_ENDPOINT, else the public one; with HF_TOKEN where that is set) for the files of `name`, to be kept
/// below `folder`. Of several GGUF models in a repository :PART chooses the one with PART in its name; without GGUF
/// files the safetensors and what belongs to them make the model.
/// Errors: those of FetchText; kInvalidArgument where several models match, with their names; kNotFound for none.
Result<HubModel> ReadHubModel(const std::string& name, const std::string& folder, const FetchWatch& watch);

}  // namespace prenorm::tools
