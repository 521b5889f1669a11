// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// What GPUs cost and whom: who held what of which GPU, from when to when, and what its node cost meanwhile. Pure.
namespace aliquot::cost {

using TimeMs = std::int64_t;  // since 1970, UTC
using Micros = std::int64_t;  // millionths of a unit of money
using NameId = std::uint32_t;
using OwnerId = std::uint32_t;

inline constexpr TimeMs kHourMs = 3'600'000;
inline constexpr TimeMs kDayMs = 24 * kHourMs;
inline constexpr std::uint32_t kWholeGpu = 1'000'000'000;  // a share counts billionths of a GPU
inline constexpr Micros kMostRate = 1'000'000'000'000;  // an hour of a node costs a million at most
inline constexpr Micros kMicrosPerUnit = 1'000'000;

/// What a GPU, or a share of it, did.
enum class State : std::uint8_t {
    kBusy,      // held, and used
    kIdle,      // held, and not used
    kFree,      // nobody's
    kWarming,   // its node starts: booting, drivers, images
    kDraining,  // nothing new may start there
    kBroken,    // it cannot be used: nobody pays for it, whoever holds it
};
inline constexpr std::size_t kStates = 6;
/// "busy", "idle", "free", "warming", "draining", "broken".
std::string_view word(State state);
std::optional<State> state_of(std::string_view word);

/// Texts as numbers, so that intervals are small. 0 is the empty text. Not thread-safe while it grows.
class Names {
public:
    Names();
    NameId add(std::string_view text);
    [[nodiscard]] const std::string& text(NameId id) const { return texts_[id]; }
    [[nodiscard]] std::size_t size() const { return texts_.size(); }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };
    std::vector<std::string> texts_;
    std::unordered_map<std::string, NameId, Hash, std::equal_to<>> ids_;
};

/// Whose it is. What is not known is 0, the empty text.
struct Owner {
    NameId space = 0;  // namespace
    NameId queue = 0;
    NameId user = 0;
    NameId job = 0;
    NameId pod = 0;
    NameId container = 0;
    NameId workflow = 0;
    std::uint32_t attempt = 0;
    friend auto operator<=>(const Owner&, const Owner&) = default;
};

/// Someone had, or nobody could have, something of a node in [begin, end). Times without an interval are free.
struct Interval {
    TimeMs begin = 0;
    TimeMs end = 0;
    NameId node = 0;
    NameId device = 0;            // UUID of the GPU; 0: CPU and memory only
    NameId part = 0;              // UUID of the MIG device; 0: of the GPU itself
    OwnerId owner = 0;            // 0: nobody; then `state` is what the GPU is instead of free
    std::uint32_t share = 0;      // billionths of the GPU: see share.h
    std::uint32_t cpu_milli = 0;  // of the node
    std::uint32_t memory_mib = 0;
    std::uint32_t gpu_memory_mib = 0;       // it may use; 0: not known
    std::uint32_t gpu_memory_peak_mib = 0;  // it used at most; 0: not known
    std::uint32_t busy_ppm = 0;             // of the time, of its share
    std::uint64_t energy_millijoules = 0;   // as measured; divided evenly over its time
    State state = State::kBusy;
    bool out_of_memory = false;  // it ended so, or was refused memory of the GPU
    friend bool operator==(const Interval&, const Interval&) = default;
};

/// A node was there and watched in [begin, end), at one price. What is not watched is not billed: a gap.
struct Span {
    TimeMs begin = 0;
    TimeMs end = 0;
    NameId node = 0;
    NameId model = 0;             // of its GPUs
    NameId price = 0;             // version of the price: "aws 2026-07-20", "site.json 3"
    Micros rate = 0;              // of an hour of the whole node, 0 to kMostRate
    std::uint32_t cpu_milli = 0;  // it has
    std::uint32_t memory_mib = 0;
    std::vector<NameId> devices;  // its GPUs
    friend bool operator==(const Span&, const Span&) = default;
};

/// A cluster's, or one machine's.
struct History {
    Names names;
    std::vector<Owner> owners{Owner{}};  // by OwnerId; the first is nobody
    std::vector<Span> spans;
    std::vector<Interval> intervals;

    OwnerId add(const Owner& owner);

private:
    std::map<Owner, OwnerId> owner_ids_;
};

}  // namespace aliquot::cost
