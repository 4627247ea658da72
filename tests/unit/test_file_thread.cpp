// Who writes files beside the sweeps, and what happens to what it throws.
#include "output/file_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <future>
#include <stdexcept>
#include <vector>

namespace isotherm {
namespace {

void fail() {
  throw std::runtime_error("the disk is full");
}

TEST(FileThread, WritesInOrderBesideItsCaller) {
  FileThread files("");
  std::promise<void> go;
  std::vector<int> written;
  std::thread::id by;
  files.start([&] {
    go.get_future().wait();  // so start() has not waited for it
    by = std::this_thread::get_id();
    written.push_back(1);
  });
  const FileThread::Ticket second = files.start([&] { written.push_back(2); });
  EXPECT_FALSE(files.in_step());
  EXPECT_TRUE(written.empty());
  go.set_value();
  files.wait(second);
  EXPECT_EQ(written, (std::vector<int>{1, 2}));
  EXPECT_NE(by, std::this_thread::get_id());
  EXPECT_EQ(files.backlog(), 0);
}

TEST(FileThread, WithAReasonItWritesInStep) {
  FileThread files("no threads here");
  std::thread::id by;
  files.start([&] { by = std::this_thread::get_id(); });
  EXPECT_TRUE(files.in_step());
  EXPECT_EQ(files.why_in_step(), "no threads here");
  EXPECT_EQ(by, std::this_thread::get_id());
  EXPECT_GT(files.waited(), 0);
  EXPECT_THROW(files.start(fail), std::runtime_error);
}

// Not by who waits for an earlier file, whenever the later one has failed: ranks would part there.
TEST(FileThread, AnErrorMeetsWhoWaitsForItsFileOrALaterOne) {
  FileThread files("");
  bool written = false;
  const FileThread::Ticket good = files.start([] {}), bad = files.start(fail),
                           after = files.start([&] { written = true; });
  files.settle();
  EXPECT_TRUE(files.failed());
  EXPECT_NO_THROW(files.wait(good));
  EXPECT_THROW(files.wait(bad), std::runtime_error);
  EXPECT_THROW(files.wait(after), std::runtime_error);
  EXPECT_THROW(files.finish(), std::runtime_error);
  EXPECT_FALSE(written);
}

TEST(FileThread, EndsWhatWasStartedBeforeItEnds) {
  std::atomic<int> written = 0;
  {
    FileThread files("");
    for (int i = 0; i < 20; ++i) files.start([&] { ++written; });
  }
  EXPECT_EQ(written, 20);
  {
    FileThread files("");
    files.start(fail);  // nobody asks any more
  }
}

TEST(FileThread, LeavesSignalsToTheMainThread) {
  FileThread files("");
  sigset_t theirs, ours;
  sigemptyset(&theirs);
  files.start([&] { pthread_sigmask(SIG_SETMASK, nullptr, &theirs); });
  files.finish();
  pthread_sigmask(SIG_SETMASK, nullptr, &ours);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) {
    EXPECT_EQ(sigismember(&theirs, signal), 1);
    EXPECT_EQ(sigismember(&ours, signal), 0);
  }
}

}  // namespace
}  // namespace isotherm
