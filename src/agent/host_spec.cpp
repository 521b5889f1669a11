// SPDX-License-Identifier: Apache-2.0
#include "agent/host_spec.h"

namespace aliquot::agent {
namespace {

/// Host paths of a spec that was described from where the driver root is mounted in this container.
void move_to_host(cdi::Edits& edits, const std::string& driver_root, const std::string& dev_root) {
    for (cdi::Mount& mount : edits.mounts) mount.host_path = driver_root + mount.host_path;
    for (cdi::DeviceNode& node : edits.device_nodes) {
        if (!dev_root.empty()) {
            node.host_path = dev_root + (node.host_path.empty() ? node.path : node.host_path);
        }
    }
}

std::string without_last_slash(std::string path) {
    while (path.ends_with('/')) path.pop_back();
    return path;
}

}  // namespace

Result<cdi::Spec> host_spec(const os::Root& root, const Settings& settings,
                            const gpu::Inventory& inventory, cdi::DescribeOptions options) {
    const bool mounted = root.exists(settings.container_driver_root);
    const os::Root seen = mounted ? os::Root(root.resolve(settings.container_driver_root)) : root;
    if (!mounted) options.place = {settings.driver_root, settings.dev_root};
    auto spec = cdi::describe_node(seen, inventory, options);
    if (!spec || !mounted) return spec;
    const std::string driver_root = without_last_slash(settings.driver_root);
    const std::string dev_root = without_last_slash(settings.dev_root);
    move_to_host(spec->edits, driver_root, dev_root);
    for (cdi::Device& device : spec->devices) move_to_host(device.edits, driver_root, dev_root);
    return spec;
}

}  // namespace aliquot::agent
