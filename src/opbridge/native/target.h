// An operator as MindSpore calls it, and how Python hands one over.
//
// MindSpore is built with the old ABI of std::string, and the source it calls is too (core/mindspore_entry.cpp):
// nothing in this file may hold a string.
#ifndef OPBRIDGE_NATIVE_TARGET_H
#define OPBRIDGE_NATIVE_TARGET_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace opbridge {

// Sizes that are not known before the operator runs.
constexpr int64_t kUnknownSize = -1;
constexpr int64_t kUnknownRank = -2;  // alone in a shape

// The name of the PyCapsule that owns a `std::shared_ptr<Target>*`.
constexpr const char* kTargetCapsule = "opbridge.target";

// What is fixed: attributes, which arguments are absent, the lengths of lists, element types.  MindSpore calls from
// threads of its own, several at a time and without Python's lock; the last owner may let go after Python has ended.
class Target {
 public:
  // One output of a call, in the order of the schema.
  struct Output {
    std::vector<int64_t> shape;
    int32_t dtype;  // a code of abi.h
  };

  // `inputs`: how many tensors it takes, absent ones not counted.
  explicit Target(size_t inputs) : inputs_(inputs) {}
  virtual ~Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  size_t inputs() const { return inputs_; }

  // The outputs for inputs of these shapes, which may hold kUnknownSize or be {kUnknownRank}; so may the answer.
  // Throws a std::exception with a sentence for the user.
  virtual std::vector<Output> infer(const std::vector<std::vector<int64_t>>& inputs) = 0;

  // `params` are the inputs in schema order, then the outputs, all of them contiguous; where there is no output,
  // MindSpore wants one all the same, which is empty.  Throws as `infer` does.
  virtual void run(int nparam, void** params, const int* ndims, int64_t* const* shapes, const char* const* dtypes,
                   void* stream) = 0;

 protected:
  // Call this before any parameter is read: the program may come from another definition of the operator, or from
  // elsewhere.
  static void check_count(int nparam, size_t expected) {
    if (nparam < 0 || static_cast<size_t>(nparam) < expected)
      throw std::runtime_error(
          "the program passes fewer tensors than the operator has inputs and outputs; make the program again");
  }

 private:
  const size_t inputs_;
};

}  // namespace opbridge

#endif
