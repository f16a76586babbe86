// Accesses that are wrong by themselves: outside of all memory, of bytes without a value, or writes of constants.
#ifndef OPBRIDGE_TWIN_CHECKS_WRONG_PLACES_H
#define OPBRIDGE_TWIN_CHECKS_WRONG_PLACES_H

#include <stdint.h>

#include "races.h"

namespace opbridge_twin::checks {

// Gives the cell of a first access its value.  False where the address is nobody's business.
bool admit(const Touch& touch, uintptr_t address);

void report_unset(const Touch& touch, uintptr_t address);
void report_constant(const Touch& touch);

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_WRONG_PLACES_H
