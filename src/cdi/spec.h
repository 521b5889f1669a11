// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"
#include "os/root.h"

/// Container Device Interface: the file by which a container runtime knows what "this GPU" means.
/// source   CDI specification 0.3.0 to 1.1.0
namespace aliquot::cdi {

struct DeviceNode {
    std::string path;         // in the container
    std::string host_path;    // empty: as `path`
    std::string permissions;  // subset of "rwm"; empty: the runtime's default
    friend bool operator==(const DeviceNode&, const DeviceNode&) = default;
};

struct Mount {
    std::string host_path;
    std::string container_path;
    std::vector<std::string> options;
    friend bool operator==(const Mount&, const Mount&) = default;
};

struct Hook {
    std::string name;  // "createContainer"
    std::string path;
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
    friend bool operator==(const Hook&, const Hook&) = default;
};

struct Edits {
    std::vector<std::string> environment;  // "NAME=value"
    std::vector<DeviceNode> device_nodes;
    std::vector<Mount> mounts;
    std::vector<Hook> hooks;
    friend bool operator==(const Edits&, const Edits&) = default;
};

struct Device {
    std::string name;
    Edits edits;
    friend bool operator==(const Device&, const Device&) = default;
};

struct Spec {
    std::string kind;  // "vendor/class"
    std::vector<Device> devices;
    Edits edits;  // for every device
    friend bool operator==(const Spec&, const Spec&) = default;
};

/// The lowest cdiVersion that has everything `spec` uses: "0.3.0", "0.5.0", ...
std::string minimum_version(const Spec& spec);

/// What a strict CDI reader would refuse: each entry one line that names the value. Empty: valid.
std::vector<std::string> problems_of(const Spec& spec);

/// The JSON text, stable: same spec, same bytes.
/// errors   kInvalidInput: problems_of() is not empty
Result<std::string> to_json(const Spec& spec);

/// Reads a CDI file (JSON or YAML) as a runtime would: unknown fields refused, rules checked. For
/// tests, doctor and `up`, which stands in for the runtime.
///
/// Fields of the schema that Spec has no place for (annotations, device numbers, mount types, hook
/// timeouts, additionalGids, intelRdt, netDevices) are checked for their type and dropped.
/// errors   kInvalidInput with line and column: no YAML, an unknown or repeated field, a wrong
/// type,
///          a cdiVersion that is unknown or too low for what the spec uses, any of problems_of()
Result<Spec> parse(std::string_view text);

/// Where the driver lies on this host.
struct DriverPlace {
    std::string driver_root = "/";  // host path of the driver installation (libraries, programs)
    std::string dev_root;           // host path under which dev/nvidia* lie; empty: driver_root
};

struct DescribeOptions {
    std::string vendor = "k8s.device-plugin.nvidia.com";
    std::string device_class = "gpu";
    bool by_index = false;  // name devices by index instead of uuid
    DriverPlace place;
};

/// Describes the node's GPUs for container runtimes: device nodes, driver libraries and programs
/// that are found under the driver root, no NVIDIA tool needed. Unhealthy GPUs are in it too when
/// their minor is known (a running container may restart). A MIG device has a name of its own
/// (uuid, or "0:1") with its GPU's node and its capabilities. There is always a device "all". Paths
/// in the result are host paths: `root` only says where to look for them.
/// errors   kNotFound: no GPU, or no driver library under the driver root
Result<Spec> describe_node(const os::Root& root, const gpu::Inventory& inventory,
                           const DescribeOptions& options);

/// A CDI file on this host: written atomically, only when it differs, removed on request.
class SpecFile {
public:
    /// path   "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json"; root must outlive this
    SpecFile(const os::Root& root, std::string path);
    /// errors   kInvalidInput: problems_of(spec); kPermission, kUnavailable: cannot be written
    Result<Done> write(const Spec& spec);
    /// That it is not there is success.
    Result<Done> remove();

private:
    const os::Root& root_;
    std::string path_;
};

}  // namespace aliquot::cdi
