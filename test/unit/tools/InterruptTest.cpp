//===- InterruptTest.cpp - what Ctrl-C does --------------------------------===//
//
// Each case runs in a child process, as ending the process is what is tested.
//
//===----------------------------------------------------------------------===//
#include "tools/fusec/Interrupt.h"

#include <csignal>
#include <cstdio>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace fusec;

static void interruptSelf(int signal = SIGINT) { kill(getpid(), signal); }

[[noreturn]] static void waitForever() {
  for (;;)
    std::this_thread::sleep_for(std::chrono::seconds(1));
}

class InterruptTest : public testing::Test {
protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(InterruptTest, WithoutWorkCleansUpAndExits130) {
  EXPECT_EXIT(
      {
        installInterruptHandler();
        InterruptCleanup cleanup([] { std::fputs("cleaned", stderr); });
        interruptSelf();
        waitForever();
      },
      testing::ExitedWithCode(130), "cleaned");
}

TEST_F(InterruptTest, WorkIsAskedToStopAndCanFinish) {
  EXPECT_EXIT(
      {
        installInterruptHandler();
        Cancellable work;
        interruptSelf();
        while (!work.cancelled())
          std::this_thread::yield();
        std::fputs("finished", stderr);
        _exit(7);
      },
      testing::ExitedWithCode(7), "finished");
}

TEST_F(InterruptTest, SecondSignalDoesNotWait) {
  EXPECT_EXIT(
      {
        installInterruptHandler();
        Cancellable work;
        interruptSelf();
        while (!work.cancelled())
          std::this_thread::yield();
        interruptSelf();
        waitForever();
      },
      testing::ExitedWithCode(130), "");
}

TEST_F(InterruptTest, TerminateExits143) {
  EXPECT_EXIT(
      {
        installInterruptHandler();
        interruptSelf(SIGTERM);
        waitForever();
      },
      testing::ExitedWithCode(143), "");
}

TEST_F(InterruptTest, AnOrderlyEndTakesTheFirstSignalOfEitherKind) {
  for (int signal : {SIGINT, SIGTERM})
    EXPECT_EXIT(
        {
          installInterruptHandler();
          std::atomic<bool> asked = false;
          GracefulStop stop([&] { asked = true; });
          interruptSelf(signal);
          while (!asked)
            std::this_thread::yield();
          std::fputs("drained", stderr);
          _exit(0);
        },
        testing::ExitedWithCode(0), "drained");
}

TEST_F(InterruptTest, ASecondSignalEndsAnOrderlyEnd) {
  EXPECT_EXIT(
      {
        installInterruptHandler();
        std::atomic<bool> asked = false;
        GracefulStop stop([&] { asked = true; });
        interruptSelf(SIGTERM);
        while (!asked)
          std::this_thread::yield();
        interruptSelf(SIGTERM);
        waitForever();
      },
      testing::ExitedWithCode(143), "");
}
