#include "output/file_thread.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/host_threads.hpp"
#include "core/timer.hpp"
#include "core/trace.hpp"

namespace isotherm {

FileThread::FileThread(std::string why_in_step) : why_in_step_(std::move(why_in_step)) {
  if (!why_in_step_.empty()) return;
  sigset_t all, before;  // the thread blocks all signals: the main thread handles them
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

FileThread::Ticket FileThread::start(std::function<void()> write) {
  ++started_;
  if (in_step()) {
    const Timer timer;
    write();
    waited_ += timer.seconds();
    return started_;
  }
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(write));
  }
  changed_.notify_all();
  return started_;
}

void FileThread::wait(Ticket ticket) {
  if (in_step()) return;
  const Timer timer;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ >= ticket; });
  waited_ += timer.seconds();
  if (failed_ != 0 && failed_ <= ticket) std::rethrow_exception(error_);
}

void FileThread::settle() noexcept try { finish(); } catch (...) {
}

bool FileThread::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_ != 0;
}

double FileThread::backlog() const {
  if (in_step()) return 0;
  const std::lock_guard lock(mutex_);
  return static_cast<double>(started_ - done_) * longest_;
}

void FileThread::warn(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (!text.empty() && std::ranges::count(warnings_, text) == 0) warnings_.push_back(text);
}

// Ends after the last file started, even if no caller waits for it: other ranks write it too.
void FileThread::serve(const std::stop_token& stop) {
  use_threads(1);  // the other cores are for the sweeps
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !queue_.empty(); })) {
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    if (failed_ == 0) {
      lock.unlock();
      const Timer timer;
      std::exception_ptr error;
      try {
        const TraceRange range(Phase::output);
        work();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      longest_ = std::max(longest_, timer.seconds());
      if (error) {
        error_ = std::move(error);
        failed_ = done_ + 1;
      }
    }
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace isotherm
