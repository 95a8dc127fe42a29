// Prepared weights: a file of a model's matrices in the layout of a SIMD target, mapped read-only. Processes that use
// it share its pages, and none has to re-order anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "prenorm/status.h"
#include "runtime/loader/tensor_source.h"
#include "runtime/model/parts.h"

namespace prenorm {

/// The prepared form of one model: what is in its file and where, all of it derived from the model, so that nothing in
/// the file is believed but the weights.
///
/// File     header (magic, version, row group, key, sizes, checksum), a hash for each MiB of the rest, then from the
///          next multiple of 4096 on the matrices in the order of ModelWeights::ForEachMatrix, each at a multiple of
///          64. Matrices of every type, those too that no target interleaves; not those of TensorsKeptAsStored.
/// Name     FILE-STATE-KEY-rowsN.prepared: name of the model's file, N rows of an interleave group, and 16 digits each
///          that depend on sizes and times of the model's files, and on these, the fingerprint of the model and the
///          layout. A model that changed in any of these gets another file.
class PreparedWeights {
 public:
  /// `parts`: bound to its source, nothing interleaved yet. Refers to it.
  explicit PreparedWeights(ModelParts& parts);

  /// The file's name, without a folder.
  const std::string& name() const { return name_; }
  /// Bytes of the whole file.
  uint64_t file_bytes() const { return data_begin_ + data_bytes_; }

  /// Maps the file and points the weights of the model into it; all of it is read once, for the check.
  /// `progress` as in LoadOptions. Errors leave the weights as they were: kNotFound; kBadModel for what is damaged or
  /// not the file of this model; kIo, kOutOfMemory, kCancelled.
  Status Use(const std::string& path, const std::function<bool(float)>& progress);

  /// Writes the file. It appears when it is complete; of processes that do this at once one writes and the others wait
  /// for it. Returns whether this one wrote. Errors: kIo with the system's reason, kCancelled.
  Result<bool> Make(const std::string& path, const std::function<bool(float)>& progress) const;

 private:
  struct Placed {
    WeightMatrix matrix;  // As bound: rows one after the other.
    uint64_t offset;      // In the data.
  };

  void PointTo(const uint8_t* data);  // Null: back to the source.
  Status Check(std::span<const uint8_t> file, const std::string& path,
               const std::function<bool(float)>& progress) const;

  ModelParts& parts_;
  std::vector<const TensorInfo*> tables_;
  std::vector<Placed> placed_;
  std::vector<size_t> visits_;  // Index in placed_ for each call of ForEachMatrix, or kElsewhere.
  uint64_t data_begin_ = 0;
  uint64_t data_bytes_ = 0;
  uint64_t key_ = 0;
  uint64_t fingerprint_ = 0;
  std::string name_;
};

/// Takes the weights of `parts` from their prepared file in `folder`, which is made first where it is missing or
/// damaged; the folder too. Notes the path in parts.prepared_path. Errors: as above; kBadModel for a file that was
/// damaged as soon as it was written.
Status UsePreparedWeights(const std::string& folder, ModelParts& parts, const std::function<bool(float)>& progress);

}  // namespace prenorm
