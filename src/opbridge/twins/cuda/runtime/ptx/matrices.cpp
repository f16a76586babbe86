// The instructions on matrices whose elements are spread over the lanes of a warp.
//
// In each of them lane 4 g + t has elements of row (or column) g, and of those the ones that the group's lanes share
// out by t; a register holds as many neighbours as fit.
#include <math.h>
#include <stdio.h>

#include "operands.h"

namespace opbridge_twin::ptx {

namespace {

constexpr unsigned kLanes = 32, kMostRegisters = 8;
constexpr uint32_t kAll = ~uint32_t{0};

// The input and the result of a lane in a product.
struct Fragments {
  uint64_t a[kMostRegisters], b[kMostRegisters], c[kMostRegisters];
  I instruction;
};

struct Shape {
  unsigned m = 0, n = 0, k = 0;
};
Shape shape_of(I i) {
  Shape shape;
  for (const std::string& word : i.words) {
    if (sscanf(word.c_str(), "m%un%uk%u", &shape.m, &shape.n, &shape.k) == 3) break;
  }
  return shape;
}

double element(uint64_t bits, Type type, unsigned at) {
  const uint64_t one = cut(bits >> (type.bits * at), type.bits);
  if (type.kind == 's') return static_cast<double>(as_signed(one, type));
  if (type.kind == 'u') return static_cast<double>(one);
  // Tensor cores read ten bits of a float's fraction.
  if (type.kind == 't') return as_number(one & ~uint64_t{0x1fff}, {'f', 32});
  return as_number(one, type);
}

unsigned multiply(void* const* brought, unsigned lanes) {
  if (lanes != kAll) return ~lanes;
  const auto lane = [&](unsigned at) -> Fragments& { return *static_cast<Fragments*>(brought[at]); };
  I how = lane(0).instruction;
  const Shape shape = shape_of(how);
  const Type to = how.types[0], a_type = how.types[1], b_type = how.types[2], from = how.types[3];
  const unsigned together = (a_type.bits == 64 ? 64 : 32) / a_type.bits;
  const bool packed = to.bits == 16;
  const bool is_whole = to.kind == 's';
  std::vector<double> a(shape.m * shape.k), b(shape.k * shape.n), d(shape.m * shape.n);
  for (unsigned at = 0; at < kLanes; ++at) {
    const unsigned g = at / 4, t = at % 4;
    for (unsigned r = 0; r < shape.m * shape.k / (kLanes * together); ++r) {
      const unsigned row = g + (shape.m == 16 ? 8 * (r & 1) : 0), half = shape.m == 16 ? r >> 1 : r;
      for (unsigned e = 0; e < together; ++e) {
        a[row * shape.k + t * together + e + 4 * together * half] = element(lane(at).a[r], a_type, e);
      }
    }
    for (unsigned r = 0; r < shape.k * shape.n / (kLanes * together); ++r) {
      for (unsigned e = 0; e < together; ++e) {
        b[(t * together + e + 4 * together * r) * shape.n + g] = element(lane(at).b[r], b_type, e);
      }
    }
  }
  const unsigned each = shape.m * shape.n / kLanes;
  const auto place = [&](unsigned at, unsigned e) { return (at / 4 + 8 * (e / 2)) * shape.n + at % 4 * 2 + e % 2; };
  for (unsigned at = 0; at < kLanes; ++at) {
    for (unsigned e = 0; e < each; ++e) {
      const uint64_t bits = from.bits == 16 ? lane(at).c[e / 2] >> (16 * (e % 2)) : lane(at).c[e];
      double total = element(bits, from, 0);
      const unsigned row = place(at, e) / shape.n, column = place(at, e) % shape.n;
      for (unsigned k = 0; k < shape.k; ++k) total += a[row * shape.k + k] * b[k * shape.n + column];
      d[place(at, e)] = total;
    }
  }
  for (unsigned at = 0; at < kLanes; ++at) {
    for (uint64_t& bits : lane(at).c) bits = 0;
    for (unsigned e = 0; e < each; ++e) {
      double value = d[place(at, e)];
      if (is_whole && how.has("satfinite")) value = fmax(fmin(value, 2147483647.0), -2147483648.0);
      const uint64_t bits =
          is_whole ? cut(static_cast<uint64_t>(static_cast<int64_t>(value)), 32) : from_number(value, to);
      if (packed) {
        lane(at).c[e / 2] |= bits << (16 * (e % 2));
      } else {
        lane(at).c[e] = bits;
      }
    }
  }
  return 0;
}

const std::vector<Operand>& registers_of(const Operand& operand, std::vector<Operand>& one) {
  if (operand.kind == Operand::Kind::vector) return operand.parts;
  one = {operand};
  return one;
}

void matrix_product(M m, I i) {
  const Shape shape = shape_of(i);
  const bool is_known = i.types.size() == 4 && i.has("row") && i.has("col") &&
                        ((shape.m == 16 && shape.n == 8) ||
                         (shape.m == 8 && shape.n == 8 && (i.types[1].bits == 64 || i.types[1].bits == 8)));
  if (!is_known) m.refuse('`' + i.text + "`: the twin has no product of this shape, layout or type");
  Fragments part{{}, {}, {}, i};
  std::vector<Operand> one;
  unsigned n = 0;
  for (const Operand& each : registers_of(i.operands.at(1), one)) part.a[n++] = m.get(each);
  n = 0;
  for (const Operand& each : registers_of(i.operands.at(2), one)) part.b[n++] = m.get(each);
  n = 0;
  for (const Operand& each : registers_of(i.operands.at(3), one)) part.c[n++] = m.get(each);
  m.meet(kAll, "mma.sync", &part, multiply);
  n = 0;
  for (const Operand& each : registers_of(i.operands.at(0), one)) m.set(each, part.c[n++]);
}

// The addresses of eight rows for each matrix, from eight lanes each.
struct Rows {
  char* own;
  char* all[kLanes];
};
unsigned exchange(void* const* brought, unsigned lanes) {
  for (unsigned to = 0; to < kLanes; ++to) {
    for (unsigned from = 0; from < kLanes && (lanes >> to & 1) != 0; ++from) {
      static_cast<Rows*>(brought[to])->all[from] =
          (lanes >> from & 1) != 0 ? static_cast<Rows*>(brought[from])->own : nullptr;
    }
  }
  return ~lanes;
}

template <bool stores>
void matrix_move(M m, I i) {
  const unsigned address = stores ? 0 : 1;
  Rows rows{m.memory(i, i.operands.at(address)), {}};
  m.meet(kAll, stores ? "stmatrix" : "ldmatrix", &rows, exchange);
  const unsigned lane = static_cast<unsigned>(m.special("laneid")), g = lane / 4, t = lane % 4;
  const unsigned count = i.has("x4") ? 4 : i.has("x2") ? 2 : 1;
  const bool transposed = i.has("trans");
  std::vector<Operand> one;
  const std::vector<Operand>& registers = registers_of(i.operands.at(1 - address), one);
  for (unsigned matrix = 0; matrix < count; ++matrix) {
    uint64_t bits = stores ? m.get(registers.at(matrix)) : 0;
    for (unsigned e = 0; e < 2; ++e) {
      const unsigned row = transposed ? 2 * t + e : g, column = transposed ? g : 2 * t + e;
      char* const place = rows.all[8 * matrix + row] + 2 * column;
      uint64_t value = cut(bits >> (16 * e), 16);
      if (stores) {
        m.move(place, &value, 2, OB_TWIN_PTX_MOVE);
      } else {
        value = 0;
        m.move(&value, place, 2, OB_TWIN_PTX_MOVE);
        bits |= value << (16 * e);
      }
    }
    if (!stores) m.set(registers.at(matrix), bits);
  }
}

}  // namespace

const Instructions& matrices_instructions() {
  static const Instructions& all = *new Instructions{
      {"ldmatrix", matrix_move<false>},
      {"mma", matrix_product},
      {"stmatrix", matrix_move<true>},
  };
  return all;
}

}  // namespace opbridge_twin::ptx
