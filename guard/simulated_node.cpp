// SPDX-License-Identifier: Apache-2.0
#include "guard/simulated_node.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "abi/turns.h"
#include "guard/hand_over.h"
#include "guard/kernel.h"
#include "guard/session.h"
#include "turns/arbiter.h"
#include "turns/wake_time.h"

namespace aliquot::guard {
namespace {

std::array<int, 2> g_pages = {-1, -1};  // what the guard is handed over

}  // namespace

long receive_turns(const char* /*path*/, int (&files)[2]) {
    for (unsigned i = 0; i < 2; ++i) files[i] = ::fcntl(g_pages[i], F_DUPFD_CLOEXEC, 0);
    return g_pages[0] < 0 ? -ECONNREFUSED : 0;
}
int open_or_receive(const char* path, std::uint64_t /*patience_ns*/) {
    return kernel::open(path, O_RDWR);
}
int open_again(int descriptor) {
    return kernel::open(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), O_RDWR);
}

namespace simulated {
namespace {

constexpr std::uint64_t kBeat = 200'000'000;
constexpr std::uint64_t kOften = 1'000'000;
constexpr std::uint64_t kAhead = 2'000'000;

std::uint64_t ns(double us) { return static_cast<std::uint64_t>(us * 1000); }

/// The two pages of a container, as the arbiter has them.
struct Pages {
    abi::WantsPage* wants = nullptr;
    abi::TurnsPage* turns = nullptr;
    unsigned tenant = 0;

    [[nodiscard]] abi::Demand& demand() const { return wants->devices[0]; }
    [[nodiscard]] std::atomic<std::uint32_t>& word() const { return turns->devices[0].word; }
};

template <class Page>
Page* make_page(const char* name, int& file) {
    file = ::memfd_create(name, MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, sizeof(Page)) != 0) std::abort();
    void* const at = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) std::abort();
    auto* const page = static_cast<Page*>(at);
    page->abi = abi::kTurnsAbi;
    page->size = sizeof(Page);
    return page;
}

Pages make_pages(std::array<int, 2>& files) {
    Pages pages;
    pages.wants = make_page<abi::WantsPage>("wants", files[0]);
    pages.turns = make_page<abi::TurnsPage>("turns", files[1]);
    pages.wants->magic = abi::kWantsMagic;
    pages.turns->magic = abi::kTurnsMagic;
    std::memset(&pages.turns->devices[0].uuid, 7, sizeof pages.turns->devices[0].uuid);
    pages.turns->heartbeat.store(1);
    return pages;
}

/// turns::Keeper's loop on this world's clock.
class Agent {
public:
    explicit Agent(std::array<Pages, 2>& containers) : containers_(containers) {}
    void set_weights(std::uint32_t first) {
        containers_[0].tenant = arbiter_.add(first);
        containers_[1].tenant = arbiter_.add(100 - first);
    }
    void run(const bool& over) {
        while (!over) {
            const std::uint32_t seen = changes();
            const std::uint64_t when = look();
            if (changes() == seen && when > now()) {
                any_change_.store(seen);
                kernel::wait(any_change_, seen, when - now(), true);
                if (now() >= when) wake_time_.note(now() - when);
            }
            compute(3'000);
        }
    }

private:
    [[nodiscard]] std::uint32_t changes() const {
        return containers_[0].wants->changes.load() + containers_[1].wants->changes.load();
    }
    std::uint64_t look() {
        const std::uint64_t at = now();
        for (const Pages& one : containers_) {
            const abi::Demand& demand = one.demand();
            arbiter_.see(one.tenant,
                         {.asked = demand.asked.load(),
                          .rests = demand.rests.load(),
                          .done = demand.done.load(),
                          .busy_until_ns = demand.busy_until_ns.load()},
                         at);
        }
        arbiter_.set_wake_time(wake_time_.usual_ns());
        arbiter_.decide(at);
        for (const Pages& one : containers_) {
            const std::uint32_t before = one.word().load();
            const std::uint32_t word = arbiter_.word(one.tenant, at);
            one.word().store(word);
            if (before >> abi::kTurnGrantShift != word >> abi::kTurnGrantShift)
                kernel::wake(one.word(), 1 << 30, true);
        }
        if (at - beaten_ns_ >= kBeat) {
            beaten_ns_ = at;
            for (const Pages& one : containers_) one.turns->heartbeat.fetch_add(1);
        }
        std::uint64_t when = beaten_ns_ + kBeat;
        if (const std::uint64_t next = arbiter_.next_look(at); next != 0)
            when = std::min(when, next);
        return arbiter_.is_lively(at) ? std::min(when, at + kOften) : when;
    }

    std::array<Pages, 2>& containers_;
    turns::Arbiter arbiter_;
    turns::WakeTime wake_time_;
    std::uint64_t beaten_ns_ = 0;
    std::atomic<std::uint32_t> any_change_{0};
};

/// A container without our guard that keeps to the rules.
class Neighbour {
public:
    Neighbour(Gpu& gpu, Pages& pages) : gpu_(gpu), pages_(pages) {}

    void run(const Load& load, const bool& over, std::uint64_t& done_ns) {
        CUstream const stream = gpu_.make_stream(false);
        while (!over) {
            for (unsigned i = 0; i < load.depth && !over; ++i) {
                // No more than this ahead of the device, as a guard keeps it beside others.
                if (ends_ns_ > now() + kAhead) sleep_until(ends_ns_ - kAhead);
                if (is_over_or_gone()) {
                    gpu_.wait(stream, false, false);
                    give_back();
                }
                take(over);
                ends_ns_ = std::max(ends_ns_, now()) + ns(load.kernel_us);
                pages_.demand().busy_until_ns.store(ends_ns_);
                gpu_.launch(stream, false, ns(load.kernel_us), 1, false);
                done_ns += ns(load.kernel_us);
            }
            gpu_.wait(stream, false, false);
            if (is_mine())
                rest();
            else
                give_back();
            if (load.cpu_us > 0) compute(ns(load.cpu_us));
            if (load.pause_us > 0) sleep_until(now() + ns(load.pause_us));
        }
    }

private:
    [[nodiscard]] std::uint32_t grant() const {
        return pages_.word().load() >> abi::kTurnGrantShift;
    }
    [[nodiscard]] bool is_mine() const {
        return (pages_.word().load() & abi::kTurnMine) != 0 &&
               grant() != pages_.demand().done.load();
    }
    /// It is to be given back, or was taken away.
    [[nodiscard]] bool is_over_or_gone() const {
        const std::uint32_t word = pages_.word().load();
        return grant() != pages_.demand().done.load() &&
               ((word & abi::kTurnOver) != 0 || (word & abi::kTurnMine) == 0);
    }
    void give_back() const {
        pages_.demand().done.store(grant());
        poke();
    }
    void poke() const {
        pages_.wants->changes.fetch_add(1);
        kernel::wake(pages_.wants->changes, 1, true);
    }
    void take(const bool& over) {
        if (pages_.demand().rests.load() % 2 != 0) pages_.demand().rests.fetch_add(1);
        for (bool first = true; !is_mine() && !over; first = false) {
            const std::uint32_t seen = pages_.word().load();
            pages_.demand().asked.store(++asked_);
            if (first) poke();
            kernel::wait(pages_.word(), seen, 2'000'000, true);
        }
    }
    void rest() const {
        if (pages_.demand().rests.load() % 2 != 0) return;
        pages_.demand().rests.fetch_add(1);
        if ((pages_.word().load() & (abi::kTurnEager | abi::kTurnOver)) != 0) poke();
    }

    Gpu& gpu_;
    Pages& pages_;
    std::uint32_t asked_ = 0;
    std::uint64_t ends_ns_ = 0;  // what it has launched, as far as it knows
};

/// The container with the guard; one request is `depth` launches and the wait.
void run_guarded(Gpu& gpu, const Load& load, const bool& over, std::uint64_t& done_ns,
                 std::vector<std::uint64_t>& took) {
    CUstream const stream = gpu.make_stream(false);
    while (!over) {
        const std::uint64_t began = now();
        for (unsigned i = 0; i < load.depth && !over; ++i) {
            gpu.launch(stream, false, ns(load.kernel_us), 1, true);
            done_ns += ns(load.kernel_us);
        }
        gpu.wait(stream, false, true);
        took.push_back(now() - began);
        if (load.cpu_us > 0) compute(ns(load.cpu_us));
        if (load.pause_us > 0) sleep_until(now() + ns(load.pause_us));
    }
}

Parts run_pair(const Pair& pair) {
    std::array<int, 2> others = {-1, -1};
    std::array<Pages, 2> pages = {make_pages(g_pages), make_pages(others)};
    Gpu gpu(1, {});
    use_gpu(&gpu);
    if (!guard::guarded()) std::abort();
    Parts parts;
    run({.sleep_slack_ns = ns(pair.wake_us), .wake_ns = ns(pair.wake_us)}, [&] {
        static bool over = false;
        static Agent agent(pages);
        static Neighbour neighbour(gpu, pages[1]);
        static std::array<std::uint64_t, 2> done = {};
        static std::vector<std::uint64_t> took;
        agent.set_weights(pair.weight);
        start_thread([] { agent.run(over); });
        start_thread([&] { run_guarded(gpu, pair.own, over, done[0], took); });
        start_thread([&] { neighbour.run(pair.neighbour, over, done[1]); });
        sleep_until(now() + 1'000'000'000);
        const std::array<std::uint64_t, 2> before = done;
        took.clear();
        const double span = pair.seconds * 1e9;
        sleep_until(now() + static_cast<std::uint64_t>(span));
        parts.own = static_cast<double>(done[0] - before[0]) / span;
        parts.neighbour = static_cast<double>(done[1] - before[1]) / span;
        std::sort(took.begin(), took.end());
        if (!took.empty()) parts.p99_ms = static_cast<double>(took[took.size() * 99 / 100]) / 1e6;
        over = true;
    });
    return parts;
}

}  // namespace

Parts parts_of(const Pair& pair) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        std::string directory = testing::TempDir() + "weights.XXXXXX";
        if (::mkdtemp(directory.data()) == nullptr) ::_exit(3);
        const std::string region = directory + "/ledger";
        ::setenv("ALIQUOT_GUARD_REGION", region.c_str(), 1);
        ::setenv("ALIQUOT_GUARD_NODE", "handed over", 1);
        ::setenv("ALIQUOT_GUARD_WEIGHT", std::to_string(pair.weight).c_str(), 1);
        const Parts parts = run_pair(pair);
        std::filesystem::remove_all(directory);
        ::_exit(::write(pipe[1], &parts, sizeof parts) == sizeof parts ? 0 : 3);
    }
    ::close(pipe[1]);
    Parts parts;
    EXPECT_EQ(::read(pipe[0], &parts, sizeof parts), ssize_t{sizeof parts});
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return parts;
}

}  // namespace simulated
}  // namespace aliquot::guard
