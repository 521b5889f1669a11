// SPDX-License-Identifier: Apache-2.0
// Services, disruption budgets, monitors and what they select: REF002, REF003.
#include <algorithm>
#include <iterator>
#include <optional>

#include "base/number.h"
#include "base/text.h"
#include "document/path.h"
#include "findings/finding.h"
#include "lint/rules/links.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

/// Something with labels that may be selected.
struct Labelled {
    const Value* labels = nullptr;  // never null
    const PodSpec* pod = nullptr;   // of pods
    const Object* object = nullptr;
    bool here = false;  // in the same file
};

bool is_same_space(const Object& a, const Object& b) {
    return a.name_space.empty() || b.name_space.empty() || a.name_space == b.name_space ||
           is_placeholder(a.name_space) || is_placeholder(b.name_space);
}

std::vector<Labelled> pods_around(const File& file, const std::vector<const File*>& near,
                                  const Object& object) {
    std::vector<Labelled> found;
    for (const File* one : near) {
        for (const PodSpec& pod : one->pods) {
            const Object* owner = one->object(pod);
            const Value* labels = pod.metadata == nullptr ? nullptr : pod.metadata->find("labels");
            if (owner == nullptr || labels == nullptr || !is_same_space(*owner, object)) continue;
            found.push_back({labels, &pod, owner, one == &file});
        }
    }
    return found;
}

std::vector<Labelled> services_around(const File& file, const std::vector<const File*>& near) {
    std::vector<Labelled> found;
    for (const File* one : near) {
        for (const Object& object : one->objects) {
            if (object.kind != "Service") continue;
            const Value* labels = document::at_path(*object.node, "metadata.labels");
            if (labels != nullptr) found.push_back({labels, nullptr, &object, one == &file});
        }
    }
    return found;
}

bool matches(const Value& selector, const Value& labels) {
    return std::all_of(
        selector.entries.begin(), selector.entries.end(), [&labels](const Value::Entry& wanted) {
            const Value* own = labels.find(wanted.first.scalar);
            return own != nullptr &&
                   (own->scalar == wanted.second.scalar || is_placeholder(own->scalar));
        });
}

bool is_computed(const Value& mapping) {
    return std::any_of(mapping.entries.begin(), mapping.entries.end(),
                       [](const Value::Entry& entry) {
                           return is_placeholder(entry.first.scalar) ||
                                  is_placeholder(entry.second.scalar) || entry.first.scalar == "<<";
                       });
}

/// The one entry in which a selector differs from labels that it otherwise has.
struct Difference {
    const Value::Entry* entry = nullptr;
    std::string_view meant;
    std::size_t count = 0;
};

Difference difference(const Value& selector, const Value& labels) {
    Difference result;
    for (const Value::Entry& wanted : selector.entries) {
        const Value* own = labels.find(wanted.first.scalar);
        if (own != nullptr && own->scalar == wanted.second.scalar) continue;
        ++result.count;
        result.entry = &wanted;
        if (own != nullptr) {
            const std::string_view near = nearest(wanted.second.scalar, {own->scalar});
            result.meant = is_sibling_name(wanted.second.scalar, own->scalar) ? "" : near;
            continue;
        }
        for (const Value::Entry& label : labels.entries) {
            if (label.second.scalar != wanted.second.scalar) continue;
            if (nearest_key(wanted.first.scalar, {label.first.scalar}).empty()) continue;
            result.meant = label.first.scalar;
        }
    }
    return result;
}

/// Tells of a selector that nothing around has, where something nearly does, or where the file
/// itself holds the only thing that it could mean. Returns whether it selects something.
bool check_selector(const Value& selector, const std::vector<Labelled>& all, std::string_view what,
                    const Object& object, Report& report) {
    if (selector.entries.empty() || is_computed(selector)) return true;
    std::vector<const Labelled*> own;
    for (const Labelled& one : all) {
        if (matches(selector, *one.labels)) return true;
        if (is_computed(*one.labels)) return true;
        if (one.here) own.push_back(&one);
    }
    for (const Labelled& one : all) {
        const Difference other = difference(selector, *one.labels);
        if (other.count != 1 || other.meant.empty()) continue;
        report
            .add("REF002", other.entry->first.mark,
                 object.kind + " '" + object.name + "' selects no " + std::string(what) + ": '" +
                     other.entry->first.scalar + ": " + other.entry->second.scalar + '\'')
            .expected(std::string(other.meant));
        return false;
    }
    // A value of the same key that is another word altogether: sure only where there is one thing.
    const bool one = own.size() == 1 && all.size() == 1 &&
                     object.name_space != "kube-system";  // the cluster has pods of its own there
    if (!one || own.front()->object->is_workload() == (what == "Service")) return false;
    const Difference only = difference(selector, *own.front()->labels);
    if (only.count != 1 || own.front()->labels->find(only.entry->first.scalar) == nullptr)
        return false;
    report
        .add("REF002", only.entry->first.mark,
             object.kind + " '" + object.name + "' selects no " + std::string(what) + ": '" +
                 only.entry->first.scalar + ": " + only.entry->second.scalar + '\'')
        .expected(own.front()->labels->find(only.entry->first.scalar)->scalar)
        .severity(Severity::kWarning);
    return false;
}

struct Ports {
    std::vector<std::string_view> names;
    std::vector<std::string_view> numbers;
    std::string text;  // of commands and arguments, which may open ports that are not listed
    bool computed = false;
    bool found = false;     // there is such a pod
    bool unlisted = false;  // a container lists none; its image may open some, without a name
};

Ports ports_of(const std::vector<Labelled>& all, const Value& selector) {
    Ports ports;
    for (const Labelled& one : all) {
        if (!matches(selector, *one.labels)) continue;
        bool declared = false;
        ports.found = true;
        for (const Container& container : one.pod->containers) {
            for (const std::string& word : container.command) ports.text += word + ' ';
            const Value* list = container.node == nullptr ? nullptr : container.node->find("ports");
            if (list == nullptr) continue;
            for (const Value& port : list->items) {
                declared = true;
                ports.computed =
                    ports.computed || is_placeholder(port.scalar) || !port.is_mapping();
                if (const Value* name = port.find("name"); name != nullptr) {
                    ports.computed = ports.computed || is_placeholder(name->scalar);
                    ports.names.push_back(name->scalar);
                }
                if (const Value* number = port.find("containerPort"); number != nullptr) {
                    ports.computed = ports.computed || is_placeholder(number->scalar);
                    ports.numbers.push_back(number->scalar);
                }
            }
        }
        ports.unlisted = ports.unlisted || !declared;
    }
    return ports;
}

std::string_view target_of(const Value& port) {
    const Value* target = port.find("targetPort");
    if (target == nullptr) target = port.find("port");
    return target == nullptr ? std::string_view() : std::string_view(target->scalar);
}

void check_service_ports(const Object& object, const std::vector<Labelled>& pods,
                         const Value& selector, Report& report) {
    const Value* list = document::at_path(*object.node, "spec.ports");
    if (list == nullptr || is_computed(selector)) return;
    const Ports known = ports_of(pods, selector);
    std::vector<std::string_view> served;
    for (const Value& port : list->items) served.push_back(target_of(port));
    const auto is_served = [&served](std::string_view one) {
        return std::find(served.begin(), served.end(), one) != served.end();
    };
    const bool all_served = std::count_if(known.numbers.begin(), known.numbers.end(), is_served) +
                                std::count_if(known.names.begin(), known.names.end(), is_served) >=
                            std::ssize(known.numbers);
    for (const Value& port : list->items) {
        const Value* target = port.find("targetPort");
        if (target == nullptr) target = port.find("port");
        if (target == nullptr || target->scalar.empty() || is_placeholder(target->scalar)) continue;
        const bool number = parse_number<unsigned>(target->scalar).has_value();
        const auto& all = number ? known.numbers : known.names;
        if (known.computed || !known.found || (number && (known.unlisted || known.numbers.empty())))
            continue;
        if (std::find(all.begin(), all.end(), target->scalar) != all.end()) continue;
        // A container may open a port that it does not list.
        if (number && (all_served || contains(known.text, ':' + target->scalar))) continue;
        if (is_capital_name(target->scalar)) continue;
        report
            .add("REF003", target->mark,
                 "no container behind Service '" + object.name + "' has the port '" +
                     target->scalar + '\'')
            .expected(all.empty() ? "a port that a container has" : std::string(all.front()))
            .severity(number ? Severity::kWarning : Severity::kError);
    }
}

/// "15s" in seconds; empty: more than one unit, or none.
std::optional<double> seconds_of(const Value* value) {
    if (value == nullptr || value->scalar.size() < 2) return std::nullopt;
    const std::string_view text = value->scalar;
    const auto number = parse_number<double>(text.substr(0, text.size() - 1));
    constexpr double kMinute = 60;
    if (!number) return std::nullopt;
    return text.back() == 's'   ? number
           : text.back() == 'm' ? std::optional(*number * kMinute)
                                : std::nullopt;
}

/// Prometheus refuses a scrape that may take longer than the time to the next one.
void check_scrape_time(const Value& endpoint, Report& report) {
    const Value* interval = endpoint.find("interval");
    const Value* timeout = endpoint.find("scrapeTimeout");
    const auto time = seconds_of(interval);
    const auto longest = seconds_of(timeout);
    if (!time || !longest || *longest <= *time) return;
    report
        .add("FORM005", timeout->mark,
             "scrapeTimeout is " + timeout->scalar + ", longer than interval: " + interval->scalar)
        .expected("at most " + interval->scalar);
}

void check_monitor(const File& file, const std::vector<const File*>& near, const Object& object,
                   Report& report) {
    const Value* selector = document::at_path(*object.node, "spec.selector.matchLabels");
    if (selector == nullptr) return;
    const std::vector<Labelled> services = services_around(file, near);
    if (services.empty() || !check_selector(*selector, services, "Service", object, report)) return;
    const Value* endpoints = document::at_path(*object.node, "spec.endpoints");
    if (endpoints == nullptr || is_computed(*selector)) return;
    std::vector<std::string_view> names;
    bool found = false;
    for (const Labelled& one : services) {
        if (!matches(*selector, *one.labels)) continue;
        found = true;
        const Value* ports = document::at_path(*one.object->node, "spec.ports");
        if (ports == nullptr) return;
        for (const Value& port : ports->items) {
            const Value* name = port.find("name");
            if (name != nullptr && is_placeholder(name->scalar)) return;
            if (name != nullptr) names.push_back(name->scalar);
        }
    }
    if (!found) return;
    for (const Value& endpoint : endpoints->items) {
        check_scrape_time(endpoint, report);
        const Value* port = endpoint.find("port");
        if (port == nullptr || port->scalar.empty() || is_placeholder(port->scalar) ||
            std::find(names.begin(), names.end(), port->scalar) != names.end()) {
            continue;
        }
        report
            .add("REF003", port->mark,
                 "no Service that '" + object.name + "' selects has the port '" + port->scalar +
                     '\'')
            .expected(names.empty() ? "the name of a port" : std::string(names.front()));
    }
}

}  // namespace

void check_spread(const PodSpec& pod, Report& report) {
    const Value* labels = pod.metadata == nullptr ? nullptr : pod.metadata->find("labels");
    if (labels == nullptr || pod.node == nullptr || is_computed(*labels)) return;
    for (const Value& one : document::items_at(pod.node, {"topologySpreadConstraints"})) {
        const Value* selector = document::at_path(one, "labelSelector.matchLabels");
        if (selector == nullptr || is_computed(*selector) || selector->entries.empty() ||
            matches(*selector, *labels)) {
            continue;
        }
        report
            .add("REF002", selector->entries.front().first.mark,
                 "the constraint counts pods with '" + selector->entries.front().first.scalar +
                     ": " + selector->entries.front().second.scalar + "', and this pod has not")
            .expected("labels of the pod's own template")
            .severity(Severity::kWarning);
    }
}

void check_selections(const File& file, const Set& set, const std::vector<const File*>& near,
                      const Object& object, Report& report) {
    if (set.kustomizations().label_selectors(file)) return;
    if (object.kind == "Service") {
        const Value* selector = document::at_path(*object.node, "spec.selector");
        if (selector == nullptr || !selector->is_mapping()) return;
        const std::vector<Labelled> pods = pods_around(file, near, object);
        if (pods.empty()) return;
        if (check_selector(*selector, pods, "pod", object, report))
            check_service_ports(object, pods, *selector, report);
    } else if (object.kind == "PodDisruptionBudget" || object.kind == "PodMonitor") {
        const Value* selector = document::at_path(*object.node, "spec.selector.matchLabels");
        if (selector == nullptr) return;
        check_selector(*selector, pods_around(file, near, object), "pod", object, report);
    } else if (object.kind == "ServiceMonitor") {
        check_monitor(file, near, object, report);
    }
}

}  // namespace aliquot::lint
