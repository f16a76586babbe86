// A call by MindSpore itself, in a library that `opbridge compile` or `opbridge build -o` made: where a kernel finds
// the attributes that stand in MindSpore's block.  The block's classes are C++ and depend on how MindSpore was
// compiled, so a source of its own reads them (native/standalone/attributes.h) and this is all that kernels know of it.
#ifndef OPBRIDGE_FOREIGN_H
#define OPBRIDGE_FOREIGN_H

#include <opbridge/abi.h>

extern "C" {

// The content of MindSpore's block, read once when its operator was made; it outlives every call.
struct ob_foreign_call {
  const ob_arg* attributes;  // in the order of the C++ parameters
  int32_t n_attributes;
  const char* error;  // why the attributes could not be read, or null
};

// The data of a block that <F>Init received; null for any other pointer.
typedef const ob_foreign_call* (*ob_foreign_lookup)(const void* extra);
}

#endif
