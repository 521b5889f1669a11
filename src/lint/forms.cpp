// SPDX-License-Identifier: Apache-2.0
#include "lint/forms.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "catalog/table.h"
#include "document/path.h"
#include "lint/embedded.h"

namespace aliquot::lint {
namespace {

struct TypeName {
    std::string_view name;
    FormType type;
};
constexpr std::array<TypeName, 21> kTypes{
    {{"any", FormType::kAny},           {"open", FormType::kOpen},
     {"map", FormType::kMap},           {"closed", FormType::kClosed},
     {"list", FormType::kList},         {"scalar", FormType::kScalar},
     {"text", FormType::kText},         {"whole", FormType::kWhole},
     {"count", FormType::kCount},       {"number", FormType::kNumber},
     {"flag", FormType::kFlag},         {"quantity", FormType::kQuantity},
     {"duration", FormType::kDuration}, {"percent", FormType::kPercent},
     {"cron", FormType::kCron},         {"zone", FormType::kZone},
     {"path", FormType::kPath},         {"share", FormType::kShare},
     {"span", FormType::kSpan},         {"bytes", FormType::kBytes},
     {"ports", FormType::kPorts}}};

std::vector<std::string_view> words_of(std::string_view field, char separator) {
    std::vector<std::string_view> words;
    for (const std::string_view word : split(field, separator)) {
        if (!word.empty()) words.push_back(word);
    }
    return words;
}

/// The node of a path, made when it is not there; `*` is any key, `[]` an item.
FormNode& node_at(FormNode& root, std::string_view path) {
    FormNode* node = &root;
    for (const std::string_view step : words_of(path, ' ')) {
        std::vector<FormNode>* one = step == "*"    ? &node->any
                                     : step == "[]" ? &node->items
                                                    : nullptr;
        if (one != nullptr) {
            if (one->empty()) one->emplace_back();
            node = &one->front();
        } else {
            node = &node->keys[step];
        }
    }
    return *node;
}

/// "required", "warning", "not:KEY", "never:KEY=A|B", "with:KEY=A|B".
bool read_more(std::string_view more, FormNode& node) {
    for (const std::string_view word : words_of(more, ' ')) {
        if (word == "required" || word == "optional") {
            node.required = word == "required";
            node.needed = false;
        } else if (word == "needed") {
            node.needed = true;
        } else if (word == "warning") {
            node.warning = true;
        } else if (word.starts_with("not:")) {
            node.not_beside.push_back(word.substr(4));
        } else if (word.starts_with("never:") || word.starts_with("with:")) {
            const std::string_view rest = word.substr(word.find(':') + 1);
            const auto equals = rest.find('=');
            if (equals == std::string_view::npos) return false;
            node.conditions.push_back({rest.substr(0, equals),
                                       words_of(rest.substr(equals + 1), '|'),
                                       word.starts_with("with:")});
        } else {
            return false;
        }
    }
    return true;
}

bool read_type(std::string_view word, FormNode& node) {
    if (word.starts_with('@')) {
        node.include = word.substr(1);
        node.type = FormType::kMap;
        return true;
    }
    if (word == "full") {
        node.full = true;
        node.type = FormType::kMap;
        return true;
    }
    const auto* const found = std::find_if(
        kTypes.begin(), kTypes.end(), [word](const TypeName& one) { return one.name == word; });
    if (found == kTypes.end()) return false;
    node.type = found->type;
    return true;
}

/// All keys that a mapping may have, those of the included form too.
void gather_keys(FormNode& node, const Forms& forms, int depth) {
    constexpr int kDeepest = 24;
    if (depth > kDeepest) return;
    for (auto& [key, child] : node.keys) {
        node.known.push_back(key);
        gather_keys(child, forms, depth + 1);
    }
    const bool mapping = node.type == FormType::kMap || node.type == FormType::kClosed ||
                         node.type == FormType::kOpen || node.type == FormType::kAny;
    if (mapping) node.known.insert(node.known.end(), node.values.begin(), node.values.end());
    if (const auto included = forms.find(node.include); included != forms.end()) {
        for (const auto& [key, child] : included->second.keys) node.known.push_back(key);
        const auto& more = included->second.values;
        node.known.insert(node.known.end(), more.begin(), more.end());
    }
    std::sort(node.known.begin(), node.known.end());
    node.known.erase(std::unique(node.known.begin(), node.known.end()), node.known.end());
    for (FormNode& child : node.any) gather_keys(child, forms, depth + 1);
    for (FormNode& child : node.items) gather_keys(child, forms, depth + 1);
}

std::optional<Error> add_forms(std::string_view text, Forms& forms) {
    const auto table = catalog::read_table(text);
    if (!table) return table.error();
    for (const auto& row : table->rows) {
        if (row.size() < 5) return Error{ErrorCode::kInvalidInput, "forms: a row without 5 fields"};
        FormNode& node = node_at(forms[row[0]], row[1]);
        const bool closed = node.type == FormType::kClosed && row[2] == "map";
        if (!read_type(row[2], node) || !read_more(row[4], node)) {
            return Error{ErrorCode::kInvalidInput,
                         "forms: " + std::string(row[0]) + ' ' + std::string(row[1]) + ": '" +
                             std::string(row[2]) + "', '" + std::string(row[4]) +
                             "': expected a type, and conditions"};
        }
        if (closed) node.type = FormType::kClosed;
        // Of a mapping the words are more keys, which leave those of the schema as they are.
        std::vector<std::string_view> words = words_of(row[3], ' ');
        if (node.full || closed) {
            node.values.insert(node.values.end(), words.begin(), words.end());
        } else {
            node.values = std::move(words);
        }
    }
    return std::nullopt;
}

void lay_over(FormNode& own, const FormNode& part, int depth);

constexpr int kDeepestForm = 24;

/// What the schema says of a place that the table by hand has, too, and says nothing of.
void lay_under(FormNode& own, const FormNode& base, int depth) {
    if (depth > kDeepestForm || &own == &base) return;
    const bool mapping = own.type == FormType::kMap;
    if (mapping && base.type == FormType::kClosed) own.type = FormType::kClosed;
    if (mapping && own.include.empty()) own.include = base.include;
    own.full = own.full || (mapping && base.full);
    for (const auto& [key, child] : base.keys) {
        if (const auto at = own.keys.find(key); at != own.keys.end()) {
            lay_under(at->second, child, depth + 1);
        } else {
            own.keys.emplace(key, child);
        }
    }
    lay_over(own, base, depth);
}

void lay_over(FormNode& own, const FormNode& part, int depth) {
    struct Pair {
        std::vector<FormNode>* own;
        const std::vector<FormNode>* part;
    };
    for (const Pair& pair : {Pair{&own.any, &part.any}, Pair{&own.items, &part.items}}) {
        if (pair.part->empty()) continue;
        if (pair.own->empty()) {
            *pair.own = *pair.part;
        } else {
            lay_under(pair.own->front(), pair.part->front(), depth + 1);
        }
    }
}

/// A form that includes a part has the part's rules for what it only names itself.
void fill_in(FormNode& node, const Forms& forms, int depth) {
    if (depth > kDeepestForm) return;
    if (const auto at = forms.find(node.include);
        at != forms.end() && &at->second != &node && !node.include.empty()) {
        for (auto& [key, child] : node.keys) {
            const auto below = at->second.keys.find(key);
            if (below != at->second.keys.end()) lay_under(child, below->second, depth + 1);
        }
        lay_over(node, at->second, depth);
    }
    for (auto& [key, child] : node.keys) fill_in(child, forms, depth + 1);
    for (FormNode& child : node.any) fill_in(child, forms, depth + 1);
    for (FormNode& child : node.items) fill_in(child, forms, depth + 1);
}

const Forms& own_forms() {
    static const Forms forms = [] {
        auto read = read_forms(kSchemaFormTable, kDocumentFormTable);
        return read ? *std::move(read) : Forms();  // forms_test reads it too
    }();
    return forms;
}

std::string_view base_of(std::string_view name) { return name.substr(name.rfind('/') + 1); }

bool is_docker_daemon(std::string_view file_name, const Value& node) {
    if (base_of(file_name) == "daemon.json") return true;
    return node.find("default-runtime") != nullptr ||
           document::at_path(node, "runtimes.nvidia.path") != nullptr ||
           node.find("node-generic-resources") != nullptr;
}

/// ".gitlab-ci.yml", "gpu.gitlab-ci.yml".
bool is_gitlab_pipeline(std::string_view file_name) {
    return base_of(file_name).find(".gitlab-ci.y") != std::string_view::npos;
}

/// Of documents without apiVersion.
std::string_view plain_form(std::string_view file_name, const Object& object) {
    const Value& node = *object.node;
    switch (object.role) {
        case Role::kCompose:
            return "compose";
        case Role::kPrometheusRules:
            return "prometheus-rules";
        case Role::kWorkflow:
            return "workflow";
        case Role::kHelmValues:
            return object.chart;
        case Role::kToml:
            if (node.find("nvidia-container-cli") != nullptr ||
                node.find("nvidia-container-runtime") != nullptr) {
                return "nvidia-container-runtime";
            }
            return {};
        default:
            break;
    }
    if (object.role == Role::kObject || object.role == Role::kPatch) return {};
    if (is_gitlab_pipeline(file_name)) return "gitlab-ci";
    if (node.find("cdiVersion") != nullptr ||
        (node.find("devices") != nullptr && node.find("containerEdits") != nullptr)) {
        return "cdi";
    }
    return is_docker_daemon(file_name, node) ? "docker-daemon" : std::string_view();
}

}  // namespace

Result<Forms> read_forms(std::string_view text, std::string_view more) {
    Forms forms;
    for (const std::string_view one : {text, more}) {
        if (one.empty()) continue;
        if (auto error = add_forms(one, forms)) return *std::move(error);
    }
    for (auto& [name, form] : forms) fill_in(form, forms, 0);
    for (auto& [name, form] : forms) gather_keys(form, forms, 0);
    return forms;
}

bool has_key(const FormNode& form, std::string_view key) {
    return std::find(form.known.begin(), form.known.end(), key) != form.known.end();
}

const FormNode* find_form(std::string_view name) {
    const auto found = own_forms().find(name);
    return found == own_forms().end() ? nullptr : &found->second;
}

std::vector<std::string_view> words_of_form(std::string_view name) {
    const FormNode* const form = find_form(name);
    return form == nullptr ? std::vector<std::string_view>() : form->values;
}

const FormNode* form_of(std::string_view file_name, const Object& object) {
    if (!object.node->is_mapping()) return nullptr;
    if (!object.kind.empty() && !object.api_version.empty()) {
        const std::string group = object.group();
        return find_form((group.empty() ? "core" : group) + '/' + object.kind);
    }
    const std::string_view name = plain_form(file_name, object);
    return name.empty() ? nullptr : find_form(name);
}

}  // namespace aliquot::lint
