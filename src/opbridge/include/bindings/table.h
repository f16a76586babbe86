// The table of functions that the bindings of a PyTorch extension and the library that calls Python share.
#ifndef OPBRIDGE_BINDINGS_TABLE_H
#define OPBRIDGE_BINDINGS_TABLE_H

#include <cstddef>
#include <cstdint>

namespace opbridge::bindings {

// The type of an argument or a result, without const and references.
enum class Kind : unsigned char { Nothing, Tensor, Tensors, Bool, Int, Int64, Float, Double };

using Target = void (*)();

// One function of C++; its texts and kinds live as long as the library that it is in.
struct Function {
  const char* name;
  const char* documentation;
  Kind result;
  const Kind* kinds;
  std::size_t count;
  Target target;
  // `arguments` point to a value of each kind; the result is made where `result` points.
  void (*call)(Target target, void* const* arguments, void* result);
};

}  // namespace opbridge::bindings

extern "C" {
// A new module of Python, as PyInit_NAME returns it.
void* opbridge_bindings_module(const char* name, const opbridge::bindings::Function* functions, std::size_t count);
// Copies the only member of a tensor.
void opbridge_bindings_copy(void** to, void* const* from);
void opbridge_bindings_release(void** member);
}

#endif
