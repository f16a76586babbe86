// cuRAND's host functions: the place of each number of each sequence, as in NVIDIA's guide.
//
// The numbers of a call are taken in groups, each from one sequence: four of Philox, a pair of normal numbers, or one.
// Neighbouring groups come from neighbouring sequences, and after the last sequence the first one continues.
#include <curand.h>
#include <curand_kernel.h>

#include <utility>
#include <vector>

#include "library_call.h"

namespace {

using opbridge_twin::LibraryCall;

constexpr unsigned long long kSequences = 4096, kSequencesOfMrg = 81920, kSequencesOfPhilox = 65536;

// What a kind of number takes: outputs of one group, and words of the sequence for each.
struct Grouping {
  unsigned outputs, words;
};

// The sequences of one seed, each where the last call left it.
template <class State>
class Sequences {
 public:
  explicit Sequences(unsigned long long seed) : seed_(seed) {}

  // Moves to the word of this number, where it usually is already.
  State* at(unsigned long long sequence, unsigned long long word) {
    if (sequence >= states_.size()) states_.resize(sequence + 1);
    Reached& one = states_[sequence];
    if (one.word != word || !one.begun) {
      curand_init(seed_, sequence, word, &one.state);
      one.begun = true;
    }
    one.word = word;
    return &one.state;
  }
  void passed(unsigned long long sequence, unsigned words) { states_[sequence].word += words; }

 private:
  // A state, and the word of the sequence that it gives next: jumping there is dear, going on is not.
  struct Reached {
    State state;
    unsigned long long word;
    bool begun;
  };
  unsigned long long seed_;
  std::vector<Reached> states_;
};

}  // namespace

// What programs hold a pointer to, whatever the kind of generator.
struct curandGenerator_st {
  virtual ~curandGenerator_st() = default;
  virtual void seed(unsigned long long value) = 0;
  virtual curandStatus_t words(const LibraryCall& call, unsigned* to, size_t count) = 0;
  virtual curandStatus_t uniform(const LibraryCall& call, float* to, size_t count) = 0;
  virtual curandStatus_t uniform(const LibraryCall& call, double* to, size_t count) = 0;
  virtual curandStatus_t normal(const LibraryCall& call, float* to, size_t count) = 0;
  virtual curandStatus_t normal(const LibraryCall& call, double* to, size_t count) = 0;

  bool is_legacy = false;
  // How many words of all sequences together have been taken.
  unsigned long long position = 0;
};

namespace {

// One kind, on the states that device code uses too, so that both give the same numbers.
template <class State>
class Generator final : public curandGenerator_st {
  static constexpr bool kIsMrg = opbridge_twin::kIsMrg<State>, kIsPhilox = opbridge_twin::kIsPhilox<State>;
  static constexpr unsigned kSingles = kIsPhilox ? 4 : 1, kInPairs = kIsPhilox ? 4 : 2;
  static constexpr unsigned kWordsOfDouble = kIsMrg ? 1 : 2;

 public:
  void seed(unsigned long long value) override { sequences_ = Sequences<State>(value); }

  curandStatus_t words(const LibraryCall& call, unsigned* to, size_t count) override {
    return fill(call, to, count, {kSingles, 1}, [](State* state, unsigned* group) {
      for (unsigned i = 0; i < kSingles; ++i) group[i] = curand(state);
    });
  }
  curandStatus_t uniform(const LibraryCall& call, float* to, size_t count) override {
    return fill(call, to, count, {kSingles, 1}, [](State* state, float* group) {
      for (unsigned i = 0; i < kSingles; ++i) group[i] = curand_uniform(state);
    });
  }
  curandStatus_t uniform(const LibraryCall& call, double* to, size_t count) override {
    return fill(call, to, count, {kSingles, kWordsOfDouble}, [](State* state, double* group) {
      for (unsigned i = 0; i < kSingles; ++i) group[i] = curand_uniform_double(state);
    });
  }
  curandStatus_t normal(const LibraryCall& call, float* to, size_t count) override {
    return fill(call, to, count, {kInPairs, 1}, [](State* state, float* group) {
      for (unsigned i = 0; i < kInPairs; i += 2) {
        const float2 pair = curand_normal2(state);
        group[i] = pair.x;
        group[i + 1] = pair.y;
      }
    });
  }
  curandStatus_t normal(const LibraryCall& call, double* to, size_t count) override {
    return fill(call, to, count, {kInPairs, kWordsOfDouble}, [](State* state, double* group) {
      for (unsigned i = 0; i < kInPairs; i += 2) {
        const double2 pair = curand_normal2_double(state);
        group[i] = pair.x;
        group[i + 1] = pair.y;
      }
    });
  }

 private:
  unsigned long long number_of_sequences() const {
    return kIsPhilox ? kSequencesOfPhilox : kIsMrg && !is_legacy ? kSequencesOfMrg : kSequences;
  }

  template <class T, class Make>
  curandStatus_t fill(const LibraryCall& call, T* to, size_t count, Grouping how, const Make& make) {
    // Of pairs a GPU gives whole ones only.
    if (!kIsPhilox && count % how.outputs != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    if (!call.writes(to, count)) return CURAND_STATUS_LAUNCH_FAILURE;
    const unsigned long long first = position / how.words, all = number_of_sequences();
    T group[4];
    for (size_t i = 0; i < count;) {
      const unsigned long long at = first + i, number = at / how.outputs, sequence = number % all;
      const unsigned taken = how.outputs * how.words;
      make(sequences_.at(sequence, number / all * taken), group);
      sequences_.passed(sequence, taken);
      for (unsigned long long within = at % how.outputs; within < how.outputs && i < count; ++within) {
        to[i++] = group[within];
      }
    }
    position += count * how.words;
    return CURAND_STATUS_SUCCESS;
  }

  Sequences<State> sequences_{0};
};

curandStatus_t create(curandGenerator_t* generator, curandRngType_t type) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT:
    case CURAND_RNG_PSEUDO_XORWOW:
      *generator = new Generator<curandStateXORWOW>;
      return CURAND_STATUS_SUCCESS;
    case CURAND_RNG_PSEUDO_MRG32K3A:
      *generator = new Generator<curandStateMRG32k3a>;
      return CURAND_STATUS_SUCCESS;
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
      *generator = new Generator<curandStatePhilox4_32_10>;
      return CURAND_STATUS_SUCCESS;
    default:
      return CURAND_STATUS_TYPE_ERROR;
  }
}

template <class T>
curandStatus_t normal(curandGenerator_t generator, const LibraryCall& call, T* to, size_t count, T mean, T deviation,
                      bool as_logarithm) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  const curandStatus_t status = generator->normal(call, to, count);
  if (status != CURAND_STATUS_SUCCESS) return status;
  for (size_t i = 0; i < count; ++i) {
    const T value = mean + deviation * to[i];
    to[i] = as_logarithm ? std::exp(value) : value;
  }
  return status;
}

}  // namespace

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
  return create(generator, type);
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) {
  return create(generator, type);
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  delete generator;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetVersion(int* version) {
  if (version == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
  *version = CURAND_VERSION;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetProperty(libraryPropertyType kind, int* value) {
  if (value == nullptr || kind > PATCH_LEVEL) return CURAND_STATUS_OUT_OF_RANGE;
  *value = kind == MAJOR_VERSION ? CURAND_VER_MAJOR : kind == MINOR_VERSION ? CURAND_VER_MINOR : CURAND_VER_PATCH;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t) {
  return generator == nullptr ? CURAND_STATUS_NOT_INITIALIZED : CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  generator->seed(seed);
  generator->position = 0;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  generator->position = offset;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  // One whose sequences are begun by hashes that NVIDIA's guide does not tell.
  if (order == CURAND_ORDERING_PSEUDO_SEEDED) return CURAND_STATUS_TYPE_ERROR;
  if (order < CURAND_ORDERING_PSEUDO_BEST || order > CURAND_ORDERING_PSEUDO_DYNAMIC) return CURAND_STATUS_OUT_OF_RANGE;
  generator->is_legacy = order == CURAND_ORDERING_PSEUDO_LEGACY;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  return generator == nullptr ? CURAND_STATUS_NOT_INITIALIZED : CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* to, size_t count) {
  OB_TWIN_LIBRARY_CALL;
  return generator == nullptr ? CURAND_STATUS_NOT_INITIALIZED : generator->words(call, to, count);
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* to, size_t count) {
  OB_TWIN_LIBRARY_CALL;
  return generator == nullptr ? CURAND_STATUS_NOT_INITIALIZED : generator->uniform(call, to, count);
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* to, size_t count) {
  OB_TWIN_LIBRARY_CALL;
  return generator == nullptr ? CURAND_STATUS_NOT_INITIALIZED : generator->uniform(call, to, count);
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* to, size_t count, float mean, float deviation) {
  OB_TWIN_LIBRARY_CALL;
  return normal(generator, call, to, count, mean, deviation, false);
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* to, size_t count, double mean,
                                          double deviation) {
  OB_TWIN_LIBRARY_CALL;
  return normal(generator, call, to, count, mean, deviation, false);
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* to, size_t count, float mean,
                                       float deviation) {
  OB_TWIN_LIBRARY_CALL;
  return normal(generator, call, to, count, mean, deviation, true);
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* to, size_t count, double mean,
                                             double deviation) {
  OB_TWIN_LIBRARY_CALL;
  return normal(generator, call, to, count, mean, deviation, true);
}
