// Fibers of the CUDA twin that take turns, each with numbers in the registers that a switch has to keep.
#include <stdint.h>

#include <vector>

#include "context.h"

namespace {

using opbridge_twin::Fiber;
using opbridge_twin::FiberPool;
using opbridge_twin::ob_twin_switch;

std::vector<Fiber*> fibers;
size_t turn;
void* host;
double* products;
int64_t* sums;

void wait_for_a_turn(size_t self) { ob_twin_switch(&fibers[self]->stack_pointer, host); }

void count() {
  const size_t self = turn;
  double product = 1;
  int64_t sum = 0;
  for (;;) {
    product *= 1 + 1.0 / static_cast<double>(self + 2);
    sum += static_cast<int64_t>(self);
    products[self] = product;
    sums[self] = sum;
    wait_for_a_turn(self);
  }
}

}  // namespace

extern "C" int take_turns(int number, int rounds, double* product_of_each, int64_t* sum_of_each) {
  FiberPool pool(count);
  products = product_of_each;
  sums = sum_of_each;
  fibers.clear();
  for (int i = 0; i < number; ++i) fibers.push_back(pool.take());
  for (int round = 0; round < rounds; ++round) {
    for (turn = 0; turn < fibers.size(); ++turn) ob_twin_switch(&host, fibers[turn]->stack_pointer);
  }
  pool.reclaim();
  return 0;
}
