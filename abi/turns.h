// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "abi/region.h"

/// Turns on the GPUs of a node: what the guards of a container and the arbiter outside of it (the
/// agent, or one `aliquot run` for all of its user) say to each other. Two pages per container:
///
///   wants   written by the guards of the container, read by the arbiter, which believes no more of
///           it than that this container has work or has not
///   turns   written by the arbiter alone; the container's mapping can never be writable
///
/// Both are sealed memory, handed over a socket (below). Whose share is how large, and what each has
/// had, is in neither of them. Layouts change with kTurnsAbi.
namespace aliquot::abi {

inline constexpr std::uint32_t kTurnsAbi = 1;
inline constexpr std::uint64_t kWantsMagic = 0x54'4e'41'57'51'4c'41'00;  // "\0ALQWANT"
inline constexpr std::uint64_t kTurnsMagic = 0x4e'52'55'54'51'4c'41'00;  // "\0ALQTURN"

/// What a container says of one device, by place in TurnsPage::devices.
struct alignas(64) Demand {
    /// 0: nobody waits for the turn; else another number every few milliseconds, by whoever waits.
    std::atomic<std::uint32_t> asked;
    /// Counts up with each rest and each end of one. Odd: the container has nothing to do now.
    std::atomic<std::uint32_t> rests;
    /// The grant (Turn::word) that is given back: nothing of it is under way any more.
    std::atomic<std::uint32_t> done;
    std::uint32_t reserved;
    /// CLOCK_MONOTONIC when the work in flight is expected to be done.
    std::atomic<std::uint64_t> busy_until_ns;
};

struct WantsPage {
    std::uint64_t magic;
    std::uint32_t abi;
    std::uint32_t size;  // sizeof(WantsPage)
    /// Counts what the arbiter should look at. A futex, on which the arbiter sleeps.
    alignas(64) std::atomic<std::uint32_t> changes;
    alignas(64) Demand devices[kRegionDevices];
};
static_assert(sizeof(WantsPage) <= 4096);

/// Bits of Turn::word.
enum TurnFlag : std::uint32_t {
    kTurnMine = 1,    // this container has the device, unless it has given this grant back
    kTurnWanted = 2,  // it has, and another one waits for it
    kTurnOver = 4,    // it is to be given back
    kTurnEager = 8,   // another one is so far behind that a rest is worth telling at once
    kTurnOthers = 16  // another one has used the device of late
};
/// Above the flags: which of this container's turns it is, or was; never 0 with kTurnMine.
inline constexpr unsigned kTurnGrantShift = 8;
inline constexpr std::uint32_t kTurnGrants = 0xff'ffff;

/// What a container is told of one device.
struct alignas(64) Turn {
    DeviceUuid uuid;                  // all zero: no device at this place
    std::atomic<std::uint32_t> word;  // a futex
};

struct TurnsPage {
    std::uint64_t magic;
    std::uint32_t abi;
    std::uint32_t size;  // sizeof(TurnsPage)
    /// Another number at least four times a second while there is an arbiter; 0: it has ended.
    alignas(64) std::atomic<std::uint32_t> heartbeat;
    alignas(64) Turn devices[kRegionDevices];
};
static_assert(sizeof(TurnsPage) <= 4096);

/// The message with the two descriptors, wants and turns, that whoever connects to the socket
/// (kNodeFile; SOCK_SEQPACKET) gets; then the connection ends. It sends nothing.
struct TurnsHandOver {
    std::uint32_t magic;
    std::uint32_t abi;  // kTurnsAbi
};
inline constexpr std::uint32_t kTurnsHandOverMagic = 0x54'51'4c'41;  // "ALQT"

}  // namespace aliquot::abi
