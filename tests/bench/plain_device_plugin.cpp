// SPDX-License-Identifier: Apache-2.0
//
// plain_device_plugin KUBELET_SOCKET [GPUS [REPLICAS]]: a device plugin without GPUs and without
// decisions, so that device_plugin_bench can tell what src/kubelet itself costs.
#include <malloc.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>

#include "kubelet/device_plugin.h"

namespace {

using aliquot::Result;

class FirstComeDecider final : public aliquot::kubelet::Decider {
public:
    std::vector<std::string> prefer(std::span<const std::string> available,
                                    std::span<const std::string> /*must_include*/,
                                    std::size_t size) noexcept override {
        return {available.begin(), available.begin() + static_cast<std::ptrdiff_t>(size)};
    }
    Result<aliquot::grant::Grant> allocate(std::span<const std::string> ids) override {
        aliquot::grant::Grant grant;
        grant.environment["NVIDIA_VISIBLE_DEVICES"] = std::string(ids.empty() ? "void" : ids[0]);
        return grant;
    }
};

unsigned number(int argc, char** argv, int index, unsigned otherwise) {
    return argc > index ? static_cast<unsigned>(std::strtoul(argv[index], nullptr, 10)) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::cerr << "usage: plain_device_plugin KUBELET_SOCKET [GPUS [REPLICAS]]\n";
        return 2;
    }
    ::mallopt(M_ARENA_MAX, 1);  // NOLINT(concurrency-mt-unsafe): there is one thread yet
    sigset_t ending;
    ::sigemptyset(&ending);
    ::sigaddset(&ending, SIGTERM);
    ::sigaddset(&ending, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);

    std::vector<aliquot::grant::Device> devices;
    for (unsigned gpu = 0; gpu < number(argc, argv, 2, 8); ++gpu)
        for (unsigned replica = 0; replica < number(argc, argv, 3, 100); ++replica)
            devices.push_back({"GPU-00000000-0000-4000-8000-00000000000" + std::to_string(gpu) +
                                   "::" + std::to_string(replica),
                               true, gpu / 4});
    FirstComeDecider decider;
    aliquot::kubelet::PluginOptions options;
    options.resource = "nvidia.com/gpu";
    options.socket_name = "nvidia-gpu.sock";
    options.paths.kubelet_socket = argv[1];
    const aliquot::os::Root root;
    aliquot::kubelet::DevicePlugin plugin(root, options, decider);
    if (const auto started = plugin.start(std::move(devices)); !started) {
        std::cerr << "plain_device_plugin: " << started.error().message << '\n';
        return 1;
    }
    int signal = 0;
    ::sigwait(&ending, &signal);
    plugin.stop(aliquot::kubelet::StopReason::kRestart);
    return 0;
}
