// NVRTC: programs, which opbridge's own compiler makes images of, and the symbols in these.
#include <dlfcn.h>
#include <nvrtc.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "compiler.h"
#include "parts.h"

// In the twin's library.
extern "C" void* ob_twin_open_image(const char* image);

// A source until it is compiled, and then its log and image, both kept until the program is destroyed.
struct _nvrtcProgram {
  std::string name, source;
  std::vector<std::string> header_names, headers, expressions;
  std::map<std::string, std::string> lowered;
  bool compiled = false;
  std::string log, image;
};

namespace opbridge_twin {

namespace {

constexpr int kArchitectures[] = {80};
// What the compiler answers first.
enum Outcome : char { kDone, kWrongProgram, kWrongOption };

nvrtcResult result_of(char outcome) {
  if (outcome == kDone) return NVRTC_SUCCESS;
  return outcome == kWrongProgram ? NVRTC_ERROR_COMPILATION : NVRTC_ERROR_INVALID_OPTION;
}

std::vector<std::string> strings(int count, const char* const* texts) {
  return count > 0 && texts != nullptr ? std::vector<std::string>(texts, texts + count) : std::vector<std::string>();
}

nvrtcResult compile(_nvrtcProgram& program, const std::vector<std::string>& options) {
  std::string input, output;
  add_part(input, program.name);
  add_part(input, program.source);
  add_parts(input, program.header_names);
  add_parts(input, program.headers);
  add_parts(input, program.expressions);
  add_parts(input, options);
  const bool ran = run_compiler(input, output);
  const std::vector<std::string> answer = ran ? parts_of(output) : std::vector<std::string>();
  if (answer.size() != 3 || answer[0].size() != 1) {
    program.log = ran ? "the compiler's answer is not whole" : output;
    return NVRTC_ERROR_INTERNAL_ERROR;
  }
  program.log = answer[1];
  program.image = answer[2];
  program.compiled = answer[0][0] == kDone;
  return result_of(answer[0][0]);
}

// An image says where what was asked for is, and the linker's tables how that is called.
nvrtcResult look_up(_nvrtcProgram& program) {
  void* const library = ob_twin_open_image(program.image.c_str());
  if (library == nullptr) return NVRTC_ERROR_INTERNAL_ERROR;
  for (size_t i = 0; i < program.expressions.size(); ++i) {
    const void* const place = dlsym(library, ("opbridge_twin_named_" + std::to_string(i)).c_str());
    const void* const named = place == nullptr ? nullptr : *static_cast<const void* const*>(place);
    Dl_info info;
    if (named == nullptr || dladdr(named, &info) == 0 || info.dli_saddr != named) continue;
    program.lowered[program.expressions[i]] = info.dli_sname;
  }
  return NVRTC_SUCCESS;
}

bool is_compiled(nvrtcProgram program) { return program != nullptr && program->compiled; }

nvrtcResult give(const std::string& text, char* to) {
  if (to == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  std::copy_n(text.c_str(), text.size() + 1, to);
  return NVRTC_SUCCESS;
}
nvrtcResult give_size(const std::string& text, size_t* bytes) {
  if (bytes == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *bytes = text.size() + 1;
  return NVRTC_SUCCESS;
}

}  // namespace

}  // namespace opbridge_twin

using namespace opbridge_twin;

const char* nvrtcGetErrorString(nvrtcResult result) {
#define NAMED(name) \
  case name:        \
    return #name;
  switch (result) {
    NAMED(NVRTC_SUCCESS)
    NAMED(NVRTC_ERROR_OUT_OF_MEMORY)
    NAMED(NVRTC_ERROR_PROGRAM_CREATION_FAILURE)
    NAMED(NVRTC_ERROR_INVALID_INPUT)
    NAMED(NVRTC_ERROR_INVALID_PROGRAM)
    NAMED(NVRTC_ERROR_INVALID_OPTION)
    NAMED(NVRTC_ERROR_COMPILATION)
    NAMED(NVRTC_ERROR_BUILTIN_OPERATION_FAILURE)
    NAMED(NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION)
    NAMED(NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION)
    NAMED(NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID)
    NAMED(NVRTC_ERROR_INTERNAL_ERROR)
    NAMED(NVRTC_ERROR_TIME_FILE_WRITE_FAILED)
  }
#undef NAMED
  return "NVRTC_ERROR unknown";
}

nvrtcResult nvrtcVersion(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *major = 12;
  *minor = 8;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  if (count == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *count = static_cast<int>(std::size(kArchitectures));
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  if (architectures == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  std::copy(std::begin(kArchitectures), std::end(kArchitectures), architectures);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name, int header_count,
                               const char* const* headers, const char* const* include_names) {
  if (program == nullptr || source == nullptr || header_count < 0) return NVRTC_ERROR_INVALID_INPUT;
  if (header_count > 0 && (headers == nullptr || include_names == nullptr)) return NVRTC_ERROR_INVALID_INPUT;
  const bool is_named = name != nullptr && *name != '\0';
  *program = new _nvrtcProgram;
  (*program)->name = is_named ? name : "default_program";
  (*program)->source = source;
  (*program)->header_names = strings(header_count, include_names);
  (*program)->headers = strings(header_count, headers);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (program == nullptr || *program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (expression == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  if (program->compiled) return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
  program->expressions.emplace_back(expression);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int option_count, const char* const* options) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (option_count < 0 || (option_count > 0 && options == nullptr)) return NVRTC_ERROR_INVALID_INPUT;
  return compile(*program, strings(option_count, options));
}
nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* expression, const char** lowered) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (expression == nullptr || lowered == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  if (!program->compiled) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
  if (program->lowered.empty()) {
    if (const nvrtcResult error = look_up(*program); error != NVRTC_SUCCESS) return error;
  }
  const auto found = program->lowered.find(expression);
  if (found == program->lowered.end()) return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
  *lowered = found->second.c_str();
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* bytes) {
  return program == nullptr ? NVRTC_ERROR_INVALID_PROGRAM : give_size(program->log, bytes);
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* to) {
  return program == nullptr ? NVRTC_ERROR_INVALID_PROGRAM : give(program->log, to);
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* bytes) {
  return is_compiled(program) ? give_size(program->image, bytes) : NVRTC_ERROR_INVALID_PROGRAM;
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* to) {
  return is_compiled(program) ? give(program->image, to) : NVRTC_ERROR_INVALID_PROGRAM;
}
// The twin has one kind of image for both.
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* bytes) { return nvrtcGetPTXSize(program, bytes); }
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* to) { return nvrtcGetPTX(program, to); }
