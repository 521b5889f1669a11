// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/access.h"

#include <algorithm>

#include "base/text.h"
#include "sim/apiserver/selector.h"

namespace aliquot::sim::apiserver {

namespace {

bool has_group(const User& user, std::string_view group) {
    return std::ranges::find(user.groups, group) != user.groups.end();
}

bool lists(const Value& list, std::string_view word) {
    return std::ranges::any_of(
        list.items(), [&](const Value& one) { return one.text() == "*" || one.text() == word; });
}

bool rule_fits(const Value& rule, const Attributes& wanted) {
    if (!lists(rule.at("verbs"), wanted.verb)) return false;
    if (!wanted.is_resource) {
        return std::ranges::any_of(rule.at("nonResourceURLs").items(), [&](const Value& url) {
            const std::string& text = url.text();
            if (text.ends_with('*')) {
                return wanted.path.starts_with(text.substr(0, text.size() - 1));
            }
            return text == wanted.path;
        });
    }
    if (!lists(rule.at("apiGroups"), wanted.group)) return false;
    const std::string full =
        wanted.subresource.empty() ? wanted.resource : wanted.resource + "/" + wanted.subresource;
    const bool resource = std::ranges::any_of(rule.at("resources").items(), [&](const Value& one) {
        return one.text() == "*" || one.text() == full ||
               (!wanted.subresource.empty() && one.text() == "*/" + wanted.subresource);
    });
    if (!resource) return false;
    const Value& names = rule.at("resourceNames");
    return names.empty() || std::ranges::any_of(names.items(), [&](const Value& name) {
               return !wanted.name.empty() && name.text() == wanted.name;
           });
}

bool is_subject(const Value& binding, const User& user) {
    return std::ranges::any_of(binding.at("subjects").items(), [&](const Value& subject) {
        const std::string& kind = subject.at("kind").text();
        const std::string& name = subject.at("name").text();
        if (kind == "User") return name == user.name;
        if (kind == "Group") return has_group(user, name);
        std::string name_space = subject.at("namespace").text();
        if (name_space.empty()) name_space = binding.at_path("metadata.namespace").text();
        return user.name == "system:serviceaccount:" + name_space + ":" + name;
    });
}

const std::string kRoles = "rbac.authorization.k8s.io/roles";
const std::string kClusterRoles = "rbac.authorization.k8s.io/clusterroles";
const std::string kRoleBindings = "rbac.authorization.k8s.io/rolebindings";
const std::string kClusterRoleBindings = "rbac.authorization.k8s.io/clusterrolebindings";

/// The rules of the role that a binding names; those of aggregated cluster roles too.
std::vector<Value> rules_behind(const ServerContext& context, const Value& binding) {
    std::vector<Value> rules;
    const Value& ref = binding.at("roleRef");
    const bool cluster = ref.at("kind").text() == "ClusterRole";
    const std::string key =
        cluster ? ref.at("name").text()
                : Call::key_of(binding.at_path("metadata.namespace").text(), ref.at("name").text());
    const EntryPtr role = context.store.get(cluster ? kClusterRoles : kRoles, key);
    if (role == nullptr) return rules;
    for (const Value& rule : role->object.at("rules").items()) rules.push_back(rule);
    const Value& selectors = role->object.at_path("aggregationRule.clusterRoleSelectors");
    if (selectors.empty()) return rules;
    const auto all = context.store.list(kClusterRoles, "", 0, "", 0);
    for (const EntryPtr& other : all->entries) {
        const bool selected = std::ranges::any_of(selectors.items(), [&](const Value& one) {
            return matches_labels(read_label_selector(one),
                                  other->object.at_path("metadata.labels"));
        });
        if (!selected) continue;
        for (const Value& rule : other->object.at("rules").items()) rules.push_back(rule);
    }
    return rules;
}

std::vector<EntryPtr> bindings_for(const ServerContext& context, const std::string& name_space) {
    const auto everywhere = context.store.list(kClusterRoleBindings, "", 0, "", 0);
    std::vector<EntryPtr> found = everywhere->entries;
    if (!name_space.empty()) {
        const auto here = context.store.list(kRoleBindings, name_space + "/", 0, "", 0);
        found.insert(found.end(), here->entries.begin(), here->entries.end());
    }
    return found;
}

std::optional<User> user_of_token(const ServerContext& context, const std::string& token) {
    const std::shared_lock lock(context.tokens_guard);
    const auto found = context.tokens.find(token);
    if (found == context.tokens.end()) return std::nullopt;
    User user = found->second;
    user.groups.emplace_back("system:authenticated");
    return user;
}

User administrator() {
    return {"system:admin", "", {"system:masters", "system:authenticated"}, {}};
}

/// Impersonate-User and -Group headers, for administrators.
void impersonate(const HttpRequest& request, User& user) {
    const std::string_view name = request.header("impersonate-user");
    if (name.empty() || !has_group(user, "system:masters")) return;
    User other;
    other.name = name;
    for (const std::string_view group : split_list(request.header("impersonate-group"))) {
        other.groups.emplace_back(group);
    }
    if (name.starts_with("system:serviceaccount:") && other.groups.empty()) {
        const std::vector<std::string_view> parts = split(name, ':');
        other.groups.emplace_back("system:serviceaccounts");
        if (parts.size() > 2)
            other.groups.push_back("system:serviceaccounts:" + std::string(parts[2]));
    }
    other.groups.emplace_back("system:authenticated");
    user = std::move(other);
}

}  // namespace

std::optional<User> authenticate(const ServerContext& context, const HttpRequest& request) {
    const std::string_view header = request.header("authorization");
    std::optional<User> user;
    if (lower(header.substr(0, 7)) == "bearer ") {
        user = user_of_token(context, std::string(trim(header.substr(7))));
        if (!user) return std::nullopt;
    } else if (!request.peer_name.empty()) {
        user = User{request.peer_name, "", request.peer_groups, {}};
        user->groups.emplace_back("system:authenticated");
    } else if (!context.options.rbac) {
        user = administrator();
        if (!context.options.anonymous) return std::nullopt;
    } else {
        if (!context.options.anonymous) return std::nullopt;
        return User{"system:anonymous", "", {"system:unauthenticated"}, {}};
    }
    impersonate(request, *user);
    return user;
}

std::optional<std::string> allowed_by_roles(const ServerContext& context,
                                            const Attributes& attributes) {
    for (const EntryPtr& binding : bindings_for(context, attributes.name_space)) {
        if (!is_subject(binding->object, attributes.user)) continue;
        for (const Value& rule : rules_behind(context, binding->object)) {
            if (!rule_fits(rule, attributes)) continue;
            const Value& ref = binding->object.at("roleRef");
            const std::string& kind = binding->object.at("kind").text();
            std::string name = binding->object.at_path("metadata.name").text();
            if (kind == "RoleBinding")
                name += "/" + binding->object.at_path("metadata.namespace").text();
            return "RBAC: allowed by " + kind + " \"" + name + "\" of " + ref.at("kind").text() +
                   " \"" + ref.at("name").text() + "\" to " + "the user";
        }
    }
    return std::nullopt;
}

Value rules_of(const ServerContext& context, const User& user, const std::string& name_space) {
    Value resources = Value::array();
    Value paths = Value::array();
    if (!context.options.rbac || has_group(user, "system:masters")) {
        const Value all = Value(Value::Array{Value("*")});
        resources.push(Value::object({{"verbs", all}, {"apiGroups", all}, {"resources", all}}));
        paths.push(Value::object({{"verbs", all}, {"nonResourceURLs", all}}));
    } else {
        for (const EntryPtr& binding : bindings_for(context, name_space)) {
            if (!is_subject(binding->object, user)) continue;
            for (const Value& rule : rules_behind(context, binding->object)) {
                (rule.find("nonResourceURLs") != nullptr ? paths : resources).push(rule);
            }
        }
    }
    return Value::object({{"resourceRules", std::move(resources)},
                          {"nonResourceRules", std::move(paths)},
                          {"incomplete", false}});
}

std::optional<Failure> authorize(const ServerContext& context, const Attributes& wanted) {
    if (!context.options.rbac || has_group(wanted.user, "system:masters")) return std::nullopt;
    if (allowed_by_roles(context, wanted)) return std::nullopt;
    const std::string who = "User \"" + wanted.user.name + "\" cannot ";
    if (!wanted.is_resource) {
        Failure failure = forbidden("", "", "", "");
        failure.message = "forbidden: " + who + wanted.verb + " path \"" + wanted.path + "\"";
        return failure;
    }
    const std::string full =
        wanted.subresource.empty() ? wanted.resource : wanted.resource + "/" + wanted.subresource;
    return forbidden(
        wanted.resource, wanted.group, wanted.name,
        who + wanted.verb + " resource \"" + full + "\" in API group \"" + wanted.group + "\"" +
            (wanted.name_space.empty() ? " at the cluster scope"
                                       : " in the namespace \"" + wanted.name_space + "\""));
}

}  // namespace aliquot::sim::apiserver
