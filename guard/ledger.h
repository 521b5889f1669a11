// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/region.h"
#include "guard/settings.h"

/// What all processes of the container use together, and this process' part in it.
///
/// Every figure that a limit is held against is changed under one lock that survives the death of
/// its holder at any instruction: the lock names the holder's slot, a slot is alive while its byte
/// of the file is locked, and the sums can always be made again from the slots. It also survives a
/// holder that is stopped, and goes on when another one has the lock (abi::Fenced): what one store
/// of it has not done by then it does again, with the lock.
namespace aliquot::guard {

inline constexpr unsigned kNone = ~0U;

/// One GPU or MIG device, as this process sees it.
struct Device {
    abi::DeviceUuid uuid;
    const abi::DeviceLimits* limits;  // of the config, or `own`
    unsigned config_place;            // kNone: not in the config
    abi::DeviceLimits own;            // of the environment

    [[nodiscard]] std::uint64_t memory_limit() const {
        return limits->memory_bytes.load(std::memory_order_relaxed);
    }
    [[nodiscard]] bool kernel_limit() const {
        return (limits->flags.load(std::memory_order_relaxed) & abi::kKernelLimit) != 0;
    }
};

/// Which part of a slot a change is about.
enum class Part : std::uint8_t { kTracked, kManaged, kOverhead };

class Ledger {
public:
    /// Maps config and ledger of `settings`, makes the ledger where there is none. Once.
    /// returns  what went wrong; nullptr: nothing
    const char* attach(const Settings& settings);
    [[nodiscard]] bool attached() const { return ledger_ != nullptr; }
    /// What to do when attach() or join() fail: the mounted config's word, or else the settings'.
    [[nodiscard]] bool is_fail_open(const Settings& settings) const;

    /// Takes a slot for this process. Again after forget().
    /// returns  what went wrong; nullptr: nothing
    const char* join();
    [[nodiscard]] bool joined() const { return slot_ != kNone; }
    /// In the child of a fork: the slot is the parent's.
    void forget();

    /// The place of a device; a new one is entered. kNone: the table is full.
    /// container_index   where the environment's limits are those of this GPU
    unsigned place_of(const abi::DeviceUuid& uuid, unsigned container_index);
    /// The same without entering it: kNone: nobody has used it.
    unsigned find(const abi::DeviceUuid& uuid) const;
    [[nodiscard]] const Device& device(unsigned place) const { return devices_[place]; }
    /// This process has had to do with it.
    [[nodiscard]] bool knows(unsigned place) const {
        return (devices_known_.load(std::memory_order_acquire) & 1U << place) != 0;
    }
    /// Limits of a device that may not have a place yet.
    const abi::DeviceLimits* limits_of(const abi::DeviceUuid& uuid, unsigned container_index,
                                       abi::DeviceLimits& room) const;

    /// Adds to what this process uses, if the container's limit allows.
    bool grow(unsigned place, std::uint64_t bytes, Part part);
    /// The same without looking at the limit.
    void force(unsigned place, std::uint64_t bytes, Part part);
    void shrink(unsigned place, std::uint64_t bytes, Part part);
    /// Replaces this process' overhead.
    void set_overhead(unsigned place, std::uint64_t bytes);
    /// Counts contexts of this process; with the last one the overhead is gone.
    void count_context(unsigned place, int change);
    /// The agent's figures count from its next look but one on: something has changed now.
    void expect_truth();

    void note_denied(unsigned place, std::uint64_t bytes);
    void remark(unsigned place, abi::Remark remark);

    /// How long a holder of the lock that lives may keep it; two looks of 2 ms at the least.
    void set_patience(std::uint64_t ns) { patience_ns_ = ns; }

    /// Gives back what dead processes hold. Some system calls per slot: before a refusal only.
    void reap();
    /// The same at most ten times a second, where there are other processes.
    void reap_sometimes();
    /// Takes over the agent's figures when there are new ones; one load when there are none.
    void take_truth();
    /// Somebody outside measures what the driver knows.
    [[nodiscard]] bool is_measured() const;

    [[nodiscard]] std::uint64_t used(unsigned place) const {
        return ledger_->devices[place].used_bytes.load(std::memory_order_relaxed);
    }
    /// The same for a process that has no slot: what living processes use, asked of each.
    [[nodiscard]] std::uint64_t used_by_the_living(unsigned place) const;
    [[nodiscard]] abi::DeviceLedger& totals(unsigned place) { return ledger_->devices[place]; }
    [[nodiscard]] abi::SlotDevice& own(unsigned place) {
        return ledger_->slots[slot_].devices[place];
    }
    [[nodiscard]] std::uint64_t region() const { return ledger_->region; }

    /// What the process with this pid uses of a device: pid as it sees itself, or the host's.
    /// returns  false: no such process here
    bool process(int pid, unsigned place, int& own_pid, std::uint64_t& bytes) const;

private:
    /// The lock as long as this lives, unless somebody takes it away in between.
    class Locked {
    public:
        explicit Locked(Ledger& ledger) : generation(ledger.lock()), ledger_(ledger) {}
        ~Locked() { ledger_.unlock(generation); }
        Locked(const Locked&) = delete;
        Locked& operator=(const Locked&) = delete;
        const std::uint16_t generation;

    private:
        Ledger& ledger_;
    };

    const char* attach_config(const char* path);
    const char* attach_ledger(const char* path);
    const char* attach_private();
    bool claim(int descriptor, unsigned index, std::uint64_t owner);
    bool is_alive(unsigned index, int descriptor) const;
    /// Where locks do not last: whether the pid tells more. A process may have closed the descriptor
    /// that holds its lock, and a child that nobody told us of may have inherited it.
    [[nodiscard]] bool goes_by_pid(const abi::Slot& slot) const;
    [[nodiscard]] bool lives_by_pid(const abi::Slot& slot) const;
    // Under the lock of that generation. Where they return false it was taken away, and nothing or
    // only a part was done: again, with the lock.
    bool change(std::uint16_t generation, unsigned place, std::uint64_t bytes, bool add, Part part);
    bool recount(std::uint16_t generation);
    bool merge_truth(std::uint16_t generation);
    bool clear_slot(std::uint16_t generation, unsigned index);
    bool reap_with(std::uint16_t generation, int descriptor);
    bool enter(std::uint16_t generation, std::uint64_t owner);
    bool fence_off_others(std::uint16_t generation);

    std::uint16_t lock();
    void unlock(std::uint16_t generation);
    void free_of(unsigned index);
    [[nodiscard]] unsigned high() const;
    [[nodiscard]] int probe() const;
    [[nodiscard]] int reopen(std::uint64_t patience_ns = 0) const;
    void set_limits(Device& device, unsigned container_index);
    [[nodiscard]] unsigned foreign_place() const;

    const abi::Config* config_ = nullptr;
    abi::Ledger* ledger_ = nullptr;
    const Settings* settings_ = nullptr;
    unsigned slot_ = kNone;
    std::uint64_t patience_ns_ = 1'000'000'000;  // for a lock whose holder lives
    std::uint64_t own_pid_namespace_ = 0;        // inode; 0: not known
    bool is_handed_ = false;                     // memory of the agent's
    bool locks_last_ = true;                     // as long as a page of the file is mapped; else:
    int held_ = -1;                              // the descriptor that holds the lock of our slot
    bool private_ = false;  // nobody but this process and its forks: liveness goes by pid
    std::atomic<std::uint64_t> truth_seen_{0};
    std::atomic<std::uint64_t> reaped_ticks_{0};
    Device devices_[abi::kRegionDevices] = {};
    std::atomic<std::uint32_t> devices_known_{0};  // bit by place: devices_ is filled
};

/// A random number, not 0.
std::uint64_t random_number();

/// Of /proc/PID/stat.
struct ProcessStat {
    bool has_ended = false;        // and waits for its parent to look
    std::uint64_t start_time = 0;  // field 22; 0: not known
};
ProcessStat stat_of(int pid);

}  // namespace aliquot::guard
