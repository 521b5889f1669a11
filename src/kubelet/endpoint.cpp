// SPDX-License-Identifier: Apache-2.0
#include "kubelet/endpoint.h"

#include <vector>

namespace aliquot::kubelet {
namespace {

constexpr std::chrono::milliseconds kAnswerTimeout{5000};
constexpr std::chrono::milliseconds kCloseGrace{1000};
constexpr int kAcceptAtOnce = 64;

}  // namespace

Result<std::unique_ptr<Endpoint>> Endpoint::open(const std::filesystem::path& path,
                                                 const PluginOptions& options, Decider& decider,
                                                 ServiceEvents& events,
                                                 std::span<const grant::Device> devices,
                                                 std::function<void()> on_stream) {
    auto listener = Listener::open(path);
    if (!listener) return std::move(listener).error();
    auto streams = Streams::make(std::move(on_stream));
    streams->set(devices);
    std::unique_ptr<Endpoint> endpoint(new Endpoint(*std::move(listener), std::move(streams)));

    endpoint->service_ =
        make_device_plugin_service(options.resource, decider, *endpoint->streams_, events);
    std::vector<Service*> services{endpoint->service_.get()};
    if (options.registration == Registration::kRegistry) {
        endpoint->registry_service_ = make_registry_service(options.resource, events);
        services.push_back(endpoint->registry_service_.get());
    }
    auto server = Server::start(services);
    if (!server) return std::move(server).error();
    endpoint->server_ = *std::move(server);

    auto self = connect_unix(path);
    if (!self) return std::move(self).error();
    const auto accepted = endpoint->accept();
    if (!accepted) return accepted.error();
    const auto answer = ask_options(*std::move(self), kAnswerTimeout);
    if (!answer) return answer.error();
    return endpoint;
}

Endpoint::Endpoint(Listener listener, std::unique_ptr<Streams> streams)
    : listener_(std::move(listener)), streams_(std::move(streams)) {}

Endpoint::~Endpoint() { close(); }

Result<Done> Endpoint::accept() {
    for (int i = 0; i < kAcceptAtOnce; ++i) {
        auto connection = listener_.accept();
        if (!connection) return std::move(connection).error();
        if (!*connection) break;
        server_->serve(*std::move(connection));
    }
    return Done{};
}

void Endpoint::close() {
    listener_.remove();  // first: nobody shall come while the rest ends
    streams_->close();
    if (server_) server_->stop(kCloseGrace);
    server_.reset();
}

}  // namespace aliquot::kubelet
