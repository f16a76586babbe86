// Clocks as programs read them.  A judge lets them go slowly, so that calls seem to take as long as on a GPU: what a
// program does on a fast machine is what it is judged by.
#ifndef OPBRIDGE_TWIN_RUNTIME_CLOCKS_H
#define OPBRIDGE_TWIN_RUNTIME_CLOCKS_H

#include <time.h>

namespace opbridge_twin {

// The time of a clock as programs read it.
timespec shown(clockid_t clock);

}  // namespace opbridge_twin
#endif
