// What one request of a warp costs: sectors of global memory, passes of shared memory, turns of constant memory, by
// NVIDIA's published rules.
#ifndef OPBRIDGE_TWIN_PROFILING_REQUESTS_H
#define OPBRIDGE_TWIN_PROFILING_REQUESTS_H

#include <stddef.h>
#include <stdint.h>

namespace opbridge_twin::profile {

constexpr unsigned kLanes = 32;
constexpr unsigned kBanks = 32;
constexpr uint64_t kBankBytes = 4;
constexpr uint64_t kSectorBytes = 32;

// One instruction of a warp, as its active lanes make it: addresses in one memory, each of `bytes`.
struct Request {
  unsigned lanes = 0;
  unsigned bytes = 0;
  uint64_t addresses[kLanes];
  unsigned char numbers[kLanes];  // of the lanes, rising
};

struct Cost {
  uint64_t parts = 0;      // sectors, passes or turns
  uint64_t least = 0;      // … that the same bytes need where they lie best
  uint64_t same_word = 0;  // lanes at the address that most lanes have
  int64_t stride = 0;      // bytes from each lane to the next; 0 where they differ, or all is one address
};

// An access of 16 bytes lies in at most two sectors.
constexpr unsigned kMostSectors = kLanes * 2;
Cost global_cost(const Request& request, uint64_t (&sectors)[kMostSectors]);

// Halves of a warp at a time for 8 bytes a lane, quarters for 16; lanes at one word share a pass.
Cost shared_cost(const Request& request);

// Lanes at one address are served together, those at others after them.
Cost constant_cost(const Request& request);

}  // namespace opbridge_twin::profile
#endif
