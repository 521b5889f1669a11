// SPDX-License-Identifier: Apache-2.0
#include "page/node_tables.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "page/share_tables.h"
#include "top/test_world.h"

namespace aliquot::page {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

class PageTables : public testing::Test {
protected:
    /// Rows of a table as objects, by key.
    static std::map<std::string, Json> rows(const Sight& sight, const std::string& name,
                                            Breadth breadth = Breadth::kWhole) {
        State state{.tables = tables_of(sight, breadth), .about = "{}"};
        settle(state);
        const Json all = Json::parse(tables_json(state));
        std::map<std::string, Json> found;
        if (!all.contains(name)) return found;
        const Json& columns = all[name]["columns"];
        const Json& cells = all[name]["cells"];
        EXPECT_EQ(cells.size(), columns.size()) << name;
        for (std::size_t row = 0; row < cells.at(0).size(); ++row) {
            Json object;
            for (std::size_t i = 0; i < columns.size(); ++i) {
                object[columns[i]] = cells.at(i).at(row);
            }
            found[cells[0][row]] = object;
        }
        return found;
    }
    static Sight sight() {
        return {.title = "", .cluster = top::three_nodes(), .pods = {}, .remarks = {}, .more = {}};
    }
};

TEST_F(PageTables, TellGpusWithTheirHealthAndAdvice) {
    const auto gpus = rows(sight(), "gpus");
    ASSERT_EQ(gpus.size(), 4U);
    const Json& shared = gpus.at("gpu-node-1/0");
    EXPECT_EQ(shared["health"], "Healthy");
    EXPECT_EQ(shared["slots"], 4);
    EXPECT_EQ(shared["allocated"], 3);
    EXPECT_EQ(shared["slices"], 0);
    EXPECT_GT(gpus.at("gpu-node-1/1")["slices"].get<int>(), 0) << "in MIG mode";
    const Json& lost = gpus.at("gpu-node-2/1");
    EXPECT_NE(lost["health"], "Healthy");
    EXPECT_FALSE(lost["reason"].get<std::string>().empty());
    EXPECT_TRUE(lost["busy"].is_null()) << "what nobody knows is not 0";
}

TEST_F(PageTables, TellSharesOfAGpuByPod) {
    const auto shares = rows(sight(), "shares");
    std::map<std::string, int> of_gpu;
    for (const auto& [key, share] : shares) ++of_gpu[share["gpu"]];
    EXPECT_EQ(of_gpu["gpu-node-1/0"], 3);
    EXPECT_GT(of_gpu["gpu-node-1/1"], 0);
    for (const auto& [key, share] : shares) {
        EXPECT_FALSE(share["memoryHeld"].is_null() && share["source"] != "none") << key;
    }
    EXPECT_GT(rows(sight(), "parts").size(), 1U);
    EXPECT_EQ(rows(sight(), "details").size(), 4U);
}

TEST_F(PageTables, TellANodeThatDoesNotAnswer) {
    const auto nodes = rows(sight(), "nodes");
    ASSERT_EQ(nodes.size(), 3U);
    unsigned silent = 0;
    for (const auto& [name, node] : nodes) {
        if (!node["problem"].get<std::string>().empty() && node["gpus"] == 0) ++silent;
    }
    EXPECT_EQ(silent, 1U);
}

TEST_F(PageTables, TellFindingsOfMeasurementsAndOfOthers) {
    Sight with = sight();
    with.remarks = {{"error", "config.yaml:3", "DPC003 no such key", "remove it"}};
    const auto findings = rows(with, "findings");
    EXPECT_GT(findings.size(), 1U);
    EXPECT_EQ(findings.at("r/config.yaml:3/DPC003 no such key")["fix"], "remove it");
    bool lost = false;
    bool advised = false;
    for (const auto& [key, one] : findings) {
        const std::string what = one["what"];
        advised = advised || (one["fix"] == "restart the machine" &&
                              what.find("restart the machine") == std::string::npos);
        lost = lost || (one["severity"] == "error" && one["where"] == "gpu-node-2 GPU 1");
    }
    EXPECT_TRUE(lost);
    EXPECT_TRUE(advised) << "what to do stands in its own column";
}

TEST_F(PageTables, TellWaitingPodsWithTheReason) {
    Sight with = sight();
    with.pods = {{.name = "web",
                  .pod_namespace = "team",
                  .phase = "Pending",
                  .node = "",
                  .gpu = "",
                  .share = "nvidia.com/gpu: 1",
                  .reason = "no free share of nvidia.com/gpu"}};
    EXPECT_EQ(rows(with, "pods").at("team/web")["reason"], "no free share of nvidia.com/gpu");
}

TEST_F(PageTables, OfALargeClusterLeaveSharesToWhoAsks) {
    EXPECT_EQ(breadth_of(top::three_nodes()), Breadth::kWhole);
    EXPECT_TRUE(rows(sight(), "shares", Breadth::kWithoutShares).empty());
    EXPECT_EQ(rows(sight(), "gpus", Breadth::kWithoutShares).size(), 4U);
    auto large = top::one_node();
    auto node = *large.agents[0].snapshot;
    auto& tenants = node.devices[0].parts[0].tenants;
    tenants.resize(kMostShares + 1, tenants[0]);
    large.agents[0].snapshot = std::make_shared<const telemetry::Snapshot>(node);
    EXPECT_EQ(breadth_of(large), Breadth::kWithoutShares);
    const auto one = share_tables(top::three_nodes(), {"gpu-node-1"});
    EXPECT_EQ(one.size(), 3U);
    for (const Row& row : one[0].rows) EXPECT_THAT(row.key, HasSubstr("gpu-node-1/"));
}

}  // namespace
}  // namespace aliquot::page
