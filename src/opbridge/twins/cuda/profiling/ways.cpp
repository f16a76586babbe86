#include "ways.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace opbridge_twin::profile {

Ways::Number Ways::number_of(uint64_t order) {
  Recent& recent = recent_[(order ^ order >> 8) & (kRecent - 1)];
  if (recent.order == order) return recent.number;
  const auto [found, is_new] = numbers_.try_emplace(order, static_cast<Number>(places_.size()));
  if (is_new) {
    places_.push_back({order, {}});
    is_new_ = true;
  }
  recent = {order, found->second};
  return found->second;
}

Ways::Number Ways::come(Number from, uint64_t order) {
  const Number here = number_of(order);
  if (from == kNone) return here;
  std::vector<Number>& next = places_[from].next;
  if (std::find(next.begin(), next.end(), here) == next.end()) {
    next.push_back(here);
    is_new_ = true;
  }
  return here;
}

void Ways::rank_all() {
  if (!is_new_) return;
  is_new_ = false;
  ranked_ = 0;
  std::vector<Number> all(places_.size());
  std::iota(all.begin(), all.end(), 0);
  for (Place& place : places_) place.depth = 0;
  rank(all, 0);
}

// Loops, and places in none, by Tarjan's search; then the same inside of each loop, without the place that leads in.
void Ways::rank(const std::vector<Number>& places, unsigned depth) {
  for (const Number place : places) places_[place].visited = 0;
  std::vector<std::vector<Number>> loops;
  std::vector<Number> open;
  for (const Number place : places) {
    if (places_[place].visited == 0) visit(place, depth, open, loops);
  }
  // They are found from the ends of all ways backwards.
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    const Number first = loop->back();
    places_[first].rank = ranked_++;
    loop->pop_back();
    if (loop->empty()) continue;
    for (const Number place : *loop) places_[place].depth = depth + 1;
    std::reverse(loop->begin(), loop->end());
    rank(*loop, depth + 1);
  }
}

// Without calls of itself: it runs on the small stack of a kernel's thread.
void Ways::visit(Number first, unsigned depth, std::vector<Number>& open, std::vector<std::vector<Number>>& loops) {
  std::vector<std::pair<Number, size_t>> way;  // places, and how many of their successors have been visited
  const auto enter = [&](Number place) {
    places_[place].visited = places_[place].lowest = ++visits_;
    places_[place].is_open = true;
    open.push_back(place);
    way.emplace_back(place, 0);
  };
  enter(first);
  while (!way.empty()) {
    const Number place = way.back().first;
    Place& here = places_[place];
    if (way.back().second < here.next.size()) {
      const Number next = here.next[way.back().second++];
      if (places_[next].depth != depth) continue;
      if (places_[next].visited == 0) {
        enter(next);
      } else if (places_[next].is_open) {
        here.lowest = std::min(here.lowest, places_[next].visited);
      }
      continue;
    }
    way.pop_back();
    if (!way.empty()) {
      Place& before = places_[way.back().first];
      before.lowest = std::min(before.lowest, here.lowest);
    }
    if (here.lowest != here.visited) continue;
    std::vector<Number>& loop = loops.emplace_back();
    do {
      loop.push_back(open.back());
      places_[open.back()].is_open = false;
      open.pop_back();
    } while (loop.back() != place);
  }
}

}  // namespace opbridge_twin::profile
