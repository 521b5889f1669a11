// SPDX-License-Identifier: Apache-2.0
#include "pools/read.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/sentence.h"
#include "base/text.h"
#include "base/time_text.h"
#include "catalog/gpu_instances.h"
#include "document/path.h"
#include "document/yaml.h"
#include "k8s/names.h"
#include "k8s/quantity.h"
#include "k8s/resource_name.h"
#include "pools/read_fields.h"
#include "pools/read_schedule.h"

namespace aliquot::pools {
namespace {

using document::Value;
using std::chrono::hours;
using std::chrono::seconds;

constexpr unsigned kMostGpus = 100'000;
constexpr std::size_t kMostPools = 200;
constexpr std::size_t kMostSchedules = 50;
constexpr std::size_t kMostInstances = 60;
constexpr hours kLongestDelay{7 * 24};

void read_numbers(Fields& spec, Pool& pool) {
    pool.min = spec.number("min", 0, kMostNodes).value_or(0);
    const auto max = spec.number("max", 0, kMostNodes);
    if (!max && spec.find("max") == nullptr) {
        spec.missing("max", "missing, the most nodes that the pool may have expected");
    }
    pool.max = max.value_or(0);
    if (max && pool.min > pool.max) {
        spec.error("min", std::to_string(pool.min) + " is more than max, which is " +
                              std::to_string(pool.max));
    }
    pool.replicas = spec.number("replicas", 0, kMostNodes);
    pool.most_gpus = spec.number("gpuLimit", 0, kMostGpus);
    pool.warm = spec.number("warm", 0, kMostNodes).value_or(0);
    pool.scale_down_delay =
        spec.duration("scaleDownDelay", kLongestDelay).value_or(pool.scale_down_delay);
    if (const auto legacy =
            spec.duration("runnerScaleDownDelaySecondsAfterScaleOut", kLongestDelay)) {
        pool.scale_down_delay = *legacy;
        spec.warning("runnerScaleDownDelaySecondsAfterScaleOut",
                     "no version of Actions Runner Controller knows this key; read as "
                     "scaleDownDelay: " +
                         std::to_string(legacy->count()) + "s");
    }
    pool.start_timeout = spec.duration("startTimeout", hours(24)).value_or(pool.start_timeout);
    pool.spot_patience = spec.duration("spotPatience", hours(24)).value_or(pool.spot_patience);
}

void read_words(Fields& spec, Pool& pool) {
    constexpr std::size_t kMostWords = 8;
    if (const auto engine = spec.word(
            "engine",
            {"karpenter", "karpenter-static", "cluster-autoscaler", "external", "placeholder"})) {
        pool.engine = static_cast<Engine>(*engine);
    }
    pool.environment = spec.text("environment").value_or("");
    pool.node_class = spec.text("nodeClass").value_or("");
    if (const auto gates = spec.texts("gates", kMostWords)) {
        pool.gates.clear();
        for (const std::string& word : *gates) {
            const auto known = {Gate::kDriver, Gate::kDevicePlugin, Gate::kToolkit};
            const auto* const gate =
                std::ranges::find(known, word, [](Gate one) { return to_text(one); });
            if (gate == known.end()) {
                spec.error("gates", "'" + one_line(word, 40) +
                                        "' found, driver, device-plugin or toolkit expected");
            } else {
                pool.gates.push_back(*gate);
            }
        }
    }
    const auto capacity = spec.texts("capacity", 2);
    if (!capacity) return;
    pool.capacity.clear();
    for (const std::string& word : *capacity) {
        // Also as EKS writes it.
        const bool spot = equals_folded(word, "spot");
        if (!spot && !equals_folded(word, "on-demand") && !equals_folded(word, "on_demand")) {
            spec.error("capacity",
                       "'" + one_line(word, 40) + "' found, spot or on-demand expected");
        }
        pool.capacity.push_back(spot ? CapacityType::kSpot : CapacityType::kOnDemand);
    }
    if (capacity->empty()) spec.error("capacity", "empty, spot or on-demand expected");
}

void check_spot(Fields& spec, const Pool& pool) {
    const bool spot = std::ranges::find(pool.capacity, CapacityType::kSpot) != pool.capacity.end();
    if (spot && pool.is_production()) {
        spec.error("capacity",
                   "spot found, but environment is production, which never runs on spot; expected "
                   "[on-demand]");
    }
}

void read_instances(Fields& spec, Pool& pool) {
    pool.instances = spec.texts("instances", kMostInstances).value_or(std::vector<std::string>{});
    for (const std::string& type : pool.instances) {
        if (catalog::find_gpu_instance(type) != nullptr) continue;
        spec.warning("instances", "'" + one_line(type, 60) + "' is not in the table of machines" +
                                      did_you_mean(catalog::nearest_gpu_instance(type)) +
                                      "; its size comes from node.resources only");
    }
}

void read_labels(Fields& fields, std::string_view key, k8s::Labels& labels) {
    const Value* const value = fields.find(key);
    if (value == nullptr) return;
    if (!value->is_mapping()) return fields.error(key, "no mapping of names to texts");
    for (const auto& [name, text] : value->entries) {
        if (!k8s::is_label_key(name.scalar) || !k8s::is_label_value(text.scalar) ||
            text.is_mapping() || text.is_sequence()) {
            fields.error(key, "'" + one_line(name.scalar, 60) + ": " + one_line(text.scalar, 60) +
                                  "' is not a label");
        } else {
            labels[name.scalar] = text.scalar;
        }
    }
}

void read_shape(const Value& node, Pool& pool, std::vector<Problem>& problems) {
    Fields fields(node, "spec.node", {"resources", "labels", "taints"}, problems);
    read_labels(fields, "labels", pool.node.labels);
    if (const Value* const resources = fields.find("resources")) {
        if (!resources->is_mapping()) fields.error("resources", "no mapping of names to amounts");
        for (const auto& [name, amount] : resources->entries) {
            const auto read = k8s::Quantity::parse(amount.scalar);
            if (!read || amount.is_mapping() || amount.is_sequence() || read->nanos() < 0) {
                problems.push_back({amount.mark, "spec.node.resources." +
                                                     one_line(name.scalar, 60) + ": " +
                                                     one_line(describe(amount), 60) +
                                                     " found, an amount as 4, 3920m, 16Gi "
                                                     "expected"});
            } else {
                pool.node.amounts[name.scalar] = read->value();
            }
        }
    }
    if (const auto taints = fields.texts("taints", 20)) {
        for (const std::string& text : *taints) {
            auto taint = k8s::parse_taint(text);
            if (taint) {
                pool.node.taints.push_back(*std::move(taint));
            } else {
                fields.error("taints", one_line(taint.error().message));
            }
        }
    }
}

/// What the table of machines knows, where the file does not say: of the smallest of the types.
void complete_shape(Pool& pool) {
    for (const std::string& type : pool.instances) {
        const auto* const found = catalog::find_gpu_instance(type);
        if (found == nullptr) continue;
        const auto take = [&](const std::string& name, double value) {
            const auto known = pool.node.amounts.find(name);
            if (known == pool.node.amounts.end()) pool.node.amounts[name] = value;
        };
        take("cpu", found->allocatable_cpu_milli == 0 ? found->vcpu
                                                      : found->allocatable_cpu_milli / 1000.0);
        constexpr double kMib = 1024.0 * 1024.0;
        take("memory", found->allocatable_memory_mib == 0
                           ? found->memory_gib * 1024.0 * kMib
                           : static_cast<double>(found->allocatable_memory_mib) * kMib);
        const bool named = std::ranges::any_of(
            pool.node.amounts, [](const auto& one) { return k8s::is_gpu_resource(one.first); });
        if (!named && found->gpu_count != 0) take("nvidia.com/gpu", found->gpu_count);
        break;
    }
}

void read_hold(const Value& node, Pool& pool, std::vector<Problem>& problems) {
    Fields fields(node, "spec.hold", {"replicas", "until"}, problems);
    const auto replicas = fields.number("replicas", 0, kMostNodes);
    if (!replicas && fields.find("replicas") == nullptr) {
        fields.missing("replicas", "missing, the number that is held expected");
    }
    Hold hold{.replicas = replicas.value_or(0)};
    if (const auto text = fields.text("until")) {
        const auto until = parse_rfc3339(*text);
        if (!until) fields.error("until", "no time, expected one as 2026-01-31T18:00:00Z");
        if (until) hold.until = std::chrono::floor<seconds>(*until);
    }
    pool.hold = hold;
}

void read_spec(const Value& node, Pool& pool, std::vector<Problem>& problems) {
    Fields spec(
        node, "spec",
        {"min", "max", "replicas", "hold", "gpuLimit", "environment", "engine", "nodeClass",
         "instances", "capacity", "spotPatience", "node", "selector", "warm", "schedules",
         "scaleDownDelay", "startTimeout", "gates", "runnerScaleDownDelaySecondsAfterScaleOut"},
        problems);
    if (!node.is_mapping()) return;
    read_numbers(spec, pool);
    read_words(spec, pool);
    read_instances(spec, pool);
    check_spot(spec, pool);
    read_labels(spec, "selector", pool.selector);
    if (const Value* const shape = spec.find("node")) read_shape(*shape, pool, problems);
    complete_shape(pool);
    if (const Value* const hold = spec.find("hold")) read_hold(*hold, pool, problems);
    const Value* const list = spec.find("schedules");
    if (list != nullptr && !list->is_sequence()) spec.error("schedules", "no list");
    if (list != nullptr && list->items.size() > kMostSchedules) {
        spec.error("schedules", counted(list->items.size(), "entry") + " found, at most " +
                                    std::to_string(kMostSchedules) + " expected");
    } else if (list != nullptr) {
        for (std::size_t i = 0; i < list->items.size(); ++i) {
            pool.schedules.push_back(read_schedule(list->items[i], i, problems));
        }
    }
    check_partners(pool, problems);
    if (pool.instances.empty() && pool.node.amounts.empty()) {
        spec.missing("node",
                     "missing beside instances: nobody knows what a node has; expected "
                     "node.resources or instances");
    }
}

void read_object(const Value& object, ReadPools& read) {
    const std::size_t before = read.problems.size();
    Fields root(object, "", {"apiVersion", "kind", "metadata", "spec", "status"}, read.problems);
    if (!object.is_mapping()) return;
    Pool pool;
    pool.mark = object.mark;
    (void)root.word("apiVersion", {"aliquot.dev/v1alpha1"});
    (void)root.word("kind", {"Pool"});
    for (const auto* const key : {"apiVersion", "kind"}) {
        if (root.find(key) == nullptr) {
            root.missing(key,
                         std::string("missing, ") +
                             (std::string_view(key) == "kind" ? "Pool" : "aliquot.dev/v1alpha1") +
                             " expected");
        }
    }
    const Value* const metadata = root.find("metadata");
    const Value* const name = metadata == nullptr ? nullptr : metadata->find("name");
    pool.name = name == nullptr ? "" : name->scalar;
    if (!k8s::is_dns_label(pool.name)) {
        read.problems.push_back(
            {name == nullptr ? object.mark : name->mark,
             "metadata.name: " +
                 (pool.name.empty()
                      ? std::string("missing, the pool's name expected")
                      : "'" + one_line(pool.name, 70) + "': " + k8s::check_dns_label(pool.name))});
    }
    if (const Value* const spec = root.find("spec")) {
        read_spec(*spec, pool, read.problems);
    } else {
        root.missing("spec", "missing");
    }
    const bool wrong =
        std::any_of(read.problems.begin() + static_cast<std::ptrdiff_t>(before),
                    read.problems.end(), [](const Problem& one) { return !one.is_warning; });
    if (!wrong) read.pools.push_back(std::move(pool));
}

}  // namespace

bool ReadPools::has_errors() const {
    return std::ranges::any_of(problems, [](const Problem& one) { return !one.is_warning; });
}

ReadPools read_pool(const Value& object) {
    ReadPools read;
    read_object(object, read);
    return read;
}

ReadPools read_pools(std::string_view text) {
    ReadPools read;
    const auto stream = document::parse_yaml(text);
    std::set<std::string> names;
    for (const Value& object : stream.documents) {
        if (object.kind == Value::Kind::kNull) continue;
        // Of `aliquot pool provider`, which has them beside their pools in one file.
        if (document::text_at(object, {"kind"}) == "Machines") continue;
        if (read.pools.size() >= kMostPools) {
            read.problems.push_back(
                {object.mark, "more than " + std::to_string(kMostPools) + " pools in one file"});
            break;
        }
        const std::size_t before = read.pools.size();
        read_object(object, read);
        if (read.pools.size() != before && !names.insert(read.pools.back().name).second) {
            read.problems.push_back({object.mark, "metadata.name: two pools are named '" +
                                                      read.pools.back().name + "'"});
        }
    }
    for (const auto& error : stream.errors) read.problems.push_back({error.mark, error.message});
    if (read.pools.empty() && read.problems.empty()) {
        read.problems.push_back({{1, 1}, "no pool in the file; expected a document of kind Pool"});
    }
    std::ranges::stable_sort(read.problems, [](const Problem& a, const Problem& b) {
        return std::tie(a.mark.line, a.mark.column) < std::tie(b.mark.line, b.mark.column);
    });
    return read;
}

std::string text_of(std::string_view file, const std::vector<Problem>& problems) {
    std::string text;
    for (const Problem& one : problems) {
        text +=
            concat({file, ":", std::to_string(one.mark.line), ":", std::to_string(one.mark.column),
                    one.is_warning ? ": warning: " : ": error: ", one.message, "\n"});
    }
    return text;
}

}  // namespace aliquot::pools
