// Where the hosts of operators look for it.
#ifndef OPBRIDGE_ASCEND_REGISTER_OP_DEF_REGISTRY_H
#define OPBRIDGE_ASCEND_REGISTER_OP_DEF_REGISTRY_H

#include "opbridge_ascend/host/definition.h"
#include "register/tilingdata_base.h"

#endif
