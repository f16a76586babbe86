#include "joining.h"

namespace opbridge_twin::profile {

namespace {

constexpr unsigned kMostBytes = 16;

// The greatest power of two, up to kMostBytes, that all addresses are multiples of.
unsigned alignment_of(const Request& request) {
  uint64_t bits = kMostBytes;
  for (unsigned i = 0; i < request.lanes; ++i) bits |= request.addresses[i];
  return static_cast<unsigned>(bits & -bits);
}

}  // namespace

bool Joining::goes_on(const Open& open, const Request& request) {
  if (open.length == 0 || open.length + request.bytes > open.most) return false;
  if (open.request.bytes != request.bytes || open.request.lanes != request.lanes) return false;
  for (unsigned i = 0; i < request.lanes; ++i) {
    if (request.numbers[i] != open.request.numbers[i]) return false;
    if (request.addresses[i] != open.request.addresses[i] + open.length) return false;
  }
  return true;
}

void Joining::read(const Request& request, uint64_t& passes) {
  for (Open& open : open_) {
    if (!goes_on(open, request)) continue;
    open.length += request.bytes;
    return;
  }
  Open& oldest = open_[next_++ % kOpen];
  close(oldest);
  oldest = {request, request.bytes, alignment_of(request), &passes};
}

void Joining::close(Open& open) {
  Request& request = open.request;
  while (open.length > 0) {
    request.bytes = kMostBytes;
    while (request.bytes > open.length) request.bytes /= 2;
    *open.passes += shared_cost(request).parts;
    for (unsigned i = 0; i < request.lanes; ++i) request.addresses[i] += request.bytes;
    open.length -= request.bytes;
  }
}

void Joining::close_all() {
  for (Open& open : open_) close(open);
}

}  // namespace opbridge_twin::profile
