// SPDX-License-Identifier: Apache-2.0
#include "pools/runner_metrics.h"

#include <algorithm>

#include "base/number.h"
#include "base/text.h"
#include "catalog/gpu_instances.h"

namespace aliquot::pools {
namespace {

using document::append;
using document::make_mapping;
using document::Value;

constexpr int kUsdDigits = 6;

Value rule(const char* record, const std::string& expression) {
    return make_mapping({{"record", record}, {"expr", expression}});
}

/// The part of a node that one job has.
double share_of(const Pool& pool, const RunnerOptions& options) {
    const auto all = pool.node.amounts.find(options.resource);
    if (all == pool.node.amounts.end() || all->second <= 0) return 1;
    return std::min(1.0, options.amount / all->second);
}

}  // namespace

Result<Value> runner_rules(const Pool& pool, const RunnerOptions& options,
                           std::optional<double> usd_per_hour) {
    const std::string name = options.name.empty() ? pool.name : options.name;
    double price = usd_per_hour.value_or(0);
    if (!usd_per_hour && !pool.instances.empty()) {
        const auto* const known = catalog::find_gpu_instance(pool.instances[0]);
        if (known != nullptr) price = known->usd_per_hour;
    }
    if (price <= 0) {
        return Error{ErrorCode::kInvalidInput,
                     "pool " + pool.name +
                         ": no price of its nodes is known; expected --price, USD an hour"};
    }
    const std::string hour = decimal_text(price * share_of(pool, options), kUsdDigits);
    const std::string listener = "{pod=~\"" + name + "-.*-listener\"}";
    const std::string by = "repository, job_workflow_name";
    const auto quantile = [&](const char* metric) {
        return concat({"histogram_quantile(0.9, sum by (le, ", by, ") (rate(", metric, "_bucket",
                       listener, "[1h])))"});
    };
    const std::vector<Value> rules{
        rule("aliquot:ci_job_wait_seconds:p90", quantile("gha_job_startup_duration_seconds")),
        rule("aliquot:ci_job_run_seconds:p90", quantile("gha_job_execution_duration_seconds")),
        rule("aliquot:ci_job_cost_usd:total",
             concat({"sum by (", by, ") (gha_job_execution_duration_seconds_sum", listener,
                     ") / 3600 * ", hour})),
        rule("aliquot:ci_job_cost_usd:increase1d",
             concat({"sum by (", by, ") (increase(gha_job_execution_duration_seconds_sum", listener,
                     "[1d])) / 3600 * ", hour}))};
    return make_mapping(
        {{"apiVersion", "monitoring.coreos.com/v1"},
         {"kind", "PrometheusRule"},
         {"metadata", make_mapping({{"name", name + "-ci"}})},
         {"spec", make_mapping({{"groups", std::vector{make_mapping(
                                               {{"name", name + "-ci"}, {"rules", rules}})}}})}});
}

}  // namespace aliquot::pools
