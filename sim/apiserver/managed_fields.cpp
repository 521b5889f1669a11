// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/managed_fields.h"

#include <algorithm>
#include <array>

#include "base/time_text.h"
#include "sim/apiserver/fields.h"

namespace aliquot::sim::apiserver {

namespace {

struct Line {
    Manager manager;
    std::string time;
    FieldSet set;
};

/// Fields that nobody owns: the server sets them.
const std::array<std::vector<std::string>, 12> kUnowned = {{
    {"f:apiVersion"},
    {"f:kind"},
    {"f:metadata", "f:name"},
    {"f:metadata", "f:namespace"},
    {"f:metadata", "f:creationTimestamp"},
    {"f:metadata", "f:deletionTimestamp"},
    {"f:metadata", "f:deletionGracePeriodSeconds"},
    {"f:metadata", "f:selfLink"},
    {"f:metadata", "f:uid"},
    {"f:metadata", "f:generation"},
    {"f:metadata", "f:managedFields"},
    {"f:metadata", "f:resourceVersion"},
}};

void strip(FieldSet& set, bool status_too) {
    for (const auto& path : kUnowned) remove_below(set, path);
    if (status_too) remove_below(set, {"f:status"});
    const auto metadata = set.children.find("f:metadata");
    if (metadata != set.children.end()) {
        metadata->second.owned = false;
        if (metadata->second.empty()) set.children.erase(metadata);
    }
}

bool same(const Manager& left, const Manager& right) {
    return left.name == right.name && left.applies == right.applies &&
           left.api_version == right.api_version && left.subresource == right.subresource;
}

std::vector<Line> read_lines(const Value& object) {
    std::vector<Line> lines;
    for (const Value& entry : object.at_path("metadata.managedFields").items()) {
        Line line;
        line.manager.name = entry.at("manager").text();
        line.manager.applies = entry.at("operation").text() == "Apply";
        line.manager.api_version = entry.at("apiVersion").text();
        line.manager.subresource = entry.at("subresource").text();
        line.time = entry.at("time").text();
        line.set = read_field_set(entry.at("fieldsV1"));
        lines.push_back(std::move(line));
    }
    return lines;
}

void write_lines(Value& object, std::vector<Line> lines) {
    std::erase_if(lines, [](const Line& line) { return line.set.empty(); });
    std::ranges::stable_sort(lines, [](const Line& left, const Line& right) {
        if (left.manager.applies != right.manager.applies) return left.manager.applies;
        return left.time < right.time;
    });
    if (lines.empty()) {
        object.erase_path("metadata.managedFields");
        return;
    }
    Value made = Value::array();
    for (const Line& line : lines) {
        Value entry = Value::object({{"manager", line.manager.name},
                                     {"operation", line.manager.applies ? "Apply" : "Update"},
                                     {"apiVersion", line.manager.api_version},
                                     {"time", line.time},
                                     {"fieldsType", "FieldsV1"},
                                     {"fieldsV1", to_fields_v1(line.set)}});
        if (!line.manager.subresource.empty()) entry["subresource"] = line.manager.subresource;
        made.push(std::move(entry));
    }
    object["metadata"]["managedFields"] = std::move(made);
}

Line& line_of(std::vector<Line>& lines, const Manager& manager) {
    for (Line& line : lines) {
        if (same(line.manager, manager)) return line;
    }
    lines.push_back({manager, "", {}});
    return lines.back();
}

std::string now_text() { return rfc3339(std::chrono::system_clock::now()); }

Value bare(const Value& object) {
    Value made = object;
    made.erase_path("metadata.managedFields");
    made.erase_path("metadata.resourceVersion");
    return made;
}

/// What a new object of a built-in kind is compared with: the parts that are never left out.
Value skeleton_of(const Value& object, const Type& type) {
    static const std::vector<std::string_view> kObjects = {
        "metadata",
        "spec",
        "status",
        "spec.strategy",
        "spec.updateStrategy",
        "spec.template",
        "spec.template.metadata",
        "spec.template.spec",
        "spec.jobTemplate",
        "spec.jobTemplate.metadata",
        "spec.jobTemplate.spec",
        "spec.jobTemplate.spec.template",
        "spec.jobTemplate.spec.template.metadata",
        "spec.jobTemplate.spec.template.spec",
        "status.nodeInfo",
        "status.daemonEndpoints",
        "status.daemonEndpoints.kubeletEndpoint",
        "status.loadBalancer"};
    static const std::vector<std::string_view> kLists = {
        "spec.containers", "spec.template.spec.containers",
        "spec.jobTemplate.spec.template.spec.containers"};
    Value made = Value::object();
    if (!type.schema.is_null()) return made;  // a custom resource has no such parts
    for (const std::string_view path : kObjects) {
        if (object.at_path(path).is_object()) made.ensure_path(path) = Value::object();
    }
    for (const std::string_view path : kLists) {
        if (object.at_path(path).is_array()) made.ensure_path(path) = Value::array();
    }
    return made;
}

Failure conflict_of(const std::vector<std::pair<Manager, FieldSet>>& found,
                    const std::string& resource, const std::string& group,
                    const std::string& name) {
    Failure failure;
    failure.code = 409;
    failure.reason = "Conflict";
    std::string text;
    std::size_t count = 0;
    for (const auto& one : found) {
        std::string with = "conflict with \"" + one.first.name + "\"";
        if (!one.first.subresource.empty())
            with += " with subresource \"" + one.first.subresource + "\"";
        if (!one.first.applies) with += " using " + one.first.api_version;
        const std::vector<std::string> paths = spell_paths(one.second);
        for (const std::string& path : paths) {
            failure.causes.push_back({"FieldManagerConflict", with, path});
        }
        count += paths.size();
        if (!text.empty()) text += "\n";
        text += "conflicts with \"" + one.first.name + "\"" +
                (one.first.applies ? "" : " using " + one.first.api_version) + ":";
        for (const std::string& path : paths) text += "\n- " + path;
    }
    const std::string single =
        failure.causes.empty() ? "" : failure.causes[0].message + ": " + failure.causes[0].field;
    failure.message = "Apply failed with " + std::to_string(count) +
                      (count == 1 ? " conflict: " + single : " conflicts: " + text);
    failure.group = group;
    failure.kind = resource;
    failure.name = name;
    return failure;
}

}  // namespace

void track_update(const Value& before, Value& now, const Type& type, const Manager& manager) {
    const bool reset = now.at_path("metadata.managedFields").is_array() &&
                       (now.at_path("metadata.managedFields").size() == 0 ||
                        (now.at_path("metadata.managedFields").size() == 1 &&
                         now.at_path("metadata.managedFields").items()[0].empty()));
    const Value& given = now.at_path("metadata.managedFields");
    std::vector<Line> lines = read_lines(given.empty() ? before : now);
    if (reset && !before.is_null()) {
        now.erase_path("metadata.managedFields");
        return;
    }
    if (before.is_null()) lines.clear();
    const Value clean = bare(now);
    Difference found =
        compare_values(before.is_null() ? skeleton_of(clean, type) : bare(before), clean, type);
    FieldSet changed = unite(found.added, found.modified);
    strip(changed, manager.leaves_status);
    strip(found.removed, manager.leaves_status);
    const FieldSet taken = unite(changed, found.removed);
    if (!taken.empty()) {
        Line& mine = line_of(lines, manager);
        const FieldSet old = mine.set;
        mine.set = unite(subtract(mine.set, found.removed), changed);
        if (mine.set != old || mine.time.empty()) mine.time = now_text();
        for (Line& line : lines) {
            if (!same(line.manager, manager)) line.set = subtract(line.set, taken);
        }
    }
    write_lines(now, std::move(lines));
}

Outcome<Value> apply_config(const Value& live, const Value& config, const Type& type,
                            const Manager& manager, bool force, const std::string& resource,
                            const std::string& group) {
    if (!config.at_path("metadata.managedFields").empty()) {
        return bad_request("metadata.managedFields must be nil");
    }
    const Value clean_config = bare(config);
    auto wanted = fields_of(clean_config, type);
    if (!wanted) {
        return internal_error(
            "failed to create typed patch object (" + config.at_path("metadata.name").text() +
            "; " + config.at("apiVersion").text() + ", Kind=" + config.at("kind").text() +
            "): " + wanted.error().message);
    }
    strip(*wanted, manager.leaves_status);
    const bool exists = !live.is_null();
    const Value base = exists ? bare(live) : Value::object();
    std::vector<Line> lines = exists ? read_lines(live) : std::vector<Line>{};
    Value merged = exists ? merge_values(base, clean_config, type) : clean_config;

    const Difference change = exists ? compare_values(base, merged, type) : Difference{};
    const FieldSet touched = unite(change.added, change.modified);
    std::vector<std::pair<Manager, FieldSet>> conflicts;
    for (Line& line : lines) {
        if (same(line.manager, manager)) continue;
        FieldSet theirs = intersect(intersect(line.set, touched), *wanted);
        if (theirs.empty()) continue;
        if (force) {
            line.set = subtract(line.set, theirs);
        } else {
            conflicts.emplace_back(line.manager, std::move(theirs));
        }
    }
    if (!conflicts.empty()) {
        return conflict_of(conflicts, resource, group, live.at_path("metadata.name").text());
    }

    // An earlier apply of another API version by the same manager is the same manager's.
    FieldSet last;
    FieldSet others;
    for (const Line& line : lines) {
        const bool mine = line.manager.applies && line.manager.name == manager.name &&
                          line.manager.subresource == manager.subresource;
        if (mine) {
            last = unite(last, line.set);
        } else {
            others = unite(others, line.set);
        }
    }
    prune_fields(merged, subtract(last, *wanted), unite(others, *wanted), type);
    std::erase_if(lines, [&](const Line& line) {
        return line.manager.applies && line.manager.name == manager.name &&
               line.manager.subresource == manager.subresource &&
               line.manager.api_version != manager.api_version;
    });
    Line& mine = line_of(lines, manager);
    if (mine.set != *wanted || mine.time.empty() || merged != base) mine.time = now_text();
    mine.set = std::move(*wanted);
    if (exists) {
        merged["metadata"]["resourceVersion"] = live.at_path("metadata.resourceVersion");
        const Value& given = config.at_path("metadata.resourceVersion");
        if (!given.is_null()) merged["metadata"]["resourceVersion"] = given;
    }
    write_lines(merged, std::move(lines));
    return merged;
}

std::string manager_of_agent(std::string_view user_agent) {
    std::string name(user_agent.substr(0, user_agent.find('/')));
    if (name.size() > 128) name.resize(128);
    return name.empty() ? "unknown" : name;
}

bool same_but_managers(const Value& left, const Value& right) { return bare(left) == bare(right); }

}  // namespace aliquot::sim::apiserver
