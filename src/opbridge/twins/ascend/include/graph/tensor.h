// Where the hosts of operators look for it.
#ifndef OPBRIDGE_ASCEND_GRAPH_TENSOR_H
#define OPBRIDGE_ASCEND_GRAPH_TENSOR_H

#include "opbridge_ascend/host/graph.h"

#endif
