// SPDX-License-Identifier: Apache-2.0
// The Pod Security Standards, one control after the other.
#include <algorithm>
#include <iterator>
#include <set>

#include "base/text.h"
#include "sim/apiserver/pod_security.h"

namespace aliquot::sim::apiserver {

namespace {

using Names = std::vector<std::string>;
using Words = std::set<std::string_view>;

struct Pod {
    const Value& metadata;
    const Value& spec;
    std::vector<const Value*> containers;  // of all three lists

    [[nodiscard]] bool windows() const { return spec.at_path("os.name").text() == "windows"; }
    [[nodiscard]] bool own_users() const { return !spec.at("hostUsers").boolean(true); }
    /// Names of the containers for which `holds`.
    template <class Holds>
    [[nodiscard]] Names which(Holds holds) const {
        Names names;
        for (const Value* container : containers) {
            if (holds(*container)) names.push_back(container->at("name").text());
        }
        return names;
    }
};

std::string quoted(const Names& words) {
    Names parts;
    for (const std::string& word : words) parts.push_back("\"" + word + "\"");
    return join(parts, ", ");
}

std::string plural(std::string_view noun, const Names& names) {
    return std::string(noun) + (names.size() == 1 ? "" : "s");
}

/// `container "c"`, `containers "c", "d"`.
std::string containers(const Names& names) {
    return plural("container", names) + " " + quoted(names);
}

/// `pod`, `container "c"`, `pod and containers "c", "d"`; empty when it is neither.
std::string owners(bool pod, const Names& names) {
    if (names.empty()) return pod ? "pod" : "";
    return (pod ? "pod and " : "") + containers(names);
}

std::string with(std::string_view reason, const std::string& detail) {
    return detail.empty() ? "" : std::string(reason) + " (" + detail + ")";
}

const Value& security(const Value& owner) { return owner.at("securityContext"); }

std::string privileged(const Pod& pod) {
    const Names names =
        pod.which([](const Value& one) { return security(one).at("privileged").boolean(); });
    if (names.empty()) return {};
    return with("privileged", containers(names) + " must not set securityContext.privileged=true");
}

std::string host_namespaces(const Pod& pod) {
    Names found;
    for (const char* field : {"hostNetwork", "hostPID", "hostIPC"}) {
        if (pod.spec.at(field).boolean()) found.push_back(std::string(field) + "=true");
    }
    return with("host namespaces", join(found, ", "));
}

std::string host_paths(const Pod& pod) {
    Names names;
    for (const Value& volume : pod.spec.at("volumes").items()) {
        if (!volume.at("hostPath").is_null()) names.push_back(volume.at("name").text());
    }
    if (names.empty()) return {};
    return with("hostPath volumes", plural("volume", names) + " " + quoted(names));
}

std::string host_ports(const Pod& pod) {
    Names ports;
    const Names names = pod.which([&](const Value& container) {
        bool any = false;
        for (const Value& port : container.at("ports").items()) {
            if (port.at("hostPort").integer() == 0) continue;
            ports.push_back(std::to_string(port.at("hostPort").integer()));
            any = true;
        }
        return any;
    });
    if (names.empty()) return {};
    return with("hostPort", containers(names) + (names.size() == 1 ? " uses " : " use ") +
                                plural("hostPort", ports) + " " + join(ports, ", "));
}

void gather_hosts(const Value& value, Names& hosts) {
    for (const char* way : {"httpGet", "tcpSocket"}) {
        const std::string& host = value.at(way).at("host").text();
        if (!host.empty()) hosts.push_back(host);
    }
}

std::string probe_hosts(const Pod& pod) {
    Names hosts;
    const Names names = pod.which([&](const Value& container) {
        const std::size_t before = hosts.size();
        for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
            gather_hosts(container.at(probe), hosts);
        }
        for (const char* hook : {"postStart", "preStop"}) {
            gather_hosts(container.at("lifecycle").at(hook), hosts);
        }
        return hosts.size() > before;
    });
    if (names.empty()) return {};
    return with("probe or lifecycle host",
                containers(names) + (names.size() == 1 ? " uses" : " use") +
                    " probe or lifecycle " + plural("host", hosts) + " " + quoted(hosts));
}

std::string app_armor(const Pod& pod) {
    const auto unconfined = [](const Value& owner) {
        return security(owner).at_path("appArmorProfile.type").text() == "Unconfined";
    };
    const std::string who = owners(unconfined(pod.spec), pod.which(unconfined));
    Names found;
    if (!who.empty())
        found.push_back(who + " must not set AppArmor profile type to \"Unconfined\"");
    for (const Member& one : pod.metadata.at("annotations").members()) {
        const std::string& text = one.value.text();
        if (!one.name.starts_with("container.apparmor.security.beta.kubernetes.io/")) continue;
        if (text.empty() || text == "runtime/default" || text.starts_with("localhost/")) continue;
        found.push_back("annotation must not set \"" + one.name + "\"=\"" + text + "\"");
    }
    return with("forbidden AppArmor profile", join(found, "; "));
}

/// Containers that add a capability which is not among those; they come in `added`, sorted.
Names adds_beside(const Pod& pod, const Words& allowed, Names& added) {
    std::set<std::string> found;
    Names names = pod.which([&](const Value& container) {
        bool any = false;
        for (const Value& one : security(container).at_path("capabilities.add").items()) {
            if (allowed.contains(one.text())) continue;
            found.insert(one.text());
            any = true;
        }
        return any;
    });
    added.assign(found.begin(), found.end());
    return names;
}

std::string must_not_add(const Pod& pod, const Words& allowed) {
    Names added;
    const Names names = adds_beside(pod, allowed, added);
    if (names.empty()) return {};
    return containers(names) + " must not include " + quoted(added) +
           " in securityContext.capabilities.add";
}

std::string default_capabilities(const Pod& pod) {
    static const Words kAllowed = {"AUDIT_WRITE", "CHOWN",  "DAC_OVERRIDE",     "FOWNER",  "FSETID",
                                   "KILL",        "MKNOD",  "NET_BIND_SERVICE", "SETFCAP", "SETGID",
                                   "SETPCAP",     "SETUID", "SYS_CHROOT"};
    return with("non-default capabilities", must_not_add(pod, kAllowed));
}

std::string dropped_capabilities(const Pod& pod) {
    if (pod.windows()) return {};
    Names found;
    const Names keeping = pod.which([](const Value& container) {
        return std::ranges::none_of(security(container).at_path("capabilities.drop").items(),
                                    [](const Value& one) { return one.text() == "ALL"; });
    });
    if (!keeping.empty()) {
        found.push_back(containers(keeping) +
                        " must set securityContext.capabilities.drop=[\"ALL\"]");
    }
    const std::string added = must_not_add(pod, {"NET_BIND_SERVICE"});
    if (!added.empty()) found.push_back(added);
    return with("unrestricted capabilities", join(found, "; "));
}

std::string proc_mounts(const Pod& pod, bool own_users_may) {
    if (own_users_may && pod.own_users()) return {};
    std::set<std::string> mounts;
    const Names names = pod.which([&](const Value& container) {
        const std::string& text = security(container).at("procMount").text();
        if (text.empty() || text == "Default") return false;
        mounts.insert(text);
        return true;
    });
    if (names.empty()) return {};
    return with("procMount", containers(names) + " must not set securityContext.procMount to " +
                                 quoted({mounts.begin(), mounts.end()}));
}
std::string proc_mounts_baseline(const Pod& pod) { return proc_mounts(pod, true); }
std::string proc_mounts_restricted(const Pod& pod) { return proc_mounts(pod, false); }

std::string se_linux(const Pod& pod) {
    static const Words kAllowed = {"", "container_t", "container_init_t", "container_kvm_t",
                                   "container_engine_t"};
    std::set<std::string> types;
    bool user = false;
    bool role = false;
    const auto forbidden_options = [&](const Value& owner) {
        const Value& options = security(owner).at("seLinuxOptions");
        const std::string& type = options.at("type").text();
        const bool wrong_type = !kAllowed.contains(type);
        if (wrong_type) types.insert(type);
        const bool sets_user = !options.at("user").text().empty();
        const bool sets_role = !options.at("role").text().empty();
        user = user || sets_user;
        role = role || sets_role;
        return wrong_type || sets_user || sets_role;
    };
    const bool of_pod = forbidden_options(pod.spec);
    const std::string who = owners(of_pod, pod.which(forbidden_options));
    if (who.empty()) return {};
    const Names wrong(types.begin(), types.end());
    Names found;
    if (!wrong.empty()) found.push_back(plural("type", wrong) + " " + quoted(wrong));
    if (user) found.emplace_back("user may not be set");
    if (role) found.emplace_back("role may not be set");
    return with("seLinuxOptions",
                who + " set forbidden securityContext.seLinuxOptions: " + join(found, "; "));
}

std::string unconfined_seccomp(const Pod& pod) {
    const auto unconfined = [](const Value& owner) {
        return security(owner).at_path("seccompProfile.type").text() == "Unconfined";
    };
    const std::string who = owners(unconfined(pod.spec), pod.which(unconfined));
    if (who.empty()) return {};
    return who + " must not set securityContext.seccompProfile.type to \"Unconfined\"";
}

std::string seccomp_baseline(const Pod& pod) {
    return with("seccompProfile", unconfined_seccomp(pod));
}

std::string seccomp_restricted(const Pod& pod) {
    if (pod.windows()) return {};
    const std::string unconfined = unconfined_seccomp(pod);
    if (!unconfined.empty()) return with("seccompProfile", unconfined);
    const auto without = [](const Value& owner) {
        return security(owner).at_path("seccompProfile.type").is_null();
    };
    const Names names = pod.which(without);
    if (!without(pod.spec) || names.empty()) return {};
    return with("seccompProfile", "pod or " + containers(names) +
                                      " must set securityContext.seccompProfile.type to "
                                      "\"RuntimeDefault\" or \"Localhost\"");
}

std::string sysctls(const Pod& pod) {
    static const Words kAllowed = {"kernel.shm_rmid_forced",
                                   "net.ipv4.ip_local_port_range",
                                   "net.ipv4.tcp_syncookies",
                                   "net.ipv4.ping_group_range",
                                   "net.ipv4.ip_unprivileged_port_start",
                                   "net.ipv4.ip_local_reserved_ports",
                                   "net.ipv4.tcp_keepalive_time",
                                   "net.ipv4.tcp_fin_timeout",
                                   "net.ipv4.tcp_keepalive_intvl",
                                   "net.ipv4.tcp_keepalive_probes",
                                   "net.ipv4.tcp_rmem",
                                   "net.ipv4.tcp_wmem"};
    Names found;
    for (const Value& one : security(pod.spec).at("sysctls").items()) {
        if (!kAllowed.contains(one.at("name").text())) found.push_back(one.at("name").text());
    }
    return with("forbidden sysctls", join(found, ", "));
}

std::string host_process(const Pod& pod) {
    const auto host = [](const Value& owner) {
        return security(owner).at_path("windowsOptions.hostProcess").boolean();
    };
    const std::string who = owners(host(pod.spec), pod.which(host));
    if (who.empty()) return {};
    return with("hostProcess",
                who + " must not set securityContext.windowsOptions.hostProcess=true");
}

std::string escalation(const Pod& pod) {
    if (pod.windows()) return {};
    const Names names = pod.which([](const Value& container) {
        return security(container).at("allowPrivilegeEscalation").boolean(true);
    });
    if (names.empty()) return {};
    return with("allowPrivilegeEscalation != false",
                containers(names) + " must set securityContext.allowPrivilegeEscalation=false");
}

std::string restricted_volumes(const Pod& pod) {
    static const Words kAllowed = {"configMap", "csi",   "downwardAPI",           "emptyDir",
                                   "ephemeral", "image", "persistentVolumeClaim", "projected",
                                   "secret"};
    Names names;
    std::set<std::string> sources;
    for (const Value& volume : pod.spec.at("volumes").items()) {
        for (const Member& member : volume.members()) {
            if (member.name == "name" || kAllowed.contains(member.name)) continue;
            names.push_back(volume.at("name").text());
            sources.insert(member.name);
        }
    }
    if (names.empty()) return {};
    const Names types(sources.begin(), sources.end());
    return with("restricted volume types", plural("volume", names) + " " + quoted(names) +
                                               (names.size() == 1 ? " uses" : " use") +
                                               " restricted volume " + plural("type", types) + " " +
                                               quoted(types));
}

std::string non_root(const Pod& pod) {
    if (pod.own_users()) return {};
    const auto says = [](const Value& owner) -> const Value& {
        return security(owner).at("runAsNonRoot");
    };
    const bool pod_wrong = !says(pod.spec).boolean(true);
    const Names wrong = pod.which([&](const Value& one) { return !says(one).boolean(true); });
    if (!wrong.empty() || pod_wrong) {
        return with("runAsNonRoot != true",
                    owners(pod_wrong, wrong) + " must not set securityContext.runAsNonRoot=false");
    }
    if (says(pod.spec).boolean()) return {};
    const Names silent = pod.which([&](const Value& one) { return !says(one).boolean(); });
    if (silent.empty()) return {};
    return with("runAsNonRoot != true",
                "pod or " + containers(silent) + " must set securityContext.runAsNonRoot=true");
}

std::string as_root(const Pod& pod) {
    if (pod.own_users()) return {};
    const auto root = [](const Value& owner) {
        const Value& user = security(owner).at("runAsUser");
        return user.is_integer() && user.integer() == 0;
    };
    const std::string who = owners(root(pod.spec), pod.which(root));
    return who.empty() ? "" : with("runAsUser=0", who + " must not set runAsUser=0");
}

using Control = std::string (*)(const Pod&);
// In the order in which they are reported.
constexpr Control kBaselineAlways[] = {app_armor,  host_namespaces, host_ports, probe_hosts,
                                       privileged, se_linux,        sysctls,    host_process};
constexpr Control kBaseline[] = {
    app_armor,  default_capabilities, host_namespaces, host_paths,       host_ports, probe_hosts,
    privileged, proc_mounts_baseline, se_linux,        seccomp_baseline, sysctls,    host_process};
constexpr Control kRestricted[] = {
    escalation, dropped_capabilities, proc_mounts_restricted, restricted_volumes, non_root,
    as_root,    seccomp_restricted};

}  // namespace

std::vector<std::string> against_standard(std::string_view level, const Value& metadata,
                                          const Value& spec) {
    Pod pod{metadata, spec, {}};
    for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
        for (const Value& container : spec.at(list).items()) pod.containers.push_back(&container);
    }
    std::vector<std::string> found;
    const auto check = [&](const auto& controls) {
        for (const Control control : controls) {
            std::string text = control(pod);
            if (!text.empty()) found.push_back(std::move(text));
        }
    };
    if (level == "baseline") check(kBaseline);
    if (level == "restricted") {
        check(kBaselineAlways);
        check(kRestricted);
    }
    return found;
}

}  // namespace aliquot::sim::apiserver
