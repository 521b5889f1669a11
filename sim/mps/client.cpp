// SPDX-License-Identifier: Apache-2.0
#include "sim/mps/client.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/number.h"
#include "sim/mps/amount.h"

namespace aliquot::sim::mps {
namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? "" : value;
}

}  // namespace

std::optional<std::uint64_t> limit_of_first_device(const std::string& text) {
    const std::string first = text.substr(0, text.find(','));
    const auto equals = first.find('=');
    if (equals == std::string::npos || first.substr(0, equals) != "0") return std::nullopt;
    return parse_amount(first.substr(equals + 1));
}

Result<Client> Client::connect(const std::string& pipe_directory, const std::string& command) {
    auto socket = LineSocket::connect(pipe_directory + "/control");
    if (!socket) return std::move(socket).error();
    Client client(*std::move(socket));
    if (!client.socket_.send("client " + command + "\n")) {
        return Error{ErrorCode::kUnavailable, "the MPS control daemon has gone"};
    }
    for (;;) {
        const auto line = client.socket_.wait_line(std::chrono::milliseconds(-1));
        if (!line) return Error{ErrorCode::kUnavailable, "the MPS control daemon has gone"};
        if (line->starts_with("refused ")) {
            return Error{ErrorCode::kConflict, line->substr(std::string("refused ").size())};
        }
        // "ready SERVER GPU MEMORY THREADS"
        std::istringstream words(*line);
        std::string word;
        std::uint64_t memory = 0;
        words >> word >> client.server_ >> client.gpu_ >> memory >> client.thread_percent_;
        if (word != "ready" || !words) continue;
        if (memory > 0) client.memory_limit_ = memory;
        break;
    }
    if (const auto own = limit_of_first_device(variable("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"))) {
        client.memory_limit_ = std::min(client.memory_limit_.value_or(*own), *own);
    }
    const std::string percent = variable("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    std::string_view left = percent;
    const unsigned own = take_number<unsigned>(left).value_or(0);
    if (own >= 1) client.thread_percent_ = std::min(client.thread_percent_, own);
    return client;
}

bool Client::connected() { return socket_.receive(); }

}  // namespace aliquot::sim::mps
