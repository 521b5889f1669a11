// SPDX-License-Identifier: Apache-2.0
#include "bundle/collect.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/number.h"
#include "base/text.h"
#include "bundle/host_files.h"

namespace aliquot::bundle {
namespace {

/// Programs whose command line tells where their files are.
constexpr std::string_view kProgramsOfInterest[] = {"kubelet",
                                                    "kubelite",
                                                    "k3s",
                                                    "rke2",
                                                    "k0s",
                                                    "containerd",
                                                    "crio",
                                                    "dockerd",
                                                    "cri-dockerd",
                                                    "nvidia-persiste",
                                                    "nvidia-persistenced",
                                                    "nv-fabricmanage",
                                                    "nv-fabricmanager",
                                                    "nvidia-cuda-mps",
                                                    "nvidia-cuda-mps-control",
                                                    "nvidia-cuda-mps-server",
                                                    "aliquot-agent",
                                                    "k3s-server",
                                                    "k3s-agent",
                                                    "k3s server",
                                                    "k3s agent",
                                                    "nvidia-device-p",
                                                    "nvidia-device-plugin"};

constexpr std::string_view kPciDetails[] = {"device",
                                            "subsystem_vendor",
                                            "subsystem_device",
                                            "current_link_width",
                                            "max_link_width",
                                            "current_link_speed",
                                            "max_link_speed",
                                            "resource",
                                            "numa_node",
                                            "aer_dev_fatal",
                                            "aer_dev_nonfatal",
                                            "uevent",
                                            "driver",
                                            "power_state",
                                            "enable"};

constexpr std::size_t kMostNames = 4096;
constexpr unsigned kDepth = 12;

bool is_log(std::string_view path) {
    return path.ends_with(".log") || path.starts_with("/var/log/") || path.contains("dmesg") ||
           path.contains("journal") || path == "/dev/kmsg";
}

class Collector {
public:
    explicit Collector(const os::Root& root) : root_(root) {}

    Tree host() {
        for (const std::string_view pattern : host_files()) {
            const bool noted = pattern.ends_with('?');
            const std::string path(pattern.substr(0, pattern.size() - (noted ? 1 : 0)));
            walk("", path, noted);
            // A tree made by hand may have the other name, and not the link that leads to it.
            if (path.starts_with("/lib/")) walk("", "/usr" + path, noted);
            if (path.starts_with("/run/")) walk("", "/var" + path, noted);
        }
        pci();
        programs();
        return std::move(tree_);
    }

    /// Every file beneath a directory.
    void whole(const std::string& directory, const std::string& as, unsigned depth = 0) {
        const auto names = root_.list(directory, kMostNames);
        if (!names || depth > kDepth) return;
        for (const std::string& name : *names) {
            const std::string path = concat({directory, "/", name});
            const auto status = root_.status(path);
            if (!status) continue;
            if (status->kind == os::FileStatus::Kind::kDirectory) {
                whole(path, concat({as, "/", name}), depth + 1);
            } else {
                file(path, concat({as, "/", name}), false);
            }
        }
    }

    Tree& tree() { return tree_; }

private:
    /// `rest` begins with '/'.
    void walk(const std::string& directory, std::string_view rest, bool noted) {
        const auto end = std::min(rest.find('/', 1), rest.size());
        const std::string name(rest.substr(1, end - 1));
        const bool last = end == rest.size();
        if (!name.contains('*')) {
            step(directory + "/" + name, rest.substr(end), last, noted);
            return;
        }
        const auto names = root_.list(directory, kMostNames);
        if (!names) {
            if (names.error().code == ErrorCode::kPermission) unreadable(directory, names.error());
            return;
        }
        for (const std::string& one : *names) {
            if (fits(name, one)) step(concat({directory, "/", one}), rest.substr(end), last, noted);
        }
        if (!tree_.has(directory)) tree_.add(directory, {.kind = Entry::Kind::kDirectory});
    }

    void step(const std::string& path, std::string_view rest, bool last, bool noted) {
        if (!last) {
            walk(path, rest, noted);
        } else if (!tree_.has(path) || tree_.find(path)->kind == Entry::Kind::kDirectory) {
            file(path, path, noted);
        }
    }

    void unreadable(const std::string& path, const Error& why) {
        tree_.add(path, {.kind = Entry::Kind::kUnreadable,
                         .content = why.code == ErrorCode::kPermission
                                        ? "EACCES (no permission; root can)"
                                        : why.message});
    }

    void file(const std::string& path, const std::string& as, bool noted) {
        const auto link = root_.status(path, false);
        if (!link) {
            if (link.error().code == ErrorCode::kPermission) unreadable(as, link.error());
            return;
        }
        using Kind = os::FileStatus::Kind;
        if (link->kind == Kind::kSymlink && (noted || path.ends_with("/driver"))) {
            std::array<char, 4096> target{};
            const auto size = ::readlink(root_.resolve(path).c_str(), target.data(), target.size());
            if (size >= 0) {
                tree_.add(as, {.kind = Entry::Kind::kLink,
                               .content = {target.data(), static_cast<std::size_t>(size)}});
            }
            return;
        }
        const auto status = root_.status(path);
        if (!status) return;
        if (status->kind == Kind::kDirectory) {
            tree_.add(as, {.kind = Entry::Kind::kDirectory});
        } else if (status->kind == Kind::kSocket) {
            tree_.add(as, {.kind = Entry::Kind::kSocket});
        } else if (status->kind == Kind::kCharacterDevice) {
            if (path == "/dev/kmsg") {
                kernel_messages(as);
            } else {
                tree_.add(as, {.kind = Entry::Kind::kDevice});
            }
        } else if (status->kind == Kind::kRegular) {
            read(path, as, noted);
        }
    }

    static std::int64_t modified(const std::string& path) {
        struct stat raw {};
        return ::stat(path.c_str(), &raw) == 0 ? raw.st_mtim.tv_sec : 0;
    }

    void read(const std::string& path, const std::string& as, bool noted) {
        const std::string where = root_.resolve(path).native();
        Entry entry{.modified_s = modified(where)};
        const int fd = noted ? -1 : ::open(where.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (!noted && fd < 0) {
            return unreadable(as, os::error_from_errno(errno, as));
        }
        if (!noted) {
            struct stat raw {};
            const bool sized = ::fstat(fd, &raw) == 0;
            const auto size = sized ? static_cast<std::size_t>(raw.st_size) : 0;
            if (size > kMostFileBytes && is_log(path)) {
                entry.cut = ::lseek(fd, -static_cast<off_t>(kMostFileBytes), SEEK_END) >= 0;
            }
            const bool good = drain(fd, most_bytes_of(as), entry.content);
            const int problem = errno;
            ::close(fd);
            if (!good && entry.content.empty()) {
                return unreadable(as, os::error_from_errno(problem, as));
            }
            bytes_ += entry.content.size();
            if (as.starts_with("k8s/")) entry.cut = entry.content.size() < size;
        }
        tree_.add(as, std::move(entry));
    }

    bool drain(int fd, std::size_t most, std::string& content) const {
        std::array<char, 65536> chunk{};
        while (content.size() < most && bytes_ + content.size() < kMostTreeBytes) {
            const ssize_t got = ::read(fd, chunk.data(), chunk.size());
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return false;
            if (got == 0) break;
            content.append(chunk.data(), static_cast<std::size_t>(got));
        }
        return true;
    }

    /// The live ring buffer: one record per read, "6,123,456789,-;text".
    void kernel_messages(const std::string& as) {
        if (root_.base() != "/") return;  // a node made by somebody in a tree is not ours to read
        const int fd = ::open("/dev/kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0) return unreadable(as, os::error_from_errno(errno, as));
        std::string text;
        std::array<char, 8192> record{};
        for (unsigned i = 0; i < 200'000 && text.size() < kMostFileBytes; ++i) {
            const ssize_t got = ::read(fd, record.data(), record.size());
            if (got < 0 && (errno == EINTR || errno == EPIPE)) continue;
            if (got <= 0) break;
            std::string_view line(record.data(), static_cast<std::size_t>(got));
            line = line.substr(0, line.find('\n'));
            text += std::string(line.substr(line.find(';') + 1)) + '\n';
        }
        ::close(fd);
        tree_.add_text(as, std::move(text));
    }

    void pci() {
        const std::string directory = "/sys/bus/pci/devices";
        const auto names = root_.list(directory, kMostNames);
        if (!names) {
            if (names.error().code == ErrorCode::kPermission) unreadable(directory, names.error());
            return;
        }
        tree_.add(directory, {.kind = Entry::Kind::kDirectory});
        for (const std::string& name : *names) {
            const std::string device = concat({directory, "/", name});
            tree_.add(device, {.kind = Entry::Kind::kDirectory});
            file(device + "/vendor", device + "/vendor", false);
            file(device + "/class", device + "/class", false);
            const std::string* const vendor = tree_.text(device + "/vendor");
            if (vendor != nullptr && !vendor->contains("10de")) continue;
            for (const std::string_view detail : kPciDetails) {
                const std::string path = device + "/" + std::string(detail);
                file(path, path, false);
            }
        }
    }

    void programs() {
        const auto names = root_.list("/proc", 100'000);
        if (!names) return;
        for (const std::string& name : *names) {
            if (!parse_number<std::int64_t>(name)) continue;
            const std::string base = "/proc/" + name;
            const auto comm = root_.read(base + "/comm", 4096);
            const std::string word = comm ? std::string(trim(*comm)) : "";
            const bool wanted = std::ranges::any_of(
                kProgramsOfInterest, [&](std::string_view one) { return one == word; });
            if (comm && !wanted) continue;
            for (const char* const file_name : {"/comm", "/cmdline", "/stat"}) {
                file(base + file_name, base + file_name, false);
            }
        }
    }

    const os::Root& root_;
    Tree tree_;
    std::size_t bytes_ = 0;
};

}  // namespace

Tree collect_host(const os::Root& root) { return Collector(root).host(); }

Result<Tree> collect_directory(const std::string& directory) {
    std::error_code problem;
    if (!std::filesystem::is_directory(directory, problem)) {
        if (problem && problem != std::errc::no_such_file_or_directory) {
            return os::error_from_errno(problem.value(), directory);
        }
        const bool there = std::filesystem::exists(directory, problem);
        return Error{there ? ErrorCode::kInvalidInput : ErrorCode::kNotFound,
                     directory + (there ? ": is a file; give the directory that holds proc, sys, "
                                          "etc, or use --bundle or --facts"
                                        : ": no such directory")};
    }
    const os::Root root{std::filesystem::path(directory)};
    Collector collector(root);
    Tree tree = collector.host();
    for (const std::string top : {"cmd", "k8s", "logs", "agent", "host"}) {
        Collector more(root);
        more.whole("/" + top, top);
        for (const auto& [path, entry] : more.tree().entries()) tree.add(path, entry);
    }
    if (const auto meta = root.read("/meta.json")) tree.add_text("meta.json", *meta);
    tree.name = directory;
    if (tree.entries().empty()) {
        // "Nothing that we know" may still be a host without any of it: name what was expected.
        const auto names = root.list("/", 1);
        if (!names || names->empty() ||
            !(root.exists("/proc") || root.exists("/sys") || root.exists("/etc"))) {
            return Error{ErrorCode::kInvalidInput,
                         directory +
                             ": holds none of proc, sys, etc, cmd, k8s, logs: not a host's root "
                             "and not a bundle"};
        }
    }
    return tree;
}

}  // namespace aliquot::bundle
