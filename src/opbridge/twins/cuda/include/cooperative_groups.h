// Groups of threads that wait for each other: blocks, parts of warps, and the whole grid of a cooperative launch.
#ifndef OPBRIDGE_TWIN_COOPERATIVE_GROUPS_H
#define OPBRIDGE_TWIN_COOPERATIVE_GROUPS_H

#include <opbridge_twin/groups.h>
#include <opbridge_twin/wide_tiles.h>

#endif
