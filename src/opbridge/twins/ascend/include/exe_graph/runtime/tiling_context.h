// Where the hosts of operators look for it.
#ifndef OPBRIDGE_ASCEND_EXE_GRAPH_RUNTIME_TILING_CONTEXT_H
#define OPBRIDGE_ASCEND_EXE_GRAPH_RUNTIME_TILING_CONTEXT_H

#include "opbridge_ascend/host/context.h"

#endif
