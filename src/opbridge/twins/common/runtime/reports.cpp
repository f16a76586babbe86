#include "reports.h"

#include <stdio.h>
#include <unistd.h>

namespace opbridge_twins {
namespace {

constexpr size_t kMostReports = 20;
constexpr size_t kLabel = 8;

}  // namespace

std::string laid_out(const Text& text) {
  std::string whole = std::string(text.twin) + ": " + text.subject + ": " + text.what + " [" + text.name + "]\n";
  const auto line = [&whole](const std::string& label, const std::string& rest) {
    whole += "  " + label + std::string(label.size() < kLabel ? kLabel - label.size() : 1, ' ') + rest + "\n";
  };
  for (const auto& [label, rest] : text.details) line(label, rest);
  line("hint", text.advice);
  return whole;
}

void Reports::attach_host() {
  const std::lock_guard<std::mutex> lock(mutex_);
  has_host_ = true;
}

bool Reports::has_host() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return has_host_;
}

bool Reports::failed() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failed_;
}

bool Reports::is_new(const std::string& key, bool is_failure) {
  if (!is_failure && !noted_.insert(key).second) return false;
  if (shown_.count(key) > 0) return false;
  if (shown_.size() >= kMostReports) {
    ++not_shown_;
    return false;
  }
  return shown_.insert(key).second;
}

void Reports::put(const std::string& text, bool is_failure) {
  if (has_host_ && is_failure) {
    pending_ += text;
  } else {
    fputs(text.c_str(), stderr);
  }
}

const char* Reports::take() {
  static thread_local std::string taken;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (pending_.empty()) return nullptr;
  taken = std::move(pending_);
  pending_.clear();
  shown_.clear();
  return taken.c_str();
}

// The exit code of a program that has not failed by itself; no other tool uses it, so scripts can recognise it.
constexpr int kFoundSomething = 86;

void Reports::end_process(const char* twin, int status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (has_host_) {
    // Extensions end the process themselves when CUDA tells them of an error, and their host never asks.
    fputs(pending_.c_str(), stderr);
    return;
  }
  if (not_shown_ > 0) fprintf(stderr, "%s: %zu more reports are not shown\n", twin, not_shown_);
  if (status != 0 || !failed_) return;
  fflush(nullptr);
  _exit(kFoundSomething);
}

}  // namespace opbridge_twins
