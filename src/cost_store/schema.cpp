// SPDX-License-Identifier: Apache-2.0
#include "cost_store/schema.h"

#include "base/text.h"

namespace aliquot::cost_store {
namespace {

constexpr const char* kRowColumns =
    "node BIGINT, device BIGINT, part BIGINT, model BIGINT, price BIGINT, owner BIGINT, "
    "state INTEGER, gpu BIGINT, cpu BIGINT, memory BIGINT, gpu_ms BIGINT, energy BIGINT, "
    "PRIMARY KEY(at, node, device, part, owner, state, price, model))";

/// The two are columns of their own since a CPU's time cannot be told from its price: nodes have several, or none.
constexpr const char* kSecond =
    "ALTER TABLE cost_hours ADD COLUMN core_ms BIGINT NOT NULL DEFAULT 0;"
    "ALTER TABLE cost_hours ADD COLUMN mib_s BIGINT NOT NULL DEFAULT 0;"
    "ALTER TABLE cost_days ADD COLUMN core_ms BIGINT NOT NULL DEFAULT 0;"
    "ALTER TABLE cost_days ADD COLUMN mib_s BIGINT NOT NULL DEFAULT 0;";

std::string first(const Database::Dialect& words) {
    const std::string id(words.id);
    const std::string clustered(words.clustered);
    return concat({
        "CREATE TABLE cost_names(id ",
        id,
        ", text TEXT NOT NULL UNIQUE);",
        "CREATE TABLE cost_owners(id ",
        id,
        ", space BIGINT, queue BIGINT, account BIGINT, job BIGINT, pod BIGINT, container BIGINT, "
        "workflow BIGINT, attempt BIGINT, "
        "UNIQUE(space, queue, account, job, pod, container, workflow, attempt));",
        "CREATE TABLE cost_spans(node BIGINT, begun BIGINT, ended BIGINT, model BIGINT, "
        "price BIGINT, rate BIGINT, cpu BIGINT, memory BIGINT, devices TEXT, "
        "PRIMARY KEY(node, begun))",
        clustered,
        ";",
        "CREATE TABLE cost_intervals(node BIGINT, begun BIGINT, device BIGINT, part BIGINT, "
        "owner BIGINT, ended BIGINT, share BIGINT, cpu BIGINT, memory BIGINT, "
        "gpu_memory BIGINT, peak BIGINT, busy BIGINT, energy BIGINT, state INTEGER, oom INTEGER, "
        "PRIMARY KEY(node, begun, device, part, owner))",
        clustered,
        ";",
        "CREATE INDEX cost_intervals_ended ON cost_intervals(ended);",
        "CREATE TABLE cost_hours(at BIGINT, ",
        kRowColumns,
        clustered,
        ";",
        "CREATE TABLE cost_days(at BIGINT, ",
        kRowColumns,
        clustered,
        ";",
        "CREATE TABLE cost_bills(at BIGINT, node BIGINT, price BIGINT, watched BIGINT, "
        "amount BIGINT, PRIMARY KEY(at, node, price))",
        clustered,
        ";",
        "CREATE TABLE cost_state(name TEXT PRIMARY KEY, value BIGINT NOT NULL);",
    });
}

}  // namespace

std::vector<std::string> migrations(const Database::Dialect& words) {
    return {first(words), kSecond};
}

}  // namespace aliquot::cost_store
