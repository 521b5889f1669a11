// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>

#include "base/number.h"
#include "base/text.h"
#include "catalog/version.h"
#include "doctor/facts.h"

namespace aliquot::doctor {
namespace {

using Kind = RuntimeFacts::Kind;

/// A way Kubernetes comes with a container runtime, and where its files are.
struct Flavour {
    Kind kind;
    std::string_view name;
    std::string_view mark;      // something that only this flavour has
    std::string_view config;    // what the runtime reads
    std::string_view drop_ins;  // read as well, when there is no list of imports
    std::string_view edit;      // where an entry is written
    std::string_view socket;
    std::string_view restart;
};

constexpr std::array<Flavour, 8> kFlavours{{
    {Kind::kContainerd, "MicroK8s", "/var/snap/microk8s/current/args",
     "/var/snap/microk8s/current/args/containerd.toml", "",
     "/var/snap/microk8s/current/args/containerd-template.toml",
     "/var/snap/microk8s/common/run/containerd.sock", "snap restart microk8s.daemon-containerd"},
    {Kind::kContainerd, "RKE2", "/var/lib/rancher/rke2/agent",
     "/var/lib/rancher/rke2/agent/etc/containerd/config.toml", "",
     "/var/lib/rancher/rke2/agent/etc/containerd/config.toml.tmpl",
     "/run/k3s/containerd/containerd.sock", "systemctl restart rke2-agent"},
    {Kind::kContainerd, "k3s", "/var/lib/rancher/k3s/agent",
     "/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "",
     "/var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl",
     "/run/k3s/containerd/containerd.sock",
     "systemctl restart k3s-agent || sudo systemctl restart k3s"},
    {Kind::kContainerd, "k0s", "/etc/k0s", "/etc/k0s/containerd.toml", "/etc/k0s/containerd.d/*",
     "/etc/k0s/containerd.d/nvidia.toml", "/run/k0s/containerd.sock", "k0s stop && k0s start"},
    {Kind::kCrio, "CRI-O", "/etc/crio", "/etc/crio/crio.conf", "/etc/crio/crio.conf.d/*",
     "/etc/crio/crio.conf.d/99-nvidia.toml", "/var/run/crio/crio.sock", "systemctl restart crio"},
    {Kind::kContainerd, "containerd", "/etc/containerd", "/etc/containerd/config.toml", "",
     "/etc/containerd/conf.d/99-nvidia.toml", "/run/containerd/containerd.sock",
     "systemctl restart containerd"},
    {Kind::kDocker, "Docker", "/etc/docker/daemon.json", "/etc/docker/daemon.json", "",
     "/etc/docker/daemon.json", "/var/run/docker.sock", "systemctl restart docker"},
    {Kind::kContainerd, "containerd", "cmd/containerd-config-dump.txt",
     "cmd/containerd-config-dump.txt", "", "/etc/containerd/conf.d/99-nvidia.toml",
     "/run/containerd/containerd.sock", "systemctl restart containerd"},
}};

std::string endpoint_of(const Facts& facts, Location& place) {
    for (const Program& program : facts.host.programs) {
        if (!program.name.starts_with("kube")) continue;
        for (const std::string& argument : program.arguments) {
            const std::string_view value = after(argument, "--container-runtime-endpoint=");
            if (value.empty()) continue;
            place = program.place;
            place.text = argument;
            return std::string(value);
        }
    }
    for (const char* const path :
         {"/var/snap/microk8s/current/args/kubelet", "/var/lib/kubelet/config.yaml",
          "/var/lib/kubelet/kubeadm-flags.env", "/etc/default/kubelet", "/etc/sysconfig/kubelet"}) {
        const std::string* const text = facts.tree.text(path);
        if (text == nullptr) continue;
        std::string found;
        for_each_line(*text, [&](std::string_view line, unsigned number) {
            for (const char* const key :
                 {"--container-runtime-endpoint=", "containerRuntimeEndpoint:"}) {
                std::string_view value = trim(after(line, key));
                value = value.substr(0, value.find_first_of(" \""));
                if (value.empty() || !found.empty()) continue;
                found = std::string(value);
                place = place_in(path, number, line);
            }
        });
        if (!found.empty()) return found;
    }
    return {};
}

const Flavour* flavour_named(std::string_view name) {
    const auto* const found = std::ranges::find(kFlavours, name, &Flavour::name);
    return found == kFlavours.end() ? nullptr : found;
}

/// A distribution that is one program with the kubelet in it; it needs no file that names a socket.
const Flavour* running_flavour(const Facts& facts, Location& place) {
    struct Pair {
        std::string_view program;
        std::string_view flavour;
    };
    constexpr std::array<Pair, 4> kPrograms{
        {{"kubelite", "MicroK8s"}, {"k3s", "k3s"}, {"rke2", "RKE2"}, {"k0s", "k0s"}}};
    for (const Program& program : facts.host.programs) {
        for (const Pair& pair : kPrograms) {
            const Flavour* const flavour = flavour_named(pair.flavour);
            if (!program.name.starts_with(pair.program) || flavour == nullptr ||
                !facts.tree.has_beneath(flavour->mark)) {
                continue;
            }
            place = program.place;
            place.text = program.name;
            return flavour;
        }
    }
    return nullptr;
}

/// The flavour that runs; else the one whose socket the kubelet names; else the one whose node says
/// so; else the first whose files are there.
const Flavour* flavour_of(const Facts& facts, Location& place) {
    if (const Flavour* const flavour = running_flavour(facts, place)) return flavour;
    std::string endpoint = endpoint_of(facts, place);
    if (std::string_view(endpoint).contains("cri-dockerd") ||
        std::string_view(endpoint).contains("dockershim")) {
        return flavour_named("Docker");
    }
    for (const Flavour& flavour : kFlavours) {
        const std::string_view socket = flavour.socket;
        const std::string_view name = socket.substr(socket.find("run/"));
        if (endpoint.empty() || !std::string_view(endpoint).ends_with(name)) continue;
        if (facts.tree.has_beneath(flavour.mark)) return &flavour;
    }
    const auto& nodes = facts.cluster.all("Node");
    std::string version;
    for (const Object& node : nodes) {
        if (nodes.size() > 1 && node.name != facts.target.name) continue;
        version = text_at(node.body, {"status", "nodeInfo", "containerRuntimeVersion"});
    }
    for (const Flavour& flavour : kFlavours) {
        if (!facts.tree.has_beneath(flavour.mark)) continue;
        if (version.starts_with("containerd") && flavour.kind != Kind::kContainerd) continue;
        if (version.starts_with("cri-o") && flavour.kind != Kind::kCrio) continue;
        if (version.starts_with("docker") && flavour.kind != Kind::kDocker) continue;
        if (place.path.empty()) {
            place = {std::string(flavour.mark), 0, "present"};
        }
        return &flavour;
    }
    return nullptr;
}

Location place_of(const std::string& path, const Value& node, std::string text) {
    return {path, node.mark.line, std::move(text)};
}

constexpr const char* kNewCri = "io.containerd.cri.v1.runtime";
constexpr const char* kOldCri = "io.containerd.grpc.v1.cri";

/// The CRI part that a containerd file of this version is read for.
const Value* cri_of(const RuntimeFacts::File& file) {
    const Value* const plugins = file.toml.root.find("plugins");
    if (plugins == nullptr) return nullptr;
    if (file.version >= 3) return plugins->find(kNewCri);
    if (const Value* const found = plugins->find(kOldCri)) return found;
    return plugins->find("cri");
}

/// The CRI part under the key of another version, which nobody reads.
const Value* unread_cri_of(const RuntimeFacts::File& file) {
    const Value* const plugins = file.toml.root.find("plugins");
    return plugins == nullptr ? nullptr : plugins->find(file.version >= 3 ? kOldCri : kNewCri);
}

RuntimeFacts::Handler handler_of(const std::string& path, const Value::Entry& entry) {
    RuntimeFacts::Handler handler{.name = entry.first.scalar};
    const Value& body = entry.second;
    handler.type = text_at(body, {"runtime_type"});
    handler.binary = text_at(body, {"options", "BinaryName"});
    if (handler.binary.empty()) handler.binary = text_at(body, {"options", "Runtime"});
    if (handler.binary.empty()) handler.binary = text_at(body, {"runtime_path"});
    if (handler.binary.empty()) handler.binary = text_at(body, {"path"});
    if (const Value* const cgroup = at_path(body, {"options", "SystemdCgroup"})) {
        handler.systemd_cgroup = is_true(cgroup);
    }
    handler.place = place_of(path, entry.first.mark.line != 0 ? entry.first : body,
                             "runtime " + handler.name +
                                 (handler.binary.empty() ? "" : ", BinaryName " + handler.binary));
    return handler;
}

void add_handlers(const Value* table, const std::string& path, bool effective,
                  RuntimeFacts& runtime) {
    for (const Value::Entry& entry : entries_at(table, {})) {
        if (!entry.second.is_mapping()) continue;
        auto handler = handler_of(path, entry);
        auto& list = effective ? runtime.handlers : runtime.elsewhere;
        const auto same = std::ranges::find(list, handler.name, &RuntimeFacts::Handler::name);
        if (same == list.end()) {
            list.push_back(std::move(handler));
        } else {
            if (!handler.binary.empty() || same->binary.empty()) *same = std::move(handler);
        }
    }
}

void take_containerd(const RuntimeFacts::File& file, RuntimeFacts& runtime, bool effective) {
    const Value* const cri = cri_of(file);
    add_handlers(at_path(cri, {"containerd", "runtimes"}), file.path, effective, runtime);
    add_handlers(at_path(unread_cri_of(file), {"containerd", "runtimes"}), file.path, false,
                 runtime);
    if (!effective || cri == nullptr) return;
    if (const Value* const name = at_path(cri, {"containerd", "default_runtime_name"})) {
        runtime.default_handler = text_of(name);
        runtime.default_place =
            place_of(file.path, *name, "default_runtime_name = " + runtime.default_handler);
    }
    if (const Value* const cdi = at_path(cri, {"enable_cdi"})) {
        runtime.cdi_enabled = is_true(cdi);
        runtime.cdi_place = place_of(file.path, *cdi, "enable_cdi = " + text_of(cdi));
    }
}

void take_crio(const RuntimeFacts::File& file, RuntimeFacts& runtime) {
    const Value* const crio = at_path(file.toml.root, {"crio", "runtime"});
    add_handlers(at_path(crio, {"runtimes"}), file.path, true, runtime);
    if (const Value* const name = at_path(crio, {"default_runtime"})) {
        runtime.default_handler = text_of(name);
        runtime.default_place =
            place_of(file.path, *name, "default_runtime = " + runtime.default_handler);
    }
    runtime.cdi_enabled = true;  // always, since 1.23
}

void take_docker(const Tree& tree, const std::string& path, RuntimeFacts& runtime, bool effective) {
    const std::string* const text = tree.text(path);
    const auto root = text == nullptr ? Result<Value>(Value{}) : document::parse_object(*text);
    if (!root) return;
    add_handlers(root->find("runtimes"), path, effective, runtime);
    if (!effective) return;
    if (const Value* const name = root->find("default-runtime")) {
        runtime.default_handler = text_of(name);
        runtime.default_place =
            place_of(path, *name, "default-runtime: " + runtime.default_handler);
    }
    if (const Value* const cdi = at_path(*root, {"features", "cdi"}))
        runtime.cdi_enabled = is_true(cdi);
}

RuntimeFacts::File file_at(const Tree& tree, const std::string& path) {
    RuntimeFacts::File file{.path = path};
    if (const std::string* const text = tree.text(path)) file.toml = document::parse_toml(*text);
    file.version = static_cast<int>(
        parse_number<std::int64_t>(text_at(file.toml.root, {"version"})).value_or(1));
    return file;
}

/// The main file, what it imports, and files that lie about unread.
void read_files(const Facts& facts, const Flavour& flavour, RuntimeFacts& runtime) {
    const Tree& tree = facts.tree;
    const std::string main(flavour.config);
    std::vector<std::string> read{main};
    if (tree.text(main) != nullptr) {
        const auto file = file_at(tree, main);
        for (const Value& import : items_at(file.toml.root, {"imports"})) {
            std::string pattern = import.scalar;
            if (!pattern.starts_with('/')) {
                pattern.insert(0, main, 0, main.rfind('/') + 1);
            }
            for (const std::string& path : tree.paths(pattern)) read.push_back(path);
        }
    }
    if (!flavour.drop_ins.empty()) {
        for (const std::string& path : tree.paths(flavour.drop_ins)) read.push_back(path);
    }
    for (const std::string& path : read) {
        if (tree.text(path) == nullptr) continue;
        runtime.files.push_back(file_at(tree, path));
        runtime.files.back().effective = true;
    }
    // A drop-in that has no version of its own is read as the main file's.
    for (auto& file : runtime.files) {
        if (file.version == 1 && file.path != main) file.version = runtime.files.front().version;
    }
    constexpr std::array<const char*, 8> kOthers{
        "/etc/containerd/*.toml",
        "/etc/containerd/conf.d/*.toml",
        "/etc/containerd/config.d/*.toml",
        "/var/snap/microk8s/current/args/containerd-template.toml",
        "/var/snap/microk8s/current/args/containerd.toml",
        "/var/lib/rancher/*/agent/etc/containerd/*.tmpl",
        "/var/lib/rancher/*/agent/etc/containerd/config.toml",
        "/etc/k0s/containerd.toml"};
    for (const char* const pattern : kOthers) {
        for (const std::string& path : tree.paths(pattern)) {
            const bool known = std::ranges::find(runtime.files, path, &RuntimeFacts::File::path) !=
                               runtime.files.end();
            if (!known && tree.text(path) != nullptr) {
                runtime.files.push_back(file_at(tree, path));
            }
        }
    }
}

std::string version_of(const Facts& facts) {
    for (const char* const path : {"cmd/containerd-version.txt", "cmd/containerd.txt"}) {
        const std::string* const text = facts.tree.text(path);
        if (text == nullptr) continue;
        for (std::string_view word : words_of(*text)) {
            if (word.starts_with('v')) word.remove_prefix(1);
            if (leading_number(word) && word.contains('.')) return std::string(word);
        }
    }
    const auto& nodes = facts.cluster.all("Node");
    for (const Object& node : nodes) {
        if (nodes.size() > 1 && node.name != facts.target.name) continue;
        const std::string text =
            text_at(node.body, {"status", "nodeInfo", "containerRuntimeVersion"});
        const std::string_view version = after(text, "://");
        if (!version.empty()) return std::string(version);
    }
    return {};
}

}  // namespace

const RuntimeFacts::Handler* RuntimeFacts::nvidia_handler() const {
    for (const char* const name : {"nvidia", "nvidia-cdi", "nvidia-experimental"}) {
        const auto found = std::ranges::find(handlers, name, &Handler::name);
        if (found != handlers.end()) return &*found;
    }
    const auto by_binary = std::ranges::find_if(handlers, [](const Handler& one) {
        return one.binary.contains("nvidia-container-runtime");
    });
    return by_binary == handlers.end() ? nullptr : &*by_binary;
}

void read_runtime(Facts& facts) {
    RuntimeFacts& runtime = facts.runtime;
    const Flavour* const flavour = flavour_of(facts, runtime.place);
    if (flavour == nullptr) return;
    runtime.kind = flavour->kind;
    runtime.flavour = flavour->name;
    runtime.restart = flavour->restart;
    runtime.edit = flavour->edit;
    runtime.socket = flavour->socket;
    runtime.version = version_of(facts);
    if (runtime.kind == Kind::kDocker) {
        take_docker(facts.tree, std::string(flavour->config), runtime, true);
        return;
    }
    read_files(facts, *flavour, runtime);
    // Before 2.1 the tables of a drop-in replace the main file's; without an import nobody reads it.
    const bool drop_in =
        std::ranges::any_of(runtime.files,
                            [](const auto& file) {
                                return file.effective &&
                                       file.path.starts_with("/etc/containerd/conf.d/");
                            }) ||
        (!runtime.files.empty() && runtime.files.front().toml.root.find("imports") != nullptr &&
         !runtime.version.empty() && catalog::compare_versions(runtime.version, "2.1") >= 0);
    if (runtime.edit == "/etc/containerd/conf.d/99-nvidia.toml" && !drop_in &&
        facts.tree.has("/etc/containerd/config.toml")) {
        runtime.edit = "/etc/containerd/config.toml";
    }
    const bool rancher = runtime.flavour == "k3s" || runtime.flavour == "RKE2";
    if (rancher && !runtime.files.empty() && runtime.files.front().version >= 3) {
        runtime.edit.replace(runtime.edit.rfind("config.toml"), 11, "config-v3.toml");
    }
    for (const auto& file : runtime.files) {
        if (runtime.kind == Kind::kContainerd) take_containerd(file, runtime, file.effective);
        if (runtime.kind == Kind::kCrio && file.effective) take_crio(file, runtime);
    }
    take_docker(facts.tree, "/etc/docker/daemon.json", runtime, false);
    const auto runc = std::ranges::find(runtime.handlers, "runc", &RuntimeFacts::Handler::name);
    if (runc != runtime.handlers.end()) runtime.systemd_cgroup = runc->systemd_cgroup;
    if (runtime.kind == Kind::kContainerd && !runtime.cdi_enabled) {
        const bool two = !runtime.version.empty()
                             ? catalog::compare_versions(runtime.version, "2.0") >= 0
                             : !runtime.files.empty() && runtime.files.front().version >= 3;
        runtime.cdi_enabled = two;
        runtime.cdi_place = {
            runtime.files.empty() ? std::string(flavour->config) : runtime.files.front().path, 0,
            std::string("enable_cdi is not set, the default is ") + (two ? "true" : "false")};
    }
}

}  // namespace aliquot::doctor
