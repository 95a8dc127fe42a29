// Interleaved layout of quantized blocks: what each 32-bit word of a block holds, and how groups of rows share a block.
//
// A block of a row becomes `kHeaders` scale fields of `kHeaderBytes` each and `kWords` words. A group block holds, for
// G rows, field 0 of all rows, field 1 of all rows, ..., then word 0 of all rows, word 1 of all rows, ... Its size is G
// blocks. Codes of 32 consecutive elements are "planes" of words; byte k of the word belongs to element 4q + k, where
//   nibble plane, 4 words:  word q, low nibble: quad q (elements 4q..4q+3); high nibble: quad q + 4
//   bit plane, 1 word:      bit q of each byte: quad q
//   pair plane, 2 words:    bits 2 * (q % 4) of each byte of word q / 4: quad q
//   byte plane, 8 words:    word q: quad q
// so that a vector of word w of all rows, shifted and masked, is a vector of rows x 4 consecutive codes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "prenorm/types.h"

namespace prenorm::matmul {

inline constexpr size_t kMaxGroup = 16;        // rows
inline constexpr size_t kMaxBlockBytes = 210;  // of the interleaved types

/// Writes `blocks` consecutive blocks of `rows` <= group rows (row r at src + r * row_bytes) as group blocks; the
/// missing rows of the group become zero bytes.
void InterleaveBlocks(DType type, const uint8_t* src, size_t row_bytes, size_t rows, size_t blocks, size_t group,
                      uint8_t* dst);

/// The inverse for one row of one group block: writes its block_bytes bytes as they were in the file.
void ExtractBlock(DType type, const uint8_t* group_block, size_t row, size_t group, uint8_t* block);

}  // namespace prenorm::matmul
