// SPDX-License-Identifier: Apache-2.0
// resource "kubernetes_..." of Terraform as the objects that they make.
#include <algorithm>
#include <utility>

#include "syntax/hcl_names.h"
#include "syntax/hcl_reader.h"
#include "syntax/words.h"
#include "syntax/written_objects.h"

namespace aliquot::syntax {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;

Value key_at(Mark mark, std::string_view text) {
    Value key;
    key.kind = Value::Kind::kString;
    key.mark = mark;
    key.scalar = std::string(text);
    return key;
}

/// `driver.enabled` as a mapping in a mapping, as helm makes of it.
void add_set(Value& values, std::string_view path, Value value) {
    Value* at = &values;
    for (;;) {
        at->kind = Value::Kind::kMapping;
        const auto dot = path.find('.');
        const std::string_view step = path.substr(0, dot);
        Value* below = mapping_below(*at, {step});
        const bool taken = at->find(step) != nullptr;
        if (dot == kNowhere || (taken && below == nullptr)) {
            if (!taken) at->entries.emplace_back(key_at(value.mark, step), std::move(value));
            return;
        }
        if (below == nullptr) {
            at->entries.emplace_back(key_at(value.mark, step), Value{});
            below = &at->entries.back().second;
            below->mark = value.mark;
        }
        at = below;
        path.remove_prefix(dot + 1);
    }
}

/// What `set { name = "a.b" value = "c" }` and `set = [{...}]` write, where no `values` say more. Lists and
/// escaped dots are left out.
Value values_of_sets(const Value& body) {
    Value values;
    if (body.find("values") != nullptr) return values;
    std::vector<const Value*> sets;
    for (const auto& [key, value] : body.entries) {
        if (key.scalar != "set") continue;
        if (value.is_mapping()) sets.push_back(&value);
        for (const Value& item : value.items) sets.push_back(&item);
    }
    for (const Value* const set : sets) {
        const Value* const name = set->find("name");
        const Value* const value = set->find("value");
        if (name == nullptr || value == nullptr || name->scalar.empty() ||
            name->scalar.find_first_of("[]\\${}") != std::string::npos) {
            continue;
        }
        Value typed = *value;
        typed.mark = name->mark;
        const Value* const type = set->find("type");
        if (type == nullptr || type->scalar != "string") typed.kind = kind_of_word(typed.scalar);
        add_set(values, name->scalar, std::move(typed));
    }
    return values;
}

/// The object, with what the provider adds by itself.
Value finished(const Block& block, const HclKind& made, std::size_t at, Value& body) {
    Value object;
    object.mark = block.place(at);
    add_written(block, object, at, "apiVersion",
                written_scalar(block, at, std::string(made.version), Value::Kind::kString));
    add_written(block, object, at, "kind",
                written_scalar(block, at, std::string(made.kind), Value::Kind::kString));
    if (made.kind ==
        "HelmRelease") {  // as Flux writes it; a chart without repository lies beside it
        if (body.find("repository") == nullptr || body.find("chart") == nullptr) return object;
        Value source;
        add_written(block, source, at, "kind",
                    written_scalar(block, at, "HelmRepository", Value::Kind::kString));
        Value values = values_of_sets(body);
        Value chart;
        for (auto& entry : body.entries) {
            const std::string& key = entry.first.scalar;
            if (key != "chart" && key != "version" && key != "repository") continue;
            add_written(block, chart, at, key, std::move(entry.second));
        }
        add_written(block, chart, at, "sourceRef", std::move(source));
        Value holder;
        add_written(block, holder, at, "spec", std::move(chart));
        Value spec;
        add_written(block, spec, at, "chart", std::move(holder));
        if (!values.entries.empty()) {
            add_written(block, spec, at, "values", std::move(values));
        }
        add_written(block, object, at, "spec", std::move(spec));
        return object;
    }
    for (auto& [key, value] : body.entries) {
        if (key.scalar == "metadata" || key.scalar == "spec" || key.scalar == "data") {
            object.entries.emplace_back(std::move(key), std::move(value));
        }
    }
    Value* pod = made.kind == "Job" ? mapping_below(object, {"spec", "template", "spec"})
                 : made.kind == "CronJob"
                     ? mapping_below(object, {"spec", "jobTemplate", "spec", "template", "spec"})
                     : nullptr;
    if (pod != nullptr && pod->find("restartPolicy") == nullptr) {
        add_written(block, *pod, at, "restartPolicy",
                    written_scalar(block, at, "Never", Value::Kind::kString));
    }
    Value* spec = made.version.starts_with("apps/") ? mapping_below(object, {"spec"}) : nullptr;
    const Value* labels =
        spec == nullptr ? nullptr : mapping_below(*spec, {"template", "metadata", "labels"});
    if (labels != nullptr && spec->find("selector") == nullptr) {
        Value selector;
        add_written(block, selector, at, "matchLabels", Value(*labels));
        add_written(block, *spec, at, "selector", std::move(selector));
    }
    return object;
}

}  // namespace

std::vector<WrittenObject> read_hcl_objects(const Block& block) {
    if (block.text.find("\"kubernetes_") == std::string::npos &&
        block.text.find("\"helm_release\"") == std::string::npos) {
        return {};
    }
    constexpr std::string_view kBegin = "resource \"";
    constexpr std::size_t kMost = 200;
    constexpr std::size_t kLongest = 32U << 10U;
    const std::string_view whole = block.text;
    std::vector<WrittenObject> found;
    for (std::size_t at = whole.find(kBegin); at != kNowhere && found.size() < kMost;
         at = whole.find(kBegin, at + 1)) {
        const std::string_view text = whole.substr(0, at + kLongest);  // no object is longer
        const std::size_t line = text.rfind('\n', at) + 1;             // npos + 1 is 0
        if (!trim(text.substr(line, at - line)).empty()) continue;
        const std::size_t name = at + kBegin.size();
        const std::size_t end = text.find('"', name);
        if (end == kNowhere) break;
        std::string_view resource = text.substr(name, end - name);
        if (resource.ends_with("_v1")) resource.remove_suffix(3);
        const HclKind* made = find_hcl_kind(resource);
        if (made == nullptr) continue;
        const std::size_t brace = text.find('{', end);
        if (brace == kNowhere || text.substr(end, brace - end).find('\n') != kNowhere) continue;
        HclReader reader(block, text, HclNames::kOfApi);
        Value body;
        if (!reader.read(brace + 1, body)) continue;
        Value object = finished(block, *made, brace + 1, body);
        if (object.entries.size() > 2) found.push_back({std::move(object), reader.has_gaps()});
    }
    return found;
}

}  // namespace aliquot::syntax
