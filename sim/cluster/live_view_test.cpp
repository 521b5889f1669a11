// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/live_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace aliquot::sim::cluster {
namespace {

Snapshot two_pods() {
    Snapshot snapshot;
    snapshot.gpus = {{.index = 0,
                      .uuid = "GPU-0",
                      .model = "NVIDIA A2",
                      .memory_bytes = 16106127360,
                      .shares_total = 2,
                      .shares_used = 1}};
    snapshot.pods = {{.name = "kokoro",
                      .pod_namespace = "ai",
                      .phase = Phase::kRunning,
                      .gpus = {"GPU-0"},
                      .devices = {"GPU-0::1"},
                      .environment = {{"NVIDIA_VISIBLE_DEVICES", "GPU-0"}},
                      .gpu_text = "0 NVIDIA A2",
                      .share_text = "1 of 2",
                      .log = "/tmp/x.log"},
                     {.name = "third",
                      .pod_namespace = "default",
                      .gpu_text = "-",
                      .share_text = "-",
                      .reason = "no room"}};
    return snapshot;
}

TEST(View, PrintsTwoTables) {
    EXPECT_EQ(table_text(two_pods(), Colour::kNever, 0),
              "GPU  MODEL      MEMORY  IN USE  HEALTH\n"
              "0    NVIDIA A2  15Gi    1 of 2  Healthy\n"
              "\n"
              "POD        GPU          SHARE   STATE    WHY\n"
              "ai/kokoro  0 NVIDIA A2  1 of 2  Running\n"
              "third      -            -       Pending  no room\n");
}

TEST(View, FitsLinesToTheTerminal) {
    EXPECT_NE(table_text(two_pods(), Colour::kNever, 12).find("\nai/kokoro  >\n"),
              std::string::npos);
    Snapshot snapshot = two_pods();
    snapshot.pods[1].reason = "2 of 2 shares in use by kokoro";
    EXPECT_NE(table_text(snapshot, Colour::kNever, 64)
                  .find("third      -            -       Pending  2 of 2 shares in use by\n"
                        "                                         kokoro\n"),
              std::string::npos)
        << table_text(snapshot, Colour::kNever, 64);
}

TEST(View, PaintsStates) {
    EXPECT_NE(table_text(two_pods(), Colour::kAnsi, 0).find("\x1b[32mRunning\x1b[0m\n"),
              std::string::npos);
}

TEST(View, PrintsJsonWithExactlyTheseKeys) {
    EXPECT_EQ(to_json(two_pods()).dump(2), R"({
  "gpus": [
    {
      "index": 0,
      "uuid": "GPU-0",
      "model": "NVIDIA A2",
      "memoryBytes": 16106127360,
      "health": "Healthy",
      "sharesTotal": 2,
      "sharesUsed": 1
    }
  ],
  "pods": [
    {
      "name": "kokoro",
      "namespace": "ai",
      "phase": "Running",
      "gpus": [
        "GPU-0"
      ],
      "devices": [
        "GPU-0::1"
      ],
      "env": {
        "NVIDIA_VISIBLE_DEVICES": "GPU-0"
      },
      "reason": "",
      "log": "/tmp/x.log"
    },
    {
      "name": "third",
      "namespace": "default",
      "phase": "Pending",
      "gpus": [],
      "devices": [],
      "env": {},
      "reason": "no room",
      "log": ""
    }
  ]
})");
}

TEST(LiveView, TellsEachChangeOnceWithoutATerminal) {
    std::ostringstream out;
    LiveView view(out, false, Colour::kNever);
    Snapshot snapshot = two_pods();
    view.show(snapshot);
    view.show(snapshot);
    snapshot.pods[1].phase = Phase::kRunning;
    snapshot.pods[1].reason.clear();
    snapshot.gpus[0].healthy = false;
    snapshot.gpus[0].problem = "Xid 79";
    view.show(snapshot);
    EXPECT_EQ(out.str(),
              "ai/kokoro: Running on GPU 0 NVIDIA A2 (1 of 2)\n"
              "third: Pending: no room\n"
              "gpu 0: Unhealthy: Xid 79\n"
              "third: Running\n");
}

}  // namespace
}  // namespace aliquot::sim::cluster
