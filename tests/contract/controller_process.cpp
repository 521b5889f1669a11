// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/controller_process.h"

#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace aliquot::contract {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

os::Process begin(const std::filesystem::path& output, std::vector<std::string> words) {
    auto started = os::Process::start({.argv = std::move(words),
                                       .environment = os::current_environment(),
                                       .output_path = output.native()});
    if (!started) throw std::runtime_error(started.error().message);
    return *std::move(started);
}

std::vector<std::string> words_of(const std::string& kubeconfig, const std::string& space,
                                  const std::string& configuration,
                                  const std::vector<std::string>& more) {
    std::vector<std::string> words{ALIQUOT_BIN_DIR "/aliquot-controller",
                                   "--kubeconfig",
                                   kubeconfig,
                                   "--namespace",
                                   space,
                                   "--webhook-configuration",
                                   configuration,
                                   "--certificate-names",
                                   "IP:127.0.0.1",
                                   "--webhook-listen",
                                   "127.0.0.1:0",
                                   "--health-listen",
                                   "127.0.0.1:0",
                                   "--lease-duration",
                                   "3s",
                                   "--drain",
                                   "0s"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

}  // namespace

ControllerProcess::ControllerProcess(const std::string& kubeconfig,
                                     const std::string& namespace_name,
                                     const std::string& configuration,
                                     const std::vector<std::string>& more)
    : process_(begin(directory_.path() / "output",
                     words_of(kubeconfig, namespace_name, configuration, more))) {}

std::string ControllerProcess::said() const {
    std::ifstream file(directory_.path() / "output");
    return {std::istreambuf_iterator<char>(file), {}};
}

bool ControllerProcess::says(const std::string& text) const {
    const auto limit = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < limit) {
        if (said().contains(text)) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
}

unsigned ControllerProcess::number_behind(const std::string& mark) const {
    if (!says(mark)) return 0;
    const std::string text = said();
    return static_cast<unsigned>(std::stoul(text.substr(text.find(mark) + mark.size())));
}

}  // namespace aliquot::contract
