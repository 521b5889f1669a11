// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::bundle {

/// One thing that was looked at. That it is not in the tree means: it is not there, or nobody
/// looked; Tree::complete tells which.
struct Entry {
    enum class Kind : std::uint8_t {
        kFile,
        kDirectory,  // empty, or only its presence was noted
        kLink,
        kDevice,
        kSocket,
        kUnreadable,  // there, but not for us
    };
    Kind kind = Kind::kFile;
    std::string content;          // of a link its target, of kUnreadable the reason
    std::int64_t modified_s = 0;  // since 1970; 0: not told
    bool cut = false;             // longer than the limit: the content is its last part

    friend bool operator==(const Entry&, const Entry&) = default;
};

/// Whether `name` fits `pattern`, in which '*' stands for any letters.
bool fits(std::string_view pattern, std::string_view name);

/// How a host is called in a bundle when nothing tells its name.
inline constexpr std::string_view kUnnamedHost = "this-host";

/// Everything that doctor read, as a file tree in memory: host files under their host path
/// ("/proc/version"), what commands said under "cmd/dmesg.txt", API objects under
/// "k8s/pods.json", container logs under "logs/NAMESPACE/POD/CONTAINER.log", and "meta.json".
/// A live host, a directory, a saved bundle and a test all become one; checks see nothing else.
class Tree {
public:
    /// Whether everything that we ask for was looked for (a live host, a bundle of ours): then what
    /// is not here is absent. A tree made by hand holds what its maker thought of.
    bool complete = false;
    bool cut = false;          // the file that held it ends in the middle
    std::int64_t taken_s = 0;  // when it was read, since 1970; 0: not told
    std::string name;          // for messages: "this host", "bundle.tgz"

    void add(std::string path, Entry entry);
    void add_text(std::string path, std::string content);

    [[nodiscard]] const Entry* find(std::string_view path) const;
    [[nodiscard]] bool has(std::string_view path) const { return find(path) != nullptr; }

    /// Whether anything lies at or beneath `directory`.
    [[nodiscard]] bool has_beneath(std::string_view directory) const;

    /// The text of a file; nullptr when it is not there or not readable.
    [[nodiscard]] const std::string* text(std::string_view path) const;

    /// Names directly in a directory, sorted, each once.
    [[nodiscard]] std::vector<std::string> names(std::string_view directory) const;

    /// Paths that fit a pattern, in which '*' stands for any letters but '/'; sorted.
    [[nodiscard]] std::vector<std::string> paths(std::string_view pattern) const;

    [[nodiscard]] const std::map<std::string, Entry, std::less<>>& entries() const {
        return entries_;
    }

    /// The tree of one host out of a bundle: what lies under host/NODE comes to the front.
    /// node   empty: the only one, or the first
    [[nodiscard]] Tree of_host(std::string_view node) const;
    /// Names under host/.
    [[nodiscard]] std::vector<std::string> hosts() const { return names("host"); }

private:
    std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace aliquot::bundle
