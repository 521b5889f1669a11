// SPDX-License-Identifier: Apache-2.0
#include "agent/mps_json.h"

#include <nlohmann/json.hpp>

namespace aliquot::agent {
namespace {

using Json = nlohmann::ordered_json;

Json client_json(const mps::Client& client) {
    return {{"pid", client.pid},
            {"server", client.server},
            {"command", client.command},
            {"pod", client.pod.uid},
            {"container", client.pod.container}};
}

Json status_json(const mps::Status& status) {
    Json servers = Json::array();
    for (const auto& server : status.servers) {
        servers.push_back({{"pid", server.pid}, {"state", to_text(server.state)}});
    }
    Json clients = Json::array();
    for (const mps::Client& client : status.clients) clients.push_back(client_json(client));
    const auto& bytes = status.limits.memory_bytes;
    const auto since =
        std::chrono::duration_cast<std::chrono::seconds>(status.since.time_since_epoch());
    return {{"gpu", status.gpu.text},
            {"state", to_text(status.phase)},
            {"reason", status.reason},
            {"sinceUnixSeconds", since.count()},
            {"daemon", status.daemon},
            {"restarts", status.restarts},
            {"sharedMemory", status.private_shm ? "private" : "host"},
            {"memoryBytesPerProcess", bytes ? Json(*bytes) : Json(nullptr)},
            {"threadPercentPerProcess", status.limits.thread_percent},
            {"servers", std::move(servers)},
            {"clients", std::move(clients)}};
}

}  // namespace

Json mps_json(std::span<const mps::Status> statuses) {
    Json page = Json::array();
    for (const mps::Status& status : statuses) page.push_back(status_json(status));
    return page;
}

}  // namespace aliquot::agent
