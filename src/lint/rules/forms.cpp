// SPDX-License-Identifier: Apache-2.0
// Documents against the form of their kind: FORM001 to FORM005.
#include "lint/forms.h"

#include <algorithm>

#include "base/sentence.h"
#include "findings/finding.h"
#include "lint/families.h"
#include "lint/file.h"
#include "lint/kept.h"
#include "lint/rules/form_values.h"
#include "lint/words.h"
#include "syntax/written_objects.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

std::string step_text(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : path + '.' + std::string(key);
}

bool has_merge(const Value& node) {
    return std::any_of(node.entries.begin(), node.entries.end(), [](const Value::Entry& entry) {
        return entry.first.scalar == "<<" || is_placeholder(entry.first.scalar);
    });
}

bool is_one_of(const std::vector<std::string_view>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// Walks one document and its form side by side.
class FormCheck {
public:
    /// `strict`: a key that a full form does not have is one too many.
    /// `selected`: a kustomization writes the selectors.
    FormCheck(const Object& object, bool whole, bool strict, bool selected, Report& report)
        : whole_(whole && !is_templated(object)),
          strict_(strict && whole_),
          selected_(selected),
          prose_(report.file().is_prose()),
          templated_(is_templated(object)),
          chart_(object.role == Role::kHelmValues),
          report_(report) {}

    /// `above` is the form of the mapping that this one stands in; nullptr: none.
    void check(const FormNode& form, const Value& value, const std::string& path, int depth,
               const FormNode* above = nullptr) {
        constexpr int kDeepest = 40;
        if (depth > kDeepest) return;
        if (value.is_mapping()) {
            check_mapping(form, value, path, depth, above);
        } else if (value.is_sequence()) {
            check_list(form, value, path, depth, above);
        } else {
            check_scalar(form, value, path);
        }
    }

private:
    /// Annotations of alerts have templates of Prometheus' own, which take no keys away.
    static bool is_templated(const Object& object) {
        return object.templated && (object.gaps || object.role != Role::kPrometheusRules);
    }

    Report::Entry add(const FormNode& form, std::string_view rule, Mark mark, std::string message) {
        Report::Entry entry = report_.add(rule, mark, std::move(message));
        if (form.warning) entry.severity(Severity::kWarning);
        return entry;
    }

    static bool takes_mapping(FormType type) {
        return type == FormType::kAny || type == FormType::kOpen || type == FormType::kMap ||
               type == FormType::kClosed || type == FormType::kPorts;
    }

    void check_mapping(const FormNode& form, const Value& node, const std::string& path, int depth,
                       const FormNode* above) {
        if (!takes_mapping(form.type)) {
            add(form, "FORM002", node.mark, '\'' + path + "' is a mapping")
                .expected(form.type == FormType::kList ? "a list" : "one value");
            return;
        }
        const FormNode* included = form.include.empty() ? nullptr : find_form(form.include);
        for (const Value::Entry& entry : node.entries) {
            const std::string& key = entry.first.scalar;
            const FormNode* child = child_of(form, included, key);
            if (child == nullptr) {
                const bool closed = form.type == FormType::kClosed ||
                                    (included != nullptr && included->type == FormType::kClosed);
                if (!check_level(form, included, above, entry, path)) {
                    check_key(form, closed, is_full(form, included), entry, path);
                }
                continue;
            }
            // Keys are free, and some are known: what is nearly one of them is meant to be it.
            if (!form.any.empty() && child == &form.any.front() && !form.values.empty()) {
                check_key(form, false, false, entry, path);
            }
            check(*child, entry.second, step_text(path, key), depth + 1, &form);
            check_beside(*child, node, entry);
        }
        if (whole_ && !has_merge(node)) {
            check_required(form, node, path);
            if (included != nullptr) check_required(*included, node, path);
        }
    }

    static const FormNode* child_of(const FormNode& form, const FormNode* included,
                                    const std::string& key) {
        if (const auto at = form.keys.find(key); at != form.keys.end()) return &at->second;
        if (included != nullptr) {
            if (const auto at = included->keys.find(key); at != included->keys.end()) {
                return &at->second;
            }
        }
        return form.any.empty() ? nullptr : &form.any.front();
    }

    static bool is_full(const FormNode& form, const FormNode* included) {
        return form.full || (included != nullptr && included->full);
    }

    static const FormNode* part_of(const FormNode& form) {
        return form.include.empty() ? nullptr : find_form(form.include);
    }

    /// The one mapping below a form that has the key; empty: none, or several.
    static std::string_view holder_of(const FormNode& form, const FormNode* included,
                                      const std::string& key) {
        std::string_view holder;
        for (const FormNode* const one : {&form, included}) {
            if (one == nullptr) continue;
            for (const auto& [name, child] : one->keys) {
                if (child.type != FormType::kMap && child.type != FormType::kClosed) continue;
                const FormNode* const part = part_of(child);
                const bool has = has_key(child, key) || (part != nullptr && has_key(*part, key));
                if (!has || name == holder) continue;
                if (!holder.empty()) return {};
                holder = name;
            }
        }
        return holder;
    }

    /// A key that belongs one level up or down. Returns whether it is one.
    bool check_level(const FormNode& form, const FormNode* included, const FormNode* above,
                     const Value::Entry& entry, const std::string& path) {
        const std::string& key = entry.first.scalar;
        if (path.empty() || (!is_full(form, included) && form.type != FormType::kClosed)) {
            return false;
        }
        if (!strict_ || has_key(form, key) || is_placeholder(key)) return false;
        if (chart_ && report_.has(entry.first.mark)) return true;
        const auto dot = path.rfind('.');
        const std::string above_path = dot == std::string::npos ? "" : path.substr(0, dot);
        std::string place;
        if (above != nullptr && has_key(*above, key) && above->any.empty()) {
            place =
                dot == std::string::npos ? "the level above" : '\'' + path.substr(0, dot) + '\'';
        }
        // "name" and "type" stand in many places.
        constexpr std::size_t kSaysMuch = 6;
        if (place.empty() && key.size() >= kSaysMuch) {
            std::string_view name = holder_of(form, included, key);
            if (!name.empty()) place = '\'' + step_text(path, name) + '\'';
            if (name.empty() && above != nullptr) {
                name = holder_of(*above, part_of(*above), key);
                if (!name.empty()) place = '\'' + step_text(above_path, name) + '\'';
            }
        }
        if (place.empty()) return false;
        add(form, "FORM001", entry.first.mark,
            '\'' + path + "' has no key '" + key + "'; it belongs into " + place)
            .expected('\'' + key + "' in " + place);
        return true;
    }

    /// A key that the form does not have.
    void check_key(const FormNode& form, bool closed, bool full, const Value::Entry& entry,
                   const std::string& path) {
        const std::string& key = entry.first.scalar;
        if (form.known.empty() || is_one_of(form.known, key) || key.empty() || key == "<<" ||
            key.starts_with("x-") || is_placeholder(key) || key.find('_') == 0) {
            return;
        }
        if (chart_ && (path.empty() || report_.has(entry.first.mark))) return;  // GOP008 has these
        const std::string_view meant = nearest_key(key, form.known);
        if (meant.empty() && !closed && (!full || !strict_ || chart_)) return;
        std::string all;
        for (const std::string_view one : form.known) {
            constexpr std::size_t kMost = 90;
            if (all.size() < kMost) all += (all.empty() ? "" : ", ") + std::string(one);
        }
        auto found = add(
            form, "FORM001", entry.first.mark,
            (path.empty() ? "the document" : '\'' + path + '\'') + " has no key '" + key + '\'');
        found.expected(meant.empty() ? "one of " + all : std::string(meant))
            .fix(meant.empty() ? std::string() : std::string(meant) + ":");
        // Another release may have it.
        if (meant.empty() && !closed) found.severity(Severity::kWarning);
    }

    /// Keys of the same mapping that must or must not be there.
    void check_beside(const FormNode& child, const Value& node, const Value::Entry& entry) {
        if (templated_) return;
        const std::string& key = entry.first.scalar;
        for (const std::string_view other : child.not_beside) {
            if (node.find(other) == nullptr) continue;
            add(child, "FORM005", entry.first.mark,
                '\'' + key + "' and '" + std::string(other) + "' exclude each other")
                .expected("one of them");
        }
        for (const FormNode::Condition& one : child.conditions) {
            const Value* other = node.find(one.key);
            // What a part of a document leaves out may stand elsewhere.
            if (one.must || (other == nullptr && !whole_)) continue;
            if (!is_one_of(one.values, other == nullptr ? "unset" : other->scalar)) continue;
            if (entry.second.scalar.empty() && entry.second.items.empty() &&
                entry.second.entries.empty()) {
                continue;
            }
            const std::string name(one.key);
            if (other == nullptr) {
                add(child, "FORM005", entry.first.mark,
                    '\'' + key + "' stands without '" + name + "', which it needs")
                    .expected(name);
                continue;
            }
            add(child, "FORM005", entry.first.mark,
                '\'' + key + "' stands beside '" + name + ": " + other->scalar +
                    "', which has none")
                .expected("no '" + key + "', or another " + name);
        }
    }

    void check_required(const FormNode& form, const Value& node, const std::string& path) {
        if (node.entries.empty() && path.empty()) return;
        const bool excerpt = is_excerpt(form, node);
        for (const auto& [key, child] : form.keys) {
            if (node.find(key) != nullptr || (selected_ && key == "selector")) continue;
            bool needed = child.required || (child.needed && !excerpt);
            for (const FormNode::Condition& one : child.conditions) {
                needed = needed || (one.must && is_one_of(one.values, text_at(node, {one.key})));
            }
            if (!needed || is_misspelt(form, node, key)) continue;
            add(child, "FORM004",
                node.entries.empty() ? node.mark : node.entries.front().first.mark,
                (path.empty() ? "the document" : '\'' + path + '\'') + " has no '" +
                    std::string(key) + '\'')
                .expected(std::string(key));
        }
    }

    /// Whether most of what is needed is left out: a part that is shown, not all of an object.
    static bool is_excerpt(const FormNode& form, const Value& node) {
        std::ptrdiff_t there = 0;
        std::ptrdiff_t missing = 0;
        for (const auto& [key, child] : form.keys) {
            if (child.needed) ++(node.find(key) != nullptr ? there : missing);
        }
        return missing > there;
    }

    /// One mistake, one finding: the key stands there, but in other letters.
    static bool is_misspelt(const FormNode& form, const Value& node, std::string_view key) {
        return std::any_of(node.entries.begin(), node.entries.end(), [&](const Value::Entry& one) {
            return !is_one_of(form.known, one.first.scalar) &&
                   nearest_key(one.first.scalar, form.known) == key;
        });
    }

    /// "[YOUR_ROLE]" in the place of a text: to be filled in.
    static bool is_bracketed_name(const Value& list) {
        if (list.items.size() != 1) return false;
        const std::string& only = list.items.front().scalar;
        return is_placeholder(only) || is_capital_name(only);
    }

    void check_list(const FormNode& form, const Value& node, const std::string& path, int depth,
                    const FormNode* above) {
        if (form.type != FormType::kAny && form.type != FormType::kList) {
            if (is_bracketed_name(node)) return;
            const bool mapping = takes_mapping(form.type);
            add(form, "FORM002", node.mark, '\'' + path + "' is a list")
                .expected(mapping ? "a mapping" : "one value");
            return;
        }
        if (form.items.empty()) return;
        for (std::size_t i = 0; i < node.items.size(); ++i) {
            check(form.items.front(), node.items[i], path + '[' + std::to_string(i) + ']',
                  depth + 1, above);
        }
    }

    void check_scalar(const FormNode& form, const Value& value, const std::string& path) {
        if (value.kind == Value::Kind::kNull || is_placeholder(value.scalar)) return;
        const bool mapping = takes_mapping(form.type) && form.type != FormType::kAny &&
                             form.type != FormType::kPorts;
        if (mapping || form.type == FormType::kList) {
            if (value.scalar.empty()) return;  // what a template left out
            add(form, "FORM002", value.mark, '\'' + path + "' is '" + clip_value(value) + '\'')
                .expected(mapping ? "a mapping" : "a list");
            return;
        }
        if (form.type == FormType::kAny && form.items.empty() && !form.keys.empty()) return;
        const auto wrong = find_wrong_value(form, value);
        if (!wrong || (form.type != FormType::kText && is_capital_name(value.scalar))) return;
        // What a text says of a key, in its place.
        constexpr std::ptrdiff_t kSentence = 3;
        if (prose_ && std::count(value.scalar.begin(), value.scalar.end(), ' ') >= kSentence)
            return;
        auto entry = add(form, wrong->type ? "FORM002" : "FORM003", value.mark,
                         '\'' + path + "' is '" + clip_value(value) + '\'');
        entry.expected(wrong->expected);
        if (!wrong->meant.empty()) entry.fix(wrong->meant);
    }

    static std::string clip_value(const Value& value) {
        constexpr std::size_t kMost = 60;
        return one_line(value.scalar, kMost);
    }

    bool whole_;
    bool strict_;
    bool selected_;
    bool prose_;
    bool templated_;  // one of two keys may be what an {{ if }} leaves
    bool chart_;      // values of a chart
    Report& report_;
};

/// Resources of Terraform and sources of Packer: the forms "hcl resource aws_eks_node_group" and "hcl variable".
void check_blocks(const File& file, bool whole, Report& report) {
    const Object object;
    for (const Block& block : file.blocks) {
        if (block.language != Language::kHcl) continue;
        for (const syntax::HclBlock& one : syntax::read_hcl_blocks(block)) {
            const FormNode* form = find_form("hcl " + one.type);
            if (!one.labels.empty()) {
                const FormNode* own = find_form("hcl " + one.type + ' ' + one.labels.front());
                if (own != nullptr) form = own;
            }
            if (form == nullptr) continue;
            FormCheck(object, whole, whole, false, report)
                .check(*form, one.body, one.labels.empty() ? one.type : one.labels.front(), 0);
        }
    }
}

}  // namespace

void check_forms(const File& file, const Set& set, const Facts*, Report& report) {
    if (is_kept(file) || is_record(file)) return;
    const bool whole = !file.is_prose() && !set.kustomizations().is_patch(file);
    const bool selected = set.kustomizations().label_selectors(file);
    for (const Object& object : file.objects) {
        const FormNode* form = form_of(file.name, object);
        if (form == nullptr || object.broken) continue;
        // The groups of a PrometheusRule are judged with it.
        if (object.role == Role::kPrometheusRules && object.holder >= 0 &&
            form_of(file.name, file.objects[static_cast<std::size_t>(object.holder)]) != nullptr) {
            continue;
        }
        FormCheck(object, object.role != Role::kPatch && whole, true, selected, report)
            .check(*form, *object.node, "", 0);
    }
    check_blocks(file, whole, report);
    const FormNode* pod_form = find_form("pod");
    if (pod_form == nullptr) return;
    for (const PodSpec& pod : file.pods) {
        const Object* object = file.object(pod);
        if (pod.node == nullptr || !pod.node->is_mapping() || object == nullptr) continue;
        // `spec` of a kind that is no workload of Kubernetes has a form of its own.
        if (object->node->find("spec") == pod.node && !object->is_workload()) continue;
        if (contains(object->group(), "kyverno.io")) continue;  // patterns of values
        if (object->broken || (object->role != Role::kObject && object->role != Role::kPatch)) {
            continue;
        }
        const bool own = object->is_workload() || pod.path.ends_with("template.spec");
        // Another kind's mapping with the resources of a pod has keys of its own.
        if (!own && pod.node->find("containers") == nullptr) continue;
        FormCheck(*object, pod.whole && whole && own, own, selected, report)
            .check(*pod_form, *pod.node, "spec", 0);
    }
}

}  // namespace aliquot::lint
