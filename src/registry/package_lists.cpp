// SPDX-License-Identifier: Apache-2.0
#include "registry/package_lists.h"

#include <algorithm>
#include <array>

#include "base/take_text.h"
#include "base/text.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::registry {
namespace {

using Packages = std::vector<pools::ImagePackage>;

constexpr std::array<std::string_view, 3> kTools{"cmake", "ninja", "ccache"};

std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view folder_of(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? "" : file_of(path.substr(0, slash));
}

/// Paragraphs of "Package: x", "Version: y", "Status: install ok installed"; without Status all are installed.
void add_debian(std::string_view text, Packages& packages) {
    pools::ImagePackage one;
    bool is_there = true;
    const auto end = [&] {
        if (!one.name.empty() && is_there) packages.push_back(std::move(one));
        one = {};
        is_there = true;
    };
    while (!text.empty()) {
        const std::string_view line = take_line(text);
        if (trim(line).empty()) end();
        if (line.starts_with("Package:")) one.name = trim(line.substr(8));
        if (line.starts_with("Version:")) one.version = trim(line.substr(8));
        if (line.starts_with("Status:")) is_there = line.ends_with(" installed");
    }
    end();
}

/// Paragraphs of "P:name" and "V:version".
void add_alpine(std::string_view text, Packages& packages) {
    pools::ImagePackage one;
    while (!text.empty()) {
        const std::string_view line = trim(take_line(text));
        if (line.starts_with("P:")) one.name = line.substr(2);
        if (line.starts_with("V:")) one.version = line.substr(2);
        if ((line.empty() || text.empty()) && !one.name.empty())
            packages.push_back(std::exchange(one, {}));
    }
}

/// "Name: numpy" and "Version: 1.26" before the first empty line.
void add_python(std::string_view text, Packages& packages) {
    pools::ImagePackage one;
    while (!text.empty()) {
        const std::string_view line = trim(take_line(text));
        if (line.empty()) break;
        if (line.starts_with("Name:")) one.name = trim(line.substr(5));
        if (line.starts_with("Version:")) one.version = trim(line.substr(8));
    }
    if (!one.name.empty()) packages.push_back(std::move(one));
}

void add_conda(std::string_view text, Packages& packages) {
    const auto value = document::parse_json(text);
    if (!value) return;
    pools::ImagePackage one{document::text_at(*value, {"name"}),
                            document::text_at(*value, {"version"})};
    if (!one.name.empty()) packages.push_back(std::move(one));
}

/// "Runner.Listener/2.331.0": one of the keys of "targets".
void add_runner(std::string_view text, Packages& packages) {
    std::string_view version = after(text, "\"Runner.Listener/");
    version = version.substr(0, version.find('"'));
    if (!version.empty() && version.size() <= 40)
        packages.push_back({"Runner.Listener", std::string(version)});
}

}  // namespace

ListKind kind_of(std::string_view path) {
    const std::string_view file = file_of(path);
    const std::string_view folder = folder_of(path);
    if (path == "var/lib/dpkg/status") return ListKind::kDpkg;
    if (path.starts_with("var/lib/dpkg/status.d/") && !file.ends_with(".md5sums"))
        return ListKind::kDpkg;
    if (path == "lib/apk/db/installed" || path == "usr/lib/apk/db/installed") return ListKind::kApk;
    if (file == "METADATA" && folder.ends_with(".dist-info")) return ListKind::kPython;
    if (file == "PKG-INFO" && folder.ends_with(".egg-info")) return ListKind::kPython;
    if (folder == "conda-meta" && file.ends_with(".json")) return ListKind::kConda;
    if (file == "Runner.Listener.deps.json" && folder == "bin") return ListKind::kRunner;
    if (folder == "bin" && std::ranges::find(kTools, file) != kTools.end()) return ListKind::kTool;
    return ListKind::kNone;
}

void add_packages(ListKind kind, std::string_view path, std::string_view text, Packages& packages) {
    switch (kind) {
        case ListKind::kNone:
            return;
        case ListKind::kDpkg:
            return add_debian(text, packages);
        case ListKind::kApk:
            return add_alpine(text, packages);
        case ListKind::kPython:
            return add_python(text, packages);
        case ListKind::kConda:
            return add_conda(text, packages);
        case ListKind::kRunner:
            return add_runner(text, packages);
        case ListKind::kTool:
            packages.push_back({std::string(file_of(path)), "in /" + std::string(path)});
            return;
    }
}

}  // namespace aliquot::registry
