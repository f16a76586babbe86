// What threads do together: lanes that exchange values, barriers and fences.
#include "checks/checks.h"
#include "operands.h"

namespace opbridge_twin::ptx {

namespace {

unsigned lane_of(M m) { return static_cast<unsigned>(m.special("laneid")); }

// The lanes of a mask, the lowest first.
class Lanes {
 public:
  struct Iterator {
    unsigned rest;
    unsigned operator*() const { return static_cast<unsigned>(__builtin_ctz(rest)); }
    void operator++() { rest &= rest - 1; }
    bool operator!=(Iterator other) const { return rest != other.rest; }
  };
  explicit Lanes(unsigned mask) : mask_(mask) {}
  Iterator begin() const { return {mask_}; }
  Iterator end() const { return {0}; }

 private:
  unsigned mask_;
};

// The input and the result of a lane.
struct Part {
  uint64_t value;
  unsigned source;
  uint64_t result;
  unsigned lanes;
  I instruction;
};
Part& part_of(void* brought) { return *static_cast<Part*>(brought); }

void shuffle(M m, I i) {
  if (!i.has("sync")) m.refuse("`shfl` without .sync is gone since Volta: use shfl.sync");
  const unsigned lane = lane_of(m), b = static_cast<unsigned>(cut(m.get(i.operands.at(2)), 32));
  const unsigned c = static_cast<unsigned>(m.get(i.operands.at(3))), clamp = c & 31, segments = c >> 8 & 31;
  const uint32_t mask = static_cast<uint32_t>(m.get(i.operands.at(4)));
  const int last = static_cast<int>((lane & segments) | (clamp & ~segments)), first = static_cast<int>(lane & segments);
  int source = static_cast<int>(lane);
  bool inside = false;
  if (i.has("up")) {
    source -= static_cast<int>(b & 31);
    inside = source >= last;
  } else {
    source = i.has("down")   ? source + static_cast<int>(b & 31)
             : i.has("bfly") ? source ^ static_cast<int>(b & 31)
                             : first | static_cast<int>(b & 31 & ~segments);
    inside = source <= last;
  }
  const uint64_t own = cut(m.get(i.operands.at(1)), 32);
  Part part{own, inside ? static_cast<unsigned>(source) : lane, own, 0, i};
  m.meet(mask, "shfl.sync", &part, [](void* const* brought, unsigned lanes) {
    unsigned wanted = 0;
    for (const unsigned at : Lanes(lanes)) {
      Part& mine = part_of(brought[at]);
      wanted |= 1u << mine.source;
      if (lanes >> mine.source & 1) mine.result = part_of(brought[mine.source]).value;
    }
    return wanted & ~lanes;
  });
  m.set(i.operands[0], part.result);
  m.set_predicate(i.operands[0], inside);
}
void vote(M m, I i) {
  if (!i.has("sync")) m.refuse("`vote` without .sync is gone since Volta: use vote.sync");
  Part part{m.get(i.operands.at(1)) != 0, 0, 0, 0, i};
  m.meet(static_cast<uint32_t>(m.get(i.operands.at(2))), "vote.sync", &part, [](void* const* brought, unsigned lanes) {
    uint64_t ballot = 0;
    for (const unsigned at : Lanes(lanes)) ballot |= part_of(brought[at]).value << at;
    for (const unsigned at : Lanes(lanes)) part_of(brought[at]).result = ballot, part_of(brought[at]).lanes = lanes;
    return 0u;
  });
  const bool all = part.result == part.lanes;
  m.set(i.operands[0], i.has("ballot") ? part.result
                       : i.has("any")  ? part.result != 0
                       : i.has("all")  ? all
                                       : all || part.result == 0);
}
void match(M m, I i) {
  Part part{in(m, i, 1), 0, 0, 0, i};
  m.meet(static_cast<uint32_t>(m.get(i.operands.at(2))), "match.sync", &part, [](void* const* brought, unsigned lanes) {
    for (const unsigned at : Lanes(lanes)) {
      Part& mine = part_of(brought[at]);
      mine.lanes = lanes;
      mine.result = 0;
      for (unsigned other = 0; other < 32; ++other) {
        if ((lanes >> other & 1) != 0 && part_of(brought[other]).value == mine.value) mine.result |= 1ull << other;
      }
    }
    return 0u;
  });
  const bool all = part.result == part.lanes;
  m.set(i.operands[0], i.has("any") || all ? part.result : 0);
  m.set_predicate(i.operands[0], all);
}
void reduce(M m, I i) {
  Part part{in(m, i, 1), 0, 0, 0, i};
  m.meet(static_cast<uint32_t>(m.get(i.operands.at(2))), "redux.sync", &part, [](void* const* brought, unsigned lanes) {
    Part& any = part_of(brought[__builtin_ctz(lanes)]);
    I how = any.instruction;
    uint64_t total = any.value;
    const auto as = [&](uint64_t bits) {
      return how.type().kind == 's' ? as_signed(bits, how.type()) : static_cast<int64_t>(bits);
    };
    for (const unsigned at : Lanes(lanes & (lanes - 1))) {
      const uint64_t b = part_of(brought[at]).value;
      if (how.has("add")) total += b;
      if (how.has("and")) total &= b;
      if (how.has("or")) total |= b;
      if (how.has("xor")) total ^= b;
      if (how.has("min") && before(how, as(b), as(total))) total = b;
      if (how.has("max") && before(how, as(total), as(b))) total = b;
    }
    for (const unsigned at : Lanes(lanes)) part_of(brought[at]).result = total;
    return 0u;
  });
  out(m, i, part.result);
}
void named_barrier(M m, I i, unsigned number, unsigned count, bool reduces) {
  if (reduces) m.refuse('`' + i.text + "`: the twin reduces over whole blocks at barrier 0 only");
  if (number > 15 || count == 0 || count % 32 != 0) {
    m.refuse('`' + i.text + "`: a barrier has a number below 16 and a count of threads that is a multiple of 32");
  }
  ob_twin_ptx_request request{};
  request.mask = number;
  request.bytes = count;
  request.predicate = !i.has("arrive");
  m.service(OB_TWIN_PTX_NAMED_BARRIER, &request);
}
void barrier(M m, I i) {
  ob_twin_ptx_request request{};
  if (i.has("warp")) {
    request.mask = static_cast<uint32_t>(m.get(i.operands.at(0)));
    return m.service(OB_TWIN_PTX_SYNC_WARP, &request);
  }
  if (i.has("cluster") && i.has("arrive")) return;  // who waits has arrived: a cluster is one block
  const bool reduces = i.has("red");
  const unsigned at = reduces ? 1 : 0;
  const bool counted = i.operands.size() > at + (reduces ? 2 : 1);
  ob_twin_ptx_request who{};
  m.service(OB_TWIN_PTX_WHO, &who);
  const unsigned all = (who.threads.x * who.threads.y * who.threads.z + 31) / 32 * 32;
  const auto number = static_cast<unsigned>(i.operands.size() > at ? m.get(i.operands[at]) : 0);
  const unsigned count = counted ? static_cast<unsigned>(m.get(i.operands[at + 1])) : all;
  if (number != 0 || count < all || i.has("arrive")) return named_barrier(m, i, number, count, reduces);
  request.predicate = reduces && m.get(i.operands.back()) != 0;
  m.service(OB_TWIN_PTX_BARRIER, &request);
  if (!reduces) return;
  const ob_twin_vote vote = request.vote;
  m.set(i.operands[0], i.has("popc") ? vote.agreed : i.has("or") ? vote.agreed != 0 : vote.agreed == vote.threads);
}
// The lowest lane of those that come together.
void elect(M m, I i) {
  Part part{0, 0, 0, 0, i};
  m.meet(static_cast<uint32_t>(m.get(i.operands.at(1))), "elect.sync", &part, [](void* const* brought, unsigned lanes) {
    for (const unsigned at : Lanes(lanes)) part_of(brought[at]).lanes = lanes;
    return 0u;
  });
  const unsigned chosen = static_cast<unsigned>(__builtin_ctz(part.lanes));
  m.set(i.operands[0], chosen);
  m.set_predicate(i.operands[0], lane_of(m) == chosen);
}
void active_mask(M m, I i) {
  ob_twin_ptx_request request{};
  m.service(OB_TWIN_PTX_CONVERGED, &request);
  m.set(i.operands.at(0), request.mask);
}
// The fence is recorded here, because this file is not instrumented.
void fence(M, I i) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  ob_twin_narrow(is_narrow(i));
  checks::fence();
  ob_twin_narrow(0);
  if (i.has("proxy") && i.has("async")) ob_twin_proxy_fence();
}

}  // namespace

const Instructions& lanes_instructions() {
  static const Instructions& all = *new Instructions{
      {"activemask", active_mask},
      {"bar", barrier},
      {"barrier", barrier},
      {"elect", elect},
      {"fence", fence},
      {"match", match},
      {"membar", fence},
      {"redux", reduce},
      {"shfl", shuffle},
      {"vote", vote},
  };
  return all;
}

}  // namespace opbridge_twin::ptx
