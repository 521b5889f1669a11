// SPDX-License-Identifier: Apache-2.0
// A process is stopped at every instruction of what it does under the ledger's lock, another one
// takes the lock from it, and it goes on: what the ledger says then is what each of them was told.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <new>

#include "guard/test_ledger.h"

namespace aliquot::guard {
namespace {

constexpr std::uint64_t kPart = 60 * kMiB;  // two of them are more than the limit

/// What a ledger's file says, seen from outside.
class View {
public:
    explicit View(const char* path) {
        const int file = ::open(path, O_RDONLY | O_CLOEXEC);
        void* at = ::mmap(nullptr, sizeof(abi::Ledger), PROT_READ, MAP_SHARED, file, 0);
        ::close(file);
        if (at != MAP_FAILED) ledger_ = static_cast<const abi::Ledger*>(at);
    }
    ~View() { ::munmap(const_cast<abi::Ledger*>(ledger_), sizeof(abi::Ledger)); }
    View(const View&) = delete;
    View& operator=(const View&) = delete;

    [[nodiscard]] std::uint32_t holder() const { return ledger_->lock.load() & abi::kLockHolder; }
    [[nodiscard]] std::uint64_t used() const { return ledger_->devices[0].used_bytes.load(); }
    [[nodiscard]] std::uint64_t sum() const {
        std::uint64_t sum = 0;
        for (const abi::Slot& slot : ledger_->slots)
            if (slot.owner.load() != 0)
                sum += slot.devices[0].tracked_bytes.load() + slot.devices[0].overhead_bytes.load();
        return sum;
    }
    [[nodiscard]] std::uint64_t managed() const {
        std::uint64_t sum = 0;
        for (const abi::Slot& slot : ledger_->slots)
            if (slot.owner.load() != 0) sum += slot.devices[0].managed_bytes.load();
        return sum;
    }

private:
    const abi::Ledger* ledger_ = nullptr;
};

/// A process that does one thing again and again, and can be stopped in the midst of it.
class Stepped {
public:
    /// What it does; returns what the test wants to know of it.
    using Work = std::function<std::uint64_t(Ledger&)>;

    Stepped(const Work& prepare, const Work& work,
            const std::function<std::unique_ptr<Ledger>()>& join) {
        void* room = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        shared_ = new (room) Shared{};
        child_ = ::fork();
        if (child_ != 0) {
            if (stops() == SIGCHLD) resume(PTRACE_CONT);
            return;
        }
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
        const auto ledger = join();
        for (;;) {
            prepare(*ledger);
            ::raise(SIGSTOP);
            shared_->answer = work(*ledger);
            ::raise(SIGSTOP);
        }
    }
    ~Stepped() {
        ::kill(child_, SIGKILL);
        if (!ended_) ::waitpid(child_, nullptr, 0);
        ::munmap(shared_, sizeof(Shared));
    }
    Stepped(const Stepped&) = delete;
    Stepped& operator=(const Stepped&) = delete;

    [[nodiscard]] bool ended() const { return ended_; }
    /// One instruction. False: the work is done.
    bool step() { return resume(PTRACE_SINGLESTEP) == SIGTRAP; }
    /// To the end of the work, then to its next beginning.
    void go_on() { resume(PTRACE_CONT); }
    [[nodiscard]] std::uint64_t answer() const { return shared_->answer; }

private:
    struct Shared {
        std::atomic<std::uint64_t> answer;
    };

    /// Until it stops by itself or by the step: not where a child of its own has ended.
    int resume(__ptrace_request how) {
        int signal = SIGCHLD;
        while (signal == SIGCHLD) {
            ::ptrace(how, child_, nullptr, nullptr);
            signal = stops();
        }
        return signal;
    }
    int stops() {
        int status = 0;
        ::waitpid(child_, &status, 0);
        ended_ = !WIFSTOPPED(status);
        return ended_ ? 0 : WSTOPSIG(status);
    }

    Shared* shared_ = nullptr;
    pid_t child_ = 0;
    bool ended_ = false;
};

class LedgerLockTest : public LedgerTest {
protected:
    struct Plan {
        Stepped::Work prepare;  // in the process that is stopped, before
        Stepped::Work work;     // what it is stopped in
        std::function<void()> take_over;
        std::function<void(std::uint64_t answer)> check;
    };

    /// Where in its work the process has the lock, in instructions from its beginning.
    static std::pair<long, long> held(Stepped& process, const View& view) {
        std::pair<long, long> range{-1, -1};
        for (long i = 1; process.step(); ++i) {
            if (view.holder() == 0) continue;
            if (range.first < 0) range.first = i;
            range.second = i;
        }
        process.go_on();  // to the next beginning
        return range;
    }

    void run(const Plan& plan) {
        const auto first = joined();  // makes the ledger
        const View view(settings_.ledger);
        Stepped process(plan.prepare, plan.work, [this] { return joined(); });
        if (process.ended()) GTEST_SKIP() << "no ptrace here";
        const auto [from, to] = held(process, view);
        ASSERT_GT(from, 0);
        ASSERT_FALSE(process.ended());
        // Every instruction, unless they are too many to walk to (a sanitizer's).
        constexpr long kMostSteps = 250'000;
        const long stride = std::max(1L, (to - from + 1) * to / kMostSteps);
        long taken = 0;
        for (long at = from; at <= to + stride && !HasFailure(); at += stride) {
            // With a sanitizer's calls in it the work is not each time as long.
            bool works = true;
            for (long i = 0; i < at && works; ++i) works = process.step();
            ASSERT_FALSE(process.ended()) << at;
            taken += view.holder() != 0 ? 1 : 0;
            plan.take_over();
            if (works) process.go_on();
            ASSERT_FALSE(process.ended()) << at;
            SCOPED_TRACE(at);
            plan.check(process.answer());
            EXPECT_EQ(view.used(), view.sum());
            EXPECT_EQ(view.holder(), 0U);
            process.go_on();
        }
        EXPECT_GT(taken, (to - from) / stride / 2);
    }

    std::unique_ptr<Ledger> impatient() const {
        auto ledger = joined();
        ledger->set_patience(0);
        return ledger;
    }
};

TEST_F(LedgerLockTest, OfTwoThatGrowOneIsRefusedWhereverTheOtherWasStopped) {
    const auto other = impatient();
    const View view(settings_.ledger);
    std::uint64_t granted = 0;
    run({.prepare =
             [](Ledger& ledger) {
                 ledger.shrink(0, kPart, Part::kTracked);
                 return 0;
             },
         .work = [](Ledger& ledger) { return ledger.grow(0, kPart, Part::kTracked) ? kPart : 0; },
         .take_over = [&] { granted = other->grow(0, kPart, Part::kTracked) ? kPart : 0; },
         .check =
             [&](std::uint64_t answer) {
                 EXPECT_EQ(granted + answer, kPart);
                 EXPECT_EQ(view.sum(), kPart);
                 other->shrink(0, granted, Part::kTracked);
             }});
}

TEST_F(LedgerLockTest, ManagedMemoryIsCountedOnceWhereverItsOwnerWasStopped) {
    const auto other = impatient();
    const View view(settings_.ledger);
    run({.prepare =
             [](Ledger& ledger) {
                 ledger.shrink(0, kPart, Part::kManaged);
                 return 0;
             },
         .work = [](Ledger& ledger) { return ledger.grow(0, kPart, Part::kManaged) ? kPart : 0; },
         .take_over = [&] { other->force(0, kMiB, Part::kTracked); },
         .check =
             [&](std::uint64_t answer) {
                 EXPECT_EQ(answer, kPart);
                 EXPECT_EQ(view.sum(), kPart + kMiB);
                 EXPECT_EQ(view.managed(), kPart);
                 other->shrink(0, kMiB, Part::kTracked);
             }});
}

TEST_F(LedgerLockTest, WhatIsGivenBackIsGivenBackOnceWhereverItsOwnerWasStopped) {
    const auto other = impatient();
    const View view(settings_.ledger);
    run({.prepare = [](Ledger& ledger) { return ledger.grow(0, kPart, Part::kTracked) ? 1 : 0; },
         .work =
             [](Ledger& ledger) {
                 ledger.shrink(0, kPart, Part::kTracked);
                 return std::uint64_t{0};
             },
         .take_over = [&] { other->force(0, 2 * kMiB, Part::kTracked); },
         .check =
             [&](std::uint64_t) {
                 EXPECT_EQ(view.sum(), 2 * kMiB);
                 other->shrink(0, 2 * kMiB, Part::kTracked);
             }});
}

TEST_F(LedgerLockTest, ASlotThatIsTakenAnewIsNotClearedByWhoFoundItsOldOwnerDead) {
    const auto other = impatient();
    const View view(settings_.ledger);
    std::unique_ptr<Ledger> next;
    const auto leave_a_dead = [this](Ledger&) {
        kill(start([](Ledger& ledger) { ledger.force(0, 3 * kMiB, Part::kTracked); }));
        return std::uint64_t{0};
    };
    run({.prepare = leave_a_dead,
         .work =
             [](Ledger& ledger) {
                 ledger.reap();
                 return std::uint64_t{0};
             },
         .take_over =
             [&] {
                 other->force(0, kMiB, Part::kTracked);
                 next = impatient();
                 next->force(0, 5 * kMiB, Part::kTracked);
             },
         .check =
             [&](std::uint64_t) {
                 other->reap();
                 EXPECT_EQ(view.sum(), 6 * kMiB);
                 other->shrink(0, kMiB, Part::kTracked);
                 next->shrink(0, 5 * kMiB, Part::kTracked);
             }});
}

}  // namespace
}  // namespace aliquot::guard
