// SPDX-License-Identifier: Apache-2.0
#include "controller/volume_watch.h"

#include "base/log.h"

namespace aliquot::controller {
namespace {

constexpr std::chrono::seconds kPatience{10};

kube_client::InformerOptions with_fields(const std::vector<std::string>& fields) {
    return {.projection = kube_client::keep_fields(fields)};
}

}  // namespace

VolumeWatch::VolumeWatch(kube_client::Api& api, std::function<void()> changed)
    : api_(api), changed_(std::move(changed)) {}

void VolumeWatch::start() {
    started_ = Steady::now();
    claims_ = std::make_unique<kube_client::Informer>(
        api_, kube_client::resources::volume_claims(),
        with_fields({"metadata.annotations", "spec.volumeName", "spec.storageClassName",
                     "spec.resources", "spec.accessModes"}),
        [this](const auto& key, const auto&, const auto& after) {
            auto claim = after == nullptr
                             ? Result<k8s::VolumeClaim>(Error{ErrorCode::kNotFound, ""})
                             : k8s::parse_volume_claim(after->json);
            {
                const std::scoped_lock lock(mutex_);
                if (claim)
                    volumes_.set_claim(*std::move(claim));
                else
                    volumes_.remove_claim(key.namespace_name, key.name);
            }
            changed_();
        });
    persistent_ = std::make_unique<kube_client::Informer>(
        api_, kube_client::resources::persistent_volumes(),
        with_fields({"spec.storageClassName", "spec.capacity", "spec.accessModes", "spec.claimRef",
                     "spec.nodeAffinity", "status.phase"}),
        [this](const auto& key, const auto&, const auto& after) {
            auto volume = after == nullptr
                              ? Result<k8s::PersistentVolume>(Error{ErrorCode::kNotFound, ""})
                              : k8s::parse_persistent_volume(after->json);
            {
                const std::scoped_lock lock(mutex_);
                if (volume)
                    volumes_.set_volume(*std::move(volume));
                else
                    volumes_.remove_volume(key.name);
            }
            changed_();
        });
    classes_ = std::make_unique<kube_client::Informer>(
        api_, kube_client::resources::storage_classes(),
        with_fields({"provisioner", "volumeBindingMode", "allowedTopologies"}),
        [this](const auto& key, const auto&, const auto& after) {
            auto storage_class = after == nullptr
                                     ? Result<k8s::StorageClass>(Error{ErrorCode::kNotFound, ""})
                                     : k8s::parse_storage_class(after->json);
            {
                const std::scoped_lock lock(mutex_);
                if (storage_class)
                    volumes_.set_class(*std::move(storage_class));
                else
                    volumes_.remove_class(key.name);
            }
            changed_();
        });
    for (const auto* const informer : {&claims_, &persistent_, &classes_}) (*informer)->start();
}

bool VolumeWatch::is_synced() const {
    return claims_->state().synced && persistent_->state().synced && classes_->state().synced;
}

std::optional<std::vector<scheduling::VolumeRule>> VolumeWatch::rules_of(
    const scheduling::GpuPod& pod) {
    if (pod.claims.empty()) return std::vector<scheduling::VolumeRule>{};
    if (!started_) start();
    if (!is_synced()) {
        if (Steady::now() - *started_ < kPatience) return std::nullopt;
        if (!was_told_) {
            log::warning("placement.volumes_unknown",
                         {{"reason",
                           "persistentvolumeclaims, persistentvolumes or storageclasses "
                           "cannot be read; pods with volumes are placed without them"}});
        }
        was_told_ = true;
        return std::vector<scheduling::VolumeRule>{};
    }
    const std::scoped_lock lock(mutex_);
    return volumes_.rules_of(pod);
}

}  // namespace aliquot::controller
