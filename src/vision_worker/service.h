// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "http/message.h"
#include "http/options.h"
#include "vision_worker/pipeline.h"

namespace aliquot::vision_worker {

/// The worker's pages: pictures in, JSON out. Thread-safe.
class Service {
public:
    Service(Engine& engine, Pipeline& pipeline, Metrics& metrics, const Settings& settings)
        : engine_(engine), pipeline_(pipeline), metrics_(metrics), settings_(settings) {}

    http::Response operator()(const http::Request& request);
    /// How a server for it is set up.
    [[nodiscard]] static http::ServerOptions server_options(const Settings& settings);

private:
    http::Response infer(const http::Request& request);
    [[nodiscard]] http::Response model_page() const;

    Engine& engine_;
    Pipeline& pipeline_;
    Metrics& metrics_;
    const Settings& settings_;
};

/// A picture's outcome as JSON on one line.
std::string to_json(const Engine& engine, const std::string& name, const Outcome& outcome);

}  // namespace aliquot::vision_worker
