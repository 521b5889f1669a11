// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dra/health_feed.h"
#include "dra/keeper.h"
#include "rpc/method.h"

namespace aliquot::dra {

/// DRAPlugin of v1 and v1beta1, and DRAResourceHealth. What is given must outlive the server. Answers wait for the API
/// server and the disk, one call after another; kubelet waits 45 s.
std::vector<rpc::Method> plugin_methods(Keeper& keeper, HealthFeed& health);

/// pluginregistration.Registration.
/// endpoint   path of the socket with plugin_methods(), as kubelet sees it
/// told       called with what kubelet says of the registration; empty: it has registered us
std::vector<rpc::Method> registration_methods(std::string endpoint,
                                              std::function<void(const std::string& error)> told);

}  // namespace aliquot::dra
