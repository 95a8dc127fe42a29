// What families of decoders have in common: sizes, kinds of layers, the tensors of a block.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/binder.h"
#include "runtime/model/config_reader.h"
#include "runtime/model/parts.h"

namespace prenorm {

/// Reads the sizes of ModelConfig, those of the vocabulary from the tensors, and sets the attention scale to 1 /
/// sqrt(head_dim); errors are kept in `reader`. parts.block.norm says whether to read the eps of an RMSNorm or of a
/// LayerNorm; a config.ffn_dim set before is what holds where the file has none.
void ReadDecoderConfig(ConfigReader& reader, const Binder& binder, ModelParts& parts);

/// All layers rotate by one table, which is read here, and attend to everything.
void RotateAllLayers(ConfigReader& reader, Binder& binder, ModelParts& parts);

/// Gives a window of attention.sliding_window keys to the layers that the file lists as sliding, or, where it has no
/// list, to those for which `slides(layer)` holds. Without the key, or with 0, no layer has one. Call after
/// RotateAllLayers. Returns whether layer i slides, for each.
std::vector<bool> ReadWindows(ConfigReader& reader, ModelParts& parts, const std::function<bool(size_t)>& slides);

/// Every how many layers one does not slide, or `usual`, where the file has no number for it.
size_t ReadWindowPattern(ConfigReader& reader, size_t usual);

/// Refuses an activation that is not in the list; config.json names it, GGUF files leave it to the architecture, whose
/// activation is `usual`.
Gate ReadGate(ConfigReader& reader, Gate usual);

/// Reads the sizes of a mixture of experts, if the file has one.
void ReadExperts(ConfigReader& reader, ModelParts& parts);

/// Names of a block's norms where they are not the usual ones.
struct BlockNames {
  std::string_view attn_norm = "attn_norm";  ///< Empty: no norm before attention; likewise below.
  std::string_view ffn_norm = "ffn_norm";
  std::string_view post_attn_norm = "";
  std::string_view post_ffn_norm = "";
};

/// Binds embedding and blocks, as parts.block says.
void BindBlocks(ModelParts& parts, Binder& binder, const BlockNames& names);

/// The same with final norm and output matrix.
void BindDecoder(ModelParts& parts, Binder& binder, const BlockNames& names = {});

}  // namespace prenorm
