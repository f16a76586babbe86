// What -DNDEBUG says, for sources behind a header that was precompiled without it: <cassert> may be included again.
#define NDEBUG
#include <cassert>
