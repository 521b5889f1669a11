// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <vector>

/// What hostile tenants do. Each attack lasts until the time is over, whatever fails.
namespace aliquot::attack {

inline constexpr char kLedger[] = "/run/aliquot/guard/ledger";

/// When to stop.
class Deadline {
public:
    explicit Deadline(std::chrono::seconds time) : end_(std::chrono::steady_clock::now() + time) {}
    [[nodiscard]] bool over() const { return std::chrono::steady_clock::now() >= end_; }

private:
    std::chrono::steady_clock::time_point end_;
};

struct Attack {
    std::string_view name;
    void (*run)(const Deadline& deadline, std::minstd_rand& dice);
};

/// On what a container can write: attacker_files.cpp.
std::vector<Attack> file_attacks();
/// On who watches; these hold GPU memory meanwhile: attacker_hiding.cpp.
std::vector<Attack> hidings();

/// On who has the GPU next, by lies about its own turns: attacker_turns.cpp.
std::vector<Attack> turn_attacks();
/// On an agent that starts: attacker_bait.cpp.
std::vector<Attack> baits();

/// Root in a user namespace of its own, with a mount namespace; false: not allowed here.
/// more   flags of unshare()
bool become_root(int more = 0);

/// Waits a moment between two blows, so that the machine is left for others.
void breathe();

/// All sockets that are mounted for us.
std::vector<std::string> sockets();

/// flags   of socket(), beside SOCK_CLOEXEC
/// returns the connection; -1: there is none to be had
int connect_to(const std::string& path, int flags);

/// The descriptors that sockets of the region hand out, as many as they give in one go; each is the
/// tenant's own to misuse.
std::vector<int> descriptors_of_sockets();

}  // namespace aliquot::attack
