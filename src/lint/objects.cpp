// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "document/toml.h"
#include "k8s/resource_name.h"
#include "lint/reading.h"
#include "lint/role.h"
#include "lint/words.h"
#include "syntax/written_objects.h"
#include "syntax/yaml_text.h"

namespace aliquot::lint {
namespace {

bool holds(const Value& node, std::string_view key) { return node.find(key) != nullptr; }

bool has_image(const Value& node, int depth = 0) {
    constexpr int kDeepest = 20;
    if (depth > kDeepest) return false;
    for (const auto& [key, value] : node.entries) {
        if (key.scalar == "image" && !value.scalar.empty()) return true;
        if (has_image(value, depth + 1)) return true;
    }
    return std::any_of(node.items.begin(), node.items.end(),
                       [depth](const Value& item) { return has_image(item, depth + 1); });
}

bool has_patch_mark(const Value& node, int depth = 0) {
    constexpr int kDeepest = 12;
    if (depth > kDeepest) return false;
    for (const auto& [key, value] : node.entries) {
        if (key.scalar == "$patch" || has_patch_mark(value, depth + 1)) return true;
    }
    return std::any_of(node.items.begin(), node.items.end(),
                       [depth](const Value& item) { return has_patch_mark(item, depth + 1); });
}

/// A suite of helm-unittest: values and what a chart should make of them, nothing that is applied.
bool is_chart_test(const Value& node) {
    const Value* tests = node.find("tests");
    return tests != nullptr && tests->is_sequence() &&
           (holds(node, "suite") || holds(node, "templates"));
}

/// The schema of a custom resource is of no use to any rule, and most of the bytes of many trees.
void drop_schema(Value& node) {
    if (text_at(node, "kind") != "CustomResourceDefinition") return;
    for (auto& [key, value] : node.entries) {
        if (key.scalar != "spec") continue;
        value.entries = {};
        value.items = {};
    }
}

/// Adds objects of one block.
class Adder {
public:
    Adder(File& file, int block, const ReadLimits& limits)
        : file_(file), block_(block), limits_(limits) {}

    void add_document(syntax::YamlDocument document, unsigned index, unsigned documents) {
        if (document.broken) file_.unreadable.push_back({block_, document.error, document.message});
        if (is_chart_test(document.node)) return;
        drop_schema(document.node);
        document_ = &document;
        index_ = index;
        documents_ = documents;
        file_.nodes.push_back(std::move(document.node));
        add_node(file_.nodes.back(), -1, 0);
        document_ = nullptr;
    }

private:
    void add_node(const Value& node, int holder, int depth);
    void add_parts(const Value& node, int index);
    void add_inner(const Value& node, int holder, int depth);
    int add(const Value& node, Role role, int holder);

    File& file_;
    int block_;
    const ReadLimits& limits_;
    const syntax::YamlDocument* document_ = nullptr;
    unsigned index_ = 0;
    unsigned documents_ = 1;
};

int Adder::add(const Value& node, Role role, int holder) {
    if (file_.objects.size() >= limits_.objects) return -1;
    Object object;
    object.role = role;
    object.block = block_;
    object.index = index_;
    object.documents = documents_;
    object.node = &node;
    object.holder = holder;
    object.broken = document_->broken;
    object.templated = document_->templated;
    object.gaps = document_->gaps;
    if (node.is_mapping()) {
        object.api_version = text_at(node, "apiVersion");
        object.kind = text_at(node, "kind");
        object.name = text_at(node, "metadata.name");
        object.name_space = text_at(node, "metadata.namespace");
    }
    if (role == Role::kHelmValues) object.chart = chart_of(node);
    if (role == Role::kObject) {
        const bool empty_workload = object.is_workload() && !has_image(node);
        const std::string name = lower(file_.name);
        const bool patch_file =
            name.find("patch") != std::string::npos || name.find("overlay") != std::string::npos;
        const bool partial = document_->gaps || has_patch_mark(node) ||
                             file_.blocks[static_cast<std::size_t>(block_)].patch ||
                             (object.is_workload() && !holds(node, "spec")) ||
                             (patch_file && object.is_workload());
        if (empty_workload || partial) object.role = Role::kPatch;
        object.stub = empty_workload && !partial;
    }
    file_.objects.push_back(std::move(object));
    return static_cast<int>(file_.objects.size()) - 1;
}

void Adder::add_node(const Value& node, int holder, int depth) {
    constexpr int kDeepestList = 4;
    const Role role = role_of(node);
    const int index = add(node, role, holder);
    if (index < 0 || depth > kDeepestList) return;
    const std::string kind = file_.objects[static_cast<std::size_t>(index)].kind;  // those move
    const Value* items = node.find("items");
    if (role == Role::kObject && kind.ends_with("List") && items != nullptr) {
        for (const Value& item : items->items) add_node(item, index, depth + 1);
        return;
    }
    add_parts(node, index);
    if (kind != "CustomResourceDefinition") add_inner(node, index, 0);
}

/// Whole objects inside of something else: `definition:` of Ansible, `objects:` of a Template,
/// `extraObjects:` of charts.
void Adder::add_inner(const Value& node, int holder, int depth) {
    constexpr int kDeepest = 20;
    if (depth > kDeepest) return;
    const auto look = [this, holder, depth](const Value& below) {
        if (!syntax::is_manifest(below)) {
            add_inner(below, holder, depth + 1);
        } else if (const int index = add(below, Role::kObject, holder); index >= 0) {
            file_.objects[static_cast<std::size_t>(index)].inner = true;
        }
    };
    for (const auto& [key, value] : node.entries) look(value);
    for (const Value& item : node.items) look(item);
}

/// What objects hold that has a role of its own.
void Adder::add_parts(const Value& node, int index) {
    const std::string kind = file_.objects[static_cast<std::size_t>(index)].kind;
    const auto part = [this, &node, index](std::string_view path, Role role) {
        const Value* found = at_path(node, path);
        if (found == nullptr || !found->is_mapping()) return -1;
        return add(*found, role, index);
    };
    const auto set_chart = [this](int values, const std::string& chart) {
        if (values < 0) return;
        Object& object = file_.objects[static_cast<std::size_t>(values)];
        if (object.chart.empty()) object.chart = chart;
    };
    if (kind == "PrometheusRule") part("spec", Role::kPrometheusRules);
    if (kind == "HelmRelease") {
        const int values = part("spec.values", Role::kHelmValues);
        set_chart(values, text_at(node, "spec.chart.spec.chart"));
        // Made of Terraform's sets: lists are not among them.
        const bool made = file_.blocks[static_cast<std::size_t>(block_)].language == Language::kHcl;
        if (values >= 0 && made) file_.objects[static_cast<std::size_t>(values)].gaps = true;
    }
    if (kind.empty() && holds_charts(node)) {
        for (const auto& [key, value] : node.entries) {
            const std::string& chart = key.scalar;
            if (is_gpu_chart_name(chart) && value.is_mapping() && chart_of(value) == chart) {
                add(value, Role::kHelmValues, index);
            }
        }
    }
    if (kind == "Application") {
        set_chart(part("spec.source.helm.valuesObject", Role::kHelmValues),
                  text_at(node, "spec.source.chart"));
    }
}

/// From places of a block's text to places of the file.
void move_marks(Value& node, const Block& block, int depth) {
    constexpr int kDeepest = 64;
    if (depth > kDeepest) return;
    node.mark = block.place(node.mark);
    for (Value& item : node.items) move_marks(item, block, depth + 1);
    for (Value::Entry& entry : node.entries) {
        entry.first.mark = block.place(entry.first.mark);
        move_marks(entry.second, block, depth + 1);
    }
}

}  // namespace

void read_documents(File& file, int block, const ReadLimits& limits, int depth) {
    std::vector<syntax::YamlDocument> documents =
        syntax::read_yaml(file.blocks[static_cast<std::size_t>(block)]);
    const std::size_t first = file.objects.size();
    Adder adder(file, block, limits);
    const auto count = static_cast<unsigned>(documents.size());
    for (unsigned i = 0; i < count; ++i) adder.add_document(std::move(documents[i]), i, count);
    const std::size_t last = file.objects.size();
    for (std::size_t i = first; i < last; ++i) {
        const auto index = static_cast<int>(i);
        const Role role = file.objects[i].role;
        const bool part = file.objects[i].holder >= static_cast<int>(first);
        const bool list = role == Role::kObject && file.objects[i].kind.ends_with("List");
        if (list) continue;
        if (file.objects[i].inner) {  // the rest of it is read with what it stands in
            read_pods(file, index);
            read_value_images(file, index);
        } else if (!part || file.objects[i].node->find("apiVersion") != nullptr) {
            read_pods(file, index);
            read_value_images(file, index);
            read_expressions(file, index);
            read_enclosed_texts(file, index, limits, depth);
        }
    }
}

void read_toml(File& file, int block, const ReadLimits& limits) {
    if (file.objects.size() >= limits.objects) return;
    const Block& text = file.blocks[static_cast<std::size_t>(block)];
    if (text.text.find("nvidia") == std::string::npos && !contains(text.text, "containerd")) return;
    document::Toml toml = document::parse_toml(text.text);
    if (toml.root.entries.empty()) return;
    move_marks(toml.root, text, 0);
    Object object;
    object.role = Role::kToml;
    object.block = block;
    object.broken = !toml.problems.empty();
    file.nodes.push_back(std::move(toml.root));
    object.node = &file.nodes.back();
    file.objects.push_back(std::move(object));
}

void read_written(File& file, int block, const ReadLimits& limits) {
    if (!file.mentions("gpu") && !file.mentions("nvidia")) return;
    const std::string_view name = std::string_view(file.name).substr(file.name.rfind('/') + 1);
    if (name.starts_with("test_") || name.ends_with("_test.py")) return;  // what a test expects
    const Block written = file.blocks[static_cast<std::size_t>(block)];
    std::vector<syntax::WrittenObject> objects =
        written.language == Language::kHcl
            ? syntax::read_hcl_objects(written)
            : syntax::read_python_objects(written, k8s::is_gpu_resource);
    Adder adder(file, block, limits);
    for (syntax::WrittenObject& object : objects) {
        const std::size_t first = file.objects.size();
        syntax::YamlDocument document;
        document.node = std::move(object.node);
        document.gaps = object.gaps;
        adder.add_document(std::move(document), 0, 1);
        if (file.objects.size() > first) read_pods(file, static_cast<int>(first));
    }
}

}  // namespace aliquot::lint
