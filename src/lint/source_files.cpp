// SPDX-License-Identifier: Apache-2.0
#include "lint/source_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <set>
#include <system_error>

#include "syntax/language.h"

namespace aliquot::lint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 10U << 20U;
constexpr std::size_t kMostFiles = 200'000;
constexpr std::string_view kSettingsName = ".aliquot.yaml";

Error error_of(const std::string& path, const std::string& what, int number) {
    const ErrorCode code = number == EACCES || number == EPERM ? ErrorCode::kPermission
                           : number == ENOENT                  ? ErrorCode::kNotFound
                                                               : ErrorCode::kUnavailable;
    return {code, path + ": " + what + ": " + std::generic_category().message(number)};
}

/// open(2), fstat(2), read(2): a stream costs as much as linting a small file.
Result<std::string> read_bytes(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return error_of(path, "cannot read it", errno);
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || S_ISDIR(status.st_mode)) {
        ::close(descriptor);
        return Error{ErrorCode::kInvalidInput, path + ": is a directory, a file was expected"};
    }
    std::string bytes;
    std::array<char, 1U << 15U> part{};
    int failed = 0;
    while (bytes.size() <= kMostBytes) {
        const ssize_t count = ::read(descriptor, part.data(), part.size());
        if (count == 0) break;
        if (count < 0) {
            if (errno == EINTR) continue;
            failed = errno;
            break;
        }
        bytes.append(part.data(), static_cast<std::size_t>(count));
    }
    ::close(descriptor);
    if (failed != 0) return error_of(path, "reading it failed", failed);
    if (bytes.size() > kMostBytes)
        return Error{ErrorCode::kInvalidInput, path + ": larger than 10 MiB"};
    return bytes;
}

std::string read_standard_input() {
    std::string text;
    std::array<char, 1U << 16U> part{};
    while (text.size() <= kMostBytes) {
        std::cin.read(part.data(), static_cast<std::streamsize>(part.size()));
        if (std::cin.gcount() <= 0) break;
        text.append(part.data(), static_cast<std::size_t>(std::cin.gcount()));
    }
    return text;
}

bool is_skipped_directory(const std::string& name) {
    constexpr std::array<std::string_view, 11> kSkipped{
        ".git",  "vendor", "node_modules", ".svn",       ".hg",        "__pycache__",
        ".venv", "venv",   ".cache",       ".terraform", "third_party"};
    return std::find(kSkipped.begin(), kSkipped.end(), name) != kSkipped.end();
}

/// Whether a file of a directory is of a kind that the linter reads.
bool is_known(const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name == kSettingsName) return false;
    if (name.find('.') == std::string::npos && name.rfind("README", 0) != 0 &&
        name.rfind("INSTALL", 0) != 0) {
        return syntax::kind_of(path, "") == syntax::FileKind::kDockerfile;
    }
    return syntax::kind_of(path, "") != syntax::FileKind::kOther;
}

std::string directory_of(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == 0) return "/";
    return slash == std::string::npos ? std::string(".") : path.substr(0, slash);
}

/// A path as seen from the directory of the settings.
std::string relative_to(const std::string& path, const std::string& directory) {
    std::error_code problem;
    const fs::path relative =
        fs::relative(path, directory.empty() ? fs::path(".") : fs::path(directory), problem);
    return problem ? path : relative.string();
}

/// Collects the files below one directory.
class Search {
public:
    Search(SettingsFinder& finder, std::vector<SourceFile>& files)
        : finder_(finder), files_(files) {}

    Result<Done> add_file(const std::string& path, bool named) {
        auto settings = finder_.find(directory_of(path));
        if (!settings) return std::move(settings).error();
        if (!named) {
            if (!is_known(path)) return Done{};
            const FoundSettings& found = **settings;
            if (!found.settings.ignored_paths.empty() &&
                is_ignored(found.settings, relative_to(path, found.directory))) {
                return Done{};
            }
        }
        if (files_.size() >= kMostFiles) {
            return Error{ErrorCode::kInvalidInput, path + ": more than " +
                                                       std::to_string(kMostFiles) +
                                                       " files; name a smaller directory"};
        }
        if (seen_.insert(path).second) files_.push_back({path, *settings, ""});
        return Done{};
    }

    Result<Done> add_directory(const std::string& directory, int depth) {
        constexpr int kDeepest = 64;
        if (depth > kDeepest) return Done{};
        std::error_code problem;
        std::vector<fs::directory_entry> entries;
        for (fs::directory_iterator
                 at(directory, fs::directory_options::skip_permission_denied, problem),
             end;
             !problem && at != end; at.increment(problem)) {
            entries.push_back(*at);
        }
        if (problem && depth == 0) {
            return Error{ErrorCode::kPermission,
                         directory + ": cannot read it: " + problem.message()};
        }
        std::sort(entries.begin(), entries.end());
        for (const fs::directory_entry& entry : entries) {
            const std::string name = entry.path().filename().string();
            const bool is_link = entry.is_symlink(problem);
            Result<Done> done = Done{};
            if (entry.is_directory(problem)) {
                if (!is_link && !is_skipped_directory(name)) {
                    done = add_directory(entry.path().string(), depth + 1);
                }
            } else if (entry.is_regular_file(problem)) {
                done = add_file(entry.path().string(), false);
            }
            if (!done) return done;
        }
        return Done{};
    }

private:
    SettingsFinder& finder_;
    std::vector<SourceFile>& files_;
    std::set<std::string> seen_;
};

}  // namespace

Result<std::shared_ptr<const FoundSettings>> SettingsFinder::find(const std::string& directory) {
    if (const auto known = known_.find(directory); known != known_.end()) return known->second;
    std::error_code problem;
    fs::path here = fs::absolute(directory, problem).lexically_normal();
    auto found = std::make_shared<FoundSettings>();
    constexpr int kDeepest = 128;
    for (int steps = 0; steps < kDeepest && !here.empty(); ++steps) {
        const fs::path file = here / kSettingsName;
        if (fs::is_regular_file(file, problem)) {
            const auto bytes = read_bytes(file.string());
            if (!bytes) return bytes.error();
            auto settings = read_settings(file.string(), *bytes);
            if (!settings) return std::move(settings).error();
            found->file = file.string();
            found->directory = here.string();
            found->settings = *std::move(settings);
            break;
        }
        if (here == here.root_path()) break;
        here = here.parent_path();
    }
    known_[directory] = found;
    return std::shared_ptr<const FoundSettings>(found);
}

Result<std::vector<SourceFile>> find_source_files(const std::vector<std::string>& paths) {
    std::vector<SourceFile> files;
    SettingsFinder finder;
    Search search(finder, files);
    for (const std::string& named : paths) {
        Result<Done> done = Done{};
        std::error_code problem;
        std::string path = named;
        while (path.size() > 1 && path.back() == '/') path.pop_back();
        if (path == "-") {
            auto settings = finder.find(".");
            if (!settings) return std::move(settings).error();
            files.push_back({"<stdin>", *settings, ""});
        } else if (fs::is_directory(path, problem)) {
            done = search.add_directory(path, 0);
        } else if (!fs::exists(path, problem)) {
            return error_of(path, "cannot read it", problem ? problem.value() : ENOENT);
        } else {
            done = search.add_file(path, true);
        }
        if (!done) return std::move(done).error();
    }
    return files;
}

Result<Done> read_source_file(SourceFile& file) {
    if (file.path == "<stdin>") {
        file.bytes = read_standard_input();
        if (file.bytes.size() > kMostBytes) {
            return Error{ErrorCode::kInvalidInput, "<stdin>: larger than 10 MiB"};
        }
        return Done{};
    }
    auto bytes = read_bytes(file.path);
    if (!bytes) return std::move(bytes).error();
    file.bytes = *std::move(bytes);
    return Done{};
}

}  // namespace aliquot::lint
