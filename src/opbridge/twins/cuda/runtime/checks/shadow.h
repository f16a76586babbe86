// The memory of the cells: allocated for the addresses that need it, and freed with them.
//
// Cells are used without locks, by these rules.
// * A cell is one aligned word that is loaded and stored whole: a reader sees one access, never parts of two.  Of two
//   accesses that stamp it at the same time, one is lost: a race may be missed so, and none is invented.
// * A chunk is entered in `directory` once, by a release store, after its memory has been made, and never leaves it;
//   readers load the entry with acquire.
// * The four byte cells of a granule are written before its own cell becomes kSplit, by a release store; a reader that
//   loads kSplit with acquire finds them.  Until the memory is freed the granule stays split.
// * Cells are cleared or set without atomics only when memory is allocated or freed, and no other thread uses it.
#ifndef OPBRIDGE_TWIN_CHECKS_SHADOW_H
#define OPBRIDGE_TWIN_CHECKS_SHADOW_H

#include <stddef.h>
#include <stdint.h>

#include "state.h"

namespace opbridge_twin::checks {

// Gives the addresses cells, all kAsk where there were none.  False where the system has no memory for them.
bool cover(uintptr_t begin, size_t bytes);

// Sets the cells of these addresses to kAsk, those of the bytes that share a granule with them included.
void clear_cells(uintptr_t begin, size_t bytes);

// Sets every cell there is to kAsk.
void clear_all_cells();

// Turns kAsk into `value` for [begin, end), bytes that share their granule with others apart.
void fill_cells(uintptr_t begin, uintptr_t end, Cell value);

// Sets the cells of memory that lies in one chunk, and that nobody else uses at the time.  Bytes of others that share a
// granule with it become kAsk.
void set_cells(uintptr_t begin, uintptr_t end, Cell value);

// The granule's cell, null where the address has none.
inline Cell* cell_at(uintptr_t address) {
  if (address >> 47 != 0) return nullptr;
  Cell* const chunk = __atomic_load_n(&directory[chunk_index(address)], __ATOMIC_ACQUIRE);
  return chunk == nullptr ? nullptr : chunk + cell_index(address);
}

inline Cell* byte_cell_at(uintptr_t address) {
  return __atomic_load_n(&directory[chunk_index(address)], __ATOMIC_ACQUIRE) + byte_cell_index(address);
}

// Gives each byte of a granule a cell of its own; returns kSplit.
Cell split(uintptr_t address, Cell* cell);

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_SHADOW_H
