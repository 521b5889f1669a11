// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "k8s/quantity.h"
#include "lint/reading.h"
#include "lint/words.h"
#include "syntax/written_objects.h"

namespace aliquot::lint {
namespace {

constexpr int kDeepest = 40;

std::vector<ResourceValue> read_amounts(const Value* node) {
    std::vector<ResourceValue> result;
    if (node == nullptr) return result;
    for (const auto& [key, value] : node->entries) {
        result.push_back(
            {key.scalar, value.scalar, &key, &value, k8s::quantity_value(value.scalar)});
    }
    return result;
}

std::vector<EnvVar> read_env(const Value* node) {
    std::vector<EnvVar> result;
    if (node == nullptr) return result;
    for (const Value& item : node->items) {
        const Value* value = item.find("value");
        result.push_back(
            {text_at(item, "name"), value == nullptr ? "" : value->scalar, &item, value});
    }
    for (const auto& [key, value] : node->entries) {  // of charts: a mapping
        result.push_back({key.scalar, value.scalar, &key, &value});
    }
    return result;
}

void append_words(const Value* node, std::vector<std::string>& words) {
    if (node == nullptr) return;
    if (node->is_string()) words.push_back(node->scalar);
    for (const Value& item : node->items) words.push_back(item.scalar);
}

void read_resources(const Value& resources, Container& container) {
    container.resources = &resources;
    container.requests = read_amounts(resources.find("requests"));
    container.limits = read_amounts(resources.find("limits"));
    if (const Value* claims = resources.find("claims")) {
        for (const Value& item : claims->items) {
            container.claims.push_back({text_at(item, "name"), "", &item, &item, std::nullopt});
        }
    }
}

Container read_container(const Value& node, bool init) {
    Container container;
    container.node = &node;
    container.init = init;
    container.name = text_at(node, "name");
    container.image_node = node.find("image");
    if (container.image_node != nullptr) {
        if (container.image_node->is_mapping()) {
            container.image_node = nullptr;
        } else {
            container.image = container.image_node->scalar;
        }
    }
    container.sidecar = init && text_at(node, "restartPolicy") == "Always";
    if (const Value* resources = node.find("resources")) read_resources(*resources, container);
    container.env = read_env(node.find("env"));
    if (const Value* mounts = node.find("volumeMounts")) {
        for (const Value& item : mounts->items) {
            container.mounts.push_back({text_at(item, "name"), text_at(item, "mountPath"), &item});
        }
    }
    append_words(node.find("command"), container.command);
    append_words(node.find("args"), container.command);
    container.privileged = text_at(node, "securityContext.privileged") == "true";
    return container;
}

/// Walks one object and adds every pod in it.
class Walker {
public:
    Walker(File& file, int index)
        : file_(file), index_(index), object_(file.objects[static_cast<std::size_t>(index)]) {}

    void walk() {
        const Value& node = *object_.node;
        if (object_.role == Role::kCompose || object_.role == Role::kDashboard ||
            object_.role == Role::kWorkflow || object_.role == Role::kPrometheusRules ||
            object_.role == Role::kDevicePluginConfig || object_.role == Role::kMigParted ||
            object_.kind == "CustomResourceDefinition") {
            return;
        }
        if (node.is_sequence()) {
            add_list(node);
            return;
        }
        const std::size_t before = file_.pods.size();
        visit(node, nullptr, std::nullopt, "", 0);
        const bool any = file_.pods.size() > before;
        if (!any && object_.role == Role::kFragment) add_fragment(node);
        if (!any && object_.role == Role::kPatch && object_.is_workload()) add_stub(node);
    }

private:
    PodSpec make_pod(const Value& spec, const Value* metadata, std::string path) const;
    void visit(const Value& node, const Value* metadata, std::optional<double> replicas,
               const std::string& path, int depth);
    void add_resources_holder(const Value& node, const Value& resources, const std::string& path,
                              std::optional<double> replicas);
    void add_fragment(const Value& node);
    void add_stub(const Value& node);
    void add_list(const Value& list);
    void add_pod(PodSpec pod);

    File& file_;
    int index_;
    const Object& object_;
};

PodSpec Walker::make_pod(const Value& spec, const Value* metadata, std::string path) const {
    PodSpec pod;
    pod.object = index_;
    pod.node = &spec;
    pod.metadata = metadata;
    pod.path = std::move(path);
    pod.whole = object_.role == Role::kObject && !object_.broken;
    pod.node_selector = spec.find("nodeSelector");
    pod.affinity = spec.find("affinity");
    pod.tolerations = spec.find("tolerations");
    pod.volumes = spec.find("volumes");
    pod.runtime_class = text_at(spec, "runtimeClassName");
    pod.restart_policy = text_at(spec, "restartPolicy");
    return pod;
}

void Walker::add_pod(PodSpec pod) {
    constexpr std::size_t kMostPods = 20'000;
    if (file_.pods.size() >= kMostPods) return;
    const auto number = static_cast<int>(file_.pods.size());
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        const Container& container = pod.containers[i];
        if (container.image_node == nullptr) continue;
        Image image = read_image(container.image);
        image.source = Image::Source::kContainer;
        image.mark = container.image_node->mark;
        image.pod = number;
        image.container = static_cast<int>(i);
        file_.images.push_back(std::move(image));
    }
    file_.pods.push_back(std::move(pod));
}

/// A mapping with `containers` is the spec of a pod; one with `resources` that asks for something is
/// a container in all but name.
void Walker::visit(const Value& node, const Value* metadata, std::optional<double> replicas,
                   const std::string& path, int depth) {
    if (depth > kDeepest || (depth > 0 && syntax::is_manifest(node))) return;
    if (const Value* count = node.find("replicas")) replicas = k8s::quantity_value(count->scalar);
    const Value* containers = node.find("containers");
    const bool is_pod = containers != nullptr && containers->is_sequence();
    if (is_pod) {
        PodSpec pod = make_pod(node, metadata, path);
        pod.replicas = replicas;
        for (const Value& item : containers->items) {
            if (item.is_mapping()) pod.containers.push_back(read_container(item, false));
        }
        if (const Value* init = node.find("initContainers")) {
            for (const Value& item : init->items) {
                if (item.is_mapping()) pod.containers.push_back(read_container(item, true));
            }
        }
        add_pod(std::move(pod));
        return;
    }
    const Value* own_metadata = node.find("metadata");
    for (const auto& [key, value] : node.entries) {
        const std::string below = path.empty() ? key.scalar : path + '.' + key.scalar;
        const bool amounts = (key.scalar == "resources" || key.scalar == "extraResource" ||
                              key.scalar.ends_with("Resources")) &&
                             (value.find("limits") != nullptr || value.find("requests") != nullptr);
        if (amounts && object_.role != Role::kFragment) {
            add_resources_holder(node, value, path, replicas);
        } else if (value.is_mapping() || value.is_sequence()) {
            visit(value, key.scalar == "spec" ? own_metadata : nullptr, replicas, below, depth + 1);
        }
    }
    for (const Value& item : node.items) visit(item, nullptr, replicas, path, depth + 1);
}

void Walker::add_resources_holder(const Value& node, const Value& resources,
                                  const std::string& path, std::optional<double> replicas) {
    PodSpec pod = make_pod(node, nullptr, path);
    pod.whole = false;
    pod.replicas = replicas;
    Container container = read_container(node, false);
    read_resources(resources, container);
    if (container.gpu() == nullptr && object_.role != Role::kObject) return;
    pod.containers.push_back(std::move(container));
    add_pod(std::move(pod));
}

void Walker::add_fragment(const Value& node) {
    constexpr std::array<std::string_view, 13> kPodKeys{
        "resources", "env",      "nodeSelector",     "tolerations",
        "affinity",  "volumes",  "volumeMounts",     "image",
        "limits",    "requests", "runtimeClassName", "securityContext",
        "hostIPC"};
    const Value* spec = &node;
    for (int steps = 0; steps < 4; ++steps) {  // spec: template: spec:
        const bool found =
            std::any_of(kPodKeys.begin(), kPodKeys.end(),
                        [spec](std::string_view key) { return spec->find(key) != nullptr; });
        if (found) break;
        const Value* below = spec->find("spec");
        if (below == nullptr) below = spec->find("template");
        if (below == nullptr) below = spec->find("jobTemplate");
        if (below == nullptr) return;
        spec = below;
    }
    PodSpec pod = make_pod(*spec, nullptr, "");
    pod.whole = false;
    Container container = read_container(*spec, false);
    if (container.resources == nullptr &&
        (spec->find("limits") != nullptr || spec->find("requests") != nullptr)) {
        read_resources(*spec, container);
    }
    pod.containers.push_back(std::move(container));
    add_pod(std::move(pod));
}

/// A patch without containers: its selector and tolerations are still worth a look.
void Walker::add_stub(const Value& node) {
    const Value* spec = at_path(node, "spec.template.spec");
    if (spec == nullptr) spec = at_path(node, "spec.jobTemplate.spec.template.spec");
    if (spec == nullptr && object_.kind == "Pod") spec = node.find("spec");
    if (spec == nullptr || !spec->is_mapping()) return;
    PodSpec pod = make_pod(*spec, nullptr, "");
    pod.whole = false;
    add_pod(std::move(pod));
}

void Walker::add_list(const Value& list) {
    PodSpec pod = make_pod(list, nullptr, "");
    pod.whole = false;
    for (const Value& item : list.items) {
        if (!item.is_mapping()) continue;
        if (item.find("effect") != nullptr) {
            pod.tolerations = &list;
        } else if (item.find("image") != nullptr || item.find("resources") != nullptr) {
            pod.containers.push_back(read_container(item, false));
        }
    }
    if (pod.containers.empty() && !list.items.empty() &&
        list.items.front().find("value") != nullptr) {
        Container container;
        container.node = &list;
        container.env = read_env(&list);
        pod.containers.push_back(std::move(container));
    }
    if (!pod.containers.empty() || pod.tolerations != nullptr) add_pod(std::move(pod));
}

using Marks = std::set<std::pair<unsigned, unsigned>>;

void collect_images(const Value& node, int depth, const Marks& known, File& file) {
    constexpr std::size_t kMostImages = 20'000;
    if (depth > kDeepest || file.images.size() > kMostImages) return;
    if (depth > 0 && syntax::is_manifest(node)) return;
    const Value* repository = node.find("repository");
    if (repository != nullptr && repository->is_string()) {
        std::string name = repository->scalar;
        const Value* registry = node.find("registry");
        const Value* last = node.find("image");
        const Value* tag = node.find("tag");
        if (tag == nullptr) tag = node.find("version");
        if (last != nullptr && last->is_string()) name += '/' + last->scalar;
        if (registry != nullptr && registry->is_string()) name = registry->scalar + '/' + name;
        const bool tagged = tag != nullptr && !tag->scalar.empty();
        Image image = read_image(tagged ? name + ':' + tag->scalar : name);
        image.source = Image::Source::kValues;
        image.mark = tagged ? tag->mark : repository->mark;
        if (contains(name, "://")) image.repository.clear();
        if (!image.repository.empty()) file.images.push_back(std::move(image));
    }
    for (const auto& [key, value] : node.entries) {
        const bool plain = key.scalar == "image" && value.is_string() && !value.scalar.empty();
        if (plain && repository == nullptr) {
            const Value* version = node.find("version");
            if (version == nullptr) version = node.find("tag");
            const auto slash = value.scalar.rfind('/');
            const bool named =
                value.scalar.find(':', slash == std::string::npos ? 0 : slash) == std::string::npos;
            const bool tagged =
                named && version != nullptr && version->is_string() && !version->scalar.empty();
            Image image = read_image(tagged ? value.scalar + ':' + version->scalar : value.scalar);
            image.source = Image::Source::kValues;
            image.mark = value.mark;
            if (known.count({image.mark.line, image.mark.column}) == 0) {
                file.images.push_back(std::move(image));
            }
        } else {
            collect_images(value, depth + 1, known, file);
        }
    }
    for (const Value& item : node.items) collect_images(item, depth + 1, known, file);
}

}  // namespace

void read_pods(File& file, int object) { Walker(file, object).walk(); }

void read_value_images(File& file, int object) {
    const Value& node = *file.objects[static_cast<std::size_t>(object)].node;
    const Role role = file.objects[static_cast<std::size_t>(object)].role;
    if (role == Role::kDashboard || role == Role::kPrometheusRules) return;
    if (!file.mentions("image") && !file.mentions("repository")) return;
    Marks known;  // those of this object's containers, which stand at the end of the list
    for (auto image = file.images.rbegin(); image != file.images.rend(); ++image) {
        if (image->pod < 0 || file.pods[static_cast<std::size_t>(image->pod)].object != object)
            break;
        known.insert({image->mark.line, image->mark.column});
    }
    collect_images(node, 0, known, file);
}

}  // namespace aliquot::lint
