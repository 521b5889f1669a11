// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "grant/grant.h"
#include "os/root.h"
#include "sim/kubelet/pod_claims.h"

/// The other side of the sockets: kubelet's device manager and PodResources server, as kubelet 1.32
/// to 1.36 behave. Used by tests, by the benchmarks and by `aliquot up`.
namespace aliquot::sim {

struct KubeletOptions {
    std::string plugin_directory = "/var/lib/kubelet/device-plugins";  // beneath the root
    std::string plugins_registry = "/var/lib/kubelet/plugins_registry";
    std::string claim_state = "/var/lib/kubelet/dra_manager_state";
    std::string pod_resources_socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
    std::chrono::milliseconds dial_timeout{10'000};  // dial-back inside Register
    std::chrono::milliseconds stop_grace{5 * 60 *
                                         1000};  // a resource without stream is dropped after
    double pod_resources_qps = 100;              // 0: no limit
    unsigned pod_resources_burst = 10;
    std::chrono::milliseconds reconcile_interval{1000};  // looks at plugins_registry
    /// For Allocate and GetPreferredAllocation. kubelet sets none; ours lets a test end.
    std::chrono::milliseconds call_timeout{60'000};
    /// For NodePrepareResources and NodeUnprepareResources: kubelet's 45 s.
    std::chrono::milliseconds claim_timeout{45'000};
    /// When a stream ends, kubelet looks up its client by the resource's name: it may then close
    /// the client that has just replaced the one that ended. False: a kubelet without that race.
    bool reproduce_registration_race = true;
    /// How late the end of a stream is noticed, as on a busy machine. Not together with the race:
    /// each late end would close the next client, for ever.
    std::chrono::milliseconds stream_end_delay{0};
    std::uint64_t seed = 1;  // of every order that is random in kubelet
};

/// What a container asks for.
struct ContainerRequest {
    std::string name;
    std::map<std::string, unsigned> limits;  // extended resources: "nvidia.com/gpu" -> 1
    bool restartable = false;                // an init container that keeps running (a sidecar)
};
struct PodRequest {
    std::string uid;
    std::string pod_namespace = "default";
    std::string name;
    std::vector<ContainerRequest> init_containers;  // their devices are reused by the containers
    std::vector<ContainerRequest> containers;
};

/// What a container got, merged over its resources as kubelet does.
struct ContainerGrant {
    std::string name;
    std::map<std::string, std::vector<std::string>> devices;  // resource -> ids
    grant::Grant grant;                                       // `shares` is not on the wire: empty
};

struct ResourceView {
    unsigned capacity = 0;     // healthy and unhealthy
    unsigned allocatable = 0;  // healthy
    unsigned allocated = 0;
    bool connected = false;              // its plugin may be asked
    unsigned streams = 0;                // open ListAndWatch streams, of old registrations too
    std::vector<std::string> unhealthy;  // ids
};

/// Not a kubelet: no pods run. It admits pods and keeps their devices. Thread-safe.
class Kubelet {
public:
    Kubelet(const os::Root& root, KubeletOptions options);
    ~Kubelet();  // as stop()

    /// Deletes every socket in the plugin directory (as kubelet does), reads the checkpoint,
    /// listens.
    Result<Done> start();
    /// Leaves the checkpoint; the sockets go, the streams break.
    void stop();
    /// As stop() when kubelet is killed: its sockets stay behind and refuse connections. The next start()
    /// removes them and binds anew.
    void kill();
    Result<Done> restart();

    /// Chooses devices, asks the plugin for its preference, calls Allocate once per container and
    /// resource, writes the checkpoint. A pod that is known already (kubelet restarted) gets the
    /// cached answer and no plugin is asked. One pod at a time, as kubelet does.
    /// returns  the init containers, then the containers, in the order of the request
    /// errors   kConflict: too few free devices (kubelet's own words); kUnavailable: the plugin is
    /// away
    ///          or refused (UnexpectedAdmissionError, with its message). Nothing is kept then.
    Result<std::vector<ContainerGrant>> admit(const PodRequest& pod);
    void remove(const std::string& uid);

    /// What kubelet does at each start of a container, also of one that crashed: PreStartContainer
    /// when the plugin asked for it, then the cached answer.
    /// errors   kNotFound: no such pod or container; kUnavailable: the plugin refused (kubelet
    /// tries
    ///          again later, the pod lives on)
    Result<ContainerGrant> start_container(const std::string& uid, const std::string& container);

    /// All pods of this node are admitted: frees the devices of pods that only the checkpoint knows
    /// (they ended while kubelet was away).
    void forget_unknown_pods();

    /// What kubelet does for the claims of a pod before it makes the sandbox: each driver is called once,
    /// with those of its claims that no earlier pod has had prepared since kubelet's start. The caller has
    /// looked that the pod is in reservedFor.
    /// errors   kUnavailable: a driver is not registered or refused, in kubelet's words; asked again later
    Result<std::vector<PreparedDevice>> prepare_claims(const std::string& uid,
                                                       const std::vector<ClaimReference>& claims);
    /// Which containers of a prepared pod have what: PodResources tells it until the pod's claims are unprepared.
    void use_claims(const PodRequest& pod, std::map<std::string, std::vector<ClaimUse>> containers);
    /// After the last container of a pod: unprepares those that no other pod uses. An error: again later.
    Result<Done> unprepare_claims(const std::string& uid);
    /// The drivers of claims that are registered, sorted.
    [[nodiscard]] std::vector<std::string> claim_drivers() const;

    [[nodiscard]] std::map<std::string, ResourceView> resources() const;

    /// Waits until `resource` has this many allocatable devices.
    bool wait_allocatable(const std::string& resource, unsigned count,
                          std::chrono::milliseconds timeout) const;

    /// For invariants: device id -> "pod-uid/container", over all resources.
    [[nodiscard]] std::map<std::string, std::string> holders() const;
    [[nodiscard]] std::uint64_t registrations() const;

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::sim
