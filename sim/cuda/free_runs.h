// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace aliquot::sim {

/// What is known of one unit of an address space (a cell or a block of device memory). A run is some
/// units in a row that are free or taken together; its size stands at its first and its last unit.
struct Unit {
    std::uint32_t size;  // of the run in units; top bit: taken
    std::uint32_t a;     // of a free run: the neighbours in its bin; of a taken one: its owner's
    std::uint32_t b;
    std::uint32_t c;
};

inline constexpr std::uint32_t kTakenBit = 0x8000'0000;
inline constexpr std::uint32_t kNoUnit = 0xffff'ffff;

inline std::uint32_t run_size(const Unit& unit) { return unit.size & ~kTakenBit; }
inline bool is_taken(const Unit& unit) { return (unit.size & kTakenBit) != 0; }

/// Free runs of units, sorted by size into bins: taking and giving back cost the same however many
/// there are (two-level segregated fit). Several of these may share one array of units, each with
/// runs of its own. Not thread-safe.
class FreeRuns {
public:
    /// units   zeroed memory that outlives this
    explicit FreeRuns(Unit* units) : units_(units) { clear(); }

    void clear();
    /// Takes `size` units; kNoUnit: there is no such run. What is left of the run stays free.
    std::uint32_t take(std::uint32_t size);
    /// Gives back units; joins them with free neighbours between `low` and `high` (all units from
    /// one to the other belong to this object). Returns the first unit of the free run.
    std::uint32_t give(std::uint32_t start, std::uint32_t size, std::uint32_t low,
                       std::uint32_t high);
    /// Takes a whole free run out.
    void remove(std::uint32_t start);

private:
    static constexpr unsigned kFine = 3;  // eight bins for each power of two
    struct Bin {
        unsigned coarse;
        unsigned fine;
    };
    static Bin bin_of(std::uint32_t size);
    std::uint32_t find(std::uint32_t size) const;
    void insert(std::uint32_t start, std::uint32_t size);
    void mark(std::uint32_t start, std::uint32_t size, std::uint32_t flag);

    Unit* units_;
    std::uint32_t coarse_ = 0;
    std::array<std::uint8_t, 32> fine_{};
    std::array<std::array<std::uint32_t, 1U << kFine>, 32> heads_{};
};

}  // namespace aliquot::sim
