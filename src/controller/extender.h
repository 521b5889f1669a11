// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controller/placement_options.h"
#include "controller/shared_books.h"
#include "http/message.h"
#include "http/options.h"
#include "http/server.h"
#include "metrics/histogram.h"

namespace aliquot::controller {

/// What kube-scheduler asks an extender (KubeSchedulerConfiguration, nodeCacheCapable: true): which of these nodes have
/// GPUs for a pod, and which are best. By names only. What it answers books nothing. Thread-safe.
class Extender {
public:
    struct World {
        SharedBooks& books;
        std::function<bool()> is_synced;  // until then every node will do
    };
    static constexpr std::size_t kMostBodyBytes = std::size_t{4} << 20U;
    static constexpr std::size_t kMostNodes = 20'000;

    /// client_names   common names of certificates that may ask; others are 403
    Extender(World world, std::vector<std::string> client_names)
        : world_(std::move(world)), client_names_(std::move(client_names)), took_(kBounds) {}

    /// POST of ExtenderArgs; an ExtenderFilterResult.
    http::Response filter(const http::Request& request);
    /// POST of ExtenderArgs; a HostPriorityList, 10 for the best node and 0 for those that cannot take the pod.
    http::Response prioritize(const http::Request& request);

    /// Prometheus text.
    [[nodiscard]] std::string metrics() const;

private:
    enum class Outcome : std::uint8_t { kAnswered, kBusy, kMalformed, kForbidden };
    static constexpr std::array<double, 6> kBounds{0.001, 0.005, 0.01, 0.05, 0.2, 1};

    [[nodiscard]] bool may_ask(const http::Request& request) const;
    /// Asks the books about a pod with devices, and counts; nothing is asked where they do not answer in time.
    void ask(const scheduling::GpuPod& pod, const std::function<void(SharedBooks::Use&)>& question);
    void count(Outcome outcome) { ++outcomes_[static_cast<std::size_t>(outcome)]; }

    const World world_;
    const std::vector<std::string> client_names_;
    std::array<std::atomic<std::uint64_t>, 4> outcomes_{};
    metrics::Histogram took_;
};

/// The same behind an address of its own, for who shows a certificate.
class ExtenderServer {
public:
    /// tls      of the webhook; the authority of the clients is of the options
    /// errors   as http::Server::listen(); what cannot be read of the authority
    static Result<std::unique_ptr<ExtenderServer>> serve(const ExtenderOptions& options,
                                                         http::Tls tls, Extender& extender);
    [[nodiscard]] unsigned port() const { return server_->port(); }

private:
    std::unique_ptr<http::Server> server_;
};

}  // namespace aliquot::controller
