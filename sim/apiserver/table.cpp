// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/table.h"

#include "base/number.h"
#include "base/text.h"
#include "base/time_text.h"
#include "sim/apiserver/list_options.h"
#include "sim/apiserver/words.h"

namespace aliquot::sim::apiserver {

namespace {

Value to_column(const Column& column) {
    return Value::object({{"name", column.name},
                          {"type", column.type == "date" ? "date" : column.type},
                          {"format", column.format},
                          {"description", ""},
                          {"priority", column.priority}});
}

Value cell_of(const Column& column, const Value& object) {
    const Value found = find_json_path(object, column.path);
    if (found.is_null()) return found;
    if (column.type == "date") return age_since(found.text());
    if (column.type == "string") return found.is_string() ? found : Value(to_json(found));
    return found;
}

/// Cuts ".name", "['name']" or "[...]" off the front of a path; the content of brackets keeps them.
std::string next_step(std::string_view& path) {
    if (path.starts_with('.')) path.remove_prefix(1);
    if (path.starts_with('[')) {
        const std::size_t end = path.find(']');
        const std::string step(
            path.substr(0, end == std::string_view::npos ? path.size() : end + 1));
        path.remove_prefix(step.size());
        return step;
    }
    std::string step;
    while (!path.empty() && path[0] != '.' && path[0] != '[') {
        if (path[0] == '\\' && path.size() > 1) path.remove_prefix(1);
        step += path[0];
        path.remove_prefix(1);
    }
    return step;
}

std::string unquoted(std::string_view text) {
    text = trim(text);
    if (text.size() > 1 && (text[0] == '"' || text[0] == '\''))
        return std::string(text.substr(1, text.size() - 2));
    return std::string(text);
}

/// "[?(@.type=="Ready")]": the first element that fits.
Value filter(const Value& list, std::string_view condition) {
    const std::size_t equals = condition.find("==");
    if (equals == std::string_view::npos) return {};
    std::string_view left = trim(condition.substr(0, equals));
    if (left.starts_with('@')) left.remove_prefix(1);
    const std::string wanted = unquoted(condition.substr(equals + 2));
    for (const Value& item : list.items()) {
        const Value have = find_json_path(item, left);
        if ((have.is_string() ? have.text() : to_json(have)) == wanted) return item;
    }
    return {};
}

Value step_into(const Value& value, const std::string& step) {
    if (!step.starts_with('[')) return value.at(step);
    const std::string_view inner = std::string_view(step).substr(1, step.size() - 2);
    if (inner.starts_with("?(")) return filter(value, inner.substr(2, inner.size() - 3));
    if (inner == "*") return value.items().empty() ? Value() : value.items().front();
    if (const auto index = parse_number<std::int64_t>(inner)) {
        const auto size = static_cast<std::int64_t>(value.size());
        const std::int64_t at = *index < 0 ? size + *index : *index;
        if (!value.is_array() || at < 0 || at >= size) return {};
        return value.items()[static_cast<std::size_t>(at)];
    }
    return value.at(unquoted(inner));
}

}  // namespace

std::string age_since(const std::string& time) {
    const auto moment = parse_rfc3339(time);
    if (!moment) return "<unknown>";
    return format_age(std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now() - *moment));
}

Value find_json_path(const Value& object, std::string_view path) {
    Value at = object;
    for (int steps = 0; !path.empty() && !at.is_null() && steps < 32; ++steps) {
        const std::string step = next_step(path);
        if (!step.empty()) at = step_into(at, step);
    }
    return at;
}

Value make_table(const Resource& resource, const std::vector<Value>& objects,
                 const std::string& include) {
    std::vector<Column> columns = resource.custom ? resource.columns : built_in_columns(resource);
    if (resource.custom && columns.empty()) {
        columns.push_back({"Age", "date", "", ".metadata.creationTimestamp", 0});
    }
    // Events have theirs at the end.
    const bool name_first = resource.storage != "/events";
    Value definitions = Value::array();
    if (name_first) definitions.push(to_column({"Name", "string", "name", "", 0}));
    for (const Column& column : columns) definitions.push(to_column(column));
    Value rows = Value::array();
    for (const Value& object : objects) {
        Value cells = Value::array();
        if (name_first) cells.push(object.at_path("metadata.name"));
        if (resource.custom) {
            for (const Column& column : columns) cells.push(cell_of(column, object));
        } else {
            for (Value& cell : built_in_cells(resource, object)) cells.push(std::move(cell));
        }
        Value row = Value::object({{"cells", std::move(cells)}});
        if (include == "Object") row["object"] = object;
        if (include == "Metadata") row["object"] = to_partial_metadata(object);
        rows.push(std::move(row));
    }
    return Value::object({{"kind", "Table"},
                          {"apiVersion", "meta.k8s.io/v1"},
                          {"metadata", Value::object()},
                          {"columnDefinitions", std::move(definitions)},
                          {"rows", std::move(rows)}});
}

}  // namespace aliquot::sim::apiserver
