// SPDX-License-Identifier: Apache-2.0
//
// What GPU time a program is charged, by the ledger's own figure against the work that was given to
// the device; and that a cap is the program's, not a thread's. Figures are of the device's clock;
// where the wall clock counts, only that something does not go faster, or goes on at all.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

#include "abi/region.h"
#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/kinds.h"
#include "tests/contract/guard/ledger_view.h"
#include "tests/contract/guard/spin_kernel.h"

namespace aliquot::guardkit::checks {
namespace {

CUstream new_stream() {
    CUstream stream = nullptr;
    CHECK_OK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

std::uint64_t charged() { return LedgerView::read().ledger().devices[0].gpu_ns.load(); }

/// What was charged is the work that was done, within a fifth.
void check_charge(std::uint64_t before, std::uint64_t work) {
    const std::uint64_t got = charged() - before;
    CHECK_GE(got, work - work / 5);
    CHECK_LE(got, work + work / 5);
}

}  // namespace

void all_threads_are_held_by_a_cap() {
    const CUcontext context = start_cuda();
    const Spin spin;
    const CUstream stream = new_stream();
    const std::uint64_t began = now_ns();
    std::vector<std::thread> threads;
    std::atomic<bool> fine{true};
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> launched{0};
    const auto set_context = CU(cuCtxSetCurrent);
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            if (set_context(context) != CUDA_SUCCESS) fine = false;
            while (!over) {
                if (spin.launch(stream, kMillisecond) != CUDA_SUCCESS) fine = false;
                ++launched;
            }
        });
    // A burst and what is not measured yet go through at once, on a busy machine a good deal; in the
    // long run it is a quarter. Threads that are not held launch far more than time passes.
    constexpr std::uint64_t kLeast = 700 * kMillisecond;
    constexpr std::uint64_t kLongest = 30'000 * kMillisecond;
    bool held = false;
    for (std::uint64_t elapsed = 0; !held && elapsed < kLongest; elapsed = now_ns() - began) {
        nap_us(20'000);
        const std::uint64_t work = launched * kMillisecond;
        held = elapsed >= kLeast && work >= elapsed / 20 && work <= elapsed * 3 / 10;
    }
    over = true;
    for (std::thread& thread : threads) thread.join();
    CHECK_OK(spin.wait(stream));
    CHECK_EQ(fine.load(), true);
    CHECK_EQ(held, true);
}

void work_on_two_streams_is_charged_once() {
    start_cuda();
    const Spin spin;
    const CUstream streams[] = {new_stream(), new_stream()};
    for (const CUstream stream : streams) CHECK_OK(spin.wait(stream));
    const std::uint64_t before = charged();
    std::uint64_t apart = 0;  // by which the second of two began later, at most
    for (int round = 0; round < 40; ++round) {
        const std::uint64_t began = now_ns();
        for (const CUstream stream : streams) CHECK_OK(spin.launch(stream, kMillisecond));
        apart += std::min(now_ns() - began, kMillisecond);
        for (const CUstream stream : streams) CHECK_OK(spin.wait(stream));
    }
    const std::uint64_t got = charged() - before;
    CHECK_GE(got, 32 * kMillisecond);
    CHECK_LE(got, (40 * kMillisecond + apart) * 6 / 5);
}

void work_on_two_streams_that_does_not_fit_at_once_is_charged() {
    start_cuda();
    const Spin spin;
    const CUstream streams[] = {new_stream(), new_stream()};
    for (const CUstream stream : streams) CHECK_OK(spin.wait(stream));
    const std::uint64_t before = charged();
    for (int round = 0; round < 40; ++round) {
        for (const CUstream stream : streams) CHECK_OK(spin.launch(stream, kMillisecond, 100'000));
        for (const CUstream stream : streams) CHECK_OK(spin.wait(stream));
    }
    check_charge(before, 80 * kMillisecond);
}

void pauses_of_the_program_are_not_charged() {
    start_cuda();
    const Spin spin;
    const CUstream stream = new_stream();
    const std::uint64_t before = charged();
    for (int round = 0; round < 20; ++round) {
        CHECK_OK(spin.launch(stream, kMillisecond));
        nap_us(20'000);  // nothing asks whether it is done
    }
    CHECK_OK(spin.wait(stream));
    check_charge(before, 20 * kMillisecond);
}

void waiting_on_another_stream_is_not_charged() {
    // The second stream's work comes behind that of the first: while it waits it does nothing.
    start_cuda();
    const Spin spin;
    const CUstream first = new_stream();
    const CUstream second = new_stream();
    CUevent event = nullptr;
    CHECK_OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
    const std::uint64_t before = charged();
    for (int round = 0; round < 20; ++round) {
        CHECK_OK(spin.launch(first, 2 * kMillisecond));
        CHECK_OK(CU(cuEventRecord)(event, first));
        CHECK_OK(CU(cuStreamWaitEvent)(second, event, 0));
        CHECK_OK(spin.launch(second, kMillisecond));
        CHECK_OK(spin.wait(second));
        nap_us(3'000);
    }
    check_charge(before, 60 * kMillisecond);
}

void the_stream_after_a_thousand_is_charged() {
    start_cuda();
    const Spin spin;
    std::vector<CUstream> streams(1'100);
    for (CUstream& stream : streams) {
        stream = new_stream();
        CHECK_OK(spin.launch(stream, 1'000));
    }
    for (const CUstream stream : streams) CHECK_OK(spin.wait(stream));
    const std::uint64_t before = charged();
    for (int round = 0; round < 20; ++round) CHECK_OK(spin.launch(streams.back(), kMillisecond));
    CHECK_OK(spin.wait(streams.back()));
    check_charge(before, 20 * kMillisecond);
}

void a_long_kernel_is_paid_back() {
    start_cuda();
    const Spin spin;
    const CUstream stream = new_stream();
    CHECK_OK(spin.launch(stream, 600 * kMillisecond));
    CHECK_OK(spin.wait(stream));
    const std::uint64_t began = now_ns();
    CHECK_OK(spin.launch(stream, kMillisecond));
    // 600 ms at 25 % are 2.4 s, less the 0.6 in which it ran and what a burst allows.
    CHECK_GE((now_ns() - began) / kMillisecond, 1'600U);
    CHECK_OK(spin.wait(stream));
}

namespace {

/// Writes into the ledger of this process, as if its last refill had been then.
void set_last_refill(std::uint64_t at_ns) {
    const int file = ::open(environment("ALIQUOT_GUARD_REGION").c_str(), O_RDWR | O_CLOEXEC);
    void* const mapped =
        ::mmap(nullptr, sizeof(abi::Ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK_EQ(mapped == MAP_FAILED, false);
    static_cast<abi::Ledger*>(mapped)->devices[0].refilled_ns = at_ns;
    ::munmap(mapped, sizeof(abi::Ledger));
    ::close(file);
}

}  // namespace

void hours_without_a_launch_are_no_time_saved_up() {
    start_cuda();
    const Spin spin;
    const CUstream stream = new_stream();
    CHECK_OK(spin.launch(stream, kMillisecond));
    CHECK_OK(spin.wait(stream));
    // As after a machine was suspended whose clock went on.
    const std::uint64_t began = now_ns();
    const std::uint64_t hours = 8 * 3'600'000 * kMillisecond;
    set_last_refill(began > hours ? began - hours : 1);
    for (int round = 0; round < 300; ++round) {
        CHECK_OK(spin.launch(stream, kMillisecond));
        if (round % 10 == 9) CHECK_OK(spin.wait(stream));
    }
    // 300 ms at 25 % are 1.2 s, less what a burst allows.
    CHECK_GE((now_ns() - began) / kMillisecond, 800U);
}

void a_ledger_of_another_clock_stops_nobody() {
    start_cuda();
    const Spin spin;
    const CUstream stream = new_stream();
    CHECK_OK(spin.launch(stream, kMillisecond));
    CHECK_OK(spin.wait(stream));
    // As a ledger on disk is after a reboot: the last refill lies in the future.
    set_last_refill(now_ns() + 3'600'000 * kMillisecond);
    const std::uint64_t began = now_ns();
    for (int round = 0; round < 60; ++round) CHECK_OK(spin.launch(stream, kMillisecond));
    CHECK_OK(spin.wait(stream));
    CHECK_LT((now_ns() - began) / kMillisecond, 10'000U);  // 240 ms on a quiet machine
}

namespace {

/// Makes a time namespace for the children of this process, whose clock is ahead by so many seconds.
void be_ahead(long seconds) {
    constexpr int kNewTime = 0x80;  // CLONE_NEWTIME; not in every sched.h
    if (::unshare(kNewTime) != 0) skip("no time namespaces are allowed here");
    std::FILE* const offsets = std::fopen("/proc/self/timens_offsets", "we");
    if (offsets == nullptr) skip("no time namespaces here");
    CHECK_GT(std::fprintf(offsets, "monotonic %ld 0\n", seconds), 0);
    if (std::fclose(offsets) != 0) skip("this clock cannot be set");
}

/// One thread asks for all the GPU time that it can get, until a cap of 25 % is seen to hold.
void work_until_held() {
    start_cuda();
    const Spin spin;
    const CUstream stream = new_stream();
    const std::uint64_t began = now_ns();
    constexpr std::uint64_t kLeast = 700 * kMillisecond;
    constexpr std::uint64_t kLongest = 30'000 * kMillisecond;
    std::uint64_t work = 0;
    std::uint64_t elapsed = 0;
    bool held = false;
    while (!held && elapsed < kLongest) {
        for (int i = 0; i < 10; ++i) CHECK_OK(spin.launch(stream, kMillisecond));
        work += 10 * kMillisecond;
        CHECK_OK(spin.wait(stream));
        elapsed = now_ns() - began;
        held = elapsed >= kLeast && work >= elapsed / 20 && work <= elapsed * 3 / 10;
    }
    CHECK_EQ(held, true);
}

void check_clock_of_child(long seconds) {
    be_ahead(seconds);
    const std::uint64_t before = now_ns();
    const pid_t child = ::fork();
    CHECK_GE(child, 0);
    if (child == 0) {
        work_until_held();
        std::fflush(nullptr);
        ::_exit(0);
    }
    int status = -1;
    CHECK_EQ(::waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    // What processes of all namespaces read: times of the host.
    const std::uint64_t refilled = LedgerView::read().ledger().devices[0].refilled_ns.load();
    CHECK_GE(refilled, before);
    CHECK_LE(refilled, now_ns());
}

}  // namespace

void a_clock_ahead_of_the_hosts_gets_its_share_and_no_more() { check_clock_of_child(3'600); }

void a_clock_behind_the_hosts_gets_its_share_and_no_more() {
    // A clock cannot be below zero: it is that of a machine which was started later.
    const auto up = static_cast<long>(now_ns() / (1'000 * kMillisecond));
    check_clock_of_child(-up / 2);
}

void copies_and_fills_are_launches() {
    start_cuda();
    CUdeviceptr memory = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&memory, 1 << 20));
    std::vector<char> host(1 << 20);
    const CUstream stream = new_stream();
    const auto launches = [] { return LedgerView::read().ledger().devices[0].launches.load(); };
    const std::uint64_t before = launches();
    for (int round = 0; round < 10; ++round) {
        CHECK_OK(CU(cuMemcpyHtoDAsync_v2)(memory, host.data(), host.size(), stream));
        CHECK_OK(CU(cuMemsetD8Async)(memory, 1, host.size(), stream));
        CHECK_OK(CU(cuMemcpyDtoH_v2)(host.data(), memory, host.size()));
    }
    // They are counted when it is seen that they have ended, at a wait for them or at a later one.
    for (int wait = 0; wait < 1000 && launches() - before < 30; ++wait) {
        CHECK_OK(CU(cuStreamSynchronize)(stream));
        nap_us(1'000);
    }
    CHECK_GE(launches() - before, 30U);
    CHECK_EQ(host[100], 1);
}

}  // namespace aliquot::guardkit::checks
