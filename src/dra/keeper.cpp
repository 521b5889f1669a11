// SPDX-License-Identifier: Apache-2.0
#include "dra/keeper.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/descriptor.h"
#include "base/log.h"
#include "dra/claim_spec.h"
#include "dra/held_devices.h"

namespace aliquot::dra {
namespace {

constexpr std::string_view kLockFile = "/serialize.lock";
constexpr std::chrono::milliseconds kLockPatience{10'000};
constexpr std::chrono::milliseconds kLockPoll{5};

std::vector<std::string> ids_of(const PreparedClaim& claim) {
    std::vector<std::string> ids;
    for (const PreparedDevice& device : claim.devices) ids.push_back(device.cdi_name);
    std::ranges::sort(ids);
    return ids;
}

}  // namespace

/// Held against other threads and against another instance of the driver during a rolling update.
class Keeper::Lock {
public:
    static Result<Lock> take(Keeper& keeper) {
        Lock lock(keeper.mutex_);
        const std::string path = keeper.options_.state_directory + std::string(kLockFile);
        auto made = keeper.root_.make_directories(keeper.options_.state_directory, 0700);
        if (!made) return made.error();
        lock.file_.reset(
            ::open(keeper.root_.resolve(path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        if (!lock.file_) return os::error_from_errno(errno, path);
        const auto until = std::chrono::steady_clock::now() + kLockPatience;
        while (::flock(lock.file_.get(), LOCK_EX | LOCK_NB) != 0) {
            if (std::chrono::steady_clock::now() > until) {
                return Error{ErrorCode::kUnavailable, path + ": another instance holds it"};
            }
            std::this_thread::sleep_for(kLockPoll);
        }
        return lock;
    }

private:
    explicit Lock(std::mutex& mutex) : held_(mutex) {}
    std::unique_lock<std::mutex> held_;
    Descriptor file_;
};

Keeper::Keeper(const os::Root& root, Sources sources, Options options)
    : root_(root),
      sources_(std::move(sources)),
      options_(std::move(options)),
      checkpoint_(root, options_.state_directory, [this](const std::string& uid) {
          return devices_by_spec(root_, cdi_path(uid));
      }) {}

std::string Keeper::cdi_path(const std::string& uid) const {
    return options_.cdi_directory + "/" + cdi_file_name(uid);
}

Result<Done> Keeper::publish(NodeState state) {
    state_.publish(std::move(state));
    const auto now = state_.get().value;
    const auto lock = Lock::take(*this);
    if (!lock) return lock.error();
    const auto prepared = checkpoint_.claims();
    if (!prepared) return prepared.error();
    for (const auto& [uid, claim] : **prepared) {
        if (claim.state != PreparedClaim::State::kPrepared || claim.boot != options_.boot) continue;
        const auto written = write_spec(claim, now->node);
        // What was made since the node was looked at is not known here yet.
        if (!written && claim.needs_cut() && root_.exists(cdi_path(uid))) continue;
        if (!written) log::warning("dra.cdi_not_written", {{"why", written.error().message}});
    }
    return sweep();
}

Result<Done> Keeper::close(std::string why) {
    const auto now = state_.get().value;
    if (!now) return Done{};  // nothing is prepared before publish()
    NodeState closed = *now;
    closed.closed = std::move(why);
    state_.publish(std::move(closed));
    const auto lock = Lock::take(*this);  // who has it may have looked at the state before
    if (!lock) return lock.error();
    return Done{};
}

Result<Done> Keeper::sweep() {
    const auto before = checkpoint_.claims();
    if (!before) return before.error();
    std::vector<std::string> cut_off;
    for (const auto& [uid, claim] : **before) {
        if (claim.state == PreparedClaim::State::kBegun) cut_off.push_back(uid);
    }
    for (const std::string& uid : cut_off) {
        if (const auto undone = undo(uid); !undone) {
            log::warning("dra.not_undone", {{"claim", uid}, {"why", undone.error().message}});
        }
    }
    const auto left = checkpoint_.claims();
    if (!left) return left.error();
    const auto names = root_.list(options_.cdi_directory);
    if (!names && names.error().code == ErrorCode::kNotFound) return Done{};
    if (!names) return names.error();
    for (const std::string& name : *names) {
        const std::string uid = uid_of_cdi_file(name);
        if (uid.empty() || (*left)->contains(uid)) continue;
        log::info("dra.cdi_removed", {{"file", name}});
        (void)root_.remove(options_.cdi_directory + "/" + name);
    }
    return Done{};
}

Result<Done> Keeper::write_spec(const PreparedClaim& claim, const cdi::Spec& node) {
    const auto spec = claim_spec(claim, node);
    if (!spec) return spec.error();
    return cdi::SpecFile(root_, cdi_path(claim.claim.uid)).write(*spec);
}

Result<PreparedClaim> Keeper::prepare(const ClaimName& claim) {
    if (!is_claim_uid(claim.uid)) {
        return Error{ErrorCode::kInvalidInput, "claim " + to_text(claim) + ": '" +
                                                   claim.uid.substr(0, 80) + "' is not a uid"};
    }
    auto object = sources_.read_claim(claim);
    if (!object) return std::move(object).error().during("claim " + to_text(claim));
    const claims::Claim read = claims::read_claim(*object);
    std::optional<PodObjects> pods;
    for (;;) {  // twice at most
        auto made = try_prepare(claim, read, pods ? &*pods : nullptr);
        if (!made) return std::move(made).error();
        if (*made) return **std::move(made);
        pods = read_pods(claim, read);
    }
}

PodObjects Keeper::read_pods(const ClaimName& asked, const claims::Claim& claim) const {
    PodObjects pods;
    for (const claims::Consumer& consumer : claim.reserved_for) {
        if (consumer.resource != "pods") continue;
        auto pod = sources_.read_pod(asked.name_space, consumer.name);
        const bool away = !pod && pod.error().code != ErrorCode::kNotFound;
        pods.emplace(consumer.name, std::move(pod));
        if (away) break;  // it is refused for that, and others would be waited for as long
    }
    return pods;
}

Result<std::optional<PreparedClaim>> Keeper::try_prepare(const ClaimName& asked,
                                                         const claims::Claim& claim,
                                                         const PodObjects* pods) {
    const auto lock = Lock::take(*this);
    if (!lock) return lock.error();
    const auto state = state_.get().value;
    if (!state) return Error{ErrorCode::kUnavailable, "the node's GPUs are not known yet"};
    const auto notes = checkpoint_.claims();
    if (!notes) return Error(notes.error()).during("claim " + to_text(asked));
    const PreparedClaims& prepared = **notes;
    const auto known = prepared.find(asked.uid);
    if (known != prepared.end() && known->second.state == PreparedClaim::State::kPrepared &&
        known->second.boot == options_.boot && claim.uid == asked.uid) {
        auto given = give_again(known->second, *state);
        if (!given) return given.error();
        return std::optional(*std::move(given));
    }
    if (!state->closed.empty()) {
        return Error{ErrorCode::kUnavailable, "claim " + to_text(asked) + ": " + state->closed};
    }
    auto decided = decide_prepare(
        asked, claim, {.devices = state->devices, .pool = state->pool, .prepared = prepared});
    if (!decided) return decided.error();
    const std::set<std::string> others = limited_beside(*decided, prepared);
    if (!others.empty() && pods == nullptr) return std::optional<PreparedClaim>();
    if (!others.empty()) {
        if (auto checked = check_containers(*pods, *decided, others); !checked) {
            return checked.error();
        }
    }
    decided->boot = options_.boot;
    if (auto finished = finish(*decided, *state); !finished) return finished.error();
    return std::optional(*std::move(decided));
}

/// What was made for it is there, unless the GPU was reset: then it is made anew. Its place tells, for what others made
/// since may have its uuid.
Result<PreparedClaim> Keeper::give_again(const PreparedClaim& known, const NodeState& state) {
    PreparedClaim claim = known;
    const auto seen = cut(claim);
    if (!seen) return Error(seen.error()).during("claim " + to_text(claim.claim));
    if (auto written = write_spec(claim, *seen ? (*seen)->node : state.node); !written) {
        return written.error();
    }
    return claim;
}

Result<std::optional<Cutter::Seen>> Keeper::cut(PreparedClaim& claim) {
    if (!claim.needs_cut()) return std::optional<Cutter::Seen>();
    if (!sources_.cut) {
        return Error{ErrorCode::kUnavailable, "the GPUs of this node are not cut by claims"};
    }
    const auto others = checkpoint_.claims();
    if (!others) return others.error();
    const PreparedClaims prepared = **others;  // it changes with the note
    auto seen = sources_.cut(claim, prepared, [&] { return checkpoint_.put(claim); });
    if (seen) undo_stale(claim, prepared);
    return seen;
}

/// Who is known by the uuid of what was just made at another place has lost what he had: by a reset, perhaps. A container
/// of his that starts anew must not get this.
void Keeper::undo_stale(const PreparedClaim& made, const PreparedClaims& prepared) {
    std::set<std::string> uuids;
    for (const PreparedDevice& device : made.devices) {
        if (device.cut && !device.cut->is_off()) uuids.insert(device.uuid);
    }
    for (const auto& [uid, other] : prepared) {
        const bool stale = std::ranges::any_of(other.devices, [&](const PreparedDevice& device) {
            return device.cut && uuids.contains(device.uuid);
        });
        if (uid == made.claim.uid || !stale) continue;
        log::warning("dra.device_lost", {{"claim", to_text(other.claim)},
                                         {"why", "the GPU was reset, or cut by somebody else"}});
        if (const auto undone = undo(uid); !undone) {
            log::warning("dra.not_undone", {{"claim", uid}, {"why", undone.error().message}});
        }
    }
}

/// What an earlier attempt that was cut off has left: also what it made, for the claim may have been given something
/// else since.
Result<Done> Keeper::undo_attempt(const std::string& uid) {
    const auto claims = checkpoint_.claims();
    if (!claims) return claims.error();
    const auto known = (*claims)->find(uid);
    const bool made = known != (*claims)->end() && known->second.needs_cut();
    return made ? undo(uid) : sources_.unguard(uid);
}

/// In this order, so that whatever is cut off is known by what lies before it.
Result<Done> Keeper::finish(PreparedClaim& claim, const NodeState& state) {
    if (auto undone = undo_attempt(claim.claim.uid); !undone) return undone;
    if (auto begun = checkpoint_.put(claim); !begun) return begun;
    const auto seen = cut(claim);
    Result<Done> done = seen ? Result<Done>(Done{}) : seen.error();
    grant::Grant grant{.shares = shares_of(claim)};
    if (done && !grant.shares.empty()) done = sources_.guard(ids_of(claim), grant);
    if (done) {
        claim.mounts = grant.mounts;
        claim.environment = grant.environment;
        claim.state = PreparedClaim::State::kPrepared;
        done = write_spec(claim, *seen ? (*seen)->node : state.node);
        if (done) done = checkpoint_.put(claim);
    }
    if (done) {
        log::info("dra.prepared",
                  {{"claim", to_text(claim.claim)}, {"devices", claim.devices.size()}});
        return done;
    }
    (void)undo(claim.claim.uid);
    return std::move(done).error().during("claim " + to_text(claim.claim));
}

Result<Done> Keeper::unprepare(const ClaimName& claim) {
    if (!is_claim_uid(claim.uid)) return Done{};
    const auto lock = Lock::take(*this);
    if (!lock) return lock.error();
    const auto before = checkpoint_.claims();
    if (!before) return Error(before.error()).during("claim " + to_text(claim));
    const bool known = (*before)->contains(claim.uid);
    auto undone = undo(claim.uid);
    if (!undone) return std::move(undone).error().during("claim " + to_text(claim));
    if (known) log::info("dra.unprepared", {{"claim", to_text(claim)}});
    return undone;
}

/// The note goes last: while it is there, somebody knows of the rest. Before the rest goes it says that nothing is
/// prepared any more: else who is killed in between leaves a claim that looks as if it could be used.
Result<Done> Keeper::undo(const std::string& uid) {
    const auto claims = checkpoint_.claims();
    if (!claims) return claims.error();
    const auto found = (*claims)->find(uid);
    std::optional<PreparedClaim> known;
    if (found != (*claims)->end()) known = found->second;
    if (known && known->state == PreparedClaim::State::kPrepared) {
        PreparedClaim ending = *known;
        ending.state = PreparedClaim::State::kBegun;
        // A full disk must not keep a pod from ending.
        if (const auto noted = checkpoint_.put(ending); !noted) {
            log::warning("dra.not_noted", {{"claim", uid}, {"why", noted.error().message}});
        }
    }
    if (auto removed = root_.remove(cdi_path(uid)); !removed) return removed;
    if (auto undone = sources_.unguard(uid); !undone) return undone;
    // After a reboot there is nothing of it, and at its place may be what is another claim's.
    if (known && known->needs_cut() && known->boot == options_.boot && sources_.uncut) {
        if (auto undone = sources_.uncut(*known, **claims); !undone) return undone;
    }
    return checkpoint_.erase(uid);
}

Result<PreparedClaims> Keeper::claims() {
    const auto lock = Lock::take(*this);
    if (!lock) return lock.error();
    const auto known = checkpoint_.claims();
    if (!known) return known.error();
    return **known;
}

Result<std::map<gpu::Uuid, std::string>> Keeper::held() {
    const auto known = claims();
    if (!known) return known.error();
    std::map<gpu::Uuid, std::string> held;
    for (const auto& [uid, claim] : *known) {
        if (claim.holds_unknown()) return Error{ErrorCode::kUnavailable, holds_unknown_text(claim)};
        for (const PreparedDevice& device : claim.devices) {
            if (!device.admin) held.emplace(gpu::Uuid{device.gpu}, to_text(claim.claim));
        }
    }
    return held;
}

}  // namespace aliquot::dra
