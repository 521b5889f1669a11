// SPDX-License-Identifier: Apache-2.0
#include "cli/host/doctor_tree.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <ostream>
#include <string_view>
#include <system_error>

#include "base/nearest_word.h"
#include "base/sentence.h"
#include "bundle/bundle.h"
#include "bundle/redact.h"
#include "os/replace_file.h"

namespace aliquot::cli {
namespace {

/// The name of a node, as part of a path.
bool is_node_name(std::string_view name) {
    return !name.empty() && name.size() <= 253 && std::ranges::all_of(name, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '.';
    });
}

std::string node_name(const bundle::Tree& tree, const std::vector<std::string>& target) {
    const auto hosts = tree.hosts();
    if (!hosts.empty()) return hosts.front();
    if (target.size() == 2 && target[0] == "node" && is_node_name(target[1])) {
        return target[1];
    }
    for (const char* const path : {"/proc/sys/kernel/hostname", "/etc/hostname"}) {
        const std::string* const text = tree.text(path);
        if (text == nullptr) continue;
        const std::string name = text->substr(0, text->find_first_of(" \t\r\n"));
        if (is_node_name(name)) return name;
    }
    return std::string(bundle::kUnnamedHost);
}

}  // namespace

bool save_tree(Context& context, const bundle::Tree& tree, const std::vector<std::string>& target,
               const std::string& file) {
    const auto folder = std::filesystem::absolute(file).parent_path();
    std::error_code problem;
    if (!std::filesystem::is_directory(folder, problem)) {
        fail(context, kUsage,
             "cannot save to " + file + ": there is no directory " + folder.native());
        return false;
    }
    const bundle::Tree safe = bundle::redacted(tree);
    const bool bundle = file.ends_with(".tgz") || file.ends_with(".tar.gz");
    auto bytes = bundle ? bundle::to_bundle(safe, node_name(tree, target))
                        : Result<std::string>(bundle::facts_to_json(safe));
    if (!bytes) {
        fail(context, kCouldNotRun, bytes.error().message);
        return false;
    }
    const auto written = os::write_output(file, *bytes, 0600);
    if (!written) {
        fail(context, kCouldNotRun, "cannot save: " + written.error().message);
        return false;
    }
    context.err << "aliquot: saved what was read to " << file
                << " (redacted; look before you share)\n";
    return true;
}

bool is_there(Context& context, const bundle::Tree& tree, const doctor::Facts& facts) {
    using Kind = doctor::Target::Kind;
    const bool pod = facts.target.kind == Kind::kPod;
    if (!pod && facts.target.kind != Kind::kNode) return true;
    const std::string& name = facts.target.name;
    std::vector<std::string> known = pod ? std::vector<std::string>() : tree.hosts();
    for (const doctor::Object& object : facts.cluster.all(pod ? "Pod" : "Node")) {
        known.push_back(pod ? object.id() : object.name);
    }
    for (const std::string& problem : facts.cluster.problems) {
        if (!pod || !problem.starts_with("k8s/pods.") || !known.empty()) continue;
        fail(context, kCouldNotRun, "the pods were not read, so nothing can be said of " + name);
        return false;
    }
    // A pod that is gone may still be spoken of by events and logs.
    for (const doctor::Said& said : facts.cluster.said) {
        if (pod && said.pod == name) return true;
    }
    const bool nameless = known.size() == 1 && known.front() == bundle::kUnnamedHost;
    if (known.empty() || nameless || std::ranges::find(known, name) != known.end()) return true;
    const std::vector<std::string_view> words(known.begin(), known.end());
    const auto near = nearest_word(name, words);
    fail(context, kUsage,
         "there is no " + std::string(pod ? "pod " : "node ") + name + " among the " +
             std::to_string(known.size()) + " that were read" + did_you_mean(near));
    return false;
}

}  // namespace aliquot::cli
