#include "describe.h"

#include <stdio.h>

namespace opbridge_twin::checks {

std::string hexadecimal(uintptr_t address) {
  char text[2 + 16 + 1];
  snprintf(text, sizeof text, "0x%zx", static_cast<size_t>(address));
  return text;
}

Report report_here(Kind kind, const void* at, std::string what) {
  const Block& block = *worker.block;
  Report report{kind, block.launch().kernel, std::move(what), {}, place(at), block.linear(), worker.thread()};
  report.details = {
      {"where", place(at) + ", " + thread_in_words(block.launch().info, block.linear(), worker.thread())}};
  return report;
}

Report report_on_host(Kind kind, const void* at, std::string what) {
  return {kind, "host code", std::move(what), {{"where", place(at)}}, place(at)};
}

void found(Report report) {
  if (worker.block == nullptr) return deliver(report);
  const Kind kind = report.kind;
  worker.block->launch().found(std::move(report));
  if (is_fatal(kind)) ob_twin_abandon(cuda_error(kind));
}

}  // namespace opbridge_twin::checks
