// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/turns.h"

/// Turns on a GPU: of the containers that want it at the same time one has it at a time, as an arbiter
/// outside of them tells (abi/turns.h). While only one wants it, it has it.
namespace aliquot::guard {

/// This container's turns on one device. By any thread.
class Turns {
public:
    /// Looks whether the arbiter lives; joins, where there is one at last or again. Asks for it four
    /// times a second at most, and waits 200 ms for it at most.
    /// path      of the socket that hands over the container's pages; empty: there is none
    /// returns   whether there are turns
    bool join(const char* path, const abi::DeviceUuid& uuid, std::uint64_t now);
    [[nodiscard]] bool joined() const;

    /// The word that changes when there is something to look at. Stays where it is for ever.
    [[nodiscard]] const std::atomic<std::uint32_t>& word() const;

    /// Somebody else has used this device of late.
    [[nodiscard]] bool has_others() const;
    [[nodiscard]] bool is_mine() const;
    /// It is ours, and to be given back when our work is done.
    [[nodiscard]] bool is_over() const;
    /// It was taken away before that was told.
    [[nodiscard]] bool is_late() const;

    /// Makes it ours.
    /// returns  false: not within the longest wait, or the arbiter has ended; go on without
    bool take(std::uint64_t longest_ns);
    /// Gives it back; the device has done our work.
    void pass_on();
    /// Nothing to do at the moment: others may take it.
    void rest();
    /// There is again.
    void resume();
    /// Until when the work in flight will last.
    void expect(std::uint64_t busy_until_ns);

private:
    [[nodiscard]] abi::Demand& demand() const;
    [[nodiscard]] std::uint32_t value() const;
    [[nodiscard]] bool is_mine(std::uint32_t word) const;

    std::atomic<bool> is_found_{false};    // on the pages
    std::atomic<std::uint32_t> place_{0};  // there
    std::atomic<std::uint64_t> next_try_ns_{0};
};

/// Why nobody could be asked the last time: "does not listen", for messages.
const char* why_no_turns();

/// In the child of a fork, which goes on with the pages of its container.
void forget_turns();

}  // namespace aliquot::guard
