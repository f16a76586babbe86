// Loads, stores, atomics, copies, and addresses in the windows of PTX.
#include <math.h>

#include "operands.h"

namespace opbridge_twin::ptx {

namespace {

void convert_address(M m, I i) {
  const uint64_t a = m.get(i.operands.at(1));
  const uint64_t window = i.has("shared") ? reinterpret_cast<uint64_t>(ob_twin_shared_window()) : 0;
  m.set(i.operands[0], i.has("to") ? a - window : a + window);
}
void ask_space(M m, I i) {
  const uint64_t a = m.get(i.operands.at(1));
  const bool is_shared = ob_twin_is_shared(reinterpret_cast<const void*>(a)) != 0;
  m.set(i.operands[0], i.has("shared") == is_shared);
}

bool is_ordered(I i) {
  return i.has("volatile") || i.has("relaxed") || i.has("acquire") || i.has("release") || i.has("mmio");
}
const Operand& element(const Operand& all, unsigned n) {
  return all.kind == Operand::Kind::vector ? all.parts.at(n) : all;
}

void load(M m, I i) {
  const Type type = i.type();
  const unsigned bytes = bytes_of(i), width = i.width();
  const char* const from = m.memory(i, i.operands.at(1));
  for (unsigned n = 0; n < width; ++n) {
    uint64_t bits[2] = {};
    if (is_ordered(i)) {
      ob_twin_ptx_request request{};
      request.from = from + n * bytes;
      request.bytes = bytes;
      request.acquires = i.has("acquire") || i.has("volatile");
      request.narrow = is_narrow(i);
      m.service(OB_TWIN_PTX_LOAD_ATOMIC, &request);
      bits[0] = request.expected;
    } else {
      m.move(bits, from + n * bytes, bytes, OB_TWIN_PTX_MOVE);
    }
    m.set(element(i.operands[0], n), type.kind == 's' ? static_cast<uint64_t>(as_signed(bits[0], type)) : bits[0]);
  }
}
void store(M m, I i) {
  const unsigned bytes = bytes_of(i), width = i.width();
  char* const to = m.memory(i, i.operands.at(0));
  for (unsigned n = 0; n < width; ++n) {
    const Operand& value = element(i.operands.at(1), n);
    uint64_t bits = m.get(value);
    if (value.name == "double" && i.type().bits == 32) bits = from_number(as_number(bits, {'f', 64}), {'f', 32});
    if (is_ordered(i)) {
      ob_twin_ptx_request request{};
      request.to = to + n * bytes;
      request.bytes = bytes;
      request.desired = bits;
      request.relaxed = is_relaxed(i);
      request.narrow = is_narrow(i);
      m.service(OB_TWIN_PTX_STORE_ATOMIC, &request);
    } else {
      m.move(to + n * bytes, &bits, bytes, OB_TWIN_PTX_MOVE);
    }
  }
}

uint64_t updated(M m, I i, uint64_t old, uint64_t b, uint64_t c) {
  const Type type = i.type();
  const auto as = [&](uint64_t bits) { return type.kind == 's' ? as_signed(bits, type) : static_cast<int64_t>(bits); };
  if (i.has("cas")) return old == cut(b, type.bits) ? c : old;
  if (i.has("exch")) return b;
  if (i.has("and")) return old & b;
  if (i.has("or")) return old | b;
  if (i.has("xor")) return old ^ b;
  if (i.has("inc")) return old >= b ? 0 : old + 1;
  if (i.has("dec")) return old == 0 || old > b ? b : old - 1;
  if (i.has("min")) return before(i, as(b), as(old)) ? b : old;
  if (i.has("max")) return before(i, as(old), as(b)) ? b : old;
  if (!i.has("add")) m.refuse('`' + i.text + "`: the twin has no such atomic");
  if (!is_number(type)) return old + b;
  if (!type.pair) return from_number(as_number(old, type) + as_number(b, type), type);
  const Type one{type.kind, 16};
  const auto part = [&](unsigned shift) {
    return from_number(as_number(cut(old >> shift, 16), one) + as_number(cut(b >> shift, 16), one), one);
  };
  return part(0) | part(16) << 16;
}
void atomic(M m, I i) {
  const bool answers = i.words[0] == "atom";
  const unsigned at = answers ? 1 : 0, bits = bytes_of(i) * 8;
  const uint64_t b = m.get(i.operands.at(at + 1)), c = i.operands.size() > at + 2 ? m.get(i.operands[at + 2]) : 0;
  ob_twin_ptx_request request{};
  request.to = m.memory(i, i.operands.at(at));
  request.from = request.to;
  request.bytes = bytes_of(i);
  request.relaxed = is_relaxed(i);
  request.acquires = i.has("acquire") || i.has("acq_rel");
  request.narrow = is_narrow(i);
  // What is compared and swapped is asked for once, so that the checks see one attempt.
  if (i.has("cas")) {
    request.expected = cut(b, bits);
    request.desired = cut(c, bits);
    m.service(OB_TWIN_PTX_SWAP, &request);
  } else {
    request.expected = 0;
    request.desired = cut(updated(m, i, 0, b, c), bits);
    while (m.service(OB_TWIN_PTX_SWAP, &request), !request.predicate) {
      request.desired = cut(updated(m, i, request.expected, b, c), bits);
    }
  }
  if (answers) m.set(i.operands[0], request.expected);
}
}  // namespace

const Instructions& memory_instructions() {
  static const Instructions& all = *new Instructions{
      {"applypriority", nothing},
      {"atom", atomic},
      {"cvta", convert_address},
      {"discard", nothing},
      {"isspacep", ask_space},
      {"ld", load},
      {"ldu", load},
      {"prefetch", nothing},
      {"prefetchu", nothing},
      {"red", atomic},
      {"st", store},
  };
  return all;
}

}  // namespace opbridge_twin::ptx
