// Where the hosts of operators look for it.
#ifndef OPBRIDGE_ASCEND_GRAPH_TYPES_H
#define OPBRIDGE_ASCEND_GRAPH_TYPES_H

#include "opbridge_ascend/host/graph.h"

#endif
