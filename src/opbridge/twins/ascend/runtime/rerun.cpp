#include "rerun.h"

#include <string.h>

#include <algorithm>

#include "memory.h"
#include "names.h"

namespace opbridge_ascend {
namespace {

std::string count_of(uint32_t blocks) { return std::to_string(blocks) + (blocks == 1 ? " block" : " blocks"); }

Report failure(uint32_t blocks, uint32_t again, const Report& first) {
  std::vector<std::pair<std::string, std::string>> details{{"found", first.what}};
  if (!first.where.empty())
    details.emplace_back("at", first.where + ", block " + std::to_string(first.block.value_or(0)));
  return {Kind::depends_on_blocks, "runs on " + count_of(blocks) + ", and not on " + count_of(again), {}, {}, details};
}

Report other_result(uint32_t blocks, uint32_t again, const Writes::Difference& difference) {
  return {Kind::depends_on_blocks,
          "another result on " + count_of(again) + " than on " + count_of(blocks),
          described(difference.site),
          difference.block,
          {{"memory", described_memory(difference.at, 1)}}};
}

}  // namespace

void Writes::add(const uint8_t* at, size_t bytes, Use use, const Site& site, uint32_t block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint8_t* const end = at + bytes;
  if (use == Use::read) {
    if (written_.overlaps(at, end)) no_result_.add(at, end);
    return;
  }
  written_.missing(at, end, [&](const uint8_t* from, const uint8_t* to) {
    pieces_.push_back({const_cast<uint8_t*>(from), {from, to}, {}, site, block});
  });
  written_.add(at, end);
  if (use == Use::atomic) no_result_.add(at, end);
}

void Writes::undo() {
  for (Piece& piece : pieces_) {
    piece.after.assign(piece.at, piece.at + piece.before.size());
    memcpy(piece.at, piece.before.data(), piece.before.size());
  }
}

void Writes::redo() {
  for (const Piece& piece : pieces_) memcpy(piece.at, piece.after.data(), piece.after.size());
}

std::optional<Writes::Writer> Writes::writer_of(const uint8_t* byte) const {
  for (const Piece& piece : pieces_) {
    if (piece.at <= byte && byte < piece.at + piece.before.size()) return Writer{piece.site, piece.block};
  }
  return std::nullopt;
}

Writes::Difference Writes::first_difference(const Writes& other) const {
  Difference first;
  const auto compare = [&](const Piece& piece, const std::vector<uint8_t>& expected, const Stretches* but_not) {
    for (size_t i = 0; i < expected.size(); ++i) {
      const uint8_t* const byte = piece.at + i;
      if (first.at != nullptr && byte >= first.at) return;
      if (*byte == expected[i] || !is_result(byte) || !other.is_result(byte)) continue;
      if (but_not == nullptr || !but_not->has(byte)) first = {byte, piece.site, piece.block};
    }
  };
  for (const Piece& piece : pieces_) compare(piece, piece.after, nullptr);
  // What only the other run has written must be what was there before.
  for (const Piece& piece : other.pieces_) compare(piece, piece.before, &written_);
  return first;
}

namespace {

// Of the numbers that look like those of variables without a value: which no longer do where such variables hold
// others.
std::vector<Report> confirmed(const std::vector<Report>& suspicions, Work work, uint32_t blocks) {
  if (suspicions.empty()) return {};
  work.unset = 0x01;
  Writes writes;
  Launch other(work, blocks, true, &writes);
  other.run();
  writes.undo();
  std::vector<Report> found;
  for (const Report& report : suspicions) {
    const auto is_same = [&](const Report& it) { return it.where == report.where && it.block == report.block; };
    const std::vector<Report>& meant = other.suspicions();
    if (std::none_of(meant.begin(), meant.end(), is_same)) found.push_back(report);
  }
  return found;
}

// For a launch that has ended and whose results are in memory.
std::vector<Report> with_doubts(const Launch& launch, const Work& work, uint32_t blocks, std::vector<Report> reports) {
  for (Report& report : confirmed(launch.suspicions(), work, blocks)) reports.push_back(std::move(report));
  const Races& doubts = launch.doubts();
  if (doubts.of_loads.empty()) return reports;
  if (reports.empty()) {
    Writes writes;
    const bool is_used = !Launch(work, blocks, true, &writes, nullptr, &doubts.loaded).run().empty();
    writes.undo();
    if (!is_used) return reports;
  }
  reports.insert(reports.end(), doubts.of_loads.begin(), doubts.of_loads.end());
  return reports;
}

}  // namespace

std::vector<Report> run_once(const Work& work, uint32_t blocks, Writes* log, Recordings* recordings) {
  Launch launch(work, blocks, true, log, recordings);
  std::vector<Report> reports = launch.run();
  return with_doubts(launch, work, blocks, std::move(reports));
}

std::vector<Report> run_on_several(const Work& work, uint32_t blocks) {
  Writes first;
  Launch launch(work, blocks, true, &first);
  std::vector<Report> reports = launch.run();
  reports = with_doubts(launch, work, blocks, std::move(reports));
  // A kernel that has not asked for the number of blocks gets the division from its host, and is right for that number
  // only.
  if (!reports.empty() || !launch.asked_for_count()) return reports;
  first.undo();
  for (const uint32_t again : {1u, 2u}) {
    if (again == blocks || !reports.empty()) continue;
    Writes writes;
    const std::vector<Report> found = Launch(work, again, true, &writes).run();
    const Writes::Difference difference = first.first_difference(writes);
    if (!found.empty()) {
      reports.push_back(failure(blocks, again, found.front()));
    } else if (difference.at != nullptr) {
      reports.push_back(other_result(blocks, again, difference));
    }
    writes.undo();
  }
  first.redo();
  return reports;
}

}  // namespace opbridge_ascend
