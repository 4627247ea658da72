#include "core/signals.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace isotherm {
namespace {

struct StopSignal {
  int number;
  const char* name;
};
constexpr std::array stop_signals{StopSignal{SIGTERM, "SIGTERM"}, StopSignal{SIGINT, "SIGINT"},
                                  StopSignal{SIGUSR1, "SIGUSR1"}, StopSignal{SIGUSR2, "SIGUSR2"}};
constexpr std::int64_t one_request = 500'000'000;  // ns

volatile std::sig_atomic_t noted = 0;
std::atomic<std::int64_t> noted_at{0};  // ns; only the handler uses it
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

extern "C" void isotherm_note_signal(int signal) {
  if (noted == 0) {
    noted_at = now();
    noted = signal;
  } else if (now() - noted_at > one_request) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // takes effect when the handler returns
  }
}

}  // namespace

void note_stop_signals() {
  noted = 0;
  struct sigaction action {};
  action.sa_handler = isotherm_note_signal;
  action.sa_flags = SA_RESTART;  // no write of a file is cut short
  sigemptyset(&action.sa_mask);
  for (const StopSignal& signal : stop_signals) sigaddset(&action.sa_mask, signal.number);
  for (const StopSignal& signal : stop_signals) sigaction(signal.number, &action, nullptr);
}

int noted_stop_signal() { return noted; }

std::string signal_name(int signal) {
  for (const StopSignal& known : stop_signals)
    if (known.number == signal) return known.name;
  return fmt::format("signal {}", signal);
}

}  // namespace isotherm
