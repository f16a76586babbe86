// The generators of cuRAND by their published recurrences: XORWOW, MRG32k3a and Philox 4x32-10.
//
// Reference: Marsaglia, Xorshift RNGs, Journal of Statistical Software 8 (2003); L'Ecuyer, Good parameters and
// implementations for combined multiple recursive random number generators, Operations Research 47 (1999); Salmon and
// others, Parallel random numbers: as easy as 1, 2, 3, SC 2011.
//
// A state has its generator, and the second number of a pair of normal ones where the first was taken alone.
#ifndef OPBRIDGE_TWIN_RANDOM_H
#define OPBRIDGE_TWIN_RANDOM_H

#include <opbridge_twin/thread.h>
#include <vector_types.h>

#ifdef __cplusplus
extern "C" {
#endif
// n times 2^power steps; in the twin's library, which keeps the powers of each recurrence's matrix.
void ob_twin_skip_xorwow(unsigned* v, unsigned long long n, int power);
void ob_twin_skip_mrg(unsigned* s1, unsigned* s2, unsigned long long n, int power);
#ifdef __cplusplus
}
#endif

namespace opbridge_twin {

// What a call for one number of a pair leaves for the next.
struct NormalRest {
  int has_float, has_double;
  float single;
  double twice;
};

constexpr int kOfSequence = 67, kOfSubsequence = 76;
constexpr uint64_t kMrg1 = 4294967087u, kMrg2 = 4294944443u;

}  // namespace opbridge_twin

// Marsaglia's: five words by shifts, and a counter that is added.
struct curandStateXORWOW {
  unsigned d, v[5];
  opbridge_twin::NormalRest rest;
};
// L'Ecuyer's: the last three of each of two recurrences, the oldest first.
struct curandStateMRG32k3a {
  unsigned s1[3], s2[3];
  opbridge_twin::NormalRest rest;
};
// Salmon's: a counter of 128 bits, its four words of output, and how many of them are taken.
struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned STATE;
  opbridge_twin::NormalRest rest;
};
typedef struct curandStateXORWOW curandStateXORWOW_t, curandState_t, curandState;
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

// XORWOW -------------------------------------------------------------------------------------------------------------

OB_TWIN_INLINE unsigned curand(curandStateXORWOW* state) {
  unsigned* const v = state->v;
  const unsigned t = v[0] ^ v[0] >> 2;
  v[0] = v[1];
  v[1] = v[2];
  v[2] = v[3];
  v[3] = v[4];
  v[4] = v[4] ^ v[4] << 4 ^ t ^ t << 1;
  state->d += 362437;
  return v[4] + state->d;
}

namespace opbridge_twin {
OB_TWIN_INLINE void skip(curandStateXORWOW* state, unsigned long long n, int power) {
  unsigned v[5];
  for (int i = 0; i < 5; ++i) v[i] = state->v[i];
  ob_twin_skip_xorwow(v, n, power);
  for (int i = 0; i < 5; ++i) state->v[i] = v[i];
  if (power == 0) state->d += 362437 * static_cast<unsigned>(n);
}
}  // namespace opbridge_twin

OB_TWIN_INLINE void skipahead(unsigned long long n, curandStateXORWOW* state) { opbridge_twin::skip(state, n, 0); }
OB_TWIN_INLINE void skipahead_sequence(unsigned long long n, curandStateXORWOW* state) {
  opbridge_twin::skip(state, n, opbridge_twin::kOfSequence);
}

inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStateXORWOW* state) {
  const unsigned low = 1099087573u * (static_cast<unsigned>(seed) ^ 0xaad26b49u);
  const unsigned high = 2591861531u * (static_cast<unsigned>(seed >> 32) ^ 0xf7dcefddu);
  *state = {6615241u + high + low,
            {123456789u + low, 362436069u ^ low, 521288629u + high, 88675123u ^ high, 5783321u + low},
            {}};
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}

// MRG32k3a -----------------------------------------------------------------------------------------------------------

namespace opbridge_twin {
// From 1 to the first modulus.
OB_TWIN_INLINE double next(curandStateMRG32k3a* state) {
  unsigned* const x = state->s1;
  unsigned* const y = state->s2;
  const uint64_t a = (1403580 * uint64_t{x[1]} % kMrg1 + (kMrg1 - 810728) * x[0] % kMrg1) % kMrg1;
  const uint64_t b = (527612 * uint64_t{y[2]} % kMrg2 + (kMrg2 - 1370589) * y[0] % kMrg2) % kMrg2;
  x[0] = x[1];
  x[1] = x[2];
  x[2] = static_cast<unsigned>(a);
  y[0] = y[1];
  y[1] = y[2];
  y[2] = static_cast<unsigned>(b);
  return static_cast<double>(a > b ? a - b : a + kMrg1 - b);
}

OB_TWIN_INLINE void skip(curandStateMRG32k3a* state, unsigned long long n, int power) {
  unsigned s1[3], s2[3];
  for (int i = 0; i < 3; ++i) {
    s1[i] = state->s1[i];
    s2[i] = state->s2[i];
  }
  ob_twin_skip_mrg(s1, s2, n, power);
  for (int i = 0; i < 3; ++i) {
    state->s1[i] = s1[i];
    state->s2[i] = s2[i];
  }
}
}  // namespace opbridge_twin

OB_TWIN_INLINE unsigned curand(curandStateMRG32k3a* state) {
  return static_cast<unsigned>(opbridge_twin::next(state) * 1.000000048662);
}
OB_TWIN_INLINE void skipahead(unsigned long long n, curandStateMRG32k3a* state) { opbridge_twin::skip(state, n, 0); }
OB_TWIN_INLINE void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a* state) {
  opbridge_twin::skip(state, n, opbridge_twin::kOfSubsequence);
}
OB_TWIN_INLINE void skipahead_sequence(unsigned long long n, curandStateMRG32k3a* state) {
  opbridge_twin::skip(state, n, 127);
}

inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStateMRG32k3a* state) {
  *state = {{12345, 12345, 12345}, {12345, 12345, 12345}, {}};
  if (seed != 0) {
    const uint64_t even = static_cast<unsigned>(seed) ^ 0x55555555u;
    const uint64_t odd = static_cast<unsigned>(seed >> 32) ^ 0xaaaaaaaau;
    for (int i = 0; i < 3; ++i) {
      state->s1[i] = static_cast<unsigned>((i == 1 ? odd : even) * 12345 % opbridge_twin::kMrg1);
      state->s2[i] = static_cast<unsigned>((i == 1 ? even : odd) * 12345 % opbridge_twin::kMrg2);
    }
  }
  skipahead_subsequence(subsequence, state);
  skipahead(offset, state);
}

// Philox -------------------------------------------------------------------------------------------------------------

OB_TWIN_INLINE uint4 curand_Philox4x32_10(uint4 c, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c.x, b = uint64_t{0xCD9E8D57u} * c.z;
    c = {static_cast<unsigned>(b >> 32) ^ c.y ^ key.x, static_cast<unsigned>(b),
         static_cast<unsigned>(a >> 32) ^ c.w ^ key.y, static_cast<unsigned>(a)};
    key = {key.x + 0x9E3779B9u, key.y + 0xBB67AE85u};
  }
  return c;
}

namespace opbridge_twin {
OB_TWIN_INLINE void count_on(curandStatePhilox4_32_10* state, uint64_t low, uint64_t high) {
  const uint64_t before = uint64_t{state->ctr.y} << 32 | state->ctr.x, below = before + low;
  const uint64_t above = (uint64_t{state->ctr.w} << 32 | state->ctr.z) + high + (below < before);
  state->ctr = {static_cast<unsigned>(below), static_cast<unsigned>(below >> 32), static_cast<unsigned>(above),
                static_cast<unsigned>(above >> 32)};
  state->output = curand_Philox4x32_10(state->ctr, state->key);
}
}  // namespace opbridge_twin

OB_TWIN_INLINE unsigned curand(curandStatePhilox4_32_10* state) {
  const uint4 o = state->output;
  const unsigned taken = state->STATE == 0 ? o.x : state->STATE == 1 ? o.y : state->STATE == 2 ? o.z : o.w;
  if (++state->STATE == 4) {
    opbridge_twin::count_on(state, 1, 0);
    state->STATE = 0;
  }
  return taken;
}
OB_TWIN_INLINE uint4 curand4(curandStatePhilox4_32_10* state) {
  const uint4 o = state->output;
  opbridge_twin::count_on(state, 1, 0);
  const uint4 n = state->output;
  switch (state->STATE) {
    case 0:
      return o;
    case 1:
      return {o.y, o.z, o.w, n.x};
    case 2:
      return {o.z, o.w, n.x, n.y};
    default:
      return {o.w, n.x, n.y, n.z};
  }
}
OB_TWIN_INLINE void skipahead(unsigned long long n, curandStatePhilox4_32_10* state) {
  const unsigned taken = state->STATE + static_cast<unsigned>(n & 3);
  opbridge_twin::count_on(state, n / 4 + taken / 4, 0);
  state->STATE = taken % 4;
}
OB_TWIN_INLINE void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10* state) {
  opbridge_twin::count_on(state, 0, n);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStatePhilox4_32_10* state) {
  *state = {{}, {}, {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)}, 0, {}};
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}

#endif
