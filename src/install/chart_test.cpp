// SPDX-License-Identifier: Apache-2.0
// The chart: its values, its schema and what it renders: by helm where it is on PATH (or ALIQUOT_HELM
// names it), else by tests/chart/render_chart.py, which knows what our templates use.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "document/json.h"
#include "document/yaml.h"
#include "install/meaning.h"
#include "install/render.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot::install {
namespace {

namespace fs = std::filesystem;
using document::Value;

const fs::path kChart = fs::path(ALIQUOT_SOURCE_DIR) / "deploy/helm/aliquot";

std::string text_of(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

Value yaml_of(const fs::path& path) {
    const auto read = document::parse_yaml(text_of(path));
    EXPECT_TRUE(read.errors.empty()) << path;
    return read.documents.empty() ? Value() : read.documents.front();
}

/// The same order of keys everywhere.
void sort_keys(Value& node) {
    std::ranges::sort(node.entries, {}, [](const Value::Entry& one) { return one.first.scalar; });
    for (auto& entry : node.entries) sort_keys(entry.second);
    for (Value& item : node.items) sort_keys(item);
}

std::map<std::string, std::string> objects_of(const std::string& text) {
    std::map<std::string, std::string> objects;
    for (const Value& document : document::parse_yaml(text).documents) {
        if (!document.is_mapping()) continue;
        const Value& metadata = *document.find("metadata");
        const Value* const notes = metadata.find("annotations");
        if (notes != nullptr && notes->find("helm.sh/hook") != nullptr) continue;
        const Value* const space = metadata.find("namespace");
        Value sorted = document;
        sort_keys(sorted);
        objects[document.find("kind")->scalar + " " + (space == nullptr ? "" : space->scalar) +
                "/" + metadata.find("name")->scalar] = document::to_json(sorted);
    }
    return objects;
}

void expect_same(const std::map<std::string, std::string>& found,
                 const std::map<std::string, std::string>& expected, const std::string& name) {
    EXPECT_EQ(found.size(), expected.size()) << name;
    for (const auto& [title, text] : expected) {
        const auto one = found.find(title);
        ASSERT_NE(one, found.end()) << name << ": " << title;
        EXPECT_EQ(one->second, text) << name << ": " << title;
    }
}

/// Each object of the schema is strict and describes exactly the keys of values.yaml.
void expect_strict(const Value& schema, const Value& values, const std::string& path) {
    const Value* const properties = schema.find("properties");
    if (properties == nullptr) return;
    ASSERT_NE(schema.find("additionalProperties"), nullptr) << path;
    EXPECT_EQ(schema.find("additionalProperties")->scalar, "false") << path;
    std::set<std::string> described;
    for (const auto& [key, property] : properties->entries) {
        if (path.empty() && key.scalar == "global") continue;  // Helm gives it to every subchart
        described.insert(key.scalar);
        const Value* const value = values.find(key.scalar);
        ASSERT_NE(value, nullptr) << path << "." << key.scalar << " is not in values.yaml";
        expect_strict(property, *value, path + "." + key.scalar);
    }
    for (const auto& [key, value] : values.entries) {
        EXPECT_TRUE(described.contains(key.scalar)) << path << "." << key.scalar << ": no schema";
    }
}

TEST(Chart, TheSchemaIsStrictAndKnowsEveryValue) {
    expect_strict(yaml_of(kChart / "values.schema.json"), yaml_of(kChart / "values.yaml"), "");
}

TEST(Chart, EveryValueHasItsComment) {
    std::istringstream lines(text_of(kChart / "values.yaml"));
    std::string before;
    for (std::string line; std::getline(lines, line); before = line) {
        const auto first = line.find_first_not_of(' ');
        if (first == std::string::npos || line[first] == '#' || line.ends_with("version: v1"))
            continue;
        const bool section = line.ends_with(':');
        const bool told = before.find('#') != std::string::npos;
        // replicas and podMonitor are told with the line above them, default with its section.
        const bool with_others = line.contains("replicas:") || line.contains("podMonitor:") ||
                                 line.contains("default: |");
        EXPECT_TRUE(told || section || with_others) << line;
    }
}

TEST(Chart, TemplatesUseNoValueThatIsNotThere) {
    const Value values = yaml_of(kChart / "values.yaml");
    std::size_t used = 0;
    for (const auto& entry : fs::recursive_directory_iterator(kChart / "templates")) {
        if (!entry.is_regular_file()) continue;
        const std::string text = text_of(entry.path());
        const std::string_view mark = ".Values.";
        for (std::size_t at = text.find(mark); at != std::string::npos;
             at = text.find(mark, at + 1)) {
            const Value* node = &values;
            std::size_t begin = at + mark.size();
            for (;;) {
                const auto end = text.find_first_not_of(
                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", begin);
                node = node->find(text.substr(begin, end - begin));
                ASSERT_NE(node, nullptr) << entry.path() << ": " << text.substr(at, end - at);
                if (end == std::string::npos || text[end] != '.' || !node->is_mapping()) break;
                begin = end + 1;
            }
            ++used;
        }
    }
    EXPECT_GT(used, 40U);
}

TEST(Chart, IsOfOurVersion) {
    const Value chart = yaml_of(kChart / "Chart.yaml");
    EXPECT_EQ(chart.find("version")->scalar, ALIQUOT_VERSION);
    EXPECT_EQ(chart.find("appVersion")->scalar, ALIQUOT_VERSION);
}

struct Pair {
    std::string name;
    Values values;
    std::vector<std::string> set;
};

std::vector<Pair> pairs() {
    std::vector<Pair> all{{.name = "defaults", .values = {}, .set = {}}};
    for (const std::string& name : profile_names()) {
        all.push_back(
            {.name = name, .values = {.profile = *profile_of(name)}, .set = {"profile=" + name}});
    }
    Values much;
    much.image = "registry.example/gpu/aliquot:1.2";
    much.pull_policy = "Always";
    much.gpu_access = GpuAccess::kRuntime;
    much.runtime_class = "nvidia";
    much.mps = much.mig = true;
    much.mig_drain = "evict";
    much.mig_config = "version: v1\nmig-configs: {}\n";
    much.default_config = "b";
    much.config = {{"default", "version: v1\n"}, {"b", "version: v1"}};
    much.labels = "nodefeature";
    much.label_profiles = {"present", "role"};
    much.node_taint = "dedicated=gpu:NoExecute";
    much.unhealthy_taint = "off";
    much.node_selector = {{"pool", "8"}};
    much.tolerations = {{.key = "a", .value = "true", .effect = "NoSchedule"}};
    much.agent_args = {"--log-format=json"};
    much.driver_root = "/run/nvidia/driver";
    much.kubelet_root = "/var/lib/k0s/kubelet";
    much.api_port = 8443;
    much.service_monitor = much.prometheus_rule = much.critical_quota = true;
    much.metrics_namespace = "observability";
    much.controller_replicas = 1;
    much.api_server_cidrs = {"10.0.0.1/32"};
    much.webhook_client_ca = "webhook-clients";
    much.webhook_client_names = {"apiserver", "other"};
    much.placement = much.placement_preemption = much.pools = much.jobs = true;
    much.placement_strict = true;
    much.placement_extender_ca = "kube-root-ca.crt";
    much.claims = much.claims_preemption = true;
    much.dra = "by-label";
    all.push_back({.name = "much",
                   .values = much,
                   .set = {"image.repository=registry.example/gpu/aliquot,image.tag=1.2",
                           "image.pullPolicy=Always",
                           "agent.gpuAccess=runtime,agent.runtimeClassName=nvidia",
                           "mps=true,mig.enabled=true,mig.drain=evict",
                           "mig.config=version: v1\nmig-configs: {}\n",
                           "defaultConfig=b,config.b=version: v1",
                           "labels.writer=nodefeature,labels.profiles={present,role}",
                           "taint=dedicated=gpu:NoExecute",
                           "unhealthyTaint=off",
                           "agent.args={--log-format=json}",
                           "agent.driverRoot=/run/nvidia/driver",
                           "agent.kubeletRoot=/var/lib/k0s/kubelet,apiPort=8443",
                           "metrics.serviceMonitor=true,metrics.prometheusRule=true",
                           "metrics.namespace=observability,criticalQuota=true",
                           "controller.replicas=1",
                           "controller.clientCA=webhook-clients",
                           "controller.clientNames={apiserver,other}",
                           "claims=true,claimsPreemption=true,dra=by-label",
                           "placement=true,placementPreemption=true,pools=true,jobs=true",
                           "placementStrict=true,placementExtenderCA=kube-root-ca.crt"}});
    all.push_back({.name = "claims", .values = {.dra = "auto"}, .set = {"dra=auto"}});
    all.push_back({.name = "placement", .values = {.placement = true}, .set = {"placement=true"}});
    all.push_back({.name = "strict",
                   .values = {.placement = true, .placement_strict = true},
                   .set = {"placement=true,placementStrict=true"}});
    all.push_back({.name = "extender",
                   .values = {.placement = true, .placement_extender_ca = "clients"},
                   .set = {"placement=true,placementExtenderCA=clients"}});
    all.push_back({.name = "pools", .values = {.pools = true}, .set = {"pools=true"}});
    all.push_back({.name = "jobs over HTTP",
                   .values = {.jobs_api = "jobs-tls"},
                   .set = {"jobsApi=jobs-tls"}});
    all.push_back({.name = "idle jobs",
                   .values = {.jobs = true,
                              .jobs_idle_after = "30m",
                              .jobs_idle_action = "end",
                              .jobs_idle_grace = "1h",
                              .jobs_idle_min_run = "0s"},
                   .set = {"jobs=true,jobsIdle.after=30m,jobsIdle.action=end",
                           "jobsIdle.grace=1h,jobsIdle.minRun=0s"}});
    // It needs jobs, and asks nobody without.
    all.push_back({.name = "idle jobs and no jobs", .values = {}, .set = {"jobsIdle.after=30m"}});
    all.push_back(
        {.name = "costs", .values = {.cost_store = "temporary"}, .set = {"cost.store=temporary"}});
    all.push_back({.name = "costs on a volume",
                   .values = {.cost_store = "claim/costs", .pod_monitor = true},
                   .set = {"cost.store=claim/costs,metrics.podMonitor=true"}});
    const std::string prices = "apiVersion: aliquot.dev/v1alpha1\nkind: Prices\ncurrency: EUR\n";
    all.push_back({.name = "costs in PostgreSQL",
                   .values = {.cost_store = "postgresql://db.lab:6432/aliquot?sslmode=verify-full",
                              .cost_secret = "aliquot-database",
                              .prices = prices},
                   .set = {"cost.store=postgresql://db.lab:6432/aliquot?sslmode=verify-full",
                           "cost.secret=aliquot-database,cost.prices=" + prices}});
    Values little{.webhook = false, .network_policy = false, .own_node_policy = false};
    little.pod_monitor = true;
    all.push_back({.name = "little",
                   .values = little,
                   .set = {"controller.enabled=false,networkPolicy=false,ownNodePolicy=false",
                           "metrics.podMonitor=true"}});
    return all;
}

/// What helm prints, and its exit code.
std::pair<int, std::string> helm(const std::vector<std::string>& set, const fs::path& values) {
    const os::TemporaryDirectory directory;
    const auto environment = os::current_environment();
    const auto named = environment.find("ALIQUOT_HELM");
    const std::vector<std::string> words{"template", "aliquot", kChart.native()};
    os::Command command{.argv = {named == environment.end() ? "helm" : named->second},
                        .environment = environment,
                        .output_path = (directory.path() / "out").native()};
    command.argv.insert(command.argv.end(), words.begin(), words.end());
    if (!values.empty()) {
        command.argv.emplace_back("-f");
        command.argv.push_back(values.native());
    }
    for (const std::string& word : set) {
        command.argv.emplace_back("--set");
        command.argv.push_back(word);
    }
    auto process = os::Process::start(command);
    // A folder of PATH that is another user's says that it is not permitted.
    const bool is_absent = !process && (process.error().code == ErrorCode::kNotFound ||
                                        process.error().code == ErrorCode::kPermission);
    if (is_absent && named == environment.end()) {
        // Debian's own interpreter: only there are the packages that packages.txt asks for.
        command.argv[0] = (fs::path(ALIQUOT_SOURCE_DIR) / "tests/chart/render_chart.py").native();
        command.argv.insert(command.argv.begin(), "/usr/bin/python3");
        process = os::Process::start(command);
    }
    if (!process) return {-1, process.error().message};
    const auto end = process->wait(std::chrono::seconds(60));
    return {end ? end->code : -2, text_of(directory.path() / "out")};
}

TEST(Chart, HelmRendersWhatInstallPrints) {
    const os::TemporaryDirectory directory;
    const fs::path selector = directory.path() / "values.yaml";
    std::ofstream(selector)
        << "controller:\n  from: [{ipBlock: {cidr: 10.0.0.1/32}}]\n"
           "agent:\n  nodeSelector: {pool: \"8\"}\n  tolerations:\n"
           "  - {key: a, operator: Equal, value: \"true\", effect: NoSchedule}\n";
    for (const Pair& one : pairs()) {
        // --set cannot say that a number is a text.
        auto [code, text] = helm(one.set, one.name == "much" ? selector : fs::path());
        ASSERT_EQ(code, 0) << one.name << ": " << text;
        expect_same(objects_of(text), objects_of(to_yaml(render(one.values))), one.name);
    }
}

TEST(Chart, HelmRefusesWhatTheSchemaDoesNotKnow) {
    for (const char* const word :
         {"nodeselector.a=b", "agent.image=x", "profile=gke", "mig=true", "controller.replicas=0",
          "cost.store=postgresql://me:secret@db/x", "cost.store=/var/lib/x", "taint=gpu",
          "jobsIdle.after=never", "jobsIdle.action=kill",
          "metrics.serviceMonitor=true,metrics.podMonitor=true"}) {
        EXPECT_GT(helm({word}, {}).first, 0) << word;
    }
}

/// The patches of a kustomization that replace one value each, carried out.
void carry_out(const Value& kustomization, std::vector<Value>& objects) {
    const Value* const patches = kustomization.find("patches");
    if (patches == nullptr) return;
    for (const Value& patch : patches->items) {
        const Value& target = *patch.find("target");
        const auto object = std::ranges::find_if(objects, [&](const Value& one) {
            return one.find("kind")->scalar == target.find("kind")->scalar &&
                   one.find("metadata")->find("name")->scalar == target.find("name")->scalar;
        });
        ASSERT_NE(object, objects.end()) << target.find("name")->scalar;
        const auto steps = document::parse_yaml(patch.find("patch")->scalar);
        for (const Value& step : steps.documents.at(0).items) {
            EXPECT_EQ(step.find("op")->scalar, "replace");
            Value* node = &*object;
            std::istringstream path(step.find("path")->scalar.substr(1));
            for (std::string word; std::getline(path, word, '/');) {
                node = node->is_sequence() ? &node->items.at(std::stoul(word))
                                           : const_cast<Value*>(node->find(word));
                ASSERT_NE(node, nullptr) << step.find("path")->scalar;
            }
            *node = *step.find("value");
        }
    }
}

TEST(Kustomize, OverlaysAreTheProfiles) {
    const fs::path folder = fs::path(ALIQUOT_SOURCE_DIR) / "deploy/kustomize";
    for (const std::string& name : profile_names()) {
        if (name == "kubeadm") continue;  // the base itself
        std::vector<Value> objects;
        for (const Value& one :
             document::parse_yaml(text_of(folder / "base/aliquot.yaml")).documents) {
            if (one.is_mapping()) objects.push_back(one);
        }
        carry_out(yaml_of(folder / "overlays" / name / "kustomization.yaml"), objects);
        std::string text;
        for (const Value& one : objects) text += "---\n" + document::to_json(one) + "\n";
        expect_same(objects_of(text), objects_of(to_yaml(render({.profile = *profile_of(name)}))),
                    name);
    }
}

}  // namespace
}  // namespace aliquot::install
