// SPDX-License-Identifier: Apache-2.0
#include "guard/turns.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "guard/hand_over.h"
#include "guard/kernel.h"
#include "guard/lock.h"

namespace aliquot::guard {
namespace {

/// A demand is renewed so often.
constexpr std::uint64_t kLook = 2'000'000;
/// An arbiter whose heartbeat stands still for so long is gone.
constexpr std::uint64_t kSilence = 1'000'000'000;
constexpr std::uint64_t kBetweenTries = 250'000'000;
/// Somebody listens and does not answer: each try makes a launch wait.
constexpr std::uint64_t kAfterTimeout = 5'000'000'000;
constexpr std::size_t kRoom = 65'536;  // the largest page there is

ThreadLock g_lock;
/// Room for wants and, kRoom behind it, turns. Once there it stays: threads keep pointers into it.
std::atomic<char*> g_room{nullptr};
std::atomic<bool> g_lives{false};  // what is mapped there has an arbiter
std::atomic<std::uint32_t> g_beat{0};
std::atomic<std::uint64_t> g_beat_ns{0};
std::atomic<long> g_problem{0};  // -errno of the last try

abi::WantsPage& wants_page() {
    return *reinterpret_cast<abi::WantsPage*>(g_room.load(std::memory_order_relaxed));
}
abi::TurnsPage& turns_page() {
    return *reinterpret_cast<abi::TurnsPage*>(g_room.load(std::memory_order_relaxed) + kRoom);
}

/// The arbiter is to look.
void poke() {
    wants_page().changes.fetch_add(1, std::memory_order_release);
    kernel::wake(wants_page().changes, 1, true);
}

bool hears_arbiter(std::uint64_t now) {
    const std::uint32_t beat = turns_page().heartbeat.load(std::memory_order_relaxed);
    if (beat != 0 && beat != g_beat.load(std::memory_order_relaxed)) {
        g_beat.store(beat, std::memory_order_relaxed);
        g_beat_ns.store(now, std::memory_order_relaxed);
        return true;
    }
    const std::uint64_t since = g_beat_ns.load(std::memory_order_relaxed);
    if (beat != 0 && (now <= since || now - since < kSilence)) return true;
    g_lives.store(false, std::memory_order_relaxed);
    return false;
}

/// Maps `size` bytes of a file over what is in the room.
bool map_over(char* place, int file, std::size_t size, int protection) {
    return kernel::size_of(file) == static_cast<long>(size) &&
           kernel::call(SYS_mmap, kernel::as_long(place), static_cast<long>(size), protection,
                        MAP_SHARED | MAP_FIXED, file, 0) == kernel::as_long(place);
}

/// Under the lock: gets the pages of this container.
/// returns  0, or -errno
long get_pages(const char* path, std::uint64_t now) {
    int files[2] = {-1, -1};
    const long result = receive_turns(path, files);
    if (result != 0) return result;
    char* room = g_room.load();
    if (room == nullptr)
        room = static_cast<char*>(
            kernel::map(2 * kRoom, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const bool mapped = room != nullptr &&
                        map_over(room, files[0], sizeof(abi::WantsPage), PROT_READ | PROT_WRITE) &&
                        map_over(room + kRoom, files[1], sizeof(abi::TurnsPage), PROT_READ);
    for (const int file : files) kernel::close(file);
    if (room != nullptr) g_room.store(room);
    if (!mapped) return -EINVAL;
    const abi::TurnsPage& turns = turns_page();
    if (turns.magic != abi::kTurnsMagic || turns.abi != abi::kTurnsAbi ||
        turns.size != sizeof(abi::TurnsPage))
        return -EPROTO;
    g_beat.store(turns.heartbeat.load());
    g_beat_ns.store(now);
    g_lives.store(g_beat.load() != 0);
    return g_lives.load() ? 0 : -ECONNREFUSED;
}

/// abi::kRegionDevices: it is not there.
std::uint32_t find_place(const abi::DeviceUuid& uuid) {
    std::uint32_t place = 0;
    while (place < abi::kRegionDevices &&
           std::memcmp(turns_page().devices[place].uuid.bytes, uuid.bytes, sizeof uuid.bytes) != 0)
        ++place;
    return place;
}

}  // namespace

bool Turns::joined() const {
    return is_found_.load(std::memory_order_acquire) && g_lives.load(std::memory_order_relaxed);
}

bool Turns::join(const char* path, const abi::DeviceUuid& uuid, std::uint64_t now) {
    if (joined() && hears_arbiter(now)) return true;
    if (path[0] == '\0' || now < next_try_ns_.load(std::memory_order_relaxed)) return false;
    const ThreadLocked locked(g_lock);
    if (now < next_try_ns_.load(std::memory_order_relaxed)) return joined();
    const long problem = g_lives.load() ? 0 : get_pages(path, now);
    g_problem.store(problem, std::memory_order_relaxed);
    next_try_ns_.store(now + (problem == -EAGAIN ? kAfterTimeout : kBetweenTries));
    const std::uint32_t place = problem == 0 ? find_place(uuid) : abi::kRegionDevices;
    if (place < abi::kRegionDevices) place_.store(place, std::memory_order_relaxed);
    is_found_.store(place < abi::kRegionDevices, std::memory_order_release);
    return joined();
}

const std::atomic<std::uint32_t>& Turns::word() const {
    return turns_page().devices[place_.load(std::memory_order_relaxed)].word;
}

abi::Demand& Turns::demand() const {
    return wants_page().devices[place_.load(std::memory_order_relaxed)];
}

std::uint32_t Turns::value() const { return word().load(std::memory_order_acquire); }

bool Turns::is_mine(std::uint32_t word) const {
    return (word & abi::kTurnMine) != 0 &&
           (word >> abi::kTurnGrantShift) != demand().done.load(std::memory_order_relaxed);
}

bool Turns::has_others() const { return (value() & abi::kTurnOthers) != 0; }
bool Turns::is_mine() const { return is_mine(value()); }

bool Turns::is_over() const {
    const std::uint32_t word = value();
    return (word & abi::kTurnOver) != 0 && is_mine(word);
}

bool Turns::is_late() const {
    const std::uint32_t word = value();
    return (word & abi::kTurnMine) == 0 &&
           (word >> abi::kTurnGrantShift) != demand().done.load(std::memory_order_relaxed);
}

bool Turns::take(std::uint64_t longest_ns) {
    resume();
    const std::uint64_t began = kernel::now_ns();
    bool mine = false;
    for (std::uint64_t now = began;;) {
        const std::uint32_t seen = value();
        mine = is_mine(seen);
        if (mine || now - began > longest_ns || !hears_arbiter(now)) break;
        demand().asked.store(static_cast<std::uint32_t>(now >> 10U) | 1U,
                             std::memory_order_release);
        if (now == began) poke();
        // It is only read, which the kernel needs no more for.
        kernel::wait(const_cast<std::atomic<std::uint32_t>&>(word()), seen, kLook, true);
        now = kernel::now_ns();
    }
    // Others of this container that wait say so again.
    if (!mine) demand().asked.store(0, std::memory_order_release);
    return mine;
}

void Turns::pass_on() {
    const std::uint32_t word = value();
    demand().done.store(word >> abi::kTurnGrantShift, std::memory_order_release);
    if ((word & abi::kTurnMine) != 0) poke();
}

void Turns::rest() {
    const std::uint32_t word = value();
    std::uint32_t rests = demand().rests.load(std::memory_order_relaxed);
    if (rests % 2 != 0 || !is_mine(word) ||
        !demand().rests.compare_exchange_strong(rests, rests + 1, std::memory_order_release))
        return;
    // Else it is seen at the next look.
    if ((word & (abi::kTurnEager | abi::kTurnOver)) != 0) poke();
}

void Turns::resume() {
    std::uint32_t rests = demand().rests.load(std::memory_order_relaxed);
    if (rests % 2 != 0) demand().rests.compare_exchange_strong(rests, rests + 1);
}

void Turns::expect(std::uint64_t busy_until_ns) {
    demand().busy_until_ns.store(busy_until_ns, std::memory_order_relaxed);
}

const char* why_no_turns() {
    switch (g_problem.load(std::memory_order_relaxed)) {
        case -EPROTO:
        case -EPROTOTYPE:
            return "is of another version than this library";
        case -EAGAIN:
            return "does not answer";
        case 0:
            return "says nothing of this GPU";
        default:
            return "does not listen";
    }
}

void forget_turns() { g_lock.forget(); }

}  // namespace aliquot::guard
