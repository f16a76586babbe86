// An arrive-wait barrier as a number of 64 bits: what is missing in this phase, and which phase it is.
#ifndef OPBRIDGE_TWIN_MBARRIER_H
#define OPBRIDGE_TWIN_MBARRIER_H

namespace opbridge_twin {
namespace mbarrier {

// How many are still to come in this phase, how many in the next ones, how many bytes, and the phase; each part in bits
// of its own.
using State = unsigned long long;

constexpr int kCountBits = 20, kBytesBits = 21;
constexpr int kBytesShift = 2 * kCountBits, kPhaseShift = kBytesShift + kBytesBits;
constexpr State kMostArrivals = (State{1} << kCountBits) - 1, kMostBytes = (State{1} << kBytesBits) - 1;
constexpr State kExpectedOne = State{1} << kCountBits;

constexpr State phase(State state) { return state >> kPhaseShift; }
constexpr State pending(State state) { return state & kMostArrivals; }
constexpr State bytes(State state) { return state >> kBytesShift & kMostBytes; }

constexpr State expecting(State phase, State arrivals) {
  return phase << kPhaseShift | arrivals << kCountBits | arrivals;
}

// With nobody and nothing left to come, the next phase.
constexpr State gone_on(State state) {
  const bool complete = pending(state) == 0 && bytes(state) == 0;
  return complete ? expecting(phase(state) + 1, state >> kCountBits & kMostArrivals) : state;
}

// The bytes are a number without an end: what is copied may be told before it is expected.
constexpr State with_bytes(State state, State more) {
  const State rest = state & ~(kMostBytes << kBytesShift);
  return rest | ((bytes(state) + more) & kMostBytes) << kBytesShift;
}

constexpr State arrived(State state, State count, bool drops) {
  return gone_on(state - count - (drops ? count * kExpectedOne : 0));
}

}  // namespace mbarrier
}  // namespace opbridge_twin

#endif
