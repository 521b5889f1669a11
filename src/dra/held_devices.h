// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dra/prepare.h"
#include "kubelet/pod_resources.h"
#include "os/root.h"
#include "pods/claim_state.h"

namespace aliquot::dra {

/// Where the notes of prepared claims are, and their CDI files. Host paths.
struct NotePlaces {
    std::string notes = "/run/aliquot/dra";
    std::string cdi = "/var/run/cdi";
};

/// The GPUs and MIG devices that pods hold by device plugin or by ResourceClaim, for who cuts GPUs. Collects what
/// several places tell; not thread-safe.
class HeldDevices {
public:
    /// As kubelet's PodResources lists it.
    void take(const kubelet::Holder& holder);
    /// As kubelet has written it down.
    void take(const pods::ClaimHold& hold);
    /// What our own notes say of claims; nothing is changed there. One that cannot be read is a problem, unless its
    /// CDI file tells what it holds.
    void take_notes(const os::Root& root, const NotePlaces& places);
    void take_problem(std::string problem);

    [[nodiscard]] const std::set<std::string>& uuids() const { return uuids_; }
    /// Why it may be any other device, too; empty: these are all.
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    void take_claim(const std::string& driver, const std::string& id, const std::string& holder);

    std::set<std::string> uuids_;
    std::string problem_;
};

/// Whether devices of a driver of claims may be GPUs: what another one calls them says nothing to us.
bool may_be_gpus(std::string_view driver);

/// What a claim holds by the names in its CDI file, all of each; none: nothing tells.
/// errors   kPermission, kUnavailable: it cannot be read now
Result<std::vector<PreparedDevice>> devices_by_spec(const os::Root& root, const std::string& path);

}  // namespace aliquot::dra
