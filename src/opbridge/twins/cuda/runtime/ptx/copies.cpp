// Copies that need no thread to wait: each has happened when it was asked for, and then tells its barrier.  The checks
// count it as under way until its thread has waited.
#include "mbarriers.h"
#include "operands.h"

namespace opbridge_twin::ptx {

namespace {

constexpr unsigned kUnit = 16;  // of what is copied in bulk

bool is_aligned(const void* place) { return reinterpret_cast<uintptr_t>(place) % kUnit == 0; }

// Copies the first `given` bytes, and fills the rest with zeros.
void copy_and_fill(M m, char* to, const char* from, unsigned bytes, unsigned given) {
  if (given >= bytes) return m.move(to, from, bytes, OB_TWIN_PTX_MOVE);
  const unsigned step = given % 4 == 0 ? 4 : 1;
  const uint64_t zero = 0;
  for (unsigned n = 0; n < bytes; n += step) {
    m.move(to + n, n < given ? static_cast<const void*>(from + n) : &zero, step, OB_TWIN_PTX_MOVE);
  }
}
void copy_few(M m, I i) {
  char* const to = m.memory(i, i.operands.at(0));
  const char* const from = m.memory_in("global", i.operands.at(1));
  const unsigned bytes = static_cast<unsigned>(m.get(i.operands.at(2)));
  const unsigned given = i.operands.size() > 3 ? static_cast<unsigned>(cut(m.get(i.operands[3]), 32)) : bytes;
  copy_and_fill(m, to, from, bytes, given);
  ob_twin_copy_begins(to, bytes);
}
void copy_bulk(M m, I i) {
  if (i.has("tensor") || i.has("multicast::cluster") || i.words[1] == "reduce") {
    m.refuse('`' + i.text + "`: the twin has no such instruction");
  }
  char* const to = m.memory_in(i.words.at(3), i.operands.at(0));
  const char* const from = m.memory_in(i.words.at(4), i.operands.at(1));
  const uint64_t bytes = cut(m.get(i.operands.at(2)), 32);
  if (!is_aligned(to) || !is_aligned(from) || bytes % kUnit != 0) {
    m.refuse('`' + i.text + "`: both addresses and the number of bytes must be multiples of 16");
  }
  ob_twin_bulk_writes();
  ob_twin_bulk_reads(from, bytes);
  for (uint64_t at = 0; at < bytes; at += kUnit) m.move(to + at, from + at, kUnit, OB_TWIN_PTX_MOVE);
  ob_twin_bulk_has_read(from, bytes);
  if (i.has("mbarrier::complete_tx::bytes")) bytes_have_come(m, m.memory_in("shared", i.operands.at(3)), bytes);
}

void copy_async(M m, I i) {
  if (i.has("prefetch")) return;
  if (i.has("bulk") && i.has("commit_group")) return ob_twin_bulk_commit();
  if (i.has("bulk") && i.has("wait_group")) return ob_twin_bulk_wait(static_cast<unsigned>(m.get(i.operands.at(0))));
  if (i.has("commit_group")) return ob_twin_copies_commit();
  if (i.has("wait_group")) return ob_twin_copies_wait(static_cast<unsigned>(m.get(i.operands.at(0))));
  if (i.has("wait_all")) return ob_twin_copies_wait_for_all();
  if (i.has("mbarrier")) {
    ob_twin_copies_wait_for_all();  // threads that wait at the barrier wait for them
    // Without .noinc the arrival is one more that is waited for.
    if (i.has("noinc")) arrive(m, m.memory(i, i.operands.at(0)), 1);
    return;
  }
  i.has("bulk") ? copy_bulk(m, i) : copy_few(m, i);
}

}  // namespace

const Instructions& copies_instructions() {
  static const Instructions& all = *new Instructions{{"cp", copy_async}};
  return all;
}

}  // namespace opbridge_twin::ptx
