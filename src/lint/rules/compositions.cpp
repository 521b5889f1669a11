// SPDX-License-Identifier: Apache-2.0
// What the services of a Compose file and the jobs of a GitLab pipeline name of each other: REF001.
#include <algorithm>
#include <array>
#include <string>

#include "document/path.h"
#include "findings/finding.h"
#include "lint/families.h"
#include "lint/kept.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;
using Names = std::vector<std::string_view>;

bool holds(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

void add_keys(const Value* mapping, Names& names) {
    if (mapping == nullptr) return;
    for (const Value::Entry& entry : mapping->entries) names.push_back(entry.first.scalar);
}

void check_one(const Value& name, std::string_view text, std::string_view what, const Names& known,
               Report& report) {
    if (text.empty() || is_placeholder(text) || contains(text, "$") || holds(known, text)) return;
    const std::string_view meant = nearest(text, known);
    report
        .add("REF001", name.mark,
             "there is no " + std::string(what) + " '" + std::string(text) + "' here")
        .expected(!meant.empty()  ? std::string(meant)
                  : known.empty() ? "a " + std::string(what) + " of that name"
                                  : "one of those defined: " + std::string(known.front()));
}

/// The names in a list, or the keys of a mapping: `depends_on` is either.
template <class Visit>
void each_name(const Value* node, const Visit& visit) {
    if (node == nullptr) return;
    if (!node->scalar.empty()) visit(*node);
    for (const Value& item : node->items) {
        const Value* source = item.is_mapping() ? item.find("source") : &item;
        if (source != nullptr) visit(*source);
    }
    for (const Value::Entry& entry : node->entries) visit(entry.first);
}

// --- compose ---

/// What the file and those that `docker compose -f` may put beside it define.
struct Composition {
    Names services;
    Names networks;
    Names volumes;
    Names secrets;
    Names configs;
    bool open = false;  // it includes files that we do not see
};

Composition composition_of(const File& file, const Set& set) {
    Composition all;
    for (const File* near : set.neighbours(file)) {
        for (const Object& object : near->objects) {
            if (object.role != Role::kCompose) continue;
            add_keys(object.node->find("services"), all.services);
            add_keys(object.node->find("networks"), all.networks);
            add_keys(object.node->find("volumes"), all.volumes);
            add_keys(object.node->find("secrets"), all.secrets);
            add_keys(object.node->find("configs"), all.configs);
            all.open = all.open || object.node->find("include") != nullptr;
        }
    }
    return all;
}

/// The named volume of "models:/models:ro"; empty: a path, or a volume without a name.
std::string_view volume_of(const Value& item) {
    if (item.is_mapping()) {
        const std::string type = text_at(item, {"type"});
        const Value* source = item.find("source");
        return type == "volume" && source != nullptr ? std::string_view(source->scalar)
                                                     : std::string_view();
    }
    const std::string_view text = item.scalar;
    const auto colon = text.find(':');
    if (colon == std::string_view::npos || colon < 2) return {};
    const std::string_view source = text.substr(0, colon);
    return source.find_first_of("/.~\\$") == std::string_view::npos ? source : std::string_view();
}

void check_service(const Value& service, const Composition& all, Report& report) {
    each_name(service.find("depends_on"), [&](const Value& name) {
        check_one(name, name.scalar, "service", all.services, report);
    });
    each_name(service.find("networks"), [&](const Value& name) {
        if (name.scalar != "default") check_one(name, name.scalar, "network", all.networks, report);
    });
    each_name(service.find("secrets"), [&](const Value& name) {
        check_one(name, name.scalar, "secret", all.secrets, report);
    });
    each_name(service.find("configs"), [&](const Value& name) {
        check_one(name, name.scalar, "config", all.configs, report);
    });
    if (const Value* volumes = service.find("volumes"); volumes != nullptr) {
        for (const Value& item : volumes->items)
            check_one(item.is_mapping() ? *item.find("source") : item, volume_of(item), "volume",
                      all.volumes, report);
    }
    for (const char* const key : {"network_mode", "pid", "ipc"}) {
        const Value* mode = service.find(key);
        constexpr std::string_view kService = "service:";
        if (mode == nullptr || !mode->scalar.starts_with(kService)) continue;
        check_one(*mode, std::string_view(mode->scalar).substr(kService.size()), "service",
                  all.services, report);
    }
}

void check_compose_names(const File& file, const Set& set, const Object& object, Report& report) {
    const Value* services = object.node->find("services");
    if (services == nullptr) return;
    const Composition all = composition_of(file, set);
    if (all.open) return;
    for (const Value::Entry& service : services->entries) {
        if (service.second.find("extends") == nullptr) check_service(service.second, all, report);
    }
}

// --- GitLab ---

bool is_pipeline(const File& file) { return contains(file.name, ".gitlab-ci.y"); }

/// Keys of a pipeline that are no jobs.
bool is_global_key(std::string_view key) {
    constexpr std::array<std::string_view, 12> kGlobal{
        "stages",   "variables", "include", "default", "workflow",      "image",
        "services", "cache",     "pages",   "spec",    "before_script", "after_script"};
    return key != "pages" && std::find(kGlobal.begin(), kGlobal.end(), key) != kGlobal.end();
}

void check_pipeline(const Object& object, Report& report) {
    const Value& node = *object.node;
    if (node.find("include") != nullptr) return;  // of which we see nothing
    Names jobs;
    for (const Value::Entry& entry : node.entries) {
        if (!is_global_key(entry.first.scalar)) jobs.push_back(entry.first.scalar);
    }
    Names stages{".pre", "build", "test", "deploy", ".post"};
    if (const Value* own = node.find("stages"); own != nullptr && own->is_sequence()) {
        stages = {".pre", ".post"};
        for (const Value& one : own->items) stages.push_back(one.scalar);
    }
    for (const Value::Entry& entry : node.entries) {
        if (is_global_key(entry.first.scalar) || !entry.second.is_mapping()) continue;
        const Value& job = entry.second;
        if (const Value* stage = job.find("stage"); stage != nullptr)
            check_one(*stage, stage->scalar, "stage", stages, report);
        for (const char* const key : {"extends", "dependencies"}) {
            each_name(job.find(key), [&](const Value& name) {
                check_one(name, name.scalar, "job", jobs, report);
            });
        }
        const Value* needs = job.find("needs");
        if (needs == nullptr) continue;
        for (const Value& item : needs->items) {
            if (item.is_mapping() &&
                (item.find("pipeline") != nullptr || item.find("project") != nullptr)) {
                continue;
            }
            const Value* name = item.is_mapping() ? item.find("job") : &item;
            if (name != nullptr && !contains(name->scalar, ":"))  // of a parallel matrix
                check_one(*name, name->scalar, "job", jobs, report);
        }
    }
}

/// `config.default` of the plugin's chart names a key of `config.map`.
void check_default(const Object& object, Report& report) {
    const Value* map = document::at_path(*object.node, "config.map");
    const Value* name = document::at_path(*object.node, "config.default");
    if (map == nullptr || !map->is_mapping() || map->entries.empty() || name == nullptr ||
        name->scalar.empty() || is_placeholder(name->scalar) ||
        map->find(name->scalar) != nullptr) {
        return;
    }
    report.add("REF004", name->mark, "config.map has no key '" + name->scalar + '\'')
        .expected("one of its keys: " + map->entries.front().first.scalar);
}

}  // namespace

void check_compositions(const File& file, const Set& set, const Facts*, Report& report) {
    if (is_kept(file) || file.is_prose()) return;
    for (const Object& object : file.objects) {
        if (object.broken || object.templated || object.inner) continue;
        if (object.chart == "nvidia-device-plugin") check_default(object, report);
        if (object.role == Role::kCompose) check_compose_names(file, set, object, report);
        if (object.role != Role::kCompose && object.node->is_mapping() && is_pipeline(file) &&
            object.role != Role::kObject) {
            check_pipeline(object, report);
        }
    }
}

}  // namespace aliquot::lint
