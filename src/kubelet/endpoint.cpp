// SPDX-License-Identifier: Apache-2.0
#include "kubelet/endpoint.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "rpc/call.h"

namespace aliquot::kubelet {
namespace {

constexpr std::chrono::milliseconds kAnswerTimeout{5000};
constexpr std::chrono::milliseconds kCloseGrace{1000};
constexpr int kAcceptAtOnce = 64;

/// Asks a plugin for its options, over `connection`: proof that it answers, since kubelet calls
/// back inside Register.
/// errors   kUnavailable: no answer in time
Result<std::string> ask_options(Descriptor connection) {
    return rpc::call(std::move(connection), {},
                     {.path = "/v1beta1.DevicePlugin/GetDevicePluginOptions",
                      .timeout = kAnswerTimeout,
                      .subject = "GetDevicePluginOptions of our own socket"});
}

}  // namespace

Result<std::unique_ptr<Endpoint>> Endpoint::open(const std::filesystem::path& path,
                                                 const PluginOptions& options, Decider& decider,
                                                 ServiceEvents& events,
                                                 std::span<const grant::Device> devices,
                                                 std::function<void()> on_stream) {
    const bool watched = options.registration == Registration::kRegistry;
    auto listener = Listener::open(path, watched ? Making::kInPlace : Making::kRenamed);
    if (!listener) return std::move(listener).error();
    auto streams = Streams::make(std::move(on_stream));
    streams->set(devices);
    std::unique_ptr<Endpoint> endpoint(new Endpoint(*std::move(listener), std::move(streams)));

    auto methods = device_plugin_methods(options.resource, decider, *endpoint->streams_, events);
    if (options.registration == Registration::kRegistry)
        std::ranges::move(registry_methods(options.resource, events), std::back_inserter(methods));
    auto server = rpc::Server::start(std::move(methods));
    if (!server) return std::move(server).error();
    endpoint->server_ = *std::move(server);
    endpoint->streams_->attach([server = endpoint->server_.get()] { server->wake(); });

    auto self = connect_unix(path);
    if (!self) return std::move(self).error();
    const auto accepted = endpoint->accept();
    if (!accepted) return accepted.error();
    const auto answer = ask_options(*std::move(self));
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

bool Endpoint::end_streams() {
    streams_->close();
    return server_ == nullptr || server_->wait_until_left(kCloseGrace);
}

void Endpoint::close() {
    listener_.remove();  // first: nobody shall come while the rest ends
    streams_->close();
    if (server_) server_->stop(kCloseGrace);
}

}  // namespace aliquot::kubelet
