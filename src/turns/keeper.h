// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "guard_region/config_file.h"
#include "turns/arbiter.h"
#include "turns/pages.h"
#include "turns/wake_time.h"

struct futex_waitv;

namespace aliquot::turns {

/// Keeps the turns of all containers on all devices, on a thread of its own: sleeps on the pages that
/// they write, lets an Arbiter per device decide, and tells them on the pages that they read.
///
/// Sleeps by futex_waitv: on kernels before 5.16, and of containers beyond the 127 that one such call
/// takes, it looks once a millisecond. A container can wake the thread a few times in a kWindow
/// (kMostWakes, its part of kMostWakesOfAll where that is less, but 2); then it is not listened to for the
/// rest of that window. Nor is anybody once all together have done so kMostWakesOfAll times, which takes
/// more than 31 containers that do all they can. Makes the thread wait for nothing. Thread-safe.
class Keeper {
public:
    static constexpr std::uint64_t kWindow = 2'000'000;  // ns
    static constexpr unsigned kMostWakes = 8;
    static constexpr unsigned kMostWakesOfAll = 64;

    struct Options {
        bool without_waitv = false;  // as on an older kernel
    };

    Keeper() : Keeper(Options{}) {}
    explicit Keeper(Options options);
    ~Keeper();  // says to all containers that turns have ended
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    /// The pages of a container, made at the first call.
    /// name     of the container
    /// config   its config, by which it gets its weights; looked at a few times a second
    /// returns  wants, turns
    /// errors   of ConfigFile::open() and Pages
    Result<std::vector<Descriptor>> open(const std::string& name,
                                         const std::filesystem::path& config);

    /// Forgets a container: its turns go to others. That it is not there is no error.
    void remove(const std::string& name);

    /// Whose pages there are.
    [[nodiscard]] std::size_t size();
    /// By which a container takes turns on one of its devices now, by place in its config; 0: it is not
    /// there.
    [[nodiscard]] std::uint64_t weight(const std::string& name, unsigned place = 0);
    /// How often the thread has looked.
    [[nodiscard]] std::uint64_t looks() const { return looks_.load(); }

private:
    using DeviceKey = std::array<std::uint8_t, sizeof(abi::DeviceUuid)>;
    struct Place {
        Arbiter* arbiter = nullptr;
        DeviceKey device{};
        unsigned tenant = 0;
    };
    struct Container {
        guard_region::ConfigFile config;
        Pages pages;
        std::vector<Place> places;  // as in the pages
        std::uint32_t seen = 0;     // WantsPage::changes
        unsigned wakes = 0;         // in this window
    };

    void run(const std::stop_token& stop);
    std::uint64_t look(std::uint64_t now);
    void see(Container& container, std::uint64_t now);
    [[nodiscard]] unsigned most_wakes() const;
    void read_weights(std::uint64_t now);
    void beat(std::uint64_t now);
    [[nodiscard]] std::uint64_t next_look(std::uint64_t now, bool sees_all) const;
    bool collect_words(std::vector<futex_waitv>& words);
    void sleep_until(std::uint64_t when, std::vector<futex_waitv>& words);
    void note_sleep(std::uint64_t when);
    void wake_thread();
    void end(Container& container);

    bool without_waitv_;  // of the thread
    WakeTime wake_time_;  // the same
    std::mutex mutex_;    // guards what follows; held for a look, never while asleep
    std::map<std::string, Container> containers_;
    std::map<DeviceKey, Arbiter> devices_;
    std::uint64_t beaten_ns_ = 0;
    std::uint64_t weighed_ns_ = 0;
    std::uint64_t window_ns_ = 0;  // the wakes of containers are counted since
    unsigned wakes_ = 0;

    std::atomic<std::uint32_t> news_{0};  // a futex: something for the thread
    std::atomic<std::uint64_t> looks_{0};
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace aliquot::turns
