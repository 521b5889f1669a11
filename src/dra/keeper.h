// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/latest.h"
#include "base/result.h"
#include "cdi/spec.h"
#include "document/value.h"
#include "dra/checkpoint.h"
#include "dra/cutter.h"
#include "dra/device.h"
#include "dra/pod_claims.h"
#include "dra/prepare.h"
#include "grant/grant.h"
#include "os/root.h"

namespace aliquot::dra {

/// What this node has, as far as claims care.
struct NodeState {
    std::string pool;
    std::vector<Device> devices;
    cdi::Spec node;  // as cdi::describe_node() describes it, by uuid
    /// Why no claim is prepared now; those that are prepared stay. Empty: they are.
    std::string closed;
};

/// Prepares and unprepares claims: the only one who acts. All of what it does can be cut off anywhere and is made
/// good by the next call or start. Thread-safe; several processes exclude each other by a lock file.
class Keeper {
public:
    /// What else a claim needs.
    struct Sources {
        /// GET of a claim, a pod: the object. The API server may take its time, so they are called with no lock held.
        /// errors  kNotFound, kUnavailable, kPermission
        std::function<Result<document::Value>(const ClaimName&)> read_claim;
        std::function<Result<document::Value>(const std::string& name_space,
                                              const std::string& name)>
            read_pod;
        /// Adds to a grant with guarded shares what keeps their limits. `ids`: the CDI names of the claim. This and
        /// the next with the keeper's lock held.
        std::function<Result<Done>(std::span<const std::string> ids, grant::Grant&)> guard;
        /// Makes what a claim of a GPU that claims cut needs, as Cutter::cut and Cutter::undo. Empty: no GPU is cut.
        std::function<Result<std::optional<Cutter::Seen>>(
            PreparedClaim& claim, const PreparedClaims& prepared, const Cutter::Note& note)>
            cut{};
        std::function<Result<Done>(const PreparedClaim& claim, const PreparedClaims& prepared)>
            uncut{};
        /// Undoes what guard() did for the claim with this uid, which all its CDI names begin with; nothing is success.
        std::function<Result<Done>(const std::string& uid)> unguard;
    };
    struct Options {
        std::string state_directory = "/run/aliquot/dra";  // host paths
        std::string cdi_directory = "/var/run/cdi";
        std::string boot;  // id of this boot
    };

    /// root   must outlive this
    Keeper(const os::Root& root, Sources sources, Options options);

    /// What claims are prepared from. Writes the CDI files of all claims anew, since device nodes may have moved and
    /// a reboot takes the files away; removes files of nobody and what a Prepare that was cut off has left.
    /// errors   as claims(): then no file was touched, and another try is due
    Result<Done> publish(NodeState state);

    /// From now on no claim is prepared that is not, until publish() says otherwise: `why` is NodeState::closed.
    /// errors   as claims(): one may be, still
    Result<Done> close(std::string why);

    /// errors   as decide_prepare(); as claims(); kUnavailable: the node's GPUs are not known yet, or a file cannot be
    ///          written; kInvalidInput: a container would have two claims with limits
    Result<PreparedClaim> prepare(const ClaimName& claim);
    /// An unknown claim is success. errors   as claims(); a file cannot be removed
    Result<Done> unprepare(const ClaimName& claim);

    /// errors   kUnavailable, kPermission: another instance holds the lock, it cannot be opened, or the notes cannot be
    ///          read: nobody knows
    [[nodiscard]] Result<PreparedClaims> claims();
    /// GPUs that claims hold, not by adminAccess, with the first claim of each; of a claim whose note was lost also
    /// MIG devices. errors   as claims(); kUnavailable: a claim of which nothing tells what it holds
    [[nodiscard]] Result<std::map<gpu::Uuid, std::string>> held();

private:
    class Lock;

    /// Empty: it cannot be said without the pods that it is reserved for, and `pods` is null.
    Result<std::optional<PreparedClaim>> try_prepare(const ClaimName& asked,
                                                     const claims::Claim& claim,
                                                     const PodObjects* pods);
    [[nodiscard]] PodObjects read_pods(const ClaimName& asked, const claims::Claim& claim) const;
    Result<Done> finish(PreparedClaim& claim, const NodeState& state);
    /// Of a claim that is prepared already.
    Result<PreparedClaim> give_again(const PreparedClaim& known, const NodeState& state);
    /// errors   as Cutter::cut
    Result<std::optional<Cutter::Seen>> cut(PreparedClaim& claim);
    void undo_stale(const PreparedClaim& made, const PreparedClaims& prepared);
    Result<Done> write_spec(const PreparedClaim& claim, const cdi::Spec& node);
    Result<Done> sweep();
    Result<Done> undo(const std::string& uid);
    Result<Done> undo_attempt(const std::string& uid);
    [[nodiscard]] std::string cdi_path(const std::string& uid) const;

    const os::Root& root_;
    const Sources sources_;
    const Options options_;
    Latest<NodeState> state_;
    std::mutex mutex_;  // guards what follows
    Checkpoint checkpoint_;
};

}  // namespace aliquot::dra
