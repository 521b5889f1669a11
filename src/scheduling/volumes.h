// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "k8s/volume.h"
#include "scheduling/gpu_pod.h"

namespace aliquot::scheduling {

/// Where the volumes of pods are, or can be. Not thread-safe.
class Volumes {
public:
    void set_claim(k8s::VolumeClaim claim);
    void remove_claim(const std::string& name_space, const std::string& name);
    void set_volume(k8s::PersistentVolume volume);
    void remove_volume(const std::string& name);
    void set_class(k8s::StorageClass storage_class);
    void remove_class(const std::string& name);

    /// One rule for each claim that does not go everywhere: a claim that is bound goes where its volume is; one that
    /// waits for its pod where a free volume of its class is, or where its class may make one; one that is bound
    /// without a pod nowhere until it is, nor does one that does not exist.
    [[nodiscard]] std::vector<VolumeRule> rules_of(const GpuPod& pod) const;

private:
    [[nodiscard]] VolumeRule rule_of(const k8s::VolumeClaim& claim) const;
    [[nodiscard]] VolumeRule of_free_volumes(const k8s::VolumeClaim& claim) const;

    std::map<std::pair<std::string, std::string>, k8s::VolumeClaim> claims_;
    std::map<std::string, k8s::PersistentVolume> volumes_;
    std::map<std::string, k8s::StorageClass> classes_;
};

}  // namespace aliquot::scheduling
