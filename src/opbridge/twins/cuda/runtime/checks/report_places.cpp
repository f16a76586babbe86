// From return addresses to "sum.cu:12", by the line tables of the user's library and the addr2line of its compiler.
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "report.h"

extern char** environ;

namespace opbridge_twin {

namespace {

// Around an address in a text.
constexpr char kOpen = '\x01';
constexpr char kClose = '\x02';

// An address as the tools that read debug information want it.
struct Spot {
  std::string image;  // the file of the library or program
  uintptr_t offset = 0;
};

std::string this_program() {
  char* const path = realpath("/proc/self/exe", nullptr);
  const std::string result = path == nullptr ? "" : path;
  free(path);
  return result;
}

Spot spot_of(uintptr_t address) {
  struct Search {
    uintptr_t address;
    Spot found;
    bool is_found;
  } search{address, {}, false};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* state) {
        auto& wanted = *static_cast<Search*>(state);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || wanted.address - info->dlpi_addr - part.p_vaddr >= part.p_memsz) continue;
          wanted.found = {info->dlpi_name, wanted.address - info->dlpi_addr};
          wanted.is_found = true;
          return 1;
        }
        return 0;
      },
      &search);
  if (search.is_found && search.found.image.empty()) search.found.image = this_program();
  return search.found;
}

// What the program writes to its standard output; empty where it cannot be run.
std::string output_of(std::vector<std::string> command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = -1;
  const bool started = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t n; started && (n = read(ends[0], piece, sizeof piece)) > 0;) text.append(piece, static_cast<size_t>(n));
  close(ends[0]);
  if (started) waitpid(child, nullptr, 0);
  return text;
}

// Removes the current folder, and the text that addr2line adds after the place.
std::string shortened(std::string line) {
  line.erase(std::min(line.find(" ("), line.size()));
  if (char* const here = getcwd(nullptr, 0)) {
    const std::string folder = std::string(here) + "/";
    free(here);
    if (line.compare(0, folder.size(), folder) == 0) line.erase(0, folder.size());
  }
  return line;
}

// Headers of the twin's and of CCCL: what the user wrote calls what stands there.
bool is_of_library(const std::string& line) {
  constexpr const char* kFolders[] = {"/twins/cuda/include/", "/include/cuda/", "/include/cub/", "/include/thrust/"};
  return std::any_of(std::begin(kFolders), std::end(kFolders),
                     [&line](const char* folder) { return line.find(folder) != std::string::npos; });
}

std::string looked_up(uintptr_t address) {
  // A return address is after the call, possibly on another line.
  const Spot spot = spot_of(address - 1);
  if (spot.image.empty()) return "an unknown place";
  char offset[2 + 16 + 1];
  snprintf(offset, sizeof offset, "0x%zx", static_cast<size_t>(spot.offset));
  // From the innermost inlined function outwards.
  const std::string said = output_of({"addr2line", "-i", "-e", spot.image, offset});
  std::string best;
  for (size_t begin = 0; begin < said.size();) {
    const size_t end = std::min(said.find('\n', begin), said.size());
    const std::string line = said.substr(begin, end - begin);
    begin = end + 1;
    if (line.compare(0, 2, "??") == 0 || line.find(":?") != std::string::npos) continue;
    best = line;
    if (!is_of_library(line)) break;
  }
  if (!best.empty()) return shortened(best);
  const size_t folder = spot.image.rfind('/');
  return spot.image.substr(folder == std::string::npos ? 0 : folder + 1) + "+" + offset;
}

// A place is looked up once.
std::string place_of(uintptr_t address) {
  static std::mutex mutex;
  static std::map<uintptr_t, std::string>& known = *new std::map<uintptr_t, std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [found, is_new] = known.try_emplace(address);
  if (is_new) found->second = looked_up(address);
  return found->second;
}

}  // namespace

std::string place(const void* return_address) {
  if (return_address == nullptr) return "an unknown place";
  char text[1 + 16 + 1 + 1];
  snprintf(text, sizeof text, "%c%zx%c", kOpen, reinterpret_cast<size_t>(return_address), kClose);
  return text;
}

std::string place(const char* file, unsigned line) { return shortened(std::string(file) + ":" + std::to_string(line)); }

std::string with_places(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != kOpen) {
      result += text[i];
      continue;
    }
    const size_t end = text.find(kClose, i);
    result += place_of(strtoull(text.c_str() + i + 1, nullptr, 16));
    i = end;
  }
  return result;
}

}  // namespace opbridge_twin
