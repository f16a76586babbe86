// For libraries compiled with -D_GLIBCXX_USE_CXX11_ABI=0, as MindSpore's wheels are.
#undef _GLIBCXX_USE_CXX11_ABI
#define _GLIBCXX_USE_CXX11_ABI 0
#include "aot_block_impl.h"

namespace opbridge {
std::unique_ptr<AotBlock> block_with_old_strings(bool dual_abi) { return make_block(dual_abi); }
}  // namespace opbridge
