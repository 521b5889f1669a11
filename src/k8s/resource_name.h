// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace aliquot::k8s {

/// Whether kubelet lets a plugin register `name`: an extended resource, which is "domain/name"
/// outside kubernetes.io, without the prefix "requests.", and still a qualified name with it.
/// source   k8s.io/kubernetes/pkg/apis/core/v1/helper, IsExtendedResourceName
bool is_extended_resource(std::string_view name);

/// A name of NVIDIA's: "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", also
/// others that a configuration or KubeVirt makes up. Not what NVIDIA's network operator registers
/// (nvidia.com/hostdev, nvidia.com/rdma_shared_device_a, ...) and not a label of a MIG device.
bool is_nvidia_resource(std::string_view name);

/// A GPU of NVIDIA or a part of one under any name: also aliquot.dev/ and what older plugins and
/// clouds call it (alpha.kubernetes.io/nvidia-gpu, k8s.amazonaws.com/vgpu, aliyun.com/gpu-mem).
bool is_nvidia_gpu(std::string_view name);

/// A GPU of any maker or layer: also amd.com/gpu, gpu.intel.com/i915, HAMi, nos, volcano, ...
bool is_gpu_resource(std::string_view name);

/// "1g.5gb" of "nvidia.com/mig-1g.5gb" and "nvidia.com/mig-1g.5gb.shared"; empty when it is none.
std::string_view mig_profile(std::string_view resource);

}  // namespace aliquot::k8s
