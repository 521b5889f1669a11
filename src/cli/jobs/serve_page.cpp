// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/serve_page.h"

#include "base/text.h"
#include "http/access.h"
#include "jobs/state.h"
#include "os/host_name.h"
#include "page/site.h"

namespace aliquot::cli {
namespace {

using job_server::Keeper;
using job_server::Record;

std::optional<std::uint64_t> ms(job_server::TimeMs at) {
    if (at <= 0) return std::nullopt;
    return static_cast<std::uint64_t>(at);
}

std::string share_of(const jobs::Request& request) {
    std::vector<std::string> words;
    if (!request.gpu_memory.empty()) words.push_back(request.gpu_memory);
    if (request.gpu_compute != 0) words.push_back(std::to_string(request.gpu_compute) + " %");
    return join(words, ", ");
}

std::string places_of(const Keeper& keeper, const Record& record) {
    std::vector<std::string> indices;
    for (const std::string& uuid : record.devices) {
        for (const job_server::Device& device : keeper.options().devices) {
            if (device.uuid == uuid) indices.push_back("GPU " + device.index);
        }
    }
    return join(indices);
}

page::Table jobs_table(Keeper& keeper) {
    page::Table table{
        .name = "jobs",
        .columns = {"job", "name", "user", "queue", "state", "gpus", "share", "devices",
                    "submitted", "started", "ended", "position", "p50", "p90"},
        .rows = {}};
    const Keeper::Overview overview = keeper.overview();
    for (const Record& record : overview.jobs) {
        const jobs::Request& request = record.request;
        const auto start = overview.starts.find(record.id);
        const bool planned = start != overview.starts.end();
        const bool tried = record.started != 0 && !jobs::is_waiting(record.state);
        table.rows.push_back(page::RowWriter(std::to_string(record.id))
                                 .text(request.name.empty() ? request.task_id : request.name)
                                 .text(record.user.name)
                                 .text(request.queue)
                                 .text(jobs::word(record.state))
                                 .number(request.gpu_count)
                                 .text(share_of(request))
                                 .text(record.on_cpu ? "CPU" : places_of(keeper, record))
                                 .number(ms(record.submitted))
                                 .number(ms(tried ? record.started : 0))
                                 .number(ms(jobs::is_final(record.state) ? record.ended : 0))
                                 .number(planned
                                             ? std::optional<std::uint64_t>(start->second.position)
                                             : std::nullopt)
                                 .number(planned ? ms(start->second.p50) : std::nullopt)
                                 .number(planned ? ms(start->second.p90) : std::nullopt)
                                 .done());
    }
    return table;
}

}  // namespace

Result<ServedPage> serve_jobs_page(Keeper& keeper, const std::string& address,
                                   const std::string& web_config, page::Checkup checkup,
                                   page::CostLook costs) {
    http::Access access;
    if (!web_config.empty()) {
        auto read = http::read_access(web_config);
        if (!read) return std::move(read).error();
        access = *std::move(read);
    }
    const auto reach = page::reach_of(address, access);
    if (!reach) return reach.error();
    const bool tls = access.tls.has_value();
    const auto live = std::make_shared<page::Live>(
        [&keeper, costs = std::make_shared<page::CostLook>(std::move(costs)),
         checkup = std::make_shared<page::Checkup>(std::move(checkup))] {
            page::Sight sight;
            sight.more.push_back(jobs_table(keeper));
            costs->add_to(sight);
            checkup->add_to(sight);
            return sight;
        },
        page::LiveOptions{.title = "Jobs of " + os::host_name("this machine"),
                          .views = R"(["jobs","cost","findings"])"});
    auto server = http::Server::listen({.address = address, .access = std::move(access)},
                                       page::Site(live, "/", *reach));
    if (!server) return std::move(server).error();
    const std::string host = address.substr(0, address.rfind(':'));
    return ServedPage{.url = (tls ? "https://" : "http://") + (host.empty() ? "localhost" : host) +
                             ":" + std::to_string((*server)->port()) + "/",
                      .server = *std::move(server)};
}

}  // namespace aliquot::cli
