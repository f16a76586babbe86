// Where newer installations have it.
#ifndef OPBRIDGE_ASCEND_ASCENDC_BASIC_API_KERNEL_OPERATOR_H
#define OPBRIDGE_ASCEND_ASCENDC_BASIC_API_KERNEL_OPERATOR_H

#include "../../kernel_operator.h"

#endif
