#include "compiler.h"

#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace opbridge_twin {

namespace {

// Returns the command next to the library, in the folder that replaces an installed CUDA.
std::string command() {
  Dl_info here;
  dladdr(reinterpret_cast<const void*>(&run_compiler), &here);
  char* const file = realpath(here.dli_fname, nullptr);
  const std::string library = file == nullptr ? here.dli_fname : file;
  free(file);
  return library.substr(0, library.rfind('/')) + "/../bin/nvrtc";
}

// A file of no folder, which the processes that hold it alone know.
int file_with(const std::string& content) {
  const int file = memfd_create("opbridge-nvrtc", MFD_CLOEXEC);
  for (size_t done = 0; file >= 0 && done < content.size();) {
    const ssize_t written = write(file, content.data() + done, content.size() - done);
    if (written <= 0) break;
    done += static_cast<size_t>(written);
  }
  lseek(file, 0, SEEK_SET);
  return file;
}

std::string content_of(int file) {
  std::string content;
  char piece[1 << 16];
  lseek(file, 0, SEEK_SET);
  for (ssize_t n; (n = read(file, piece, sizeof piece)) > 0;) content.append(piece, static_cast<size_t>(n));
  return content;
}

// The exit code; below 0 where it did not begin.
int run(std::string program, int input, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  char* const arguments[] = {program.data(), nullptr};
  pid_t child = -1;
  errno = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (errno != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

bool run_compiler(const std::string& input, std::string& output) {
  const std::string program = command();
  const int from = file_with(input), to = file_with("");
  const int code = from < 0 || to < 0 ? -1 : run(program, from, to);
  output = code == 0  ? content_of(to)
           : code < 0 ? program + " cannot be run: " + strerror(errno)
                      : program + " failed: exit code " + std::to_string(code);
  if (from >= 0) close(from);
  if (to >= 0) close(to);
  return code == 0;
}

}  // namespace opbridge_twin
