// SPDX-License-Identifier: Apache-2.0
#include "sim/proc/cgroup_text.h"

#include <algorithm>
#include <array>

namespace aliquot::sim {
namespace {

constexpr std::array kForms{
    CgroupForm::kSystemd,  CgroupForm::kSystemdCrio,  CgroupForm::kSystemdDocker,
    CgroupForm::kCgroupfs, CgroupForm::kCgroupfsCrio, CgroupForm::kVersion1,
    CgroupForm::kHybrid,   CgroupForm::kNested,       CgroupForm::kMixed,
};

constexpr std::array<std::string_view, 9> kControllers{"memory", "devices",     "freezer",
                                                       "cpuset", "cpu,cpuacct", "blkio",
                                                       "pids",   "hugetlb",     "perf_event"};

/// "" for Guaranteed: such pods stand at the top.
std::string_view level_of(QualityOfService quality) {
    switch (quality) {
        case QualityOfService::kGuaranteed:
            return "";
        case QualityOfService::kBurstable:
            return "burstable";
        case QualityOfService::kBestEffort:
            return "besteffort";
    }
    return "";
}

/// systemd nests slices by dashes, so the dashes of a uid become underscores.
std::string slice_name(std::string_view root, QualityOfService quality, std::string_view uid) {
    std::string escaped(uid);
    std::ranges::replace(escaped, '-', '_');
    std::string name(root);
    if (const auto level = level_of(quality); !level.empty()) name += "-" + std::string(level);
    return name + "-pod" + escaped + ".slice";
}

std::string systemd_path(std::string_view root, QualityOfService quality, std::string_view uid) {
    std::string path = "/" + std::string(root) + ".slice";
    if (const auto level = level_of(quality); !level.empty()) {
        path += "/" + std::string(root) + "-" + std::string(level) + ".slice";
    }
    return path + "/" + slice_name(root, quality, uid);
}

std::string cgroupfs_path(QualityOfService quality, std::string_view uid) {
    std::string path = "/kubepods";
    if (const auto level = level_of(quality); !level.empty()) path += "/" + std::string(level);
    return path + "/pod" + std::string(uid);
}

std::string path_of(CgroupForm form, QualityOfService quality, std::string_view uid,
                    std::string_view container) {
    const std::string id(container);
    switch (form) {
        case CgroupForm::kSystemd:
        case CgroupForm::kHybrid:
            return systemd_path("kubepods", quality, uid) + "/cri-containerd-" + id + ".scope";
        case CgroupForm::kSystemdCrio:
            return systemd_path("kubepods", quality, uid) + "/crio-" + id + ".scope/container";
        case CgroupForm::kSystemdDocker:
            return systemd_path("kubepods", quality, uid) + "/docker-" + id + ".scope";
        case CgroupForm::kCgroupfs:
        case CgroupForm::kVersion1:
            return cgroupfs_path(quality, uid) + "/" + id;
        case CgroupForm::kCgroupfsCrio:
            return cgroupfs_path(quality, uid) + "/crio-" + id;
        case CgroupForm::kNested:
            return "/kubelet.slice" + systemd_path("kubelet-kubepods", quality, uid) +
                   "/cri-containerd-" + id + ".scope";
        case CgroupForm::kMixed:
            return "/system.slice/containerd.service/" + slice_name("kubepods", quality, uid) +
                   ":cri-containerd:" + id;
    }
    return "/";
}

std::string text_of(CgroupForm form, const std::string& path) {
    const bool old = form == CgroupForm::kVersion1 || form == CgroupForm::kHybrid;
    if (!old) return "0::" + path + "\n";
    std::string text;
    std::size_t number = kControllers.size() + 1;
    for (const std::string_view controller : kControllers) {
        text += std::to_string(number--) + ":" + std::string(controller) + ":" + path + "\n";
    }
    text += "1:name=systemd:" + path + "\n";
    if (form == CgroupForm::kHybrid) text += "0::/system.slice/containerd.service\n";
    return text;
}

}  // namespace

std::span<const CgroupForm> all_cgroup_forms() { return kForms; }

std::string cgroup_text(CgroupForm form, QualityOfService quality, std::string_view pod_uid,
                        std::string_view container_id) {
    return text_of(form, path_of(form, quality, pod_uid, container_id));
}

std::string host_cgroup_text(CgroupForm form, std::string_view service) {
    return text_of(form, "/system.slice/" + std::string(service) + ".service");
}

}  // namespace aliquot::sim
