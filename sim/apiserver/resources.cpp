// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/resources.h"

#include <algorithm>
#include <mutex>

#include "base/text.h"
#include "sim/apiserver/embedded.h"

namespace aliquot::sim::apiserver {

namespace {

const std::vector<std::string> kAllVerbs = {"create", "delete", "deletecollection", "get",
                                            "list",   "patch",  "update",           "watch"};

std::vector<std::string> words_of(std::string_view cell) {
    std::vector<std::string> words;
    if (cell == "-") return words;
    for (const std::string_view word : split_list(cell)) words.emplace_back(word);
    return words;
}

std::vector<std::string> texts_of(const Value& list) {
    std::vector<std::string> texts;
    for (const Value& item : list.items()) texts.push_back(item.text());
    return texts;
}

Subresource read_subresource(std::string_view cell, const Resource& owner) {
    Subresource made;
    const std::vector<std::string_view> parts = split(cell, '=');
    made.name = parts[0];
    const std::vector<std::string_view> kind = split(parts[1], '/');
    made.group = kind[0].empty() && kind[1].empty() ? owner.group : std::string(kind[0]);
    made.version = kind[1].empty() ? owner.version : std::string(kind[1]);
    made.kind = kind[2];
    made.verbs = words_of(parts[2]);
    return made;
}

ResourcePtr read_line(std::string_view line) {
    const std::vector<std::string_view> cells = split(line, '\t');
    auto made = std::make_shared<Resource>();
    made->group = cells[0] == "-" ? "" : std::string(cells[0]);
    made->version = cells[1];
    made->name = cells[2];
    made->kind = cells[3];
    made->singular = cells[4];
    made->namespaced = cells[5] == "Namespaced";
    made->short_names = words_of(cells[6]);
    made->categories = words_of(cells[7]);
    made->verbs = cells[8] == "*" ? kAllVerbs : words_of(cells[8]);
    if (cells[9] != "-") {
        for (const std::string_view cell : split(cells[9], ';')) {
            made->subresources.push_back(read_subresource(cell, *made));
        }
    }
    made->type = TypeTable::built_in().find(cells[10]);
    made->list_kind = made->kind + "List";
    // Events are one set of objects under two APIs.
    made->storage = (made->kind == "Event" ? "" : made->group) + "/" + made->name;
    made->storage_version =
        made->storage != "autoscaling/horizontalpodautoscalers" || made->version == "v2";
    if (made->group == "events.k8s.io") made->storage_version = false;
    return made;
}

void read_subresources(Resource& made, const Value& given) {
    if (given.find("status") != nullptr) {
        made.subresources.push_back(
            {"status", made.group, made.version, made.kind, {"get", "patch", "update"}});
    }
    const Value* scale = given.find("scale");
    if (scale == nullptr) return;
    made.subresources.insert(made.subresources.begin(),
                             {"scale", "autoscaling", "v1", "Scale", {"get", "patch", "update"}});
    const auto path = [scale](std::string_view name) {
        const std::string& text = scale->at(name).text();
        return text.starts_with('.') ? text.substr(1) : text;
    };
    made.replicas_path = path("specReplicasPath");
    made.status_replicas_path = path("statusReplicasPath");
    made.selector_path = path("labelSelectorPath");
}

}  // namespace

bool Resource::has_verb(std::string_view verb) const {
    return std::ranges::find(verbs, verb) != verbs.end();
}

const Subresource* Resource::find(std::string_view subresource) const {
    const auto place = std::ranges::find(subresources, subresource, &Subresource::name);
    return place == subresources.end() ? nullptr : &*place;
}

Resources::Resources() {
    for (const std::string_view line : split(kResourceText, '\n')) {
        if (!line.empty() && line[0] != '#') built_in_.push_back(read_line(line));
    }
}

std::vector<ResourcePtr> Resources::all() const {
    const std::shared_lock lock(guard_);
    std::vector<ResourcePtr> every = built_in_;
    for (const auto& definition : custom_) {
        every.insert(every.end(), definition.second.begin(), definition.second.end());
    }
    return every;
}

ResourcePtr Resources::find(std::string_view group, std::string_view version,
                            std::string_view name) const {
    for (const ResourcePtr& one : all()) {
        if (one->group == group && one->version == version && one->name == name) return one;
    }
    return nullptr;
}

ResourcePtr Resources::find_kind(std::string_view api_version, std::string_view kind) const {
    for (const ResourcePtr& one : all()) {
        if (one->kind == kind && one->api_version() == api_version && one->has_verb("get")) {
            return one;
        }
    }
    return nullptr;
}

ResourcePtr Resources::find_any(std::string_view group, std::string_view name) const {
    ResourcePtr found;
    for (const ResourcePtr& one : all()) {
        if (one->group != group || one->name != name) continue;
        if (found == nullptr || one->storage_version) found = one;
    }
    return found;
}

void Resources::set_custom(const std::string& definition, std::vector<ResourcePtr> resources) {
    const std::unique_lock lock(guard_);
    if (resources.empty()) {
        custom_.erase(definition);
    } else {
        custom_[definition] = std::move(resources);
    }
}

std::vector<ResourcePtr> read_definition(const Value& definition) {
    std::vector<ResourcePtr> made;
    const Value& spec = definition.at("spec");
    const Value& names = spec.at("names");
    for (const Value& version : spec.at("versions").items()) {
        if (!version.at("served").boolean()) continue;
        auto one = std::make_shared<Resource>();
        one->group = spec.at("group").text();
        one->version = version.at("name").text();
        one->name = names.at("plural").text();
        one->kind = names.at("kind").text();
        one->singular =
            names.at("singular").is_null() ? lower(one->kind) : names.at("singular").text();
        one->list_kind =
            names.at("listKind").is_null() ? one->kind + "List" : names.at("listKind").text();
        one->namespaced = spec.at("scope").text() == "Namespaced";
        one->short_names = texts_of(names.at("shortNames"));
        one->categories = texts_of(names.at("categories"));
        one->verbs = kAllVerbs;
        one->custom = true;
        one->storage = one->group + "/" + one->name;
        one->storage_version = version.at("storage").boolean();
        one->schema = read_schema(version.at_path("schema.openAPIV3Schema"));
        one->type = one->schema->root;
        read_subresources(*one, version.at("subresources"));
        for (const Value& field : version.at("selectableFields").items()) {
            const std::string& path = field.at("jsonPath").text();
            one->selectable_fields.push_back(path.starts_with('.') ? path.substr(1) : path);
        }
        for (const Value& column : version.at("additionalPrinterColumns").items()) {
            one->columns.push_back({column.at("name").text(), column.at("type").text(),
                                    column.at("format").text(), column.at("jsonPath").text(),
                                    column.at("priority").integer()});
        }
        made.push_back(std::move(one));
    }
    return made;
}

}  // namespace aliquot::sim::apiserver
