// `mbarrier`: threads and copies arrive, and a waiting thread finds the phase complete or lets others run.
#include "mbarriers.h"

#include "checks/checks.h"
#include "operands.h"

namespace opbridge_twin::ptx {

namespace {

using mbarrier::State;

State state_of(M m, const char* barrier) {
  ob_twin_ptx_request request{};
  request.from = barrier;
  request.bytes = sizeof(State);
  request.acquires = 1;
  m.service(OB_TWIN_PTX_LOAD_ATOMIC, &request);
  if (request.expected == 0) m.refuse("an mbarrier that is not initialised: mbarrier.init comes before, and a barrier");
  return request.expected;
}

template <class Change>
State update(M m, char* barrier, bool relaxed, Change change) {
  ob_twin_ptx_request request{};
  request.to = barrier;
  request.from = barrier;
  request.bytes = sizeof(State);
  request.relaxed = relaxed;
  request.acquires = 1;
  request.expected = state_of(m, barrier);
  do {
    request.desired = change(request.expected);
    m.service(OB_TWIN_PTX_SWAP, &request);
  } while (!request.predicate);
  return request.expected;
}

void set_state(M m, I i, State state) { m.move(m.memory(i, i.operands.at(0)), &state, sizeof state, OB_TWIN_PTX_MOVE); }

uint64_t number(M m, I i, unsigned at, uint64_t otherwise) {
  return i.operands.size() > at ? cut(m.get(i.operands[at]), 32) : otherwise;
}

void arrives(M m, I i) {
  char* const barrier = m.memory(i, i.operands.at(1));
  const bool expects = i.has("expect_tx"), drops = i.has("arrive_drop");
  const uint64_t count = expects ? 1 : number(m, i, 2, 1), bytes = expects ? number(m, i, 2, 0) : 0;
  const State before = update(m, barrier, i.has("relaxed"), [=](State state) {
    return mbarrier::arrived(mbarrier::with_bytes(state, bytes), count, drops);
  });
  m.set(i.operands[0], before);
}

void asks(M m, I i) {
  char* const barrier = m.memory(i, i.operands.at(1));
  const State state = state_of(m, barrier), phase = mbarrier::phase(state);
  const uint64_t with = m.get(i.operands.at(2));
  const bool complete = i.has("parity") ? (phase & 1) != (with & 1) : phase != mbarrier::phase(with);
  m.set(i.operands[0], complete);
  checks::asked_mbarrier(barrier, state, complete);
  if (complete) return;
  ob_twin_ptx_request request{};
  m.service(OB_TWIN_PTX_SLEEP, &request);
}

void any(M m, I i) {
  if (i.has("init")) return set_state(m, i, mbarrier::expecting(0, number(m, i, 1, 0)));
  if (i.has("inval")) return set_state(m, i, 0);
  if (i.has("test_wait") || i.has("try_wait")) return asks(m, i);
  if (i.has("pending_count")) return m.set(i.operands.at(0), mbarrier::pending(m.get(i.operands.at(1))));
  if (i.has("arrive") || i.has("arrive_drop")) return arrives(m, i);
  if (i.has("complete_tx")) return bytes_have_come(m, m.memory(i, i.operands.at(0)), number(m, i, 1, 0));
  if (!i.has("expect_tx")) m.refuse('`' + i.text + "`: the twin has no such instruction");
  const uint64_t bytes = number(m, i, 1, 0);
  update(m, m.memory(i, i.operands.at(0)), true, [=](State state) { return mbarrier::with_bytes(state, bytes); });
}

}  // namespace

State arrive(M m, char* barrier, uint64_t count) {
  return update(m, barrier, false, [=](State state) { return mbarrier::arrived(state, count, false); });
}

void bytes_have_come(M m, char* barrier, uint64_t bytes) {
  update(m, barrier, false, [=](State state) { return mbarrier::gone_on(mbarrier::with_bytes(state, 0 - bytes)); });
}

const Instructions& mbarriers_instructions() {
  static const Instructions& all = *new Instructions{{"mbarrier", any}};
  return all;
}

}  // namespace opbridge_twin::ptx
