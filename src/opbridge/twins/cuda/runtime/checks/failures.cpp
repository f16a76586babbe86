// What the execution layer finds itself, in words.
#include <algorithm>

#include "checks.h"
#include "describe.h"
#include "launch.h"
#include "state.h"

namespace opbridge_twin::checks {

namespace {

Kind kind_of(Failure failure) {
  switch (failure) {
    case Failure::divergent_barrier:
      return Kind::divergent_barrier;
    case Failure::early_return:
      return Kind::early_return;
    case Failure::lane_not_in_mask:
      return Kind::lane_not_in_mask;
    case Failure::lane_never_comes:
      return Kind::lane_never_comes;
    case Failure::shared_memory:
      return Kind::shared_size;
    case Failure::bad_call:
      return Kind::bad_call;
    default:
      return Kind::trap;
  }
}

std::string sentence(Failure failure, const char* detail) {
  const std::string rest = detail;
  switch (failure) {
    case Failure::divergent_barrier:
      return "some threads wait at a barrier, " + rest;
    case Failure::early_return:
      return "some threads wait at a barrier, and the others have returned";
    case Failure::lane_not_in_mask:
      return rest + ", which has not that lane in it";
    case Failure::lane_never_comes:
      return "a mask names lanes that do not come, " + rest;
    default:
      return rest;
  }
}

// Threads that wait at the same place.
struct Group {
  std::string where;  // empty for threads that have ended
  std::vector<uint32_t> threads;
};

// Threads by where they wait, in the order of the first of each: a line for each place says more than one a thread.
std::vector<Group> by_place(const std::vector<Waiting>& threads) {
  std::vector<Group> groups;
  for (const Waiting& waiting : threads) {
    const std::string where = waiting.at == nullptr ? "" : place(waiting.at);
    auto group = std::find_if(groups.begin(), groups.end(), [&where](const Group& g) { return g.where == where; });
    if (group == groups.end()) group = groups.insert(groups.end(), {where, {}});
    group->threads.push_back(waiting.linear_thread);
  }
  return groups;
}

Report report_of(Failure failure, const char* detail, const std::vector<Waiting>& threads, const LaunchInfo& launch,
                 uint64_t block) {
  Report report{kind_of(failure), short_name(launch.kernel), sentence(failure, detail), {}, {}, block, worker.thread()};
  if (!threads.empty()) report.thread = threads.front().linear_thread;
  for (const auto& [where, group] : by_place(threads)) {
    const std::string first = thread_in_words(launch, block, group.front());
    const std::string who =
        group.size() == 1 ? first : std::to_string(group.size()) + " threads, the first of them " + first;
    report.details.emplace_back(where.empty() ? "ended" : "where", where.empty() ? who : where + ", " + who);
    report.same_as += where;
  }
  if (threads.empty()) report.details.emplace_back("where", thread_in_words(launch, block, worker.thread()));
  return report;
}

}  // namespace

void fail(Failure failure, const char* detail, const std::vector<Waiting>& threads) {
  const Block& block = *worker.block;
  const Launch& launch = block.launch();
  found(report_of(failure, detail, threads, launch.info, block.linear()));
  __builtin_unreachable();  // every kind of failure is fatal
}

void fail(Failure failure, const char* detail, const std::vector<Waiting>& threads, const LaunchInfo& launch,
          uint64_t linear_block) {
  deliver(report_of(failure, detail, threads, launch, linear_block));
  ob_twin_abandon(cuda_error(kind_of(failure)));
}

void barriers_meet(const std::vector<Waiting>& threads) {
  const auto one = std::find_if(threads.begin(), threads.end(), [](const Waiting& each) { return each.at != nullptr; });
  const std::string first = with_places(place(one->at));
  const auto elsewhere = [&first](const Waiting& waiting) {
    return waiting.at != nullptr && with_places(place(waiting.at)) != first;
  };
  if (std::any_of(one, threads.end(), elsewhere)) {
    fail(Failure::divergent_barrier, "and the others at another one", threads);
  }
}

void early_return(const std::vector<Waiting>& threads) {
  const Block& block = *worker.block;
  found(report_of(Failure::early_return, "", threads, block.launch().info, block.linear()));
}

void bad_launch(const LaunchInfo& info, const std::string& why, const std::string& advice) {
  Report report{Kind::bad_launch, short_name(info.kernel), why, {{"where", place(info.made_at)}}, place(info.made_at)};
  report.advice = advice;
  deliver(report);
}

void unchecked_error(const char* kernel, const char* error, const void* made_at) {
  const std::string what = "the launch failed with " + std::string(error) + ", and nothing asked for the error";
  deliver({Kind::unchecked_error, short_name(kernel), what, {{"where", place(made_at)}}, place(made_at)});
}

}  // namespace opbridge_twin::checks
