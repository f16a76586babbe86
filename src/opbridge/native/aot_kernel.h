// A kernel that takes its attributes in another way than abi.h has them: in MindSpore's attribute block, the `AotExtra`
// of compat/custom_aot_extra.h, or as arguments of tvm-ffi's call.
//
// The core makes these, and adapters compiled with another std::string call them: nothing in this file holds one.
#ifndef OPBRIDGE_NATIVE_AOT_KERNEL_H
#define OPBRIDGE_NATIVE_AOT_KERNEL_H

#include <opbridge/abi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace opbridge {

// Which block a library was compiled against; the flags of opbridge.build.sources.elf.
enum AotBlockFlag : unsigned { kTakesBlock = 1, kDualAbi = 2, kOldStrings = 4 };

// As long-lived as its library, and called from any thread.
class AotKernel {
 public:
  // What the library says of one output, in the schema's order.
  struct Output {
    std::vector<int64_t> shape;
    int32_t dtype;  // a code of abi.h
  };

  virtual ~AotKernel() = default;

  // The kernel's own call, made from `call`: in MindSpore's case with a block and the workspace its Init asked for.  A
  // failure of ours leaves its message in `call` as a kernel does.  Throws what the kernel throws.
  virtual int run(const ob_call& call, int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes,
                  void* stream) = 0;

  // Whether the library says itself what the outputs are like.
  virtual bool infers() const = 0;

  // The outputs for the inputs in `call`; non-zero with a message in `call` where that fails.
  virtual int infer(const ob_call& call, const int* ndims, int64_t* const* shapes, std::vector<Output>& outputs) = 0;

  // For people.
  virtual const char* description() const = 0;
};

}  // namespace opbridge

#endif
