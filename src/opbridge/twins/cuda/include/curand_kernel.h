// cuRAND in device code: uniform, normal and log-normal numbers of XORWOW, MRG32k3a and Philox.
#ifndef OPBRIDGE_TWIN_CURAND_KERNEL_H
#define OPBRIDGE_TWIN_CURAND_KERNEL_H
#define CURAND_KERNEL_H_  // how programs ask whether it is included

#include <cuda_runtime.h>
#include <curand.h>
#include <opbridge_twin/random.h>

#include <type_traits>

namespace opbridge_twin {

// Above 0, up to 1, from the bits of one or two words.
OB_TWIN_INLINE float uniform_of(unsigned x) { return static_cast<float>(x) * 0x1p-32f + 0x1p-33f; }
OB_TWIN_INLINE double uniform_of(unsigned x, unsigned y) {
  return static_cast<double>(uint64_t{y} << 21 ^ x) * 0x1p-53 + 0x1p-54;
}

// Box and Muller's pairs.
OB_TWIN_INLINE float2 normals_of(float u, float angle) {
  const float size = sqrtf(-2.0f * logf(u));
  return {size * sinf(angle), size * cosf(angle)};
}
OB_TWIN_INLINE float2 normals_of(unsigned x, unsigned y) {
  constexpr float kAngle = 1.46291807e-09f;  // 2 pi / 2^32
  return normals_of(uniform_of(x), static_cast<float>(y) * kAngle + kAngle / 2);
}
OB_TWIN_INLINE double2 normals_of(double u, double half_turns) {
  const double size = sqrt(-2.0 * log(u));
  double sine, cosine;
  sincospi(half_turns, &sine, &cosine);
  return {size * sine, size * cosine};
}
OB_TWIN_INLINE double2 normals_of(uint4 bits) {
  return normals_of(uniform_of(bits.x, bits.y), 2 * uniform_of(bits.z, bits.w));
}

template <class State>
constexpr bool kIsMrg = std::is_same<State, curandStateMRG32k3a>::value;
template <class State>
constexpr bool kIsPhilox = std::is_same<State, curandStatePhilox4_32_10>::value;
// As a result's type, of a function for all states.
template <class State, class Result>
using OfState =
    std::enable_if_t<kIsMrg<State> || kIsPhilox<State> || std::is_same<State, curandStateXORWOW>::value, Result>;

template <class State>
OB_TWIN_INLINE uint4 four_words(State* state) {
  if constexpr (kIsPhilox<State>) return curand4(state);
  const unsigned x = curand(state), y = curand(state), z = curand(state);
  return {x, y, z, curand(state)};
}

// What a generator of numbers and not of bits gives them by.
constexpr double kMrgScale = 2.3283065498378288e-10;

}  // namespace opbridge_twin

template <class State>
OB_TWIN_INLINE opbridge_twin::OfState<State, float> curand_uniform(State* state) {
  if constexpr (opbridge_twin::kIsMrg<State>) {
    return static_cast<float>(opbridge_twin::next(state) * opbridge_twin::kMrgScale);
  } else {
    return opbridge_twin::uniform_of(curand(state));
  }
}
template <class State>
OB_TWIN_INLINE opbridge_twin::OfState<State, double> curand_uniform_double(State* state) {
  if constexpr (opbridge_twin::kIsMrg<State>) {
    return opbridge_twin::next(state) * opbridge_twin::kMrgScale;
  } else {
    const unsigned x = curand(state);
    return opbridge_twin::uniform_of(x, curand(state));
  }
}

template <class State>
OB_TWIN_INLINE opbridge_twin::OfState<State, float2> curand_normal2(State* state) {
  if constexpr (opbridge_twin::kIsMrg<State>) {
    const float u = curand_uniform(state);
    return opbridge_twin::normals_of(u, curand_uniform(state) * 6.2831855f);
  } else {
    const unsigned x = curand(state);
    return opbridge_twin::normals_of(x, curand(state));
  }
}
template <class State>
OB_TWIN_INLINE opbridge_twin::OfState<State, double2> curand_normal2_double(State* state) {
  if constexpr (opbridge_twin::kIsMrg<State>) {
    const double u = curand_uniform_double(state);
    return opbridge_twin::normals_of(u, curand_uniform_double(state) * 2);
  } else {
    return opbridge_twin::normals_of(opbridge_twin::four_words(state));
  }
}
template <class State>
OB_TWIN_INLINE opbridge_twin::OfState<State, float> curand_normal(State* state) {
  if (state->rest.has_float != 0) {
    state->rest.has_float = 0;
    return state->rest.single;
  }
  const float2 pair = curand_normal2(state);
  state->rest.has_float = 1;
  state->rest.single = pair.y;
  return pair.x;
}
template <class State>
OB_TWIN_INLINE opbridge_twin::OfState<State, double> curand_normal_double(State* state) {
  if (state->rest.has_double != 0) {
    state->rest.has_double = 0;
    return state->rest.twice;
  }
  const double2 pair = curand_normal2_double(state);
  state->rest.has_double = 1;
  state->rest.twice = pair.y;
  return pair.x;
}

template <class State>
OB_TWIN_INLINE opbridge_twin::OfState<State, float> curand_log_normal(State* state, float mean, float deviation) {
  return expf(mean + deviation * curand_normal(state));
}
template <class State>
OB_TWIN_INLINE opbridge_twin::OfState<State, double> curand_log_normal_double(State* state, double mean,
                                                                              double deviation) {
  return exp(mean + deviation * curand_normal_double(state));
}
template <class State>
OB_TWIN_INLINE opbridge_twin::OfState<State, float2> curand_log_normal2(State* state, float mean, float deviation) {
  const float2 pair = curand_normal2(state);
  return {expf(mean + deviation * pair.x), expf(mean + deviation * pair.y)};
}
template <class State>
OB_TWIN_INLINE opbridge_twin::OfState<State, double2> curand_log_normal2_double(State* state, double mean,
                                                                                double deviation) {
  const double2 pair = curand_normal2_double(state);
  return {exp(mean + deviation * pair.x), exp(mean + deviation * pair.y)};
}

// Philox alone gives four at a time.
OB_TWIN_INLINE float4 curand_uniform4(curandStatePhilox4_32_10* state) {
  const uint4 bits = curand4(state);
  return {opbridge_twin::uniform_of(bits.x), opbridge_twin::uniform_of(bits.y), opbridge_twin::uniform_of(bits.z),
          opbridge_twin::uniform_of(bits.w)};
}
OB_TWIN_INLINE float4 curand_normal4(curandStatePhilox4_32_10* state) {
  const uint4 bits = curand4(state);
  const float2 a = opbridge_twin::normals_of(bits.x, bits.y), b = opbridge_twin::normals_of(bits.z, bits.w);
  return {a.x, a.y, b.x, b.y};
}
OB_TWIN_INLINE float4 curand_log_normal4(curandStatePhilox4_32_10* state, float mean, float deviation) {
  const float4 n = curand_normal4(state);
  return {expf(mean + deviation * n.x), expf(mean + deviation * n.y), expf(mean + deviation * n.z),
          expf(mean + deviation * n.w)};
}
OB_TWIN_INLINE double2 curand_uniform2_double(curandStatePhilox4_32_10* state) {
  const uint4 bits = curand4(state);
  return {opbridge_twin::uniform_of(bits.x, bits.y), opbridge_twin::uniform_of(bits.z, bits.w)};
}

#endif
