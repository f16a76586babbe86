// Infers outputs while sizes of the inputs are unknown, for anything that can infer them from sizes that are known.
#ifndef OPBRIDGE_NATIVE_UNKNOWN_SIZES_H
#define OPBRIDGE_NATIVE_UNKNOWN_SIZES_H

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "target.h"

namespace opbridge {

inline bool all_known(const std::vector<std::vector<int64_t>>& shapes) {
  return std::all_of(shapes.begin(), shapes.end(), [](const std::vector<int64_t>& shape) {
    return std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size >= 0; });
  });
}

// One way to replace unknown sizes by numbers.  An operator may require unknown sizes to be equal, different or 1, so
// there are several; those that the operator rejects decide nothing.
enum class Substitution { Ones, SameEverywhere, SameByDimension, AllDifferent };

// One way carried out: the same unknown always gets the same number.
class Substituted {
 public:
  Substituted(Substitution how, size_t unknown_rank) : how_(how), unknown_rank_(unknown_rank) {}

  std::vector<std::vector<int64_t>> operator()(std::vector<std::vector<int64_t>> shapes) {
    for (std::vector<int64_t>& shape : shapes) {
      if (shape.size() == 1 && shape[0] == kUnknownRank) shape.assign(unknown_rank_, kUnknownSize);
      for (size_t k = 0; k < shape.size(); ++k)
        if (shape[k] < 0) shape[k] = size(k);
    }
    return shapes;
  }

 private:
  // Primes so large that no rule divides them to nothing, and so small that the product of four fits in 64 bits.
  int64_t size(size_t dimension) {
    static constexpr int64_t primes[] = {10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079,
                                         10091, 10093, 10099, 10103, 10111, 10133, 10139, 10141};
    switch (how_) {
      case Substitution::Ones:
        return 1;
      case Substitution::SameEverywhere:
        return 10080;  // which 2 to 10 divide
      case Substitution::SameByDimension:
        return primes[dimension % std::size(primes)];
      default:
        return primes[next_++ % std::size(primes)];
    }
  }

  const Substitution how_;
  const size_t unknown_rank_;
  size_t next_ = 0;
};

// Keeps of `known` what `other` agrees with.
inline void keep_agreement(std::vector<Target::Output>& known, const std::vector<Target::Output>& other) {
  for (size_t i = 0; i < known.size() && i < other.size(); ++i) {
    std::vector<int64_t>& shape = known[i].shape;
    if (shape.size() != other[i].shape.size()) shape = {kUnknownRank};
    if (shape.size() == 1 && shape[0] == kUnknownRank) continue;
    for (size_t k = 0; k < shape.size(); ++k)
      if (shape[k] != other[i].shape[k]) shape[k] = kUnknownSize;
  }
}

// What `infer` answers for several sizes in place of the unknown ones, as far as its answers agree.  Throws what it
// throws where it never answers.
template <class Infer>
std::vector<Target::Output> infer_unknown(const std::vector<std::vector<int64_t>>& inputs, Infer infer) {
  const bool unknown_rank = std::any_of(inputs.begin(), inputs.end(), [](const std::vector<int64_t>& shape) {
    return shape.size() == 1 && shape[0] == kUnknownRank;
  });
  constexpr size_t kHighestRank = 5;
  std::optional<std::vector<Target::Output>> agreed;
  std::exception_ptr refusal;
  std::set<Substitution> answered;
  for (size_t rank = 0; rank <= (unknown_rank ? kHighestRank : 0); ++rank) {
    for (const Substitution how : {Substitution::Ones, Substitution::SameEverywhere, Substitution::SameByDimension,
                                   Substitution::AllDifferent}) {
      try {
        std::vector<Target::Output> answer = infer(Substituted(how, rank)(inputs));
        answered.insert(how);
        if (agreed)
          keep_agreement(*agreed, answer);
        else
          agreed = std::move(answer);
      } catch (const std::exception&) {
        refusal = std::current_exception();
      }
    }
  }
  if (!agreed) std::rethrow_exception(refusal);
  // Answers to one kind of numbers say nothing of which sizes come from those numbers.
  if (answered.size() == 1)
    for (Target::Output& output : *agreed)
      if (output.shape != std::vector<int64_t>{kUnknownRank})
        std::fill(output.shape.begin(), output.shape.end(), kUnknownSize);
  return *agreed;
}

}  // namespace opbridge

#endif
