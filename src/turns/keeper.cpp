// SPDX-License-Identifier: Apache-2.0
#include "turns/keeper.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <utility>

#include "guard_region/uuid.h"

namespace aliquot::turns {
namespace {

constexpr std::uint64_t kBeat = 200'000'000;   // ns
constexpr std::uint64_t kWeigh = 250'000'000;  // between looks at weights
constexpr std::uint64_t kOften = 1'000'000;    // between looks while somebody waits
constexpr std::uint64_t kForEver = ~std::uint64_t{0};
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::size_t kMostWords = FUTEX_WAITV_MAX;
#if !defined(SYS_futex_waitv)
#define SYS_futex_waitv 449
#endif

std::uint64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * kSecond +
           static_cast<std::uint64_t>(time.tv_nsec);
}

void wake_all(std::atomic<std::uint32_t>& word) {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

futex_waitv word_of(const std::atomic<std::uint32_t>& word, std::uint32_t seen, bool shared) {
    return {.val = seen,
            .uaddr = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&word)),
            .flags = FUTEX_32 | (shared ? 0U : unsigned{FUTEX_PRIVATE_FLAG}),
            .__reserved = 0};
}

/// A cap is a weight as well, as guards have it: while others have the GPU, its time cannot be measured.
std::uint32_t weight_of(const guard_region::Limits& limits) {
    return limits.weight != 0 ? limits.weight : limits.cap_ppm / guard_region::kPpmPerPercent + 1;
}

Wants read_demand(const abi::Demand& demand) {
    return {.asked = demand.asked.load(std::memory_order_acquire),
            .rests = demand.rests.load(std::memory_order_acquire),
            .done = demand.done.load(std::memory_order_acquire),
            .busy_until_ns = demand.busy_until_ns.load(std::memory_order_acquire)};
}

void tell(abi::Turn& turn, std::uint32_t word) {
    const std::uint32_t before = turn.word.load(std::memory_order_relaxed);
    if (before == word) return;
    turn.word.store(word, std::memory_order_release);
    const bool is_new = (before >> abi::kTurnGrantShift) != (word >> abi::kTurnGrantShift);
    if (is_new) wake_all(turn.word);  // flags are looked at by whoever has it, awake
}

}  // namespace

Keeper::Keeper(Options options)
    : without_waitv_(options.without_waitv),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Keeper::~Keeper() {
    thread_.request_stop();
    wake_thread();
    thread_.join();
    for (auto& [name, container] : containers_) end(container);
}

void Keeper::end(Container& container) {
    container.pages.turns().heartbeat.store(0);
    for (abi::Turn& turn : container.pages.turns().devices) wake_all(turn.word);
}

void Keeper::wake_thread() {
    news_.fetch_add(1);
    ::syscall(SYS_futex, &news_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

Result<std::vector<Descriptor>> Keeper::open(const std::string& name,
                                             const std::filesystem::path& config) {
    const std::scoped_lock lock(mutex_);
    if (const auto known = containers_.find(name); known != containers_.end()) {
        return known->second.pages.open();
    }
    auto file = guard_region::ConfigFile::open(config, guard_region::ConfigFile::Access::kRead);
    if (!file) return std::move(file).error();
    const guard_region::Settings settings = file->settings();
    std::vector<abi::DeviceUuid> uuids;
    for (const guard_region::Limits& limits : settings.devices) {
        const auto uuid = guard_region::parse_uuid(limits.uuid);
        if (!uuid) return uuid.error();
        uuids.push_back(*uuid);
    }
    auto pages = Pages::make(uuids);
    if (!pages) return std::move(pages).error();
    auto files = pages->open();
    if (!files) return files;
    Container container{.config = *std::move(file), .pages = *std::move(pages)};
    for (std::size_t i = 0; i < uuids.size(); ++i) {
        Place place;
        std::memcpy(place.device.data(), uuids[i].bytes, place.device.size());
        place.arbiter = &devices_[place.device];
        place.tenant = place.arbiter->add(weight_of(settings.devices[i]));
        container.places.push_back(place);
    }
    container.pages.turns().heartbeat.store(1);
    containers_.emplace(name, std::move(container));
    wake_thread();
    return files;
}

void Keeper::remove(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    const auto known = containers_.find(name);
    if (known == containers_.end()) return;
    for (const Place& place : known->second.places) {
        place.arbiter->remove(place.tenant);
        if (place.arbiter->is_empty()) devices_.erase(place.device);
    }
    end(known->second);
    containers_.erase(known);
    wake_thread();
}

std::size_t Keeper::size() {
    const std::scoped_lock lock(mutex_);
    return containers_.size();
}

std::uint64_t Keeper::weight(const std::string& name, unsigned place) {
    const std::scoped_lock lock(mutex_);
    const auto known = containers_.find(name);
    if (known == containers_.end() || place >= known->second.places.size()) return 0;
    const Place& one = known->second.places[place];
    return one.arbiter->weight(one.tenant);
}

void Keeper::run(const std::stop_token& stop) {
    // Else a sleep ends 50 us late on any machine.
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    std::vector<futex_waitv> words;
    while (!stop.stop_requested()) {
        std::uint64_t when = kForEver;
        words.assign(1, word_of(news_, news_.load(), false));
        if (stop.stop_requested()) return;
        {
            const std::scoped_lock lock(mutex_);
            const std::uint64_t now = now_ns();
            when = look(now);
            const bool sees_all = collect_words(words);
            when = std::min(when, next_look(now, sees_all));
        }
        looks_.fetch_add(1, std::memory_order_relaxed);
        sleep_until(when, words);
    }
}

/// Under the lock. Returns when to look again because wakes were too many; kForEver: they were not.
std::uint64_t Keeper::look(std::uint64_t now) {
    if (now - window_ns_ >= kWindow) {
        window_ns_ = now;
        wakes_ = 0;
        for (auto& [name, container] : containers_) container.wakes = 0;
    }
    read_weights(now);
    for (auto& [name, container] : containers_) see(container, now);
    for (auto& [uuid, arbiter] : devices_) {
        arbiter.set_wake_time(wake_time_.usual_ns());
        arbiter.decide(now);
    }
    std::uint64_t when = kForEver;
    for (auto& [name, container] : containers_) {
        for (std::size_t i = 0; i < container.places.size(); ++i) {
            const Place& place = container.places[i];
            tell(container.pages.turns().devices[i], place.arbiter->word(place.tenant, now));
        }
        if (container.wakes >= most_wakes()) when = window_ns_ + kWindow;
    }
    beat(now);
    return wakes_ >= kMostWakesOfAll ? window_ns_ + kWindow : when;
}

void Keeper::see(Container& container, std::uint64_t now) {
    const std::uint32_t changes = container.pages.wants().changes.load(std::memory_order_acquire);
    if (changes != container.seen) {
        container.seen = changes;
        ++container.wakes;
        ++wakes_;
    }
    for (std::size_t i = 0; i < container.places.size(); ++i) {
        const Place& place = container.places[i];
        place.arbiter->see(place.tenant, read_demand(container.pages.wants().devices[i]), now);
    }
}

/// Of one container in a window, so that some that wake the thread all the time leave room for others.
unsigned Keeper::most_wakes() const {
    constexpr unsigned kLeast = 2;
    const auto part = static_cast<unsigned>(kMostWakesOfAll / (containers_.size() + 1));
    return std::clamp(part, kLeast, kMostWakes);
}

void Keeper::read_weights(std::uint64_t now) {
    if (now - weighed_ns_ < kWeigh) return;
    weighed_ns_ = now;
    for (auto& [name, container] : containers_) {
        const guard_region::Settings settings = container.config.settings();
        const std::size_t count = std::min(settings.devices.size(), container.places.size());
        for (std::size_t i = 0; i < count; ++i) {
            const Place& place = container.places[i];
            place.arbiter->set_weight(place.tenant, weight_of(settings.devices[i]));
        }
    }
}

void Keeper::beat(std::uint64_t now) {
    if (now - beaten_ns_ < kBeat) return;
    beaten_ns_ = now;
    for (auto& [name, container] : containers_) {
        std::atomic<std::uint32_t>& heart = container.pages.turns().heartbeat;
        const std::uint32_t next = heart.load(std::memory_order_relaxed) + 1;
        heart.store(next == 0 ? 1 : next, std::memory_order_relaxed);
    }
}

std::uint64_t Keeper::next_look(std::uint64_t now, bool sees_all) const {
    if (containers_.empty()) return kForEver;
    std::uint64_t when = beaten_ns_ + kBeat;
    bool often = !sees_all;
    for (const auto& [uuid, arbiter] : devices_) {
        if (const std::uint64_t next = arbiter.next_look(now); next != 0)
            when = std::min(when, next);
        often = often || arbiter.is_lively(now);
    }
    return often ? std::min(when, now + kOften) : when;
}

/// Under the lock: what to sleep on, in order to be woken by containers. False: not by all of them.
bool Keeper::collect_words(std::vector<futex_waitv>& words) {
    if (without_waitv_) return containers_.empty();
    if (wakes_ >= kMostWakesOfAll) return true;
    for (auto& [name, container] : containers_) {
        if (container.wakes >= most_wakes()) continue;
        if (words.size() == kMostWords) return false;
        words.push_back(word_of(container.pages.wants().changes, container.seen, true));
    }
    return true;
}

void Keeper::sleep_until(std::uint64_t when, std::vector<futex_waitv>& words) {
    const timespec limit{.tv_sec = static_cast<time_t>(when / kSecond),
                         .tv_nsec = static_cast<long>(when % kSecond)};
    const timespec* const until = when == kForEver ? nullptr : &limit;
    if (words.size() > 1) {
        if (::syscall(SYS_futex_waitv, words.data(), words.size(), 0, until, CLOCK_MONOTONIC) >= 0)
            return;
        if (errno != ENOSYS && errno != EPERM) return note_sleep(when);
        const std::scoped_lock lock(mutex_);
        without_waitv_ = true;
        return;
    }
    // Of one word, on any kernel: FUTEX_WAIT_BITSET takes a time, where FUTEX_WAIT takes a while.
    if (::syscall(SYS_futex, &news_, FUTEX_WAIT_BITSET_PRIVATE,
                  static_cast<std::uint32_t>(words[0].val), until, nullptr,
                  FUTEX_BITSET_MATCH_ANY) < 0)
        note_sleep(when);
}

/// After a sleep that nobody ended: `errno` says whether its time was up.
void Keeper::note_sleep(std::uint64_t when) {
    if (errno != ETIMEDOUT) return;
    const std::uint64_t now = now_ns();
    if (now > when) wake_time_.note(now - when);
}

}  // namespace aliquot::turns
