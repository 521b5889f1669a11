// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "cluster_jobs/cluster_jobs.h"
#include "kube_client/informer.h"

namespace aliquot::controller {

/// Owns our entries in the status of Workloads and AdmissionChecks.
inline constexpr char kCheckManager[] = "aliquot.dev/placement";

/// What is followed of Kueue.
struct KueueCaches {
    KueueCaches(kube_client::Api& api, const std::function<void()>& news,
                std::function<void(const kube_client::ObjectKey&)> workload)
        : workloads(
              api, cluster_jobs::workloads(), {},
              [news, workload = std::move(workload)](const auto& key, const auto&, const auto&) {
                  workload(key);
                  news();
              }),
          cluster_queues(api, cluster_jobs::cluster_queues(), specs()),
          local_queues(api, cluster_jobs::local_queues(), specs()),
          checks(api, cluster_jobs::admission_checks(), {}, heard(news)),
          flavors(api, cluster_jobs::resource_flavors(), specs()) {
        for (kube_client::Informer* const one :
             {&workloads, &cluster_queues, &local_queues, &checks, &flavors})
            one->start();
    }
    [[nodiscard]] bool is_synced() const {
        return workloads.state().synced && cluster_queues.state().synced &&
               local_queues.state().synced && checks.state().synced && flavors.state().synced;
    }
    static kube_client::InformerOptions specs() {
        return {.projection = kube_client::keep_fields({"spec"})};
    }
    static kube_client::Informer::Handler heard(const std::function<void()>& news) {
        return [news](const auto&, const auto&, const auto&) { news(); };
    }

    kube_client::Informer workloads;
    kube_client::Informer cluster_queues;
    kube_client::Informer local_queues;
    kube_client::Informer checks;
    kube_client::Informer flavors;
};

}  // namespace aliquot::controller
