// Which function an instruction of PTX is, by its name.
#include "operands.h"

namespace opbridge_twin::ptx {

namespace {

void trap(M m, I) { m.refuse("`trap` was reached"); }
void branch(M m, I i) { m.next = i.target; }
void leave(M m, I) { m.next = static_cast<unsigned>(m.program.instructions.size()); }
void sleep(M m, I) {
  ob_twin_ptx_request request{};
  m.service(OB_TWIN_PTX_SLEEP, &request);
}

const Instructions& flow_instructions() {
  static const Instructions& all = *new Instructions{
      {"bra", branch},      {"brkpt", nothing},
      {"exit", leave},      {"griddepcontrol", nothing},  // launches of a stream are in order
      {"nanosleep", sleep}, {"pause", sleep},             // no PTX, but how libcu++ waits on a processor
      {"ret", leave},       {"setmaxnreg", nothing},
      {"trap", trap},
  };
  return all;
}

}  // namespace

Execute find_instruction(const Words& words) {
  for (const auto kind :
       {arithmetic_instructions, bits_instructions, choices_instructions, memory_instructions, copies_instructions,
        lanes_instructions, mbarriers_instructions, matrices_instructions, flow_instructions}) {
    const auto found = kind().find(words[0]);
    if (found != kind().end()) return found->second;
  }
  return nullptr;
}

}  // namespace opbridge_twin::ptx
