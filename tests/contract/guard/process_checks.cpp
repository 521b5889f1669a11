// SPDX-License-Identifier: Apache-2.0
//
// Several processes in one container: they share the limit, and what one leaves the others get.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/driver.h"
#include "tests/contract/guard/ledger_view.h"
#include "tests/contract/guard/worker.h"

namespace aliquot::guardkit::checks {
namespace {

constexpr std::uint64_t kLimit = 4 * kGi;

std::string alloc(std::uint64_t bytes) { return "alloc " + std::to_string(bytes); }

Worker started(const Worker::Options& options = {}) {
    Worker worker = Worker::start(options);
    CHECK_EQ(worker.number("init"), 0);
    return worker;
}

/// What a fresh process in the container may have now, in pieces of 64 MiB.
long long room_in_pieces() {
    Worker worker = started();
    return worker.number("fill 67108864");
}

CUdeviceptr allocated(std::uint64_t bytes) {
    CUdeviceptr pointer = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&pointer, bytes));
    return pointer;
}

}  // namespace

void processes_share_one_limit() {
    physical_base();
    Worker first = started();
    Worker second = started();
    CHECK_EQ(first.number(alloc(2 * kGi)), 0);
    CHECK_EQ(second.number(alloc(2 * kGi)), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_EQ(second.number(alloc(kGi / 2)), 0);
    std::uint64_t free = 0;
    unsigned result = 1;
    CHECK_EQ(std::sscanf(first.ask("view").c_str(), "%u %lu", &result, &free), 2);
    CHECK_EQ(result, 0U);
    CHECK_LE(free, kLimit - 2 * kGi - kGi / 2);
    check_physical(kLimit);
    check_sums();
    CHECK_EQ(first.finish(), 0);
    CHECK_EQ(second.number(alloc(2 * kGi)), 0);  // the first has gone
    CHECK_EQ(second.number("freeall"), 0);
    check_sums();
}

void a_killed_process_gives_back_at_once() {
    Worker first = started();
    Worker second = started();
    for (int round = 0; round < 5; ++round) {
        Worker victim = started();
        CHECK_EQ(victim.number(alloc(2 * kGi)), 0);
        CHECK_EQ(second.number(alloc(2 * kGi)), CUDA_ERROR_OUT_OF_MEMORY);
        victim.kill();
        CHECK_EQ(second.number(alloc(2 * kGi)), 0);
        CHECK_EQ(second.number("free"), 0);
    }
    check_sums();
    CHECK_LE(LedgerView::read().slots_taken(), 8U);
}

void two_processes_race_for_the_last_bytes() {
    physical_base();
    Worker first = started();
    Worker second = started();
    CHECK_EQ(first.number(alloc(kGi)), 0);
    const unsigned long rounds = scaled(400, 25);
    unsigned long both = 0;
    unsigned long none = 0;
    // Half a gibibyte more than half of what is left: one of two has room.
    std::uint64_t free = 0;
    unsigned result = 1;
    CHECK_EQ(std::sscanf(first.ask("view").c_str(), "%u %lu", &result, &free), 2);
    const std::uint64_t piece = free / 2 + 128 * kMi;
    for (unsigned long i = 0; i < rounds; ++i) {
        // Both are told before either answers.
        const pid_t helper = ::fork();
        CHECK_GE(helper, 0);
        if (helper == 0) ::_exit(second.number(alloc(piece)) == 0 ? 1 : 0);
        const bool first_won = first.number(alloc(piece)) == 0;
        const bool second_won = wait_for(helper) == 1;
        both += first_won && second_won ? 1 : 0;
        none += !first_won && !second_won ? 1 : 0;
        if (first_won) CHECK_EQ(first.number("free"), 0);
        if (second_won) CHECK_EQ(second.number("free"), 0);
    }
    CHECK_EQ(both, 0UL);
    CHECK_EQ(none, 0UL);
    check_physical(kLimit);
    check_sums();
}

void a_fork_leaves_its_parent_alone() {
    start_cuda();
    const CUdeviceptr pointer = allocated(kGi);
    const std::uint64_t before = counted();
    CHECK_EQ(in_child([] {}), 0);
    CHECK_EQ(counted(), before);
    // Exit handlers run in this one.
    const pid_t child = ::fork();
    if (child == 0) std::_Exit(0);
    CHECK_EQ(wait_for(child), 0);
    const pid_t other = ::fork();
    if (other == 0) ::exit(0);  // NOLINT(concurrency-mt-unsafe)
    CHECK_EQ(wait_for(other), 0);
    CHECK_EQ(counted(), before);
    CHECK_EQ(LedgerView::read().slots_taken(), 1U);
    check_sums();
    CHECK_OK(CU(cuMemFree_v2)(pointer));
    CHECK_EQ(counted(), before - kGi);
    check_sums();
}

void a_forked_child_may_use_cuda_of_its_own() {
    // The parent has looked up everything and not begun.
    (void)CU(cuInit);
    (void)CU(cuMemAlloc_v2);
    const int child = in_child([] {
        start_cuda();
        const CUdeviceptr pointer = allocated(kGi);
        CHECK_EQ(counted(), kGi);
        CHECK_OK(CU(cuMemFree_v2)(pointer));
    });
    CHECK_EQ(child, 0);
    start_cuda();
    CHECK_OK(CU(cuMemFree_v2)(allocated(3 * kGi)));
    check_sums();
}

void a_fork_during_the_first_call_leaves_a_usable_child() {
    // A process that has not touched CUDA yet, in which one thread begins to and another one forks.
    const unsigned long rounds = scaled(300, 20);
    for (unsigned long i = 0; i < rounds; ++i) {
        const pid_t fresh = ::fork();
        CHECK_GE(fresh, 0);
        if (fresh == 0) {
            constexpr unsigned kSeconds = 30;
            ::alarm(kSeconds);
            // Loaded before, so that the fork finds the first call at work; nothing of the kit's own
            // is held over the fork.
            void* const library = cuda_library();
            const auto init = [library] {
                const auto entry = reinterpret_cast<decltype(&cuInit)>(::dlsym(library, "cuInit"));
                return entry == nullptr ? -1 : static_cast<int>(entry(0));
            };
            std::atomic<bool> begun{false};
            std::thread first([&] {
                begun.store(true);
                (void)init();
            });
            while (!begun.load()) {
            }
            const std::uint64_t until = now_ns() + i % 50 * 10'000;
            while (now_ns() < until) {
            }
            const pid_t child = ::fork();
            if (child == 0) {
                ::alarm(kSeconds);
                // Whatever the driver says in a child: it is said.
                ::_exit(init() < 0 ? 1 : 0);
            }
            first.join();
            ::_exit(wait_for(child));
        }
        CHECK_EQ(wait_for(fresh), 0);
    }
}

void a_forked_child_of_a_user_gets_the_drivers_answer() {
    start_cuda();
    (void)allocated(kGi);
    // What the bare driver says in a child after fork() is what programs know.
    const int bare = in_child([] {
        CUdeviceptr pointer = 0;
        ::_exit(BARE(cuMemAlloc_v2)(&pointer, kMi) & 0x7f);
    });
    const int guarded = in_child([] {
        CUdeviceptr pointer = 0;
        ::_exit(CU(cuMemAlloc_v2)(&pointer, kMi) & 0x7f);
    });
    CHECK_EQ(guarded, bare);
    check_sums();
    CHECK_EQ(counted(), kGi);
}

void an_orphan_of_a_dead_process_holds_nothing() {
    Worker first = started();
    CHECK_EQ(first.number(alloc(2 * kGi)), 0);
    const auto orphan = static_cast<pid_t>(first.number("fork"));  // by the bare system call
    CHECK_GT(orphan, 0);
    first.kill();
    // The orphan lives and has inherited every open file; the memory is gone all the same.
    Worker second = started();
    const long long result = second.number(alloc(2 * kGi));
    ::kill(orphan, SIGKILL);
    CHECK_EQ(result, 0);
}

void exec_gives_back_what_the_old_program_had() {
    if (environment("ALIQUOT_GUARD_KIT_ROUND") == "2") {
        start_cuda();
        CHECK_GE(memory_view().free, 3 * kGi);
        CHECK_EQ(counted(), 0U);
        CHECK_OK(CU(cuMemFree_v2)(allocated(2 * kGi)));
        CHECK_EQ(LedgerView::read().slots_taken(), 1U);
        check_sums();
        return;
    }
    start_cuda();
    (void)allocated(2 * kGi);
    ::setenv("ALIQUOT_GUARD_KIT_ROUND", "2", 1);  // NOLINT(concurrency-mt-unsafe)
    char program[] = "/proc/self/exe";
    char name[] = "exec_gives_back_what_the_old_program_had";
    char* arguments[] = {program, name, nullptr};
    ::execv(program, arguments);
    fail(__FILE__, __LINE__, "execv came back");
}

void a_daemon_is_counted() {
    int ends[2];
    CHECK_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    CHECK_GE(child, 0);
    if (child == 0) {
        ::setsid();
        if (::fork() != 0) ::_exit(0);
        ::dup2(ends[1], 3);
        for (int file = 0; file < 1024; ++file)
            if (file != 3) ::close(file);
        ::open("/dev/null", O_RDWR);
        CUdeviceptr pointer = 0;
        CUcontext context = nullptr;
        char verdict = CU(cuInit)(0) == 0 && CU(cuDevicePrimaryCtxRetain)(&context, 0) == 0 &&
                               CU(cuCtxSetCurrent)(context) == 0 &&
                               CU(cuMemAlloc_v2)(&pointer, 5 * kGi) == CUDA_ERROR_OUT_OF_MEMORY &&
                               CU(cuMemAlloc_v2)(&pointer, kGi) == 0
                           ? 'y'
                           : 'n';
        (void)!::write(3, &verdict, 1);
        ::_exit(0);
    }
    ::close(ends[1]);
    CHECK_EQ(wait_for(child), 0);
    char verdict = '-';
    CHECK_EQ(::read(ends[0], &verdict, 1), 1L);
    CHECK_EQ(static_cast<int>(verdict), static_cast<int>('y'));
    CHECK_EQ(::read(ends[0], &verdict, 1), 0L);  // it has gone
    CHECK_GE(room_in_pieces(), 2 * 16LL);
}

void a_process_that_closes_all_files_keeps_its_charge() {
    physical_base();
    Worker first = started();
    CHECK_EQ(first.number(alloc(2 * kGi)), 0);
    CHECK_EQ(first.number("close"), 0);
    Worker second = started();
    CHECK_EQ(second.number(alloc(2 * kGi)), CUDA_ERROR_OUT_OF_MEMORY);
    check_sums();
    // And it goes on being limited and counted itself.
    CHECK_EQ(first.number(alloc(kGi / 2)), 0);
    CHECK_EQ(first.number(alloc(2 * kGi)), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_EQ(second.number(alloc(2 * kGi)), CUDA_ERROR_OUT_OF_MEMORY);
    check_physical(kLimit);
    CHECK_EQ(first.number("freeall"), 0);
    CHECK_EQ(second.number(alloc(2 * kGi)), 0);
    check_physical(kLimit);
}

void a_process_whose_files_are_all_replaced() {
    // The numbers of the closed files are given to others: the guard must not use them.
    start_cuda();
    const CUdeviceptr pointer = allocated(kGi);
    for (int file = 3; file < 64; ++file) ::close(file);
    char path[] = "/tmp/guard-check-XXXXXX";
    const int precious = ::mkstemp(path);
    CHECK_GE(precious, 0);
    ::unlink(path);
    for (int i = 0; i < 60; ++i) (void)::dup(precious);
    CHECK_EQ(::write(precious, "precious", 8), 8L);
    CHECK_OK(CU(cuMemFree_v2)(allocated(kGi)));
    CUdeviceptr other = 0;
    CHECK_EQ(CU(cuMemAlloc_v2)(&other, kLimit), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_OK(CU(cuMemFree_v2)(pointer));
    char text[32] = {};
    CHECK_EQ(::pread(precious, text, sizeof text, 0), 8L);
    CHECK_EQ(std::strcmp(text, "precious"), 0);
}

void two_pid_namespaces_share_one_region() {
    physical_base();
    // Both are process 1.
    Worker first = started({.environment = {}, .new_pid_namespace = true});
    Worker second = started({.environment = {}, .new_pid_namespace = true});
    CHECK_EQ(first.number(alloc(2 * kGi)), 0);
    CHECK_EQ(second.number(alloc(2 * kGi)), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_EQ(second.number(alloc(kGi)), 0);
    check_physical(kLimit);
    check_sums();
    first.kill();
    CHECK_THAT(eventually([&] { return second.number(alloc(2 * kGi)) == 0; }));
    check_sums();
}

void a_stopped_process_stops_nobody_else() {
    Worker first = started();
    Worker second = started();
    CHECK_EQ(first.number("churn 1048576"), 0);
    const unsigned long rounds = scaled(400, 10);
    for (unsigned long i = 0; i < rounds; ++i) {
        first.send_signal(SIGSTOP);
        // It may have been anywhere, also inside the ledger's lock.
        const std::uint64_t began = now_ns();
        CHECK_EQ(second.number(alloc(kMi)), 0);
        CHECK_EQ(second.number("free"), 0);
        CHECK_LT(now_ns() - began, 10'000'000'000ULL);
        first.send_signal(SIGCONT);
        nap_us(300);
    }
}

void more_processes_than_one_after_another() {
    for (unsigned long i = 0; i < scaled(1500, 2); ++i) {
        Worker worker = started();
        CHECK_EQ(worker.number(alloc(2 * kGi)), 0);
        if (i % 2 == 0) {
            worker.kill();
        } else {
            CHECK_EQ(worker.finish(), 0);
        }
    }
    CHECK_GE(room_in_pieces(), 2 * 16LL);
    check_sums();
}

void children_of_vfork_and_spawn_change_nothing() {
    start_cuda();
    (void)allocated(kGi);
    const std::uint64_t before = counted();
    for (int i = 0; i < 20; ++i) {
        const pid_t child = ::vfork();
        CHECK_GE(child, 0);
        if (child == 0) {
            ::execl("/bin/true", "true", nullptr);
            ::_exit(99);
        }
        CHECK_EQ(wait_for(child), 0);
    }
    CHECK_EQ(counted(), before);
    CHECK_EQ(LedgerView::read().slots_taken(), 1U);
    check_sums();
}

}  // namespace aliquot::guardkit::checks
