// SPDX-License-Identifier: Apache-2.0
#include "cmd/aliquot/up_page.h"

#include <algorithm>

#include "cli/host/top_source.h"
#include "http/access.h"
#include "lint/run.h"
#include "page/site.h"

namespace aliquot::up {
namespace {

constexpr const char* kTitle = "aliquot up";

}  // namespace

Result<std::unique_ptr<UpPage>> UpPage::serve(const std::string& address,
                                              const std::string& web_config,
                                              const std::string& agent,
                                              std::vector<page::Remark> remarks,
                                              page::Checkup checkup) {
    http::Access access;
    if (!web_config.empty()) {
        auto read = http::read_access(web_config);
        if (!read) return std::move(read).error();
        access = *std::move(read);
    }
    const auto reach = page::reach_of(address, access);
    if (!reach) return reach.error();
    auto place = cli::parse_agent("unix:" + agent);
    if (!place) return std::move(place).error();
    const auto source = std::make_shared<cli::AgentSource>(
        std::vector<cli::AgentPlace>{*std::move(place)}, cli::AskOptions{});
    std::unique_ptr<UpPage> made(new UpPage());
    made->remarks_ = std::move(remarks);
    const auto live = std::make_shared<page::Live>(
        [source, page = made.get(), checkup = std::make_shared<page::Checkup>(std::move(checkup))] {
            page::Sight sight;
            sight.cluster = source->poll({}).cluster;
            sight.pods = page->pods();
            sight.remarks = page->remarks_;
            checkup->add_to(sight);
            return sight;
        },
        page::LiveOptions{.title = kTitle, .views = "[]"});
    const bool tls = access.tls.has_value();
    auto server = http::Server::listen({.address = address, .access = std::move(access)},
                                       page::Site(live, "/", *reach));
    if (!server) return std::move(server).error();
    made->server_ = *std::move(server);
    const std::string host = address.substr(0, address.rfind(':'));
    made->url_ = address.starts_with("unix:")
                     ? address
                     : (tls ? "https://" : "http://") + (host.empty() ? "localhost" : host) + ":" +
                           std::to_string(made->server_->port()) + "/";
    return made;
}

std::vector<page::Remark> lint_remarks(const std::vector<std::string>& paths) {
    constexpr std::size_t kMostRemarks = 200;
    lint::Run run;
    auto inputs = lint::find_source_files(paths);
    if (!inputs) return {};
    run.inputs = *std::move(inputs);
    if (!lint::read_all(run)) return {};
    lint::check_all(run, nullptr);
    std::stable_sort(run.findings.begin(), run.findings.end(),
                     [](const auto& a, const auto& b) { return a.severity < b.severity; });
    std::vector<page::Remark> remarks;
    for (const findings::Finding& one : run.findings) {
        if (remarks.size() == kMostRemarks) break;
        const std::string_view severity = to_text(one.severity);
        remarks.push_back({.severity = severity == "info" ? "note" : std::string(severity),
                           .where = one.file + ":" + std::to_string(one.line),
                           .what = one.rule + " " + one.message,
                           .fix = one.fix.empty() ? one.expected : one.fix});
    }
    return remarks;
}

void UpPage::note(const sim::cluster::Snapshot& snapshot) {
    const std::scoped_lock lock(mutex_);
    if (snapshot_ != snapshot) snapshot_ = snapshot;
}

std::vector<page::PodSeen> UpPage::pods() const {
    const std::scoped_lock lock(mutex_);
    std::vector<page::PodSeen> pods;
    for (const sim::cluster::PodRow& row : snapshot_.pods) {
        pods.push_back({.name = row.name,
                        .pod_namespace = row.pod_namespace,
                        .phase = std::string(sim::cluster::to_text(row.phase)),
                        .node = "",
                        .gpu = row.gpu_text,
                        .share = row.share_text,
                        .reason = row.reason});
    }
    return pods;
}

}  // namespace aliquot::up
