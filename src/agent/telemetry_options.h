// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "exposition/style.h"

namespace aliquot::agent {

/// What telemetry is told by the command line.
struct TelemetryOptions {
    std::string listen = "127.0.0.1:9400";  // as http::ServerOptions::address, or "off"
    exposition::Style style;                // without format and counters
    std::string web_config;  // host path of the Prometheus web-config file; empty: none
    std::string counters;    // host path of NVIDIA's list of counters; empty: none
    std::chrono::milliseconds interval{1000};
    std::string node;  // empty: the host's name
    std::optional<double> price_per_gpu_hour;
};

}  // namespace aliquot::agent
