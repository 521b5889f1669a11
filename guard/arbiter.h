// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/region.h"

/// Turns on a GPU: of the containers that want it at the same time one has it at a time, for a
/// quantum, in proportion to their weights. While only one wants it, it has it.
namespace aliquot::guard {

/// This process' way to the turns of one device.
class Turns {
public:
    /// Opens the node page `path` (the page, or a socket that hands it over) and enters this
    /// container. Once per process and path.
    /// returns  false: there is none, or no place on it
    bool join(const char* path, const abi::DeviceUuid& uuid, std::uint64_t region,
              std::uint32_t weight);
    [[nodiscard]] bool joined() const { return arbiter_ != nullptr; }
    void set_weight(std::uint32_t weight);

    /// The word that changes when there is something to look at.
    [[nodiscard]] const std::atomic<std::uint32_t>& word() const { return arbiter_->turn; }

    /// Somebody else has been seen on this device.
    [[nodiscard]] bool has_others(std::uint64_t now) const;
    [[nodiscard]] bool is_mine() const;
    /// It is ours, and another container waits for it.
    [[nodiscard]] bool is_wanted() const;
    /// Ours for as long as it may be held while others wait.
    [[nodiscard]] bool is_over(std::uint64_t now) const;

    /// Makes it ours.
    /// returns  false: not within the longest wait; go on without
    bool take(std::uint64_t longest_ns);
    /// Gives it to whoever is next, if that is not us; the device has done our work.
    void pass_on();
    /// Nothing to do at the moment: others may take it.
    void rest();
    /// There is again.
    void resume();
    /// Until when the work in flight will last.
    void expect(std::uint64_t busy_until_ns);

    void forget();

private:
    bool lock();
    void unlock();
    bool may_be_taken(std::uint64_t now) const;
    bool is_well_behind(unsigned tenant, unsigned holder, std::uint64_t now) const;
    void charge_holder(std::uint64_t now);
    void give_to(unsigned tenant, std::uint64_t now);
    [[nodiscard]] unsigned next() const;
    void enter_late();
    [[nodiscard]] bool is_alive(std::uint64_t region) const;

    abi::NodePage* page_ = nullptr;
    abi::Arbiter* arbiter_ = nullptr;
    unsigned tenant_ = 0;   // place in Arbiter::tenants
    unsigned process_ = 0;  // place in NodePage::processes
};

}  // namespace aliquot::guard
