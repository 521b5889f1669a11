// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_ledgers.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "abi/region.h"
#include "base/log.h"
#include "guard_region/config_file.h"
#include "guard_region/hand_over.h"
#include "guard_region/ledger_memory.h"

namespace aliquot::agent {
namespace {

/// A container may start all the processes that a ledger has room for at once, and then so many in a
/// second: whoever asks for more waits, at no cost to others. One that takes long to look at, by what
/// it has mounted, counts once for each millisecond.
constexpr double kMostAtOnce = 2.0 * abi::kRegionSlots;
constexpr double kMostInASecond = 100;
constexpr double kUsualLook = 0.001;  // seconds of our own
/// Connections of one container that do not take what they were sent, and of all; then one of each.
constexpr std::size_t kMostUntaken = 16;
constexpr std::size_t kMostUntakenOfAll = 256;
constexpr std::chrono::seconds kBetweenWarnings{60};
constexpr int kPauseMs = 50;
constexpr int kWithoutWakeMs = 1000;

/// Who is at the other end, by the kernel's word.
struct Peer {
    pid_t pid = 0;
    Descriptor handle;  // stays with the process; none before Linux 6.5
};

Peer peer_of(int connection) {
    constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD
    Peer peer;
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
        peer.pid = credentials.pid;
    }
    int handle = -1;
    size = sizeof handle;
    if (::getsockopt(connection, SOL_SOCKET, kPeerPidfd, &handle, &size) == 0) {
        peer.handle.reset(handle);
    }
    return peer;
}

/// What this thread has had of a processor, in seconds: not what others have made it wait.
double time_of_thread() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Descriptor open_for_others(const Descriptor& memory) {
    const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
    return Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
}

bool has_ended(const Peer& peer) {
    return peer.handle && ::syscall(SYS_pidfd_send_signal, peer.handle.get(), 0, nullptr, 0) != 0 &&
           errno == ESRCH;
}

}  // namespace

GuardLedgers::GuardLedgers(const os::Root& root, const os::Root& proc,
                           const guard_region::Directory& directory)
    : root_(root),
      proc_(proc),
      directory_(directory),
      processes_(proc, directory.real_place()),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { serve(); }) {}

GuardLedgers::~GuardLedgers() {
    {
        const std::scoped_lock lock(mutex_);
        ends_ = true;
    }
    wake();
    thread_.join();
}

void GuardLedgers::wake() const {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
}

std::string GuardLedgers::totals_path(const std::string& id) const {
    return directory_.base() + "/" + id + "/totals";
}

std::vector<guard_region::Totals> GuardLedgers::read_totals(const std::string& id) const {
    constexpr std::size_t kMostBytes = 65'536;
    const auto text = root_.read(totals_path(id), kMostBytes);
    if (!text) return {};
    auto totals = guard_region::parse_totals(*text);
    return totals ? *std::move(totals) : std::vector<guard_region::Totals>{};
}

Result<Done> GuardLedgers::listen(const guard_region::Record& record, Descriptor memory,
                                  std::vector<guard_region::Totals> totals) {
    auto listener = guard_region::listen_at(directory_.file(record.id, abi::kLedgerFile));
    if (!listener) return std::move(listener).error();
    Descriptor handed = open_for_others(memory);
    if (!handed) return os::error_from_errno(errno, "memory for a ledger");
    {
        const std::scoped_lock lock(mutex_);
        doors_[record.id] = {.memory = std::move(memory),
                             .handed = std::move(handed),
                             .listener = *std::move(listener),
                             .may_give = kMostAtOnce,
                             .counted = std::chrono::steady_clock::now(),
                             .kept = std::move(totals)};
    }
    wake();
    return Done{};
}

Result<Done> GuardLedgers::connect(const guard_region::Record& record) {
    auto memory = guard_region::make_ledger_memory(record.ledger, {});
    if (!memory) return std::move(memory).error();
    return listen(record, *std::move(memory), {});
}

/// For a region whose guard may be of another version, before or after ours.
Result<Descriptor> GuardLedgers::make_anew(const guard_region::Record& record,
                                           const std::vector<guard_region::Totals>& totals) const {
    const auto config =
        guard_region::ConfigFile::open(directory_.file(record.id, abi::kConfigFile));
    if (config || record.ledger_bytes == 0) {
        return guard_region::make_ledger_memory(record.ledger, totals);
    }
    return guard_region::make_unmade_ledger(record.ledger, record.ledger_bytes);
}

void GuardLedgers::recover(const std::vector<guard_region::Record>& records) {
    guard_region::HostProcesses processes(proc_, directory_.real_place());
    for (const guard_region::Record& record : records) {
        for (const std::string& group : record.groups) {
            processes.containers().learn(group, record.id);
        }
    }
    std::map<std::string, std::vector<pid_t>> pids;
    for (const guard_region::HostProcess& one : processes.tenants()) {
        pids[one.region].push_back(one.pid);
    }
    for (const guard_region::Record& record : records) {
        if (record.ledger == 0) continue;  // of an agent that made files
        {
            const std::scoped_lock lock(mutex_);
            if (doors_.contains(record.id)) continue;
        }
        auto totals = read_totals(record.id);
        auto memory = guard_region::find_ledger_memory(proc_, pids[record.id], record.ledger);
        if (!memory) memory = make_anew(record, totals);
        const auto done = memory ? listen(record, *std::move(memory), std::move(totals))
                                 : Result<Done>(memory.error());
        if (!done) log::warning("guard.no_ledger", {{"why", done.error().message}});
    }
}

Result<guard_region::LedgerFile> GuardLedgers::open(const std::string& id) const {
    const std::scoped_lock lock(mutex_);
    const auto door = doors_.find(id);
    if (door == doors_.end()) {
        return Error{ErrorCode::kNotFound, "region " + id + ": it has no ledger of this agent"};
    }
    Descriptor copy(::fcntl(door->second.memory.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy) return os::error_from_errno(errno, "region " + id);
    return guard_region::LedgerFile::of(std::move(copy), directory_.file(id, abi::kLedgerFile));
}

void GuardLedgers::drop_locks() {
    struct flock all {};
    all.l_type = F_UNLCK;
    all.l_whence = SEEK_SET;
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, door] : doors_) ::fcntl(door.handed.get(), F_OFD_SETLK, &all);
}

void GuardLedgers::keep(const std::string& id, const guard_region::LedgerView& ledger) {
    auto totals = guard_region::totals_of(ledger);
    {
        const std::scoped_lock lock(mutex_);
        const auto door = doors_.find(id);
        if (door == doors_.end() || door->second.kept == totals) return;
        door->second.kept = totals;
    }
    const auto kept = root_.write_atomically(totals_path(id), to_text(totals), 0600);
    if (!kept) log::debug("guard.totals_not_kept", {{"why", kept.error().message}});
}

void GuardLedgers::remove(const std::string& id) {
    {
        const std::scoped_lock lock(mutex_);
        doors_.erase(id);
    }
    wake();
}

/// Not of another container, whatever it says of itself; a process of no container can reach the
/// socket only as root of the host.
bool GuardLedgers::belongs(int connection, const std::string& id) {
    const Peer peer = peer_of(connection);
    const auto process = processes_.look(peer.pid);
    if (!process || has_ended(peer)) return false;
    if (!process->region.empty()) return process->region == id;
    const auto own = processes_.look(::getpid());
    return process->group.find("kubepods") == std::string::npos ||
           (own && own->group == process->group);
}

/// Whether one more connection may be kept until it has taken what it was sent.
bool GuardLedgers::has_room(const std::string& id) {
    std::vector<Descriptor>& own = untaken_[id];
    std::erase_if(own, [](const Descriptor& one) { return guard_region::was_taken(one.get()); });
    std::size_t all = 0;
    for (const auto& [other, connections] : untaken_) all += connections.size();
    return own.size() < (all < kMostUntakenOfAll ? kMostUntaken : 1);
}

/// Returns whether some have not taken theirs.
bool GuardLedgers::forget_taken() {
    const std::scoped_lock lock(mutex_);
    for (auto entry = untaken_.begin(); entry != untaken_.end();) {
        std::erase_if(entry->second,
                      [](const Descriptor& one) { return guard_region::was_taken(one.get()); });
        const bool done = entry->second.empty() || !doors_.contains(entry->first);
        entry = done ? untaken_.erase(entry) : std::next(entry);
    }
    return !untaken_.empty();
}

void GuardLedgers::spend(const std::string& id, double spent) {
    const std::scoped_lock lock(mutex_);
    const auto door = doors_.find(id);
    if (door != doors_.end()) door->second.may_give -= std::max(1.0, spent / kUsualLook);
}

/// Returns whether that door may be asked again at once.
bool GuardLedgers::answer(const std::string& id) {
    if (!has_room(id)) return false;  // they wait in the queue
    Descriptor connection;
    Descriptor memory;
    const auto now = std::chrono::steady_clock::now();
    {
        const std::scoped_lock lock(mutex_);
        const auto found = doors_.find(id);
        if (found == doors_.end()) return true;
        Door& door = found->second;
        const std::chrono::duration<double> since = now - door.counted;
        door.may_give = std::min(kMostAtOnce, door.may_give + since.count() * kMostInASecond);
        door.counted = now;
        if (door.may_give < 1) return false;
        connection.reset(
            ::accept4(door.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!connection) return errno != EMFILE && errno != ENFILE;
        memory.reset(::fcntl(door.handed.get(), F_DUPFD_CLOEXEC, 0));
    }
    if (!memory) return false;
    ::shutdown(connection.get(), SHUT_RD);  // nothing is asked for by words
    const double begun = time_of_thread();
    const bool own = belongs(connection.get(), id);
    spend(id, time_of_thread() - begun);
    if (own) {
        guard_region::pass_on(connection.get(), memory.get());
        untaken_[id].push_back(std::move(connection));
        return true;
    }
    const std::scoped_lock lock(mutex_);
    const auto door = doors_.find(id);
    if (door == doors_.end() || now - door->second.warned < kBetweenWarnings) return true;
    door->second.warned = now;
    log::warning("guard.ledger_refused",
                 {{"region", id}, {"why", "who asks for it is not of its container"}});
    return true;
}

void GuardLedgers::serve() {
    std::vector<std::string> ids;
    std::vector<pollfd> watched;
    bool fresh = true;
    bool paused = false;
    auto since = std::chrono::steady_clock::now();
    for (;;) {
        if (fresh) {
            ids.clear();
            watched.assign(1, {.fd = wake_.get(), .events = POLLIN});
            const std::scoped_lock lock(mutex_);
            if (ends_) return;
            for (const auto& [id, door] : doors_) {
                ids.push_back(id);
                watched.push_back({.fd = door.listener.get(), .events = POLLIN});
            }
            since = std::chrono::steady_clock::now();
        }
        if (fresh) paused = forget_taken();
        const int most_ms = paused ? kPauseMs : (wake_ ? -1 : kWithoutWakeMs);
        const int ready = ::poll(watched.data(), watched.size(), most_ms);
        if (ready < 0 && errno != EINTR) return;
        const auto now = std::chrono::steady_clock::now();
        fresh = ready <= 0 || watched[0].revents != 0 ||
                (paused && now - since >= std::chrono::milliseconds(kPauseMs));
        std::uint64_t count = 0;
        if (watched[0].revents != 0) (void)!::read(wake_.get(), &count, sizeof count);
        for (std::size_t i = 0; i < ids.size() && !fresh; ++i) {
            if (watched[i + 1].revents == 0) continue;
            paused = true;                                // somebody is to take what is sent
            if (!answer(ids[i])) watched[i + 1].fd = -1;  // for a while
        }
    }
}

}  // namespace aliquot::agent
