// SPDX-License-Identifier: Apache-2.0
#include "cdi/spec.h"

#include <gmock/gmock.h>

#include <functional>

namespace aliquot::cdi {
namespace {

Spec good_spec() {
    return {
        .kind = "k8s.device-plugin.nvidia.com/gpu",
        .devices = {{.name = "GPU-3f2a",
                     .edits = {.device_nodes = {{.path = "/dev/nvidia0", .permissions = "rw"}}}}},
        .edits = {.environment = {"NVIDIA_VISIBLE_DEVICES=void"},
                  .mounts = {{.host_path = "/usr/bin/nvidia-smi",
                              .container_path = "/usr/bin/nvidia-smi",
                              .options = {"ro", "rbind"}}}}};
}

TEST(CdiSpec, IsWrittenAsTheSpecificationSpellsIt) {
    Spec spec = good_spec();
    spec.devices[0].edits.device_nodes[0].host_path = "/run/driver/dev/nvidia0";
    spec.edits.hooks = {{.name = "createContainer",
                         .path = "/usr/bin/tool",
                         .arguments = {"tool", "ldcache"},
                         .environment = {"A=b"}}};
    const auto json = to_json(spec);
    ASSERT_TRUE(json) << json.error().message;
    EXPECT_EQ(*json, R"({
  "cdiVersion": "0.5.0",
  "kind": "k8s.device-plugin.nvidia.com/gpu",
  "devices": [
    {
      "name": "GPU-3f2a",
      "containerEdits": {
        "deviceNodes": [
          {
            "path": "/dev/nvidia0",
            "hostPath": "/run/driver/dev/nvidia0",
            "permissions": "rw"
          }
        ]
      }
    }
  ],
  "containerEdits": {
    "env": [
      "NVIDIA_VISIBLE_DEVICES=void"
    ],
    "mounts": [
      {
        "hostPath": "/usr/bin/nvidia-smi",
        "containerPath": "/usr/bin/nvidia-smi",
        "options": [
          "ro",
          "rbind"
        ]
      }
    ],
    "hooks": [
      {
        "hookName": "createContainer",
        "path": "/usr/bin/tool",
        "args": [
          "tool",
          "ldcache"
        ],
        "env": [
          "A=b"
        ]
      }
    ]
  }
}
)");
}

struct Change {
    const char* what;
    std::function<void(Spec&)> apply;
};

TEST(CdiSpec, AsksForNoHigherVersionThanItNeeds) {
    EXPECT_EQ(minimum_version(good_spec()), "0.3.0");
    const std::vector<std::pair<std::string, Change>> cases{
        {"0.5.0", {"digit first", [](Spec& s) { s.devices[0].name = "0"; }}},
        {"0.5.0",
         {"host path of a device",
          [](Spec& s) { s.devices[0].edits.device_nodes[0].host_path = "/x"; }}},
        {"0.5.0",
         {"host path for all",
          [](Spec& s) { s.edits.device_nodes = {{.path = "/a", .host_path = "/b"}}; }}},
        {"0.6.0", {"dot in the class", [](Spec& s) { s.kind = "nvidia.com/gpu.shared"; }}},
    };
    for (const auto& entry : cases) {
        Spec spec = good_spec();
        entry.second.apply(spec);
        EXPECT_EQ(minimum_version(spec), entry.first) << entry.second.what;
        EXPECT_THAT(problems_of(spec), testing::IsEmpty()) << entry.second.what;
    }
}

TEST(CdiSpec, AcceptsWhatTheSpecificationAllows) {
    EXPECT_THAT(problems_of(good_spec()), testing::IsEmpty());
    const std::vector<Change> cases{
        {"one letter names", [](Spec& s) { s.kind = "v/c"; }},
        {"all punctuation", [](Spec& s) { s.kind = "v_1-a.b/c_1-a.b"; }},
        {"colon in a device", [](Spec& s) { s.devices[0].name = "0:1"; }},
        {"empty value", [](Spec& s) { s.edits.environment = {"A="}; }},
        {"no permissions", [](Spec& s) { s.devices[0].edits.device_nodes[0].permissions = ""; }},
        {"every permission",
         [](Spec& s) { s.devices[0].edits.device_nodes[0].permissions = "rwm"; }},
        {"UTF-8 in a value", [](Spec& s) { s.edits.environment = {"A=\xc3\xa9\xe2\x82\xac"}; }},
        {"device with environment only",
         [](Spec& s) { s.devices[0].edits = {.environment = {"A=b"}}; }},
    };
    for (const Change& change : cases) {
        Spec spec = good_spec();
        change.apply(spec);
        EXPECT_THAT(problems_of(spec), testing::IsEmpty()) << change.what;
        EXPECT_TRUE(to_json(spec)) << change.what;
    }
}

TEST(CdiSpec, RefusesWhatAStrictReaderRefuses) {
    const std::vector<Change> cases{
        {"'gpu' is not vendor/class", [](Spec& s) { s.kind = "gpu"; }},
        {"vendor ''", [](Spec& s) { s.kind = "/gpu"; }},
        {"vendor '1nvidia.com'", [](Spec& s) { s.kind = "1nvidia.com/gpu"; }},
        {"vendor 'nvidia.com.'", [](Spec& s) { s.kind = "nvidia.com./gpu"; }},
        {"vendor 'nvidia,com'", [](Spec& s) { s.kind = "nvidia,com/gpu"; }},
        {"class ''", [](Spec& s) { s.kind = "nvidia.com/"; }},
        {"class 'gpu/x'", [](Spec& s) { s.kind = "nvidia.com/gpu/x"; }},
        {"class 'gpu:x'", [](Spec& s) { s.kind = "nvidia.com/gpu:x"; }},
        {"there is none", [](Spec& s) { s.devices.clear(); }},
        {"name ''", [](Spec& s) { s.devices[0].name = ""; }},
        {"name 'GPU 0'", [](Spec& s) { s.devices[0].name = "GPU 0"; }},
        {"name ':0'", [](Spec& s) { s.devices[0].name = ":0"; }},
        {"name '0-'", [](Spec& s) { s.devices[0].name = "0-"; }},
        {"'GPU-3f2a' is there twice", [](Spec& s) { s.devices.push_back(s.devices[0]); }},
        {"'GPU-3f2a' has no container edits", [](Spec& s) { s.devices[0].edits = {}; }},
        {"'A' is not NAME=value", [](Spec& s) { s.edits.environment = {"A"}; }},
        {"'=b' is not NAME=value", [](Spec& s) { s.edits.environment = {"=b"}; }},
        {"no path", [](Spec& s) { s.devices[0].edits.device_nodes[0].path = ""; }},
        {"permissions 'rx'",
         [](Spec& s) { s.devices[0].edits.device_nodes[0].permissions = "rx"; }},
        {"no hostPath", [](Spec& s) { s.edits.mounts[0].host_path = ""; }},
        {"no containerPath", [](Spec& s) { s.edits.mounts[0].container_path = ""; }},
        {"'later' is not a hook",
         [](Spec& s) { s.edits.hooks = {{.name = "later", .path = "/x"}}; }},
        {"hooks: an entry has no path", [](Spec& s) { s.edits.hooks = {{.name = "prestart"}}; }},
        {"not UTF-8", [](Spec& s) { s.edits.mounts[0].options = {"\xff"}; }},
        {"not UTF-8", [](Spec& s) { s.edits.environment = {"A=\xed\xa0\x80"}; }},
        {"not UTF-8", [](Spec& s) { s.edits.environment = {"A=\xe0\x80\x80"}; }},
        {"not UTF-8", [](Spec& s) { s.edits.environment = {"A=\xf0\x9f\x98"}; }},
        {"NUL", [](Spec& s) { s.edits.environment = {std::string("A=\0", 3)}; }},
    };
    for (const Change& change : cases) {
        Spec spec = good_spec();
        change.apply(spec);
        EXPECT_THAT(problems_of(spec), testing::Contains(testing::HasSubstr(change.what)));
        const auto json = to_json(spec);
        ASSERT_FALSE(json) << change.what;
        EXPECT_EQ(json.error().code, ErrorCode::kInvalidInput);
    }
}

}  // namespace
}  // namespace aliquot::cdi
