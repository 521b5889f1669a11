// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "cdi/spec.h"

namespace aliquot::cdi {
namespace {

using Json = nlohmann::ordered_json;  // keys stay in the order of the CDI documentation

Json to_object(const DeviceNode& node) {
    Json object{{"path", node.path}};
    if (!node.host_path.empty()) object["hostPath"] = node.host_path;
    if (!node.permissions.empty()) object["permissions"] = node.permissions;
    return object;
}

Json to_object(const Mount& mount) {
    Json object{{"hostPath", mount.host_path}, {"containerPath", mount.container_path}};
    if (!mount.options.empty()) object["options"] = mount.options;
    return object;
}

Json to_object(const Hook& hook) {
    Json object{{"hookName", hook.name}, {"path", hook.path}};
    if (!hook.arguments.empty()) object["args"] = hook.arguments;
    if (!hook.environment.empty()) object["env"] = hook.environment;
    return object;
}

Json to_object(const Device& device);

template <class T>
Json to_list(const std::vector<T>& values) {
    Json list = Json::array();
    for (const T& value : values) list.push_back(to_object(value));
    return list;
}

Json to_object(const Edits& edits) {
    Json object = Json::object();
    if (!edits.environment.empty()) object["env"] = edits.environment;
    if (!edits.device_nodes.empty()) object["deviceNodes"] = to_list(edits.device_nodes);
    if (!edits.mounts.empty()) object["mounts"] = to_list(edits.mounts);
    if (!edits.hooks.empty()) object["hooks"] = to_list(edits.hooks);
    return object;
}

Json to_object(const Device& device) {
    return Json{{"name", device.name}, {"containerEdits", to_object(device.edits)}};
}

}  // namespace

Result<std::string> to_json(const Spec& spec) {
    const std::vector<std::string> problems = problems_of(spec);
    if (!problems.empty()) {
        return Error{ErrorCode::kInvalidInput, "CDI spec " + spec.kind + ": " + problems.front()};
    }
    Json document{{"cdiVersion", minimum_version(spec)},
                  {"kind", spec.kind},
                  {"devices", to_list(spec.devices)}};
    if (spec.edits != Edits{}) document["containerEdits"] = to_object(spec.edits);
    return dumped(document, 2) + "\n";
}

}  // namespace aliquot::cdi
