// SPDX-License-Identifier: Apache-2.0
#include "doctor/live.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGKILL is POSIX

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bundle/collect.h"
#include "doctor/text.h"
#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot::doctor {
namespace {

using bundle::Entry;
using bundle::Tree;

using Milliseconds = std::chrono::milliseconds;

constexpr std::size_t kMostOutput = 48U << 20U;

/// A program that was started, and where its words go.
struct Question {
    std::string path;  // in the tree
    os::Process process;
    std::string output;
    std::chrono::steady_clock::time_point deadline;
};

/// Processes that even SIGKILL does not end (the driver holds them). They die with us; waiting for
/// them would hang us as well.
void leave_behind(os::Process process) {
    static auto* const kLeft = new std::vector<os::Process>();
    kLeft->push_back(std::move(process));
}

class Gathering {
public:
    Gathering(const LiveOptions& options, const std::filesystem::path& directory)
        : options_(options), directory_(directory), environment_(os::current_environment()) {
        environment_["LC_ALL"] = "C";
        if (!environment_.contains("PATH")) environment_["PATH"] = "/usr/local/bin:/usr/bin:/bin";
        environment_["PATH"] += ":/usr/sbin:/sbin:/snap/bin";
    }

    Tree run() {
        if (options_.host) {
            start("cmd/nvml.json", {options_.program, "doctor", "--ask-nvml", driver_root()},
                  options_.nvml_deadline);
            if (options_.root == "/") start_commands();
        }
        Tree tree;
        if (options_.host) tree = bundle::collect_host(os::Root(options_.root));
        for (Question& question : questions_) answer(question, tree);
        tree.complete = options_.host && options_.root == "/";
        tree.taken_s = static_cast<std::int64_t>(std::time(nullptr));
        tree.name = options_.host ? "this host" : "the cluster";
        return tree;
    }

private:
    [[nodiscard]] std::string driver_root() const { return options_.root; }

    void start(std::string path, std::vector<std::string> argv, Milliseconds deadline) {
        const std::string output =
            (directory_ / ("answer" + std::to_string(questions_.size()))).native();
        auto process = os::Process::start(
            {.argv = std::move(argv), .environment = environment_, .output_path = output});
        if (!process) return;  // no such program: nothing to tell
        questions_.push_back({std::move(path), *std::move(process), output,
                              std::chrono::steady_clock::now() + deadline});
    }

    void start_commands() {
        const auto limit = options_.command_deadline;
        start("cmd/nvidia-smi-q.txt", {"nvidia-smi", "-q"}, options_.nvml_deadline);
        start("cmd/dmesg.txt", {"dmesg"}, limit);
        start("cmd/modinfo.txt", {"modinfo", "nvidia"}, limit);
        start("cmd/mokutil.txt", {"mokutil", "--sb-state"}, limit);
        start("cmd/nvidia-ctk.txt", {"nvidia-ctk", "--version"}, limit);
        start("cmd/containerd-version.txt", {"containerd", "--version"}, limit);
        start("cmd/fabricmanager.txt", {"nv-fabricmanager", "--version"}, limit);
        start("cmd/journal-kubelet.txt",
              {"journalctl", "-u", "kubelet", "-n", "2000", "--no-pager", "-q"}, limit);
    }

    void answer(Question& question, Tree& tree) {
        const auto left = std::chrono::duration_cast<Milliseconds>(
            question.deadline - std::chrono::steady_clock::now());
        auto exit = question.process.wait(std::max(left, Milliseconds(0)));
        const bool nvml = question.path == "cmd/nvml.json";
        if (!exit) {
            question.process.signal(SIGKILL);
            if (!question.process.wait(Milliseconds(500)))
                leave_behind(std::move(question.process));
            if (nvml) tree.add_text(question.path, "{\"hung\":true}\n");
            return;
        }
        auto text = os::Root("/").read(question.output, kMostOutput);
        if (!text) return;
        if (question.path == "cmd/dmesg.txt" && exit->code != 0) {
            tree.add(question.path, {.kind = Entry::Kind::kUnreadable,
                                     .content = clip(*text, 120) + " (root can)"});
            return;
        }
        if (nvml && exit->signal != 0) *text = "{\"hung\":true}\n";
        if (!text->empty()) tree.add_text(question.path, *std::move(text));
    }

    const LiveOptions& options_;
    const std::filesystem::path& directory_;
    std::map<std::string, std::string> environment_;
    std::vector<Question> questions_;
};

}  // namespace

bool knows_a_cluster() {
    const auto environment = os::current_environment();
    std::error_code problem;
    if (environment.contains("KUBERNETES_SERVICE_HOST")) return true;
    if (const auto named = environment.find("KUBECONFIG");
        named != environment.end() && !named->second.empty()) {
        return std::ranges::any_of(split(named->second, ':'), [&](std::string_view file) {
            return !file.empty() && std::filesystem::exists(file, problem);
        });
    }
    const auto home = environment.find("HOME");
    return home != environment.end() &&
           std::filesystem::exists(home->second + "/.kube/config", problem);
}

Result<Tree> gather_live(const LiveOptions& options) {
    try {
        const os::TemporaryDirectory directory;
        return Gathering(options, directory.path()).run();
    } catch (const std::filesystem::filesystem_error& error) {
        return Error{ErrorCode::kUnavailable,
                     std::string("doctor: no temporary directory: ") + error.what()};
    }
}

}  // namespace aliquot::doctor
