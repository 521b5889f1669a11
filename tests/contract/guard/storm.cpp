// SPDX-License-Identifier: Apache-2.0
//
// guard-storm kill|churn|tree [N]: many processes of one container at once.
//   kill    N SIGKILLs into processes that allocate and free; 1000
//   churn   64 processes, each N times allocate and free; 100000
//   tree    processes that fork and exec and allocate, N leaves; 400
// Prints one line of JSON. Exit 1 when the ledger and the driver do not agree at the end, or more
// was used than the limit. ALIQUOT_GUARD_KIT_SCALE: percent of the sizes.
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/driver.h"
#include "tests/contract/guard/ledger_view.h"

namespace aliquot::guardkit {
namespace {

constexpr std::uint64_t kLimit = 8 * kGi;  // as the test and the guide set it

/// What all processes of a storm write to.
struct Shared {
    std::atomic<std::uint64_t> operations;
    std::atomic<std::uint64_t> refusals;
    std::atomic<std::uint64_t> wrong;
    std::atomic<std::uint64_t> longest_ns;
    std::atomic<std::uint64_t> stalls;  // operations over a second
    std::atomic<std::uint64_t> leaves;
    std::atomic<bool> stop;
};
Shared* shared = nullptr;

std::uint64_t random_number(std::uint64_t& state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

void note(std::uint64_t began) {
    const std::uint64_t took = now_ns() - began;
    ++shared->operations;
    if (took > 1'000'000'000) ++shared->stalls;
    std::uint64_t longest = shared->longest_ns;
    while (took > longest && !shared->longest_ns.compare_exchange_weak(longest, took)) {
    }
}

struct Calls {
    decltype(&cuMemAlloc_v2) allocate = CU(cuMemAlloc_v2);
    decltype(&cuMemFree_v2) release = CU(cuMemFree_v2);
};

/// Allocates and frees at random, `times` times or until told to stop; then frees all.
void churn(std::uint64_t times) {
    const Calls calls;
    std::uint64_t random = 0x9e3779b97f4a7c15ULL ^ static_cast<std::uint64_t>(::getpid());
    std::vector<CUdeviceptr> all;
    for (std::uint64_t i = 0; i < times && !shared->stop; ++i) {
        const std::uint64_t began = now_ns();
        if (all.size() > 8 || (!all.empty() && (random_number(random) & 1) != 0)) {
            if (calls.release(all.back()) != CUDA_SUCCESS) ++shared->wrong;
            all.pop_back();
        } else {
            CUdeviceptr pointer = 0;
            const std::uint64_t bytes = std::uint64_t{1} << random_number(random) % 25;
            const CUresult result = calls.allocate(&pointer, bytes);
            if (result == CUDA_SUCCESS) {
                all.push_back(pointer);
            } else {
                ++(result == CUDA_ERROR_OUT_OF_MEMORY ? shared->refusals : shared->wrong);
            }
        }
        note(began);
    }
    for (const CUdeviceptr one : all)
        if (calls.release(one) != CUDA_SUCCESS) ++shared->wrong;
}

bool try_to_start() {
    if (CU(cuInit)(0) != CUDA_SUCCESS) return false;
    CUcontext context = nullptr;
    if (CU(cuDevicePrimaryCtxRetain)(&context, 0) != CUDA_SUCCESS) return false;
    return CU(cuCtxSetCurrent)(context) == CUDA_SUCCESS;
}

pid_t start(std::uint64_t times) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (try_to_start()) {
        churn(times);
    } else {
        ++shared->refusals;
    }
    ::_exit(0);
}

/// The last word: with all others gone, a process that is refused once has cleared up after them;
/// then ledger, slots and driver must agree.
int verdict(const char* what, std::uint64_t count, std::uint64_t began) {
    bool agrees = true;
    const std::uint64_t base = physical_base();
    start_cuda();
    CUdeviceptr pointer = 0;
    if (CU(cuMemAlloc_v2)(&pointer, kLimit) != CUDA_ERROR_OUT_OF_MEMORY) agrees = false;
    const std::uint64_t wanted = 64 * kMi;
    if (CU(cuMemAlloc_v2)(&pointer, wanted) != CUDA_SUCCESS) agrees = false;
    const LedgerView view = LedgerView::read();
    const std::uint64_t physical = physical_used() - base;
    agrees = agrees && view.used() == view.sum_of_slots() && view.slots_taken() == 1 &&
             view.tracked(::getpid()) == wanted && view.used() + 2 * kMi >= physical;
    // The guard's own highest figure; the driver's is checked by whoever has the node.
    agrees = agrees && view.peak() <= kLimit && shared->wrong == 0;
    std::printf(
        "{\"storm\": \"%s\", \"count\": %lu, \"seconds\": %.2f, \"operations\": %lu, \"refusals\": "
        "%lu, \"wrong\": %lu, \"longest_ms\": %.1f, \"stalls_over_1s\": %lu, \"used\": %lu, "
        "\"sum_of_slots\": %lu, \"slots\": %u, \"driver\": %lu, \"recoveries\": %u, \"agrees\": "
        "%s}\n",
        what, count, static_cast<double>(now_ns() - began) / 1e9, shared->operations.load(),
        shared->refusals.load(), shared->wrong.load(),
        static_cast<double>(shared->longest_ns) / 1e6, shared->stalls.load(), view.used(),
        view.sum_of_slots(), view.slots_taken(), physical, view.ledger().recoveries.load(),
        agrees ? "true" : "false");
    return agrees ? 0 : kExitFailed;
}

void kill_storm(unsigned long kills) {
    constexpr std::size_t kProcesses = 6;
    std::vector<pid_t> all;
    std::uint64_t random = 42;
    while (all.size() < kProcesses) all.push_back(start(~std::uint64_t{0}));
    for (unsigned long i = 0; i < kills; ++i) {
        nap_us(static_cast<unsigned>(random_number(random) % 6000));
        pid_t& victim = all[random_number(random) % kProcesses];
        ::kill(victim, SIGKILL);
        ::waitpid(victim, nullptr, 0);
        victim = start(~std::uint64_t{0});
    }
    shared->stop = true;
    for (const pid_t one : all) ::waitpid(one, nullptr, 0);
}

void churn_storm(unsigned long times) {
    std::vector<pid_t> all;
    for (int i = 0; i < 64; ++i) all.push_back(start(times));
    for (const pid_t one : all) {
        int status = 0;
        ::waitpid(one, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++shared->wrong;
    }
}

/// A node of the tree: takes memory, makes two more, leaves by exit, exec or SIGKILL.
void grow(unsigned depth, std::uint64_t random) {
    std::vector<pid_t> children;
    for (int i = 0; depth > 0 && i < 2; ++i) {
        const std::uint64_t seed = random_number(random);
        const pid_t child = ::fork();
        if (child > 0) children.push_back(child);
        if (child != 0) continue;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        // A branch of its own from here on, one level down.
        children.clear();
        random = seed;
        --depth;
        i = -1;
    }
    // Only now: CUDA does not survive a fork.
    if (try_to_start()) churn(50);
    ++shared->leaves;
    for (const pid_t one : children) ::waitpid(one, nullptr, 0);
    switch (random_number(random) % 4) {
        case 0:
            ::execl("/bin/true", "true", nullptr);
            break;
        case 1:
            ::kill(::getpid(), SIGKILL);
            break;
        case 2:
            ::exit(0);  // NOLINT(concurrency-mt-unsafe): exit handlers are meant to run
        default:
            break;
    }
    ::_exit(0);
}

void tree_storm(unsigned long leaves) {
    std::uint64_t random = 7;
    while (shared->leaves < leaves) {
        const pid_t child = ::fork();
        if (child == 0) {
            grow(3, random_number(random));
            ::_exit(0);
        }
        (void)random_number(random);
        int status = 0;
        ::waitpid(child, &status, 0);
        ++shared->leaves;  // also when the root could not begin
    }
}

int run_storm(int count, char** words) {
    const char* const what = count > 1 ? words[1] : "";
    const unsigned long asked = count > 2 ? std::strtoul(words[2], nullptr, 10) : 0;
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 3;
    shared = static_cast<Shared*>(memory);
    // The coordinator itself does not touch CUDA before the end; NVML only.
    (void)physical_base();
    (void)Calls();
    const std::uint64_t began = now_ns();
    unsigned long size = 0;
    if (std::strcmp(what, "kill") == 0) {
        kill_storm(size = asked != 0 ? asked : scaled(1000, 100));
    } else if (std::strcmp(what, "churn") == 0) {
        churn_storm(size = asked != 0 ? asked : scaled(100'000, 100));
    } else if (std::strcmp(what, "tree") == 0) {
        tree_storm(size = asked != 0 ? asked : scaled(400, 100));
    } else {
        std::fputs("guard-storm: kill, churn or tree\n", stderr);
        return 2;
    }
    shared->stop = false;
    return verdict(what, size, began);
}

}  // namespace
}  // namespace aliquot::guardkit

int main(int count, char** words) { return aliquot::guardkit::run_storm(count, words); }
