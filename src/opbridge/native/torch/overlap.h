// Whether tensors share memory, exactly: PyTorch's own test knows neither strided views nor memory that two storages
// have, as those of two arrays of NumPy's that are views of one.
#ifndef OPBRIDGE_NATIVE_TORCH_OVERLAP_H
#define OPBRIDGE_NATIVE_TORCH_OVERLAP_H

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace opbridge::torch_adapter {

// The bytes between a tensor's first element and its last; PyTorch has no negative strides.
struct Extent {
  explicit Extent(const at::Tensor& t) : begin(reinterpret_cast<uintptr_t>(t.const_data_ptr())), end(begin) {
    if (t.numel() == 0 || begin == 0) return;
    int64_t last = 0;
    for (int64_t k = 0; k < t.dim(); ++k) last += (t.size(k) - 1) * t.stride(k);
    end = begin + static_cast<uintptr_t>((last + 1) * static_cast<int64_t>(t.element_size()));
  }
  bool meets(const Extent& other) const { return begin < other.end && other.begin < end; }

  uintptr_t begin, end;
};

// sum(step * n) == rest, for 0 <= n <= most of each term: a bounded equation, whose search is cut where what is left of
// the terms cannot reach the rest or has another greatest divisor.
class BoundedEquation {
 public:
  void add(int64_t step, int64_t most) {
    if (step <= 0 || most <= 0) return;
    for (Term& term : terms_)
      if (term.step == step) {
        term.most += most;
        return;
      }
    terms_.push_back({step, most, 0, 0});
  }

  // Gives up after some ten thousand steps, and says yes.
  bool has_solution(int64_t rest) {
    std::sort(terms_.begin(), terms_.end(), [](const Term& a, const Term& b) { return a.step > b.step; });
    int64_t reach = 0, divisor = 0;
    for (size_t k = terms_.size(); k-- > 0;) {
      terms_[k].reach = reach += terms_[k].step * terms_[k].most;
      terms_[k].divisor = divisor = std::gcd(divisor, terms_[k].step);
    }
    return from(0, rest);
  }

 private:
  struct Term {
    int64_t step, most;
    int64_t reach, divisor;  // of this term and all after it
  };

  bool from(size_t k, int64_t rest) {
    if (k == terms_.size()) return rest == 0;
    const Term& term = terms_[k];
    if (rest < 0 || rest > term.reach || rest % term.divisor != 0) return false;
    const int64_t after = term.reach - term.step * term.most;
    const int64_t least = rest <= after ? 0 : (rest - after + term.step - 1) / term.step;
    for (int64_t n = std::min(term.most, rest / term.step); n >= least; --n)
      if (++work_ > kMostWork || from(k + 1, rest - n * term.step)) return true;
    return false;
  }

  static constexpr int kMostWork = 10000;
  std::vector<Term> terms_;
  int work_ = 0;
};

inline bool share_memory(const at::Tensor& one, const at::Tensor& other) {
  const Extent a(one), b(other);
  if (one.device() != other.device() || !a.meets(b)) return false;
  if (one.is_non_overlapping_and_dense() && other.is_non_overlapping_and_dense()) return true;
  // An address of the one, a.begin + x, is one of the other, b.end - 1 - y: every term counts upwards.
  BoundedEquation equation;
  for (const at::Tensor* tensor : {&one, &other}) {
    const auto size = static_cast<int64_t>(tensor->element_size());
    equation.add(1, size - 1);
    for (int64_t k = 0; k < tensor->dim(); ++k) equation.add(tensor->stride(k) * size, tensor->size(k) - 1);
  }
  return equation.has_solution(static_cast<int64_t>(b.end) - 1 - static_cast<int64_t>(a.begin));
}

// Whether two of them do.
inline bool share_memory(const std::vector<at::Tensor>& tensors) {
  std::vector<std::pair<Extent, const at::Tensor*>> sorted;
  for (const at::Tensor& tensor : tensors) sorted.emplace_back(Extent(tensor), &tensor);
  std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.first.begin < b.first.begin; });
  for (size_t i = 0; i < sorted.size(); ++i)
    for (size_t k = i + 1; k < sorted.size() && sorted[k].first.begin < sorted[i].first.end; ++k)
      if (share_memory(*sorted[i].second, *sorted[k].second)) return true;
  return false;
}

}  // namespace opbridge::torch_adapter

#endif
