// SPDX-License-Identifier: Apache-2.0
#include "bundle/tree.h"

#include <algorithm>
#include <array>
#include <utility>

namespace aliquot::bundle {
namespace {

/// The directories of a host; anything else at the top is ours ("cmd", "k8s", "logs").
constexpr std::array<std::string_view, 12> kHostTops{"proc", "sys", "etc", "var",   "run",  "dev",
                                                     "lib",  "usr", "opt", "lib64", "home", "snap"};

/// "proc/version" of an archive is the host's "/proc/version".
std::string host_path(std::string_view relative) {
    const std::string_view top = relative.substr(0, relative.find('/'));
    const bool host = std::ranges::find(kHostTops, top) != kHostTops.end();
    return (host ? "/" : "") + std::string(relative);
}

std::string tidied(std::string path) {
    while (path.starts_with("./")) path.erase(0, 2);
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (!path.starts_with('/')) path = host_path(path);
    if (path.starts_with("/lib/") || path.starts_with("/lib64/")) path.insert(0, "/usr");
    if (path.starts_with("/var/run/")) path.erase(0, 4);
    return path;
}

bool fits_path(std::string_view pattern, std::string_view path) {
    for (;;) {
        const auto a = pattern.find('/');
        const auto b = path.find('/');
        if (!fits(pattern.substr(0, a), path.substr(0, b))) return false;
        if (a == std::string_view::npos || b == std::string_view::npos) {
            return a == b;
        }
        pattern.remove_prefix(a + 1);
        path.remove_prefix(b + 1);
    }
}

}  // namespace

bool fits(std::string_view pattern, std::string_view name) {
    std::size_t p = 0;
    std::size_t n = 0;
    std::size_t star = std::string_view::npos;
    std::size_t resume = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = n;
        } else if (p < pattern.size() && pattern[p] == name[n]) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

void Tree::add(std::string path, Entry entry) {
    path = tidied(std::move(path));
    if (!path.empty()) entries_.insert_or_assign(std::move(path), std::move(entry));
}

void Tree::add_text(std::string path, std::string content) {
    add(std::move(path), {.content = std::move(content)});
}

const Entry* Tree::find(std::string_view path) const {
    auto found = entries_.find(path);
    if (found == entries_.end()) found = entries_.find(tidied(std::string(path)));
    return found == entries_.end() ? nullptr : &found->second;
}

bool Tree::has_beneath(std::string_view directory) const {
    const std::string path = tidied(std::string(directory));
    if (entries_.contains(path)) return true;
    const auto next = entries_.lower_bound(path + "/");
    return next != entries_.end() && next->first.starts_with(path + "/");
}

const std::string* Tree::text(std::string_view path) const {
    const Entry* const entry = find(path);
    return entry == nullptr || entry->kind != Entry::Kind::kFile ? nullptr : &entry->content;
}

std::vector<std::string> Tree::names(std::string_view directory) const {
    const std::string prefix = tidied(std::string(directory)) + "/";
    std::vector<std::string> found;
    for (auto at = entries_.lower_bound(prefix);
         at != entries_.end() && at->first.starts_with(prefix); ++at) {
        const std::string_view rest = std::string_view(at->first).substr(prefix.size());
        std::string one(rest.substr(0, rest.find('/')));
        if (!one.empty() && (found.empty() || found.back() != one)) found.push_back(one);
    }
    return found;
}

std::vector<std::string> Tree::paths(std::string_view pattern) const {
    const std::string wanted = tidied(std::string(pattern));
    const std::string fixed = wanted.substr(0, wanted.find('*'));
    std::vector<std::string> found;
    for (auto at = entries_.lower_bound(fixed);
         at != entries_.end() && at->first.starts_with(fixed); ++at) {
        if (fits_path(wanted, at->first)) found.push_back(at->first);
    }
    return found;
}

Tree Tree::of_host(std::string_view node) const {
    const auto all = hosts();
    if (all.empty()) return *this;
    // A host that nobody has named may be any node; there is no other.
    if (all.size() == 1 && all.front() == kUnnamedHost) node = kUnnamedHost;
    const bool known = std::ranges::find(all, node) != all.end();
    if (!node.empty() && !known) {
        // A node that has no tree of its own must not be judged by another's.
        Tree without;
        without.complete = false;
        without.taken_s = taken_s;
        without.name = name;
        for (const auto& [path, entry] : entries_) {
            if (!path.starts_with("host/")) without.add(path, entry);
        }
        return without;
    }
    const std::string prefix = "host/" + (known ? std::string(node) : all.front()) + "/";
    Tree tree;
    tree.complete = complete;
    tree.taken_s = taken_s;
    tree.name = name;
    for (const auto& [path, entry] : entries_) {
        if (path.starts_with(prefix)) {
            tree.add(path.substr(prefix.size()), entry);
        } else if (!path.starts_with("host/")) {
            tree.add(path, entry);
        }
    }
    return tree;
}

}  // namespace aliquot::bundle
