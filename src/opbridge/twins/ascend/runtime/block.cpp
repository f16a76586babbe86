#include "block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "names.h"
#include "recording.h"

namespace opbridge_ascend {
namespace {

// Not a number, as half, bfloat16 and float.
constexpr uint8_t kPoison = 0xff;
constexpr size_t kMemoryAlignment = 512;
constexpr size_t kMostBuffers = 64;

constexpr uint32_t begin_of(Space space) {
  uint32_t begin = 0;
  for (int i = 0; i < static_cast<int>(space); ++i) begin += kLargest[i];
  return begin;
}
constexpr uint32_t kAll = begin_of(Space{kSpaces});

// Whether matrix and vector unit do: then CO2 is in the unified buffer, and the vector unit reads CO1.
bool shares_a_core() { return chosen_soc()->vector_cores == 1; }

// Memories that the instructions of a pipe can name.
bool reaches(pipe_t pipe, Space space) {
  if (space == Space::unified_buffer) return pipe != PIPE_M && pipe != PIPE_MTE1 && pipe != PIPE_FIX;
  if (space == Space::l1) return pipe == PIPE_MTE1 || pipe == PIPE_MTE2 || pipe == PIPE_MTE3 || pipe == PIPE_S;
  if (space == Space::l0c) return pipe == PIPE_M || pipe == PIPE_FIX || (pipe == PIPE_V && shares_a_core());
  return pipe == PIPE_M || pipe == PIPE_MTE1 || pipe == PIPE_MTE2;
}

// What --cce-auto-sync puts flags and barriers between.
bool is_covered_by_compiler(pipe_t before, pipe_t after) {
  const auto is_one = [](pipe_t pipe) { return pipe == PIPE_V || pipe == PIPE_MTE2 || pipe == PIPE_MTE3; };
  if (before == PIPE_V && after == PIPE_V) return true;
  return (before == PIPE_S && is_one(after)) || (after == PIPE_S && is_one(before));
}

// Returns whether a tensor was freed and its memory not allocated again.  Using it is harmless until then; the clocks
// compare the next owner's accesses with this use.
bool is_lying_idle(const Buffer& buffer, const Local& local) {
  return buffer.state == State::idle && buffer.bytes > 0 && buffer.generation == local.generation + 1;
}

thread_local Block* running = nullptr;

}  // namespace

void Block::Freed::operator()(uint8_t* memory) const { free(memory); }

Block::Block()
    : memory_(static_cast<uint8_t*>(aligned_alloc(kMemoryAlignment, kAll))),
      initialised_(kAll),
      touched_(kAll / kBlockBytes) {
  if (memory_ == nullptr) throw std::bad_alloc();
}

Block& Block::mine() {
  static thread_local std::unique_ptr<Block> block(new Block);
  return *block;
}

Block& Block::current() {
  if (running != nullptr) return *running;
  fputs(
      "ascend-twin: an instruction outside of a kernel: kernels are started by ACLRT_LAUNCH_KERNEL, <<<>>> or "
      "ICPU_RUN_KF, not by a plain call\n",
      stderr);
  abort();
}

void Block::leave() { running = nullptr; }
bool Block::any() { return running != nullptr; }

void Block::begin(Launch& of, uint32_t index) {
  running = this;
  launch = &of;
  registers = Registers{};
  registers.index = index;
  core = index;
  registers.per_block = of.cores_per_block();
  registers.count = of.cores() / registers.per_block;
  registers.checked = of.checked();
  for (int space = 0; space < kSpaces; ++space) {
    const uint32_t begin = begin_of(Space(space)), bytes = used_[space].most;
    if (registers.checked) {
      memset(memory_.get() + begin, kPoison, bytes);
      std::fill_n(initialised_.begin() + begin, bytes, uint8_t{0});
      std::fill_n(touched_.begin() + begin / kBlockBytes, bytes / kBlockBytes, Touched{});
    }
    used_[space] = Used{};
    whole_[space] = -1;
  }
  buffers_.clear();
  writings_.clear();
  scalar_cache_.clean();
  sites_.clear();
  told_.clear();
  order_ = Order{};
  for (Recent& recent : recent_) recent.clear();
  clocks_ = {};
  drained_ = {};
  for (Lessons& lessons : lessons_) lessons.count = 0;
  for (auto& from : flags_) {
    for (auto& to : from) std::fill(std::begin(to), std::end(to), Flag{});
  }
  memset(events_, 0, sizeof events_);
  recording_ = of.recordings() == nullptr ? nullptr : of.recordings()->of_block(index);
}

void Block::begin_as_cube(Launch& of, uint32_t index) {
  begin(of, index);
  core = of.cores() + index;
  registers.is_cube = true;
  order_.is_cube = true;
  recording_ = nullptr;
}

void Block::end() {
  if (!registers.checked || is_unannounced_cube()) return;
  if (recording_ != nullptr) {
    uint32_t most[kSpaces];
    std::transform(std::begin(used_), std::end(used_), most, [](const Used& used) { return used.most; });
    recording_->ends(sites_, most);
  }
  for (int from = 0; from < kPipes; ++from) {
    for (int to = 0; to < kPipes; ++to) {
      for (int id = 0; id < kEvents; ++id) {
        const Flag& flag = flags_[from][to][id];
        if (!flag.is_set) continue;
        report(Kind::unpaired_flag, "set, but never waited for",
               text_of(flag.place) + ", SetFlag of " + event_name(from, to, id));
      }
    }
  }
  for (const Buffer& buffer : buffers_) {
    if (buffer.state == State::idle) continue;
    const char* const what = buffer.state == State::queued ? "a tensor is left in its queue" : "a tensor is not freed";
    report(Kind::unfreed_tensor, what, text_of(buffer.place));
  }
  if (registers.atomic != Atomic::none) {
    report(Kind::atomic_left_on, "the kernel ends in atomic mode", {});
  }
}

TouchedBy Block::touched() { return {registers.index, core, touches_.take(), sites_, scalar_cache_.take()}; }

void Block::report(Kind kind, const std::string& what, const std::string& where,
                   std::vector<std::pair<std::string, std::string>> details) {
  launch->add({kind, what, where, registers.index, std::move(details)});
}

void Block::fail(Kind kind, const std::string& what, const std::string& where,
                 std::vector<std::pair<std::string, std::string>> details) {
  report(kind, what, where, std::move(details));
  throw BlockEnded{};
}

void Block::report_division() {
  const std::string where = sites_.empty() ? std::string() : "after " + Block::where();
  report(Kind::division_by_zero, "divides an integer by zero", where);
}

bool Block::is_news(Kind kind, uint16_t other) { return told_.emplace(kind, site_, other).second; }

std::string Block::where() const { return described(sites_[site_]); }

uint16_t Block::number_of(const Site& site) {
  for (size_t i = sites_.size(); i-- > 0;) {
    const Site& other = sites_[i];
    if (other.place.line == site.place.line && other.place.file == site.place.file && other.name == site.name &&
        other.pipe == site.pipe && other.automatic == site.automatic) {
      return static_cast<uint16_t>(i);
    }
  }
  sites_.push_back(site);
  return static_cast<uint16_t>(sites_.size() - 1);
}

void Block::instruction(const char* name, pipe_t pipe, Place at) {
  site_ = number_of({name, at, pipe, launch->auto_sync() && registers.out_of_line == 0});
  ++run_;
  is_masked_ = false;
  if (is_unannounced_cube() && pipe != PIPE_S) fail_as_second_part(where());
  if (registers.is_cube && pipe == PIPE_V) {
    fail(Kind::bad_parameter, "a vector instruction on the core with the matrix unit", where(),
         {{"expected", "if ASCEND_IS_AIV around what the vector cores do"}});
  }
  if (pipe == PIPE_V && launch->kind() == Cores::cube && chosen_soc()->vector_cores > 1) {
    fail(Kind::bad_parameter, "a vector instruction on a core with a matrix unit alone", where(),
         {{"expected", "a kernel that is not KERNEL_TYPE_AIC_ONLY"}});
  }
  Clock& own = clocks_[pipe];
  // The scalar pipe hands out all instructions, so what it has waited for is over for each of them.  What it has
  // itself written is not: its stores take a way of their own.
  if (pipe != PIPE_S) {
    const uint32_t of_scalar = own[PIPE_S];
    join(own, clocks_[PIPE_S]);
    own[PIPE_S] = of_scalar;
    drained_[pipe] = std::max(drained_[pipe], clocks_[PIPE_S][pipe]);
  }
  if (recording_ != nullptr) recording_->begins(site_, own);
  ++own[pipe];
}

void Block::join(Clock& into, const Clock& from) {
  for (int i = 0; i < kPipes; ++i) into[i] = std::max(into[i], from[i]);
}

void Block::join_all() {
  Clock all{};
  for (const Clock& clock : clocks_) join(all, clock);
  clocks_.fill(all);
  drained_ = all;
  for (Lessons& lessons : lessons_) lessons.count = 0;
}

void Block::learn(pipe_t pipe, const Clock& from) {
  Clock& own = clocks_[pipe];
  const uint32_t time = own[pipe];
  join(own, from);
  own[pipe] = time;
  drained_[pipe] = std::max(drained_[pipe], from[pipe]);
  Lessons& lessons = lessons_[pipe];
  lessons.last[lessons.count++ % kLessons] = {time + 1, own};
}

Clock Block::known_at(pipe_t pipe, uint32_t time) const {
  const Lessons& lessons = lessons_[pipe];
  Clock clock{};
  for (size_t i = lessons.count; i-- > 0 && i + kLessons >= lessons.count;) {
    if (lessons.last[i % kLessons].time > time) continue;
    clock = lessons.last[i % kLessons].clock;
    break;
  }
  clock[pipe] = time;
  return clock;
}

bool Block::is_ordered_by_compiler(pipe_t before, uint32_t time, uint16_t site) {
  const Site& own = sites_[site_];
  if (!own.automatic || !sites_[site].automatic || !is_covered_by_compiler(before, own.pipe)) return false;
  if (before != own.pipe) learn(own.pipe, known_at(before, time));
  if (recording_ != nullptr) recording_->waits_for(clocks_[own.pipe]);
  return true;
}

Space Block::space_of(AscendC::TPosition position) {
  switch (position) {
    case AscendC::TPosition::A1:
    case AscendC::TPosition::B1:
    case AscendC::TPosition::C1:
    case AscendC::TPosition::TSCM:
      return Space::l1;
    case AscendC::TPosition::A2:
      return Space::l0a;
    case AscendC::TPosition::B2:
      return Space::l0b;
    case AscendC::TPosition::CO1:
      return Space::l0c;
    case AscendC::TPosition::C2:
      return Space::bias_table;
    default:
      return Space::unified_buffer;
  }
}

uint16_t Block::allocate(uint32_t count, uint32_t bytes, AscendC::TPosition position, Place at) {
  const Soc& soc = *chosen_soc();
  const Space space = space_of(position);
  const uint32_t most = soc.bytes[static_cast<int>(space)];
  Used& used = used_[static_cast<int>(space)];
  const uint32_t each = (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  if (position == AscendC::TPosition::CO2 && !shares_a_core()) {
    fail(Kind::bad_parameter, std::string("CO2 is not a local memory of ") + soc.name,
         text_of(at) + ", InitBuffer of CO2",
         {{"expected", "Ascend310P, or Fixpipe, by which what the matrix unit has computed leaves CO1"}});
  }
  const uint64_t after = used.now + uint64_t{each} * count;
  const std::string place = text_of(at) + ", InitBuffer of " + name_of(position);
  if (after > most) {
    fail(Kind::local_budget,
         std::to_string(count) + " buffers of " + std::to_string(each) + " bytes do not fit into " + name_of(space),
         place,
         {{"memory",
           std::to_string(used.now) + " of the " + std::to_string(most) + " bytes of " + soc.name + " are in use"}});
  }
  const size_t first = buffers_.size();
  for (uint32_t i = 0; i < count; ++i) {
    buffers_.push_back({begin_of(space) + used.now + i * each, each, position, State::idle, 0, Clock{}, at});
  }
  writings_.resize(buffers_.size());
  const auto live = std::count_if(buffers_.begin(), buffers_.end(), [](const Buffer& b) { return b.bytes > 0; });
  if (live > static_cast<ptrdiff_t>(kMostBuffers)) {
    fail(Kind::local_budget, std::to_string(live) + " buffers, and a kernel has at most 64", place);
  }
  used.now = static_cast<uint32_t>(after);
  used.most = std::max(used.most, used.now);
  if (recording_ != nullptr) recording_->takes({position, count, each, at});
  return static_cast<uint16_t>(first);
}

Local Block::chosen(AscendC::TPosition position, uint32_t begin, uint32_t bytes, Place at) {
  const auto space = static_cast<int>(space_of(position));
  const uint32_t most = chosen_soc()->bytes[space];
  if (uint64_t{begin} + bytes > most) {
    fail(Kind::local_budget,
         "a tensor of " + std::to_string(bytes) + " bytes at " + std::to_string(begin) + " ends after " +
             name_of(space_of(position)),
         text_of(at) + ", a tensor in " + name_of(position),
         {{"memory", std::string(chosen_soc()->name) + " has " + std::to_string(most) + " bytes of it"}});
  }
  if (whole_[space] < 0 || buffers_[whole_[space]].bytes == 0) whole_[space] = allocate(1, most, position, at);
  const Local whole = local(static_cast<uint16_t>(whole_[space]));
  return {whole.data + begin, bytes, whole.buffer, whole.generation};
}

Local Block::local(uint16_t number) const {
  const Buffer& buffer = buffers_[number];
  return {memory_.get() + buffer.begin, buffer.bytes, number, buffer.generation};
}

Local Block::local_at(const void* address) const {
  for (size_t i = buffers_.size(); i-- > 0;) {
    const Local found = local(static_cast<uint16_t>(i));
    if (address >= found.data && address < found.data + found.bytes) return found;
  }
  return {};
}

void Block::forget_contents(const Buffer& buffer) {
  memset(memory_.get() + buffer.begin, kPoison, buffer.bytes);
  std::fill_n(initialised_.begin() + buffer.begin, buffer.bytes, uint8_t{0});
  writings_[static_cast<size_t>(&buffer - buffers_.data())] = {};
}

void Block::release_all() {
  join_all();
  for (Buffer& buffer : buffers_) {
    ++buffer.generation;
    buffer.state = State::idle;
    buffer.bytes = 0;
  }
  for (Used& used : used_) used.now = 0;
}

std::string Block::describe(const Local& local, const void* at) const {
  const auto offset = static_cast<const uint8_t*>(at) - local.data;
  const Buffer& buffer = buffers_[local.buffer];
  return "byte " + std::to_string(offset) + " of the " + std::to_string(local.bytes) + " bytes of a " +
         name_of(buffer.position) + " tensor at 0x" + hexadecimal(buffer.begin - begin_of(space_of(buffer.position))) +
         " of " + name_of(space_of(buffer.position));
}

void Block::access(const Local& local, const void* at, size_t bytes, bool writes) {
  if (bytes == 0) return;
  const size_t begin = touch(local, at, bytes, writes);
  if (writes) {
    memset(initialised_.data() + begin, 1, bytes);
    note_writing(local, at, bytes);
  } else {
    check_initialised(local, begin, bytes);
  }
}

uint8_t* Block::known(const Local& local, const void* at) {
  return initialised_.data() + (local.data - memory_.get()) + (static_cast<const uint8_t*>(at) - local.data);
}

size_t Block::touch(const Local& local, const void* at, size_t bytes, bool writes) {
  const char* const verb = writes ? "write" : "read";
  if (local.data == nullptr) {
    fail(Kind::no_memory, std::string(verb) + " of a local tensor that was never given memory", where());
  }
  if (const Buffer& now = buffers_[local.buffer]; now.generation != local.generation && !is_lying_idle(now, local)) {
    fail(Kind::use_after_free, std::string(verb) + " of a local tensor that is freed, and whose memory another has",
         where(), {{"since", text_of(now.place)}});
  }
  if (const Space space = space_of(buffers_[local.buffer].position);
      !reaches(sites_[site_].pipe, space) || (registers.is_cube && space == Space::unified_buffer)) {
    fail(Kind::bad_parameter, std::string(verb) + " of a tensor of " + name_of(buffers_[local.buffer].position),
         where(),
         {{"expected", std::string("one of a memory that the ") + (registers.is_cube ? "core" : "pipe") +
                           " reaches, which " + name_of(space) + " is not"}});
  }
  const auto offset = static_cast<const uint8_t*>(at) - local.data;
  if (offset < 0 || static_cast<uint64_t>(offset) + bytes > local.bytes) {
    fail(Kind::out_of_bounds,
         std::string(verb) + " of " + std::to_string(bytes) + " bytes out of a local tensor's bounds", where(),
         {{"memory", "from " + describe(local, at)}});
  }
  const auto begin = static_cast<size_t>(local.data - memory_.get() + offset);
  order(local, begin, bytes, writes);
  if (recording_ != nullptr) {
    recording_->touches(local.data, space_of(buffers_[local.buffer].position), bytes, writes);
  }
  return begin;
}

void Block::check_initialised(const Local& local, size_t begin, size_t bytes) {
  void* const unset = memchr(initialised_.data() + begin, 0, bytes);
  if (unset == nullptr || !is_news(Kind::uninitialised, 0)) return;
  const size_t at = static_cast<size_t>(static_cast<uint8_t*>(unset) - initialised_.data());
  std::vector<std::pair<std::string, std::string>> details{{"memory", "first " + describe(local, memory_.get() + at)}};
  const Writing& last = writings_[local.buffer].writing;
  for (auto& detail : last.described(described(sites_[last.site]))) details.push_back(std::move(detail));
  report(Kind::uninitialised, "reads local memory that nothing has written", where(), std::move(details));
}

void Block::note_mask(uint32_t lanes, uint32_t per_repeat) {
  is_masked_ = true;
  mask_ = {lanes, per_repeat, registers.mask_set};
}

void Block::note_writing(const Local& local, const void* at, size_t bytes) {
  Run& last = writings_[local.buffer];
  if (last.number != run_) last = {run_, {site_, 0, 0, 0, 0, 0, false, is_masked_, mask_}};
  last.writing.add(static_cast<size_t>(static_cast<const uint8_t*>(at) - local.data), bytes);
}

template <class Describe>
void Block::missing_sync(bool writes, bool wrote, uint16_t before, Describe memory) {
  if (!is_news(Kind::missing_sync, before)) return;
  const Site& other = sites_[before];
  const Site& own = sites_[site_];
  const std::string pair = event_name(other.pipe, own.pipe);
  const std::string needs =
      own.pipe == other.pipe
          ? "PipeBarrier<PIPE_" + name_of(own.pipe) + ">() between the two"
          : "SetFlag<HardEvent::" + pair + "> after the one, WaitFlag<HardEvent::" + pair + "> before the other";
  std::vector<std::pair<std::string, std::string>> details{
      {"before", described(other)}, {"memory", memory()}, {"needs", needs}};
  const bool left_alone = !own.automatic || !other.automatic;
  if (launch->auto_sync() && left_alone && is_covered_by_compiler(other.pipe, own.pipe)) {
    details.emplace_back("or", "inline for the function that it stands in: --cce-auto-sync leaves others alone");
  }
  report(Kind::missing_sync,
         std::string(writes ? "writes" : "reads") + " what " + other.name + " may still be " +
             (wrote ? "writing" : "reading"),
         where(), std::move(details));
}

void Block::order(const Local& local, size_t begin, size_t bytes, bool writes) {
  const pipe_t pipe = sites_[site_].pipe;
  const Clock& known = clocks_[pipe];
  const uint32_t now = known[pipe];
  const size_t last = (begin + bytes - 1) / kBlockBytes;
  for (size_t i = begin / kBlockBytes; i <= last; ++i) {
    Touched& touched = touched_[i];
    const auto memory = [&] { return describe(local, memory_.get() + i * kBlockBytes); };
    // Only the vector pipe begins an instruction before the previous one has ended.
    const uint32_t finished = touched.write_pipe != pipe ? known[touched.write_pipe]
                              : pipe == PIPE_V           ? drained_[pipe]
                                                         : touched.write_time;
    if (touched.write_time > finished &&
        !is_ordered_by_compiler(touched.write_pipe, touched.write_time, touched.write_site)) {
      missing_sync(writes, true, touched.write_site, memory);
    }
    if (!writes) {
      touched.read_time[pipe] = now;
      touched.read_site[pipe] = site_;
      continue;
    }
    for (int other = 0; other < kPipes; ++other) {
      // The scalar pipe has what it reads before it hands out the next instruction.
      if (other == pipe || other == PIPE_S || touched.read_time[other] <= known[other]) continue;
      if (is_ordered_by_compiler(pipe_t(other), touched.read_time[other], touched.read_site[other])) continue;
      missing_sync(writes, false, touched.read_site[other], memory);
    }
    touched = Touched{};
    touched.write_time = now;
    touched.write_pipe = pipe;
    touched.write_site = site_;
  }
}

void Block::order(const Recent::Access& now) {
  const pipe_t pipe = sites_[site_].pipe;
  for (int other = 0; other < kPipes; ++other) {
    // Stores of the scalar pipe stay in its cache, whatever the flags.
    if (other == pipe || other == PIPE_S) continue;
    const Recent::Access* const before = recent_[other].conflict(now, clocks_[pipe][other]);
    if (before == nullptr) continue;
    missing_sync(now.writes, before->writes, before->site, [&] {
      const uint8_t* const begin = std::max(now.begin, before->begin);
      return described_memory(begin, static_cast<size_t>(std::min(now.end, before->end) - begin));
    });
  }
  recent_[pipe].add(now);
}

}  // namespace opbridge_ascend
