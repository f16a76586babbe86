// For libraries compiled as a compiler does when nothing else is said.
#undef _GLIBCXX_USE_CXX11_ABI
#define _GLIBCXX_USE_CXX11_ABI 1
#include "aot_block_impl.h"

namespace opbridge {
std::unique_ptr<AotBlock> block_with_new_strings(bool dual_abi) { return make_block(dual_abi); }
}  // namespace opbridge
