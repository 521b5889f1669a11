// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "job_server/costs.h"
#include "job_server/keeper.h"

namespace aliquot::job_server {

/// One operation of the API.
struct Operation {
    std::string_view method;
    std::string_view path;  // "/v1/jobs/{id}/cancel"
};
/// All of them, as api/jobs.yaml describes them.
const std::vector<Operation>& operations();

/// The user with this number, as the user database has it; with the number as name when it has none.
User user_of(uid_t uid, gid_t gid);

/// Answers the API's requests. Who asks is the process at the other end of the socket; nobody else is answered.
/// keeper   outlives the handler, so does
/// costs    null: costs are not recorded
http::Handler pages_of(Keeper& keeper, Costs* costs = nullptr);

}  // namespace aliquot::job_server
