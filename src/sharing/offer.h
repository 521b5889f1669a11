// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"
#include "grant/grant.h"
#include "sharing/config.h"

namespace aliquot::sharing {

/// One device's part in a resource: a GPU, or a MIG device of it.
struct OfferedGpu {
    gpu::Gpu gpu;                       // of a MIG device: the GPU it is cut from
    std::optional<gpu::MigDevice> mig;  // empty: the GPU itself
    unsigned replicas = 1;              // 1: the whole device, its id is the bare uuid
    /// What the configuration shares it by, where there are several replicas.
    grant::Mechanism shared_by = grant::Mechanism::kTimeSlicing;
    /// Of one replica. By MPS: the largest of a share, and they hold for each process.
    grant::Limits limits;
    std::vector<grant::Limits> shares;  // by replica, where they differ; empty: all alike
    /// The replicas that are listed to kubelet, while the device waits for those who hold them
    /// (sharing/rollout.h); empty optional: all.
    std::optional<std::set<unsigned>> only;
    /// It is held by a promise that is not known: nothing of it is granted.
    bool frozen = false;

    /// How its containers share it in the end: limits on turns are the guard's to keep.
    [[nodiscard]] grant::Mechanism mechanism() const;
    [[nodiscard]] bool by_mps() const { return mechanism() == grant::Mechanism::kMps; }
    /// What a container is given: of the MIG device, else of the GPU.
    [[nodiscard]] const gpu::Uuid& uuid() const { return mig ? mig->uuid : gpu.uuid; }
    /// "0", of a MIG device "0:1", as NVIDIA's index strategy names them.
    [[nodiscard]] std::string index_text() const;
    [[nodiscard]] std::uint64_t device_memory_bytes() const {
        return mig ? mig->memory_bytes : gpu.memory_bytes;
    }
    [[nodiscard]] bool healthy() const { return gpu.health.ok() && (!mig || mig->health.ok()); }
};

/// What a container gets that holds `replicas` of a device's replicas that are all alike.
grant::Grant::Share share_of(const OfferedGpu& offered, unsigned replicas);

/// Which replica of the device `id` names, 0 for a whole one; empty: it is no id of this device.
std::optional<unsigned> replica_of(const OfferedGpu& device, std::string_view id);

/// One extended resource that this node offers.
struct Resource {
    std::string name;  // "nvidia.com/gpu"
    bool shared = false;
    bool fail_requests_greater_than_one = false;
    std::vector<OfferedGpu> gpus;  // by index of the GPU, then of the MIG device

    /// Every listed device as kubelet sees it: in that order, then by replica.
    [[nodiscard]] std::vector<grant::Device> devices() const;
};

/// What the node offers, and what of the configuration found no GPU.
struct Offer {
    std::vector<Resource> resources;  // by name; never two of one name
    std::vector<std::string>
        remarks;  // "sharing.timeSlicing.resources[1] (devices [3]) matches no GPU"
};

/// Decides what a node with `inventory` offers under `config`. Pure.
///
/// flags.migStrategy says what a GPU in MIG mode is: with `none` itself, whole; with `mixed` its MIG
/// devices, each as nvidia.com/mig-<profile>; with `single` its MIG devices, as nvidia.com/gpu. A
/// GPU without MIG mode is nvidia.com/gpu under all three. `single` wants one kind of device on the
/// whole node. Where there are several, nvidia.com/gpu is the kind that most GPUs have; MIG devices
/// of another profile are offered as with `mixed`, whole GPUs beside MIG devices not at all; a
/// remark says so. (NVIDIA's plugin does not start then, and the node has no GPU left.)
///
/// A device belongs to the first entry with the name of its resource that selects it, else it is
/// offered whole. MPS does not share MIG devices: they are offered whole, with a remark. GPUs
/// without a uuid are not offered. Display boards ("NVIDIA DGX Display") are skipped.
/// errors   kUnsupported: MPS on a GPU that is older than Volta or itself in MIG mode;
///          kInvalidInput: limits that no device can keep (replicas x memory above its memory)
Result<Offer> make_offer(const Config& config, const gpu::Inventory& inventory);

/// How many processes one MPS server serves on such a GPU: 48, and 16 before Volta (compute
/// capability 7.0). NVIDIA's plugin counts V100 among the older ones, wrongly.
unsigned most_mps_clients(const gpu::Gpu& gpu);

/// The file name of a resource's socket: "nvidia.com/gpu.shared" gives "nvidia-gpu.shared.sock".
std::string socket_name(std::string_view resource);

/// Chooses `size` of `available` ids, with all of `must_include`: kubelet's GetPreferredAllocation.
///
/// Replicas: never two of one device while another has room; between devices the one with fewest
/// (kDistributed) or most (kPacked) replicas in use. MIG devices: the same, and first by how much
/// of the GPU they are cut from is in use. Whole GPUs: the set with the best links, so
/// that what remains is as well connected as can be among equals. What is listed of a device that
/// waits to be free is taken last. Ties go to the lower index. Ids
/// that are not of `resource` are passed over; the answer may then be short.
/// Deterministic; O(n log n) for replicas.
/// links    as in gpu::Inventory, by position in resource.gpus; may be empty
std::vector<std::string> prefer(const Resource& resource,
                                const std::vector<std::vector<gpu::LinkScore>>& links,
                                AllocationPolicy policy, std::span<const std::string> available,
                                std::span<const std::string> must_include, std::size_t size);

/// How a container learns its devices.
struct GrantOptions {
    std::vector<DeviceListStrategy> strategies{DeviceListStrategy::kEnvvar};
    DeviceIdStrategy id_strategy = DeviceIdStrategy::kUuid;
    bool pass_device_specs = false;
    bool gdrcopy = false;
    bool gds = false;
    bool mofed = false;
    std::string cdi_vendor = "k8s.device-plugin.nvidia.com";
    std::string cdi_class = "gpu";
    std::string cdi_annotation_prefix = "cdi.k8s.io/";
    std::string dev_root = "/";  // host path under which dev/nvidia* lie
    std::vector<unsigned> imex_channel_ids;
    std::vector<std::string> control_nodes;  // of /dev/nvidiactl, ... those that exist on this host
    std::string mps_root = "/run/nvidia/mps";  // host path
    bool mps_private_shm = true;  // else MPS uses the host's /dev/shm (mps/control_daemon.h)
};

/// The answer to Allocate for `ids`. Pure. Annotation names hold `nonce` to be unique per call.
/// errors   kInvalidInput: more than one replica where that is forbidden, no id; kNotFound: an id
/// that
///          is not of this resource (the message names it)
Result<grant::Grant> make_grant(const Resource& resource, const GrantOptions& options,
                                std::span<const std::string> ids, std::string_view nonce);

}  // namespace aliquot::sharing
