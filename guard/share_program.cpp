// SPDX-License-Identifier: Apache-2.0
#include "guard/share_program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "guard/session.h"

namespace aliquot::guard::simulated {
namespace {

class Run {
public:
    Run(const Program& program, bool guarded)
        : program_(program), guarded_(guarded), gpu_(program.width, program.costs) {}

    Outcome operator()() {
        use_gpu(&gpu_);
        if (guarded_ && !guard::guarded()) std::abort();
        Outcome outcome;
        Machine machine;
        machine.stalls_ppm = program_.stalls_ppm;
        machine.slice_ns = ns(program_.slice_us);
        machine.stall_ns = ns(program_.stall_us);
        run(machine, [&] { outcome = measure(); });
        return outcome;
    }

private:
    Outcome measure() {
        for (unsigned i = 0; i < program_.streams; ++i)
            streams_.push_back(program_.default_stream || program_.per_thread
                                   ? nullptr
                                   : gpu_.make_stream(program_.blocking));
        for (unsigned i = 0; i < program_.threads; ++i) start_thread([this, i] { work(i); });
        // Without the guard such a program only piles up work.
        const bool piles_up = !guarded_ && program_.wait == Wait::kNone && program_.cpu_us == 0 &&
                              program_.pause_us == 0;
        const std::uint64_t warm = now() + (piles_up ? 10'000'000 : 300'000'000);
        sleep_until(warm);
        const std::uint64_t charged = gpu_ns();
        const auto span = static_cast<std::uint64_t>((piles_up ? 0.05 : program_.seconds) * 1e9);
        sleep_until(warm + span);
        const auto busy = static_cast<double>(gpu_.busy_ns(warm, warm + span));
        Outcome outcome;
        outcome.busy = busy / static_cast<double>(span);
        outcome.work =
            static_cast<double>(gpu_.work_ns(warm, warm + span)) / static_cast<double>(span);
        outcome.charged = static_cast<double>(gpu_ns() - charged) / busy;
        over_ = true;
        return outcome;
    }
    std::uint64_t gpu_ns() const { return guarded_ ? g_ledger.totals(0).gpu_ns.load() : 0; }

    void work(unsigned thread) {
        std::mt19937 random(thread + 1);
        std::size_t next = thread % streams_.size();
        while (!over_) {
            for (unsigned i = 0; i < program_.depth && !over_; ++i) {
                gpu_.launch(streams_[next], program_.per_thread, duration(random), program_.slots,
                            guarded_);
                if (program_.hold_us > 0)
                    gpu_.hold(streams_[next], program_.per_thread, ns(program_.hold_us), guarded_);
                if (program_.threads == 1 && i + 1 < program_.depth) step(next);
                if (program_.cpu_us > 0) compute(ns(program_.cpu_us));
                if (program_.pause_us > 0) sleep_until(now() + ns(program_.pause_us));
            }
            rest(next);
            if (program_.threads == 1) step(next);
        }
    }
    void step(std::size_t& next) const { next = (next + 1) % streams_.size(); }
    void rest(std::size_t next) {
        switch (program_.wait) {
            case Wait::kNone:
                return;
            case Wait::kOwn:
                gpu_.wait(streams_[next], program_.per_thread, guarded_);
                return;
            case Wait::kAll:
                for (const CUstream stream : streams_)
                    gpu_.wait(stream, program_.per_thread, guarded_);
                return;
            case Wait::kPoll:
                while (!over_ && !gpu_.ask(streams_[next], guarded_)) compute(1'000);
        }
    }
    std::uint64_t duration(std::mt19937& random) const {
        if (program_.mixture_us.empty()) return ns(program_.kernel_us);
        return ns(program_.mixture_us[random() % program_.mixture_us.size()]);
    }
    static std::uint64_t ns(double us) { return static_cast<std::uint64_t>(us * 1000); }

    const Program& program_;
    bool guarded_;
    Gpu gpu_;
    std::vector<CUstream> streams_;
    bool over_ = false;
};

}  // namespace

Outcome outcome_of(const Program& program, bool guarded) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        std::string directory = testing::TempDir() + "share.XXXXXX";
        if (::mkdtemp(directory.data()) == nullptr) ::_exit(3);
        const std::string region = directory + "/ledger";
        ::setenv("ALIQUOT_GUARD_REGION", region.c_str(), 1);
        ::setenv("ALIQUOT_GUARD_CAP", std::to_string(program.cap).c_str(), 1);
        const Outcome outcome = Run(program, guarded)();
        std::filesystem::remove_all(directory);
        ::_exit(::write(pipe[1], &outcome, sizeof outcome) == sizeof outcome ? 0 : 3);
    }
    ::close(pipe[1]);
    Outcome outcome;
    EXPECT_EQ(::read(pipe[0], &outcome, sizeof outcome), ssize_t{sizeof outcome});
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return outcome;
}

}  // namespace aliquot::guard::simulated
