// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "cdi/spec.h"

namespace aliquot::cdi {
namespace {

using testing::HasSubstr;

TEST(CdiParse, ReadsBackWhatWasWritten) {
    const Spec spec{
        .kind = "nvidia.com/gpu",
        .devices = {{.name = "0",
                     .edits = {.environment = {"A=\"b\"\n\t\\"},
                               .device_nodes = {{"/dev/nvidia0", "/x/dev/nvidia0", "rwm"}},
                               .mounts = {{"/a", "/b", {"ro"}}},
                               .hooks = {{"createContainer", "/t", {"t", "u"}, {"C=d"}}}}}},
        .edits = {.environment = {"NVIDIA_VISIBLE_DEVICES=void", "E=1", "F=true", "G=\xc3\xa9"}}};
    const auto json = to_json(spec);
    ASSERT_TRUE(json) << json.error().message;
    const auto read = parse(*json);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, spec);
}

TEST(CdiParse, AcceptsTheWholeSchemaAndYaml) {
    const auto spec = parse(R"(cdiVersion: "1.1.0"
kind: example.com/nic.fast
annotations: {made.by: test}
devices:
- name: "0:1"
  annotations: {}
  containerEdits:
    env: [A=b]
    deviceNodes:
    - {path: /dev/x, hostPath: /dev/y, type: c, major: 195, minor: 0, fileMode: 438,
       permissions: rw, uid: 0, gid: 44}
    mounts:
    - {hostPath: /a, containerPath: /b, type: tmpfs, options: [ro]}
    hooks:
    - {hookName: poststop, path: /h, args: [h], env: [A=b], timeout: 5}
    additionalGids: [44]
    intelRdt: {closID: x, enableMonitoring: true}
    netDevices:
    - {hostInterfaceName: eth1, name: eth0}
)");
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->devices.at(0).edits.device_nodes.at(0), (DeviceNode{"/dev/x", "/dev/y", "rw"}));
}

TEST(CdiParse, RefusesWhatARuntimeRefusesAndSaysWhere) {
    const auto one = [](const char* members) {
        return std::string(R"({"cdiVersion": "0.3.0", "kind": "a/b", "devices": [)") + members +
               "]}";
    };
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "expected an object"},
        {"[]", "line 1, column 1: a CDI spec is an empty list"},
        {"{", "line"},
        {"{}", "'cdiVersion' is missing"},
        {R"({"cdiVersion": "0.3.0", "kind": "a/b"})", "'devices' is missing"},
        {R"({"cdiVersion": 1, "kind": "a/b", "devices": []})", "expected a string"},
        {R"({"cdiVersion": "0.2.0", "kind": "a/b", "devices": []})", "not one of 0.3.0 to 1.1.0"},
        {R"({"cdiVersion": "0.3.0", "kind": "a/b", "devices": []})", "there is none"},
        {R"({"cdiVersion": "0.3.0", "kind": "a/b", "devices": {}})", "expected a list"},
        {R"({"cdiVersion": "0.3.0", "kind": "a/b", "devices": [], "x": 1})",
         "column 55: 'x' is not a field of a CDI spec"},
        {R"({"cdiVersion": "0.3.0", "kind": "a/b", "kind": "a/c", "devices": []})",
         "'kind' is in a CDI spec twice"},
        {one(R"({"name": "d", "containerEdits": {}})"), "'d' has no container edits"},
        {one(R"({"name": "d"})"), "'d' has no container edits"},
        {one(R"({"name": "d", "containerEdits": {"env": ["A"]}})"), "'A' is not NAME=value"},
        {one(R"({"name": "d", "containerEdits": {"env": "A=b"}})"), "expected a list"},
        {one(R"({"name": "d", "containerEdits": {"env": [1]}})"), "expected a list of strings"},
        {one(R"({"name": "d", "containerEdits": {"environment": []}})"),
         "'environment' is not a field of containerEdits"},
        {one(R"({"name": "d", "containerEdits": {"deviceNodes": [{"path": "/x", "type": "z"}]}})"),
         "device type 'z'"},
        {one(R"({"name": "d", "containerEdits": {"deviceNodes": [{"path": "/x", "major": "1"}]}})"),
         "expected a number"},
        {one(R"({"name": "d", "containerEdits": {"mounts": [{"hostPath": "/x"}]}})"),
         "an entry has no containerPath"},
        {one(R"({"name": "d", "containerEdits": {"hooks": [{"hookName": "x", "path": "/x"}]}})"),
         "'x' is not a hook"},
        {one(R"({"name": "0", "containerEdits": {"env": ["A=b"]}})"),
         "cdiVersion is '0.3.0', but what the spec uses needs 0.5.0"},
        {one(R"({"name": "d", "containerEdits": {"mounts": [{"type": "x"}]}})"), "needs 0.4.0"},
        {one(R"({"name": "d", "annotations": {}, "containerEdits": {"env": ["A=b"]}})"),
         "needs 0.6.0"},
        {one(R"({"name": "d", "containerEdits": {"additionalGids": [1]}})"), "needs 0.7.0"},
        {one(R"({"name": "d", "containerEdits": {"netDevices": []}})"), "needs 1.1.0"},
        {one(R"({"name": "d", "containerEdits": {"env": ["A=b"]}})") + "\n---\n{}",
         "2 documents, expected one"},
    };
    for (const auto& entry : cases) {
        const auto spec = parse(entry.first);
        ASSERT_FALSE(spec) << entry.first;
        EXPECT_EQ(spec.error().code, ErrorCode::kInvalidInput);
        EXPECT_THAT(spec.error().message, HasSubstr(entry.second)) << entry.first;
    }
}

}  // namespace
}  // namespace aliquot::cdi
