// The types of the runtime API and of vectors, which programs of the driver API include by this name.
#include <driver_types.h>
#include <vector_types.h>
