// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "abi/cuda.h"
#include "sim/cuda/account.h"

struct CUevent_st;
struct CUstream_st;

namespace aliquot::sim {

/// A piece of work, and how much of the device it takes while it runs.
struct Work {
    std::uint64_t duration_ns = 0;
    unsigned slots = 0;
};

/// The work of this process on one device. Work of a stream runs in order; work of several streams at
/// the same time, in the order of submission, as far as the device has room for it: kSlots of them, as
/// there are kernels that a GPU runs at once. A place in it is a position: the nanoseconds in which
/// this process had the device before it. Effects on memory are computed on the CPU when the device
/// must have reached them, by whoever looks. Thread-safe.
class Queue {
public:
    explicit Queue(Account& account) : account_(account) {}

    using Effect = std::function<void()>;

    static constexpr unsigned kSlots = 128;

    /// Adds work to a stream, whose position is its end then.
    /// effect   may be empty; run at once when nothing is before it
    void submit(CUstream_st& stream, const Work& work, Effect effect);

    /// The end of all work submitted.
    [[nodiscard]] std::uint64_t end() const { return submitted_.load(std::memory_order_acquire); }
    [[nodiscard]] bool idle() const { return reached_quickly(end()); }

    /// Has the device passed this position, and are all effects up to it done? Never waits.
    bool reached(std::uint64_t position) { return reached_quickly(position) || look() >= position; }
    /// Sleeps until it has. An error: the device is gone.
    CUresult wait(std::uint64_t position);

    /// The event's position is set: fills in its time when the device passes it.
    void watch(CUevent_st& event);
    void forget(CUevent_st& event);

    /// Everything that was submitted is void (the context is gone); effects do not happen.
    void drop();

private:
    struct Outlook {
        std::uint64_t executed = 0;
        std::uint64_t end_ns = 0;  // of the position asked for; 0: passed
        std::uint64_t now_ns = 0;
        bool lost = false;
    };

    [[nodiscard]] bool reached_quickly(std::uint64_t position) const {
        return done_.load(std::memory_order_acquire) >= position;
    }
    std::uint64_t look();
    Outlook look_ahead(std::uint64_t position);
    /// These three under mutex_ and the node's lock.
    Outlook bring_up(State& state);
    void collect(State& state, unsigned entry, std::uint64_t now_ns);
    void set_marks(State& state, unsigned entry);
    void run_effects(std::uint64_t executed);
    std::uint64_t take_slots(std::uint64_t ready, const Work& work);

    Account& account_;
    std::recursive_mutex mutex_;
    std::atomic<std::uint64_t> submitted_{0};
    std::atomic<std::uint64_t> done_{0};  // positions up to here are passed, their effects done
    std::uint64_t origin_ = 0;            // position 0, as the node's books count
    unsigned place_ = kMaxProcesses;      // entry that origin_ is of
    std::multimap<std::uint64_t, Effect> pending_;  // by position, then by submission
    std::array<std::uint64_t, kSlots> free_{};  // from which position on each slot is; ascending
    std::vector<CUevent_st*> watched_;
};

}  // namespace aliquot::sim
