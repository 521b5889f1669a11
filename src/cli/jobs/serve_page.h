// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "http/server.h"
#include "job_server/keeper.h"
#include "page/checkup.h"
#include "page/cost_tables.h"

namespace aliquot::cli {

/// The web page of `aliquot serve`: jobs, as their owner's neighbours may see them.
struct ServedPage {
    std::string url;
    std::unique_ptr<http::Server> server;
};

/// keeper       outlives the page
/// web_config   TLS and passwords; empty: none
/// checkup      what doctor says of this machine; asked by the page's thread
/// costs        by user, of the days that are shown; asked by the page's thread
/// errors       kInvalidInput, kConflict, kPermission: others could reach it, and it has no password
Result<ServedPage> serve_jobs_page(job_server::Keeper& keeper, const std::string& address,
                                   const std::string& web_config, page::Checkup checkup,
                                   page::CostLook costs = {{}, {}});

}  // namespace aliquot::cli
