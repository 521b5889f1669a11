// SPDX-License-Identifier: Apache-2.0
#include "install/meaning.h"

#include "base/number.h"
#include "base/text.h"
#include "document/write.h"

namespace aliquot::install {
namespace {

using document::make_sequence;
using document::Value;

std::vector<std::string> lines_of(const Value& node) {
    std::vector<std::string> lines;
    const std::string text = document::to_yaml(node);
    for (std::size_t begin = 0; begin < text.size();) {
        const auto end = text.find('\n', begin);
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

/// A text that stays a text for YAML: "8" and "true" get quotes.
Value text_node(const std::string& text) {
    Value node = document::make_string(text);
    node.quoted = !text.contains('\n');
    return node;
}

std::vector<std::string> mapping_lines(const std::map<std::string, std::string>& entries) {
    if (entries.empty()) return {};
    Value mapping = document::make_mapping();
    for (const auto& [key, value] : entries) document::append(mapping, key, text_node(value));
    return lines_of(mapping);
}

std::vector<std::string> toleration_lines(const std::vector<Toleration>& tolerations) {
    if (tolerations.empty()) return {};
    Value list = document::make_sequence();
    for (const Toleration& one : tolerations) {
        Value entry = document::make_mapping();
        document::append(entry, "key", text_node(one.key));
        document::append(entry, "operator",
                         document::make_string(one.value.empty() ? "Exists" : "Equal"));
        if (!one.value.empty()) document::append(entry, "value", text_node(one.value));
        if (!one.effect.empty()) {
            document::append(entry, "effect", one.effect);
        }
        list.items.push_back(std::move(entry));
    }
    return lines_of(list);
}

/// Peers of a NetworkPolicy.
std::vector<std::string> address_lines(const std::vector<std::string>& cidrs) {
    if (cidrs.empty()) return {};
    Value list = document::make_sequence();
    for (const std::string& one : cidrs) {
        Value block = document::make_mapping();
        document::append(block, "cidr", text_node(one));
        Value peer = document::make_mapping();
        document::append(peer, "ipBlock", std::move(block));
        list.items.push_back(std::move(peer));
    }
    return lines_of(list);
}

std::vector<std::string> text_list_lines(const std::vector<std::string>& texts) {
    if (texts.empty()) return {};
    Value list = make_sequence(texts, text_node);
    return lines_of(list);
}

/// Ours and the user's; those of a taint that the agent sets itself are needed, too.
std::vector<Toleration> tolerations_of(const Values& values) {
    std::vector<Toleration> all = values.tolerations;
    const auto taint = parse_toleration(values.node_taint);
    if (taint && taint->key != "nvidia.com/gpu") {
        all.insert(all.begin(), {.key = taint->key, .value = {}, .effect = {}});
    }
    return all;
}

std::string key_of(const std::string& taint) {
    const auto parsed = parse_toleration(taint);
    return parsed ? parsed->key : std::string();
}

constexpr std::string_view kClaim = "claim/";
constexpr std::string_view kDatabase = "postgresql://";

/// Where the database listens.
unsigned port_of(std::string_view store) {
    constexpr unsigned kPostgres = 5432;
    if (!store.starts_with(kDatabase)) return kPostgres;
    std::string_view host = store.substr(kDatabase.size());
    host = host.substr(0, host.find_first_of("/?"));
    const auto colon = host.rfind(':');
    if (colon == std::string_view::npos) return kPostgres;
    return parse_number<unsigned>(host.substr(colon + 1)).value_or(kPostgres);
}

std::string or_else(const std::string& own, std::string_view other) {
    return own.empty() ? std::string(other) : own;
}

std::map<std::string, std::vector<std::string>, std::less<>> lists_of(const Values& values) {
    std::map<std::string, std::string> config = values.config;
    if (config.empty()) config["default"] = "version: v1\n";
    return {{"config", mapping_lines(config)},
            {"mig_config_text", mapping_lines({{"config.yaml", values.mig_config.value_or("")}})},
            {"prices_text", mapping_lines({{"prices.yaml", values.prices.value_or("")}})},
            {"node_selector", mapping_lines(values.node_selector)},
            {"tolerations", toleration_lines(tolerations_of(values))},
            {"api_servers", address_lines(values.api_server_cidrs)},
            {"agent_args", text_list_lines(values.agent_args)}};
}

std::map<std::string, bool, std::less<>> switches_of(const Values& values) {
    const bool placed = values.webhook && values.placement;
    const bool pinned = values.webhook && values.claims;
    const bool costs = values.webhook && values.cost_store != "off";
    const bool in_database = values.cost_store.starts_with(kDatabase);
    const bool idle = values.webhook && values.jobs && values.jobs_idle_after != "off";
    return {
        {"namespace", true},
        {"critical_quota", values.critical_quota},
        {"evict", values.mig && values.mig_drain == "evict"},
        {"nodefeature", values.labels == "nodefeature"},
        {"own_node_policy", values.own_node_policy},
        {"mig_config", values.mig_config.has_value()},
        {"dra", values.dra != "off"},
        {"runtime_class", !values.runtime_class.empty()},
        {"driver_elsewhere", values.driver_root != "/"},
        {"default_config", !values.default_config.empty()},
        {"labels", values.labels != "node"},
        {"label_profiles", !values.label_profiles.empty()},
        {"node_taint", !values.node_taint.empty()},
        {"unhealthy_taint", values.unhealthy_taint != "all"},
        {"mig", values.mig},
        {"mps", values.mps},
        {"administers", values.mig || values.mps || values.dra == "dynamic-mig"},
        {"privileged", values.gpu_access == GpuAccess::kPrivileged},
        {"webhook", values.webhook},
        {"placement", placed},
        {"placement_preemption", placed && values.placement_preemption},
        {"placement_strict", placed && values.placement_strict},
        {"placement_extender", placed && !values.placement_extender_ca.empty()},
        {"placement_leads",
         placed && (values.placement_strict || !values.placement_extender_ca.empty())},
        {"pinned", pinned},
        {"pinned_preemption", pinned && values.claims_preemption},
        {"pinned_policy", pinned && values.own_node_policy},
        {"controller_monitor", (placed || costs) && (values.service_monitor || values.pod_monitor)},
        {"pools", values.webhook && values.pools},
        {"pools_policy", values.webhook && values.pools && values.own_node_policy},
        {"jobs", values.webhook && values.jobs},
        {"jobs_idle", idle},
        {"asks_agents", costs || idle},
        {"jobs_api", values.webhook && !values.jobs_api.empty()},
        {"controller_args", !values.webhook_client_ca.empty() || values.placement || values.pools ||
                                values.jobs || !values.jobs_api.empty() || costs || pinned},
        {"costs", costs},
        {"controller_metrics", placed || costs},
        {"cost_file", costs && !in_database},
        {"cost_claim", costs && values.cost_store.starts_with(kClaim)},
        {"cost_database", costs && in_database},
        {"cost_secret", costs && !values.cost_secret.empty()},
        {"cost_prices", costs && values.prices.has_value()},
        {"placement_policy", placed && values.own_node_policy},
        {"service_monitor", values.service_monitor},
        {"pod_monitor", values.pod_monitor},
        {"network_policy", values.network_policy},
        {"api_servers", !values.api_server_cidrs.empty()},
        {"webhook_client_ca", !values.webhook_client_ca.empty()},
        {"metrics_api", values.metrics_api}};
}

std::map<std::string, std::string, std::less<>> words_of(const Values& values) {
    const ProfileFacts& facts = profile_facts(values.profile);
    const bool in_database = values.cost_store.starts_with(kDatabase);
    return {
        {"version", ALIQUOT_VERSION},
        {"image", values.image},
        {"pull_policy", values.pull_policy},
        {"runtime_class", values.runtime_class},
        {"kubelet_root", or_else(values.kubelet_root, facts.kubelet_root)},
        {"driver_root", values.driver_root},
        {"device_list_strategy", or_else(values.device_list_strategy, facts.device_list_strategy)},
        {"api_port", std::to_string(values.api_port == 0 ? facts.api_port : values.api_port)},
        {"default_config", values.default_config},
        {"labels", values.labels},
        {"label_profiles", join(values.label_profiles, ",")},
        {"node_taint", values.node_taint},
        {"node_taint_key", key_of(values.node_taint)},
        {"unhealthy_taint", values.unhealthy_taint},
        {"mig_drain", values.mig_drain},
        {"dra", values.dra},
        // A volume that one node may mount has one reader.
        {"controller_replicas",
         std::to_string(values.cost_store.starts_with(kClaim) ? 1 : values.controller_replicas)},
        {"cost_store", in_database ? values.cost_store : "/var/lib/aliquot/cost.sqlite"},
        {"cost_claim_name", values.cost_store.starts_with(kClaim)
                                ? values.cost_store.substr(kClaim.size())
                                : std::string()},
        {"cost_secret_name", values.cost_secret},
        {"cost_port", std::to_string(port_of(values.cost_store))},
        {"jobs_api_secret", values.jobs_api},
        {"jobs_idle_after", values.jobs_idle_after},
        {"jobs_idle_action", values.jobs_idle_action},
        {"jobs_idle_grace", values.jobs_idle_grace},
        {"jobs_idle_min_run", values.jobs_idle_min_run},
        {"webhook_client_ca", values.webhook_client_ca},
        {"placement_extender_ca", values.placement_extender_ca},
        {"webhook_client_names", join(values.webhook_client_names, ",")},
        {"metrics_namespace", values.metrics_namespace}};
}

}  // namespace

Meaning meaning_of(const Values& values) {
    return {.switches = switches_of(values), .words = words_of(values), .lists = lists_of(values)};
}

namespace {

using HelmConditions = std::map<std::string, std::string, std::less<>>;

HelmConditions helm_switches_of_controller() {
    return {
        {"webhook", ".Values.controller.enabled"},
        {"placement", "and .Values.controller.enabled .Values.placement"},
        {"placement_preemption",
         "and .Values.controller.enabled .Values.placement .Values.placementPreemption"},
        {"placement_strict",
         "and .Values.controller.enabled .Values.placement .Values.placementStrict"},
        {"placement_extender",
         "and .Values.controller.enabled .Values.placement .Values.placementExtenderCA"},
        {"placement_leads",
         "and .Values.controller.enabled .Values.placement (or .Values.placementStrict "
         ".Values.placementExtenderCA)"},
        {"pinned", "and .Values.controller.enabled .Values.claims"},
        {"pinned_preemption",
         "and .Values.controller.enabled .Values.claims .Values.claimsPreemption"},
        {"pinned_policy",
         "and .Values.controller.enabled .Values.claims .Values.ownNodePolicy "
         "(semverCompare \">=1.30-0\" .Capabilities.KubeVersion.Version)"},
        {"jobs", "and .Values.controller.enabled .Values.jobs"},
        {"jobs_idle",
         "and .Values.controller.enabled .Values.jobs (ne .Values.jobsIdle.after \"off\")"},
        {"asks_agents",
         "and .Values.controller.enabled (or (ne .Values.cost.store \"off\") (and .Values.jobs "
         "(ne .Values.jobsIdle.after \"off\")))"},
        {"jobs_api", "and .Values.controller.enabled .Values.jobsApi"},
        {"controller_metrics",
         "and .Values.controller.enabled (or .Values.placement (ne .Values.cost.store "
         "\"off\"))"},
        {"costs", "and .Values.controller.enabled (ne .Values.cost.store \"off\")"},
        {"cost_file",
         "and .Values.controller.enabled (ne .Values.cost.store \"off\") (not (hasPrefix "
         "\"postgresql://\" .Values.cost.store))"},
        {"cost_claim", "and .Values.controller.enabled (hasPrefix \"claim/\" .Values.cost.store)"},
        {"cost_database",
         "and .Values.controller.enabled (hasPrefix \"postgresql://\" .Values.cost.store)"},
        {"cost_secret",
         "and .Values.controller.enabled (ne .Values.cost.store \"off\") .Values.cost.secret"},
        {"cost_prices",
         "and .Values.controller.enabled (ne .Values.cost.store \"off\") .Values.cost.prices"},
        {"controller_monitor",
         "and .Values.controller.enabled (or .Values.placement (ne .Values.cost.store "
         "\"off\")) (or .Values.metrics.serviceMonitor .Values.metrics.podMonitor)"},
        {"pools", "and .Values.controller.enabled .Values.pools"},
        {"pools_policy",
         "and .Values.controller.enabled .Values.pools .Values.ownNodePolicy "
         "(semverCompare \">=1.30-0\" .Capabilities.KubeVersion.Version)"},
        {"controller_args",
         "or .Values.controller.clientCA .Values.placement .Values.pools .Values.jobs "
         ".Values.jobsApi .Values.claims (ne .Values.cost.store \"off\")"},
        {"placement_policy",
         "and .Values.controller.enabled .Values.placement .Values.ownNodePolicy "
         "(semverCompare \">=1.30-0\" .Capabilities.KubeVersion.Version)"}};
}

HelmConditions helm_switches() {
    HelmConditions all = helm_switches_of_controller();
    all.merge(HelmConditions{
        {"namespace", ".Values.createNamespace"},
        {"critical_quota", ".Values.criticalQuota"},
        {"evict", "and .Values.mig.enabled (eq .Values.mig.drain \"evict\")"},
        {"nodefeature", "eq .Values.labels.writer \"nodefeature\""},
        {"own_node_policy",
         "and .Values.ownNodePolicy (semverCompare \">=1.30-0\" "
         ".Capabilities.KubeVersion.Version)"},
        {"mig_config", ".Values.mig.config"},
        {"dra", "ne .Values.dra \"off\""},
        {"runtime_class", ".Values.agent.runtimeClassName"},
        {"driver_elsewhere", "ne .Values.agent.driverRoot \"/\""},
        {"default_config", ".Values.defaultConfig"},
        {"labels", "ne .Values.labels.writer \"node\""},
        {"label_profiles", ".Values.labels.profiles"},
        {"node_taint", ".Values.taint"},
        {"unhealthy_taint", "ne .Values.unhealthyTaint \"all\""},
        {"mig", ".Values.mig.enabled"},
        {"mps", ".Values.mps"},
        {"administers", "or .Values.mig.enabled .Values.mps (eq .Values.dra \"dynamic-mig\")"},
        {"privileged", "eq .Values.agent.gpuAccess \"privileged\""},
        {"service_monitor", ".Values.metrics.serviceMonitor"},
        {"pod_monitor", ".Values.metrics.podMonitor"},
        {"network_policy", ".Values.networkPolicy"},
        {"api_servers", ".Values.controller.from"},
        {"webhook_client_ca", ".Values.controller.clientCA"},
        {"metrics_api", ""}});
    return all;
}

}  // namespace

const HelmWords& helm_words() {
    static const std::string kBlock =
        "{{- with .Values.NAME }}\n{{ toYaml . | indent @indent@ }}\n{{- end }}";
    const auto block = [](const std::string& name) {
        std::string text = kBlock;
        return text.replace(text.find("NAME"), 4, name);
    };
    static const HelmWords kWords{
        .switches = helm_switches(),
        .words = {{"version", ".Chart.AppVersion"},
                  {"image", "include \"aliquot.image\" ."},
                  {"pull_policy", ".Values.image.pullPolicy"},
                  {"runtime_class", ".Values.agent.runtimeClassName"},
                  {"kubelet_root", "include \"aliquot.kubeletRoot\" ."},
                  {"driver_root", ".Values.agent.driverRoot"},
                  {"device_list_strategy", "include \"aliquot.deviceListStrategy\" ."},
                  {"api_port", "include \"aliquot.apiPort\" ."},
                  {"default_config", ".Values.defaultConfig"},
                  {"labels", ".Values.labels.writer"},
                  {"label_profiles", "join \",\" .Values.labels.profiles"},
                  {"node_taint", ".Values.taint"},
                  {"node_taint_key", "include \"aliquot.taintKey\" .Values.taint"},
                  {"unhealthy_taint", ".Values.unhealthyTaint"},
                  {"mig_drain", ".Values.mig.drain"},
                  {"dra", ".Values.dra"},
                  {"controller_replicas",
                   "ternary 1 (int .Values.controller.replicas) (hasPrefix \"claim/\" "
                   ".Values.cost.store)"},
                  {"cost_store",
                   "ternary .Values.cost.store \"/var/lib/aliquot/cost.sqlite\" (hasPrefix "
                   "\"postgresql://\" .Values.cost.store)"},
                  {"cost_claim_name", "trimPrefix \"claim/\" .Values.cost.store"},
                  {"cost_secret_name", ".Values.cost.secret"},
                  {"cost_port",
                   "regexFind \"[0-9]+$\" (regexFind \"^postgresql://[^/?]*:[0-9]+\" "
                   ".Values.cost.store) | default 5432"},
                  {"jobs_api_secret", ".Values.jobsApi"},
                  {"jobs_idle_after", ".Values.jobsIdle.after"},
                  {"jobs_idle_action", ".Values.jobsIdle.action"},
                  {"jobs_idle_grace", ".Values.jobsIdle.grace"},
                  {"jobs_idle_min_run", ".Values.jobsIdle.minRun"},
                  {"webhook_client_ca", ".Values.controller.clientCA"},
                  {"placement_extender_ca", ".Values.placementExtenderCA"},
                  {"webhook_client_names", "join \",\" .Values.controller.clientNames"},
                  {"metrics_namespace", ".Values.metrics.namespace"}},
        .lists = {{"config", "{{ toYaml .Values.config | indent @indent@ }}"},
                  {"mig_config_text",
                   "{{ dict \"config.yaml\" .Values.mig.config | toYaml | indent @indent@ }}"},
                  {"prices_text",
                   "{{ dict \"prices.yaml\" .Values.cost.prices | toYaml | indent @indent@ }}"},
                  {"node_selector", block("agent.nodeSelector")},
                  {"tolerations",
                   "{{- with .Values.taint }}\n{{ include \"aliquot.ownToleration\" . | indent "
                   "@indent@ }}\n{{- end }}\n" +
                       block("agent.tolerations")},
                  {"api_servers", block("controller.from")},
                  {"agent_args", block("agent.args")}}};
    return kWords;
}

}  // namespace aliquot::install
