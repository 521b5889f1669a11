// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "base/number.h"
#include "base/text.h"
#include "cel/semver.h"
#include "claims/problems.h"
#include "document/path.h"
#include "k8s/names.h"

namespace aliquot::claims {
namespace {

using document::Value;
using k8s::Quantity;

constexpr std::size_t kMostDevices = 128;
constexpr std::size_t kMostAdvancedDevices = 64;
constexpr std::size_t kMostCounterSets = 8;
constexpr std::size_t kMostCounters = 32;
constexpr std::size_t kMostConsumptions = 2;
constexpr std::size_t kMostTaints = 16;
constexpr std::size_t kMostConditions = 4;
constexpr std::size_t kMostNamed = 32;
constexpr std::size_t kLongestValue = 64;
constexpr std::size_t kLongestPool = 253;
constexpr std::size_t kMostValidValues = 10;

bool is_set(const Value& node, std::string_view key) {
    const Value* const value = node.find(key);
    return value != nullptr && value->kind != Value::Kind::kNull;
}

std::optional<Quantity> amount_at(const Value& node, std::string_view key) {
    const Value* const value = node.find(key);
    return value == nullptr ? std::nullopt : Quantity::parse_field(value->scalar);
}

/// Which of the fields that say who reaches something are set.
std::vector<std::string> reach_fields(Problems& problems, const Value& node,
                                      const std::string& field, bool of_slice) {
    std::vector<std::string> set;
    if (const Value* const name = node.find("nodeName")) {
        if (name->scalar.empty()) {
            problems.invalid(field + ".nodeName", *name,
                             "must be either unset or set to a non-empty string");
        } else {
            problems.name(field + ".nodeName", *name, k8s::check_dns_subdomain(name->scalar));
            set.emplace_back("`nodeName`");
        }
    }
    if (is_set(node, "nodeSelector")) {
        set.emplace_back("`nodeSelector`");
        const auto& terms = document::items_at(node, {"nodeSelector", "nodeSelectorTerms"});
        if (of_slice && terms.size() != 1) {
            problems.invalid(field + ".nodeSelector.nodeSelectorTerms", *node.find("nodeSelector"),
                             "must have exactly one node selector term");
        }
    }
    for (const std::string_view flag : {"allNodes", "perDeviceNodeSelection"}) {
        const Value* const value = node.find(flag);
        if (value == nullptr || (!of_slice && flag != "allNodes")) continue;
        if (document::is_true(value)) {
            set.push_back("`" + std::string(flag) + "`");
        } else {
            problems.invalid(field + "." + std::string(flag), *value,
                             "must be either unset or set to true");
        }
    }
    return set;
}

void check_reach(Problems& problems, const Value& spec) {
    constexpr std::string_view kOne =
        "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is "
        "required";
    const auto set = reach_fields(problems, spec, "spec", true);
    if (set.empty()) problems.required("spec", spec, std::string(kOne));
    if (set.size() < 2) return;
    problems.list.push_back({Problem::Kind::kInvalid, "spec", "\"{" + join(set) + "}\"",
                             std::string(kOne) + ", but multiple fields are set", spec.mark});
}

void check_pool(Problems& problems, const Value& spec) {
    const Value* const pool = spec.find("pool");
    if (pool == nullptr) {
        problems.required("spec.pool", spec);
        return;
    }
    const Value* const name = pool->find("name");
    if (name == nullptr || name->scalar.empty()) {
        problems.required("spec.pool.name", *pool);
    } else {
        if (name->scalar.size() > kLongestPool) {
            problems.too_long("spec.pool.name", *name, kLongestPool);
        }
        for (const std::string_view part : split(std::string_view(name->scalar), '/')) {
            problems.name("spec.pool.name", *name, k8s::check_dns_subdomain(part));
        }
    }
    const auto number = [&](std::string_view key) {
        return parse_number<std::int64_t>(document::text_at(*pool, key)).value_or(0);
    };
    if (number("resourceSliceCount") <= 0) {
        const Value* const count = pool->find("resourceSliceCount");
        problems.invalid("spec.pool.resourceSliceCount", count == nullptr ? *pool : *count,
                         "must be greater than zero");
    }
    if (number("generation") < 0) {
        problems.invalid("spec.pool.generation", *pool->find("generation"),
                         "must be greater than or equal to zero");
    }
}

void check_attribute(Problems& problems, const std::string& field, const Value& attribute) {
    std::size_t set = 0;
    for (const auto& [key, value] : attribute.entries) {
        const std::string& name = key.scalar;
        const std::string path = field + "." + name;
        ++set;
        if (name.ends_with('s') && value.items.empty()) {
            problems.invalid(path, value, "must not be empty if specified");
        }
        if (name == "string" && value.scalar.size() > kLongestValue) {
            problems.too_long(path, value, kLongestValue);
        }
        if (name == "version") {
            if (!cel::Semver::parse(value.scalar)) {
                problems.invalid(path, value,
                                 "must be a string compatible with semver.org spec 2.0.0");
            }
            if (value.scalar.size() > kLongestValue) problems.too_long(path, value, kLongestValue);
        }
    }
    if (set != 1) problems.invalid(field, attribute, "exactly one value must be specified");
}

void check_counters(Problems& problems, const std::string& field, const Value& node) {
    const Value* const counters = node.find("counters");
    if (counters == nullptr || counters->entries.empty()) {
        problems.required(field + ".counters", node);
        return;
    }
    if (counters->entries.size() > kMostCounters) {
        problems.invalid(field + ".counters", *counters,
                         "must have at most " + std::to_string(kMostCounters) + " counters");
    }
    for (const auto& [key, counter] : counters->entries) {
        problems.name(field + ".counters", key, k8s::check_dns_label(key.scalar));
        if (!amount_at(counter, "value")) {
            problems.required(field + ".counters[" + key.scalar + "].value", counter);
        }
    }
}

void check_conditions(Problems& problems, const std::string& field, const Value& device) {
    const Value* const binding = device.find("bindingConditions");
    const Value* const failing = device.find("bindingFailureConditions");
    const auto each = [&](const Value& one, const std::string& path) {
        problems.name(path, one, k8s::check_label_key(one.scalar));
    };
    check_list(problems, field + ".bindingConditions", binding, kMostConditions, "", each);
    check_list(problems, field + ".bindingFailureConditions", failing, kMostConditions, "", each);
    const bool has = binding != nullptr && !binding->items.empty();
    const bool fails = failing != nullptr && !failing->items.empty();
    if (has && !fails) {
        problems.invalid(field + ".bindingFailureConditions", *binding,
                         "bindingFailureConditions are required to use bindingConditions");
    } else if (fails && !has) {
        problems.invalid(field + ".bindingConditions", *failing,
                         "bindingConditions are required to use bindingFailureConditions");
    }
}

void check_device(Problems& problems, const std::string& field, const Value& device,
                  bool by_device) {
    problems.need_name(field, device, "name", k8s::check_dns_label);
    const auto& attributes = document::entries_at(device, {"attributes"});
    const auto& capacity = document::entries_at(device, {"capacity"});
    if (attributes.size() + capacity.size() > kMostNamed) {
        problems.list.push_back(
            {Problem::Kind::kInvalid, field, std::to_string(attributes.size() + capacity.size()),
             "the total number of attributes and capacities must not exceed 32", device.mark});
    }
    for (const auto& [key, value] : attributes) {
        check_qualified(problems, field + ".attributes", key, false);
        check_attribute(problems, field + ".attributes[" + key.scalar + "]", value);
    }
    const bool shared = document::is_true(device.find("allowMultipleAllocations"));
    for (const auto& [key, value] : capacity) {
        check_qualified(problems, field + ".capacity", key, false);
        check_capacity(problems, field + ".capacity[" + key.scalar + "]", value, shared);
    }
    check_list(
        problems, field + ".taints", device.find("taints"), kMostTaints, "",
        [&](const Value& one, const std::string& path) { check_taint(problems, path, one); });
    check_list(problems, field + ".consumesCounters", device.find("consumesCounters"),
               kMostConsumptions, "counterSet", [&](const Value& one, const std::string& path) {
                   problems.need_name(path, one, "counterSet", k8s::check_dns_label);
                   check_counters(problems, path, one);
               });
    check_conditions(problems, field, device);
    if (by_device) {
        if (reach_fields(problems, device, field, false).size() == 1) return;
        problems.required(
            field, device,
            "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
            "`perDeviceNodeSelection` is set to true in the ResourceSlice spec");
    } else if (is_set(device, "nodeName") || is_set(device, "nodeSelector") ||
               is_set(device, "allNodes")) {
        problems.list.push_back(
            {Problem::Kind::kInvalid, field, "null",
             "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
             "`perDeviceNodeSelection` is set to true in the ResourceSlice spec",
             device.mark});
    }
}

void check_values(Problems& problems, const std::string& field, const Value& values,
                  const Quantity& most, const Quantity& usual) {
    if (values.items.size() > kMostValidValues) problems.too_many(field, values, kMostValidValues);
    bool has_default = false;
    std::optional<Quantity> before;
    for (std::size_t i = 0; i < values.items.size(); ++i) {
        const auto value = Quantity::parse_field(values.items[i].scalar);
        const std::string path = field + "[" + std::to_string(i) + "]";
        if (!value) continue;
        if (before && before->nanos() > value->nanos()) {
            problems.invalid(path, values.items[i], "values must be sorted in ascending order");
        }
        if (value->nanos() > most.nanos()) {
            problems.invalid(path, values.items[i],
                             "option is larger than capacity value: " + most.canonical());
        }
        has_default = has_default || value->nanos() == usual.nanos();
        before = value;
    }
    if (!has_default) {
        problems.list.push_back({Problem::Kind::kInvalid, field, "\"" + usual.canonical() + "\"",
                                 "default value is not valid according to the requestPolicy",
                                 values.mark});
    }
}

/// The bounds of a range against the capacity and against each other.
class RangeCheck {
public:
    RangeCheck(Problems& problems, const std::string& field, const Value& range,
               const Quantity& most, const Quantity& usual)
        : problems_(problems), field_(field), range_(range), most_(most), usual_(usual) {}

    void check() {
        const auto min = amount_at(range_, "min");
        const auto max = amount_at(range_, "max");
        const auto step = amount_at(range_, "step");
        if (!min) {
            problems_.required(field_ + ".min", range_, "required when validRange is defined");
            return;
        }
        const std::string all = "capacity value: " + most_.canonical();
        wrong_if(over(*min, most_), ".min", *min, "min is larger than " + all);
        wrong_if(over(*min, usual_), ".default", usual_,
                 "default is less than min: " + min->canonical());
        if (max) {
            wrong_if(over(*min, *max), ".max", *min, "min is larger than max: " + max->canonical());
            wrong_if(over(*max, most_), ".max", *max, "max is larger than " + all);
            wrong_if(over(usual_, *max), ".default", usual_,
                     "default is more than max: " + max->canonical());
        }
        if (!step) return;
        wrong_if(step->nanos() <= 0, ".step", *step, "must be greater than zero");
        if (step->nanos() <= 0) return;
        const Quantity added = Quantity::of(min->nanos() + step->nanos(), min->format());
        wrong_if(over(added, most_), ".step", *step,
                 "one step " + added.canonical() + " is larger than " + all);
        check_steps(usual_, *min, *step);
        if (max) check_steps(*max, *min, *step);
    }

private:
    static bool over(const Quantity& amount, const Quantity& bound) {
        return amount.nanos() > bound.nanos();
    }

    void wrong_if(bool wrong, std::string_view key, const Quantity& value, std::string message) {
        if (!wrong) return;
        problems_.list.push_back({Problem::Kind::kInvalid, field_ + std::string(key),
                                  "\"" + value.canonical() + "\"", std::move(message),
                                  range_.mark});
    }

    void check_steps(const Quantity& value, const Quantity& min, const Quantity& step) {
        const auto ones = [](const Quantity& one) { return one.ones().value_or(0); };
        const std::int64_t whole = std::max<std::int64_t>(ones(step), 1);
        wrong_if((ones(value) - ones(min)) % whole != 0, ".step", value,
                 "value is not a multiple of a given step (" + step.canonical() + ") from (" +
                     min.canonical() + ")");
    }

    Problems& problems_;
    const std::string& field_;
    const Value& range_;
    const Quantity& most_;
    const Quantity& usual_;
};

}  // namespace

void check_capacity(Problems& problems, const std::string& field, const Value& capacity,
                    bool shared) {
    const auto most = amount_at(capacity, "value");
    if (!most) problems.required(field + ".value", capacity);
    const Value* const policy = capacity.find("requestPolicy");
    if (policy == nullptr || !policy->is_mapping()) return;
    const std::string path = field + ".requestPolicy";
    if (!shared) {
        problems.forbidden(path, *policy, "allowMultipleAllocations must be true");
        return;
    }
    const Value* const values = policy->find("validValues");
    const Value* const range = policy->find("validRange");
    const bool has_values = values != nullptr && !values->items.empty();
    if (has_values && range != nullptr) {
        problems.forbidden(
            path, *policy,
            "exactly one policy can be specified, cannot specify \"validValues\" and "
            "\"validRange\" at the same time");
        return;
    }
    if (!most || (!has_values && range == nullptr)) return;
    const auto usual = amount_at(*policy, "default");
    if (!usual) {
        problems.required(path + ".default", *policy,
                          "required when " +
                              std::string(has_values ? "validValues" : "validRange") +
                              " is defined");
    } else if (has_values) {
        check_values(problems, path + ".validValues", *values, *most, *usual);
    } else {
        RangeCheck(problems, path + ".validRange", *range, *most, *usual).check();
    }
}

std::vector<Problem> slice_problems(const Value& spec) {
    Problems problems;
    check_driver(problems, "spec", spec);
    check_pool(problems, spec);
    check_reach(problems, spec);
    const Value* const devices = spec.find("devices");
    const Value* const counters = spec.find("sharedCounters");
    if (is_set(spec, "devices") && is_set(spec, "sharedCounters")) {
        problems.list.push_back({Problem::Kind::kInvalid, "spec", "\"\"",
                                 "only one of `sharedCounters` or `devices` is allowed",
                                 spec.mark});
    }
    const bool advanced =
        devices != nullptr && std::ranges::any_of(devices->items, [](const Value& device) {
            return !document::items_at(device, {"taints"}).empty() ||
                   !document::items_at(device, {"consumesCounters"}).empty();
        });
    const bool by_device = document::is_true(spec.find("perDeviceNodeSelection"));
    check_list(problems, "spec.devices", devices, advanced ? kMostAdvancedDevices : kMostDevices,
               "name", [&](const Value& device, const std::string& path) {
                   check_device(problems, path, device, by_device);
               });
    check_list(problems, "spec.sharedCounters", counters, kMostCounterSets, "name",
               [&](const Value& set, const std::string& path) {
                   problems.need_name(path, set, "name", k8s::check_dns_label);
                   check_counters(problems, path, set);
               });
    return std::move(problems.list);
}

}  // namespace aliquot::claims
