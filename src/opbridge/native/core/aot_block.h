// The block that a third-party kernel gets as `extra`.
//
// A kernel passes strings to it, so there is one for each std::string a library may have been compiled with
// (aot_block_old_strings.cpp, aot_block_new_strings.cpp); this file, which the rest of the core sees too, holds none.
#ifndef OPBRIDGE_NATIVE_CORE_AOT_BLOCK_H
#define OPBRIDGE_NATIVE_CORE_AOT_BLOCK_H

#include <opbridge/abi.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace opbridge {

// What a kernel keeps in a block.  Not local to a file, or compilers would take it for the whole class hierarchy and
// not look for the destructor of the library's class.
class AotData {
 public:
  virtual ~AotData() = default;
};

// The object that a library written to MindSpore's block gets as `extra`; made for one state, it serves one call at a
// time.
class AotBlock {
 public:
  // Deletes the kernel's data, which is why it must not outlive the library.
  virtual ~AotBlock() = default;

  // The call whose attributes it answers for from now on.
  virtual void serve(const ob_call& call) = 0;
  virtual void* extra() = 0;
  virtual const std::vector<size_t>& workspace() const = 0;
};

std::unique_ptr<AotBlock> block_with_old_strings(bool dual_abi);
std::unique_ptr<AotBlock> block_with_new_strings(bool dual_abi);

}  // namespace opbridge

#endif
