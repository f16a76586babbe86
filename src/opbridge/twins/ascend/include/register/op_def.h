// Where the hosts of operators look for it.
#ifndef OPBRIDGE_ASCEND_REGISTER_OP_DEF_H
#define OPBRIDGE_ASCEND_REGISTER_OP_DEF_H

#include "opbridge_ascend/host/definition.h"

#endif
