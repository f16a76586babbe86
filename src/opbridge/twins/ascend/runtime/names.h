// How pipes, positions and instructions are called in reports.
#ifndef OPBRIDGE_ASCEND_NAMES_H
#define OPBRIDGE_ASCEND_NAMES_H

#include <string>

#include "block.h"

namespace opbridge_ascend {

std::string name_of(int pipe);
std::string name_of(AscendC::TPosition position);
std::string name_of(Space space);
// As in HardEvent: MTE2_V.
std::string event_name(int from, int to);
std::string event_name(int from, int to, int id);
std::string described(const Site& site);
std::string hexadecimal(uint64_t number);

}  // namespace opbridge_ascend
#endif
