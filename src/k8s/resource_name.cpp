// SPDX-License-Identifier: Apache-2.0
#include "k8s/resource_name.h"

#include <algorithm>
#include <array>
#include <string>

#include "k8s/names.h"

namespace aliquot::k8s {
namespace {

constexpr std::string_view kNvidia = "nvidia.com/";

/// Prefixes and whole names of resources that stand for a GPU or a part of one.
constexpr std::array<std::string_view, 21> kGpuNames{"amd.com/gpu",
                                                     "gpu.intel.com/",
                                                     "habana.ai/gaudi",
                                                     "k8s.amazonaws.com/vgpu",
                                                     "aliyun.com/gpu-",
                                                     "tencent.com/vcuda-",
                                                     "volcano.sh/vgpu-",
                                                     "volcano.sh/gpu-",
                                                     "koordinator.sh/gpu",
                                                     "4paradigm.com/vgpu",
                                                     "aliquot.dev/",
                                                     "aliquot/",
                                                     "cambricon.com/",
                                                     "huawei.com/Ascend",
                                                     "hygon.com/dcunum",
                                                     "metax-tech.com/",
                                                     "mthreads.com/",
                                                     "iluvatar.ai/",
                                                     "enflame.com/",
                                                     "kunlunxin.com/",
                                                     "alpha.kubernetes.io/nvidia-gpu"};

/// Under nvidia.com/, but no GPU.
constexpr std::array<std::string_view, 6> kNoGpu{"nvidia.com/hostdev", "nvidia.com/rdma",
                                                 "nvidia.com/resibp",  "nvidia.com/sriov",
                                                 "nvidia.com/bf",      "nvidia.com/cx"};

/// NVIDIA GPUs under other names; "nvidia/gpu" is how people shorten it.
constexpr std::array<std::string_view, 5> kNvidiaElsewhere{
    "aliquot.dev/", "alpha.kubernetes.io/nvidia-gpu", "nvidia/gpu", "k8s.amazonaws.com/vgpu",
    "aliyun.com/gpu"};

bool starts_with_any(std::string_view name, const auto& prefixes) {
    return std::ranges::any_of(prefixes,
                               [&](std::string_view one) { return name.starts_with(one); });
}

/// "nvidia.com/mig-1g.10gb.memory": what GPU feature discovery says of a device, no resource.
bool is_label_of_mig(std::string_view name) {
    if (!name.starts_with("nvidia.com/mig-")) return false;
    constexpr std::array<std::string_view, 10> kSaid{
        ".count",    ".engines.", ".memory",           ".multiprocessors", ".product",
        ".replicas", ".slices.",  ".sharing-strategy", ".compute.",        ".family"};
    return std::ranges::any_of(
        kSaid, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

}  // namespace

bool is_extended_resource(std::string_view name) {
    const std::size_t slash = name.find('/');
    return slash != 0 && slash != std::string_view::npos &&
           name.find("kubernetes.io/") == std::string_view::npos &&
           !name.starts_with("requests.") && is_label_key("requests." + std::string(name));
}

bool is_nvidia_resource(std::string_view name) {
    return name.starts_with(kNvidia) && !is_label_of_mig(name) && !starts_with_any(name, kNoGpu);
}

bool is_nvidia_gpu(std::string_view name) {
    return is_nvidia_resource(name) || starts_with_any(name, kNvidiaElsewhere);
}

bool is_gpu_resource(std::string_view name) {
    return is_nvidia_resource(name) || starts_with_any(name, kGpuNames);
}

std::string_view mig_profile(std::string_view resource) {
    constexpr std::string_view kMig = "nvidia.com/mig-";
    constexpr std::string_view kShared = ".shared";
    if (!resource.starts_with(kMig) || is_label_of_mig(resource)) return {};
    resource.remove_prefix(kMig.size());
    if (resource.ends_with(kShared)) resource.remove_suffix(kShared.size());
    return resource;
}

}  // namespace aliquot::k8s
