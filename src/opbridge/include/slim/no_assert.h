// Has the effect of -DNDEBUG for sources after a header that was precompiled without it: <cassert> may be included
// again.
#define NDEBUG
#include <cassert>
