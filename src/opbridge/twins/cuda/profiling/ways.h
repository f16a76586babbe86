// The ways that lanes have taken through the code, and an order of its places by which all meet again.
#ifndef OPBRIDGE_TWIN_PROFILING_WAYS_H
#define OPBRIDGE_TWIN_PROFILING_WAYS_H

#include <stddef.h>
#include <stdint.h>

#include <unordered_map>
#include <vector>

namespace opbridge_twin::profile {

// A graph of places, numbered in the order of discovery.  Ranks increase along every path, except back to the first
// place of a loop, and the ranks of a loop are consecutive.  A lane that has left a loop thus ranks after those in it.
class Ways {
 public:
  using Number = uint32_t;
  static constexpr Number kNone = ~Number{0};

  // The place's number; `from` leads to it, unless it is kNone.
  Number come(Number from, uint64_t order);

  uint64_t order(Number place) const { return places_[place].order; }
  uint32_t rank(Number place) const { return places_[place].rank; }
  // To be called before ranks are asked for.
  void rank_all();

 private:
  struct Place {
    uint64_t order;
    std::vector<Number> next;
    uint32_t rank = 0;
    // State of the search for loops.
    uint32_t visited = 0, lowest = 0;
    bool is_open = false;
    unsigned depth = 0;  // in how many loops it is looked at
  };

  void rank(const std::vector<Number>& places, unsigned depth);
  void visit(Number first, unsigned depth, std::vector<Number>& open, std::vector<std::vector<Number>>& loops);

  Number number_of(uint64_t order);

  static constexpr size_t kRecent = 256;
  struct Recent {
    uint64_t order = ~uint64_t{0};
    Number number = kNone;
  };

  std::unordered_map<uint64_t, Number> numbers_;
  Recent recent_[kRecent];  // of them, by the order's last bits
  std::vector<Place> places_;
  uint32_t visits_ = 0, ranked_ = 0;
  bool is_new_ = false;
};

}  // namespace opbridge_twin::profile
#endif
