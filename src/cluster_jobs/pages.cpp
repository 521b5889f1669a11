// SPDX-License-Identifier: Apache-2.0
#include "cluster_jobs/pages.h"

#include <array>
#include <optional>

#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "cluster_jobs/cluster_jobs.h"
#include "document/build.h"
#include "http/json_answer.h"
#include "jobs/name.h"
#include "jobs/read.h"
#include "k8s/names.h"

namespace aliquot::cluster_jobs {
namespace {

using document::make_mapping;
using document::Value;
using http::json_answer;
using http::refusal;
using http::Request;
using http::Response;

constexpr std::string_view kJobs = "/v1/jobs";
constexpr std::size_t kMostKey = 200;
constexpr std::size_t kMostListed = 1'000;
constexpr std::size_t kUsualList = 500;
constexpr std::size_t kPart = std::size_t{256} << 10U;

Response told(const Result<JobSight>& job, int status = 202) {
    if (!job) return refusal(job.error());
    return json_answer(status, to_document(*job));
}

/// One request: whose, and of which job.
struct Question {
    ClusterJobs jobs;
    const Request& request;
    const Asker& asker;
    std::string space;
    std::string name;
};

Response submit(Question& of) {
    const std::string key(of.request.header("idempotency-key"));
    if (key.size() > kMostKey) {
        return refusal({ErrorCode::kInvalidInput, "Idempotency-Key: longer than 200 bytes"});
    }
    auto request = jobs::read(of.request.body);
    if (!request) return refusal(request.error());
    if (!request->in_namespace.empty() && request->in_namespace != of.space) {
        return refusal({ErrorCode::kInvalidInput, "namespace: '" + request->in_namespace +
                                                      "' is not that of the request, " + of.space});
    }
    if (!of.asker.user.empty()) request->user = of.asker.user;
    const auto submitted = of.jobs.submit(*std::move(request), key);
    if (!submitted) return refusal(submitted.error());
    const Value job = to_document(submitted->job);
    return json_answer(submitted->is_new ? 201 : 200,
                       make_mapping({{"jobs", std::vector<Value>{job}}}));
}

Response list(Question& of) {
    const auto which = of.request.parameter("which");
    if (!which.empty() && which != "all" && which != "living" && which != "ended") {
        return refusal({ErrorCode::kInvalidInput, "which: expected all, living or ended"});
    }
    std::size_t most = kUsualList;
    if (const auto text = of.request.parameter("limit"); !text.empty()) {
        most = parse_number<std::size_t>(text).value_or(0);
        if (most == 0 || most > kMostListed)
            return refusal({ErrorCode::kInvalidInput, "limit: expected 1 to 1000"});
    }
    const auto skipped = parse_number<std::size_t>(of.request.parameter("skip")).value_or(0);
    ClusterJobs::Filter filter{.space = of.space == "*" ? "" : of.space,
                               .queue = std::string(of.request.parameter("queue")),
                               .living = which != "ended",
                               .ended = which != "living"};
    if (of.request.parameter("mine") == "true") filter.user = jobs::label_value(of.asker.user);
    const auto found = of.jobs.list(filter);
    if (!found) return refusal(found.error());
    Value all = document::make_sequence();
    for (std::size_t i = skipped; i < found->size() && all.items.size() < most; ++i)
        all.items.push_back(to_document((*found)[i]));
    const bool more = skipped + all.items.size() < found->size();
    return json_answer(200, make_mapping({{"jobs", std::move(all)}, {"more", more}}));
}

Response show(Question& of) {
    const auto job = of.jobs.find(of.name);
    if (!job) return refusal(job.error());
    return json_answer(200, to_long_document(*job));
}

Response explain(Question& of) {
    const auto why = of.jobs.explain(of.name, of.asker.sees_all);
    if (!why) return refusal(why.error());
    return json_answer(200, *why);
}

Response logs(Question& of) {
    const auto text = of.request.parameter("from");
    const auto from =
        text.empty() ? std::optional<std::uint64_t>(0) : parse_number<std::uint64_t>(text);
    if (!from) return refusal({ErrorCode::kInvalidInput, "from: expected a number of bytes"});
    auto part = of.jobs.logs(of.name, *from, kPart);
    if (!part) return refusal(part.error());
    return {.status = 200,
            .content_type = "application/octet-stream",
            .body = std::move(part->bytes),
            .headers = {{"Aliquot-Next", std::to_string(part->next)},
                        {"Aliquot-Ended", part->ended ? "true" : "false"}}};
}

Response cancel(Question& of) { return told(of.jobs.cancel(of.name)); }
Response suspend(Question& of) { return told(of.jobs.suspend(of.name)); }
Response resume(Question& of) { return told(of.jobs.resume(of.name)); }
Response retry(Question& of) { return told(of.jobs.retry(of.name)); }

Response remove(Question& of) {
    const auto removed = of.jobs.remove(of.name);
    if (!removed) return refusal(removed.error());
    return {.status = 204, .content_type = "application/json", .body = ""};
}

Response queues(Question& of) {
    const auto all = of.jobs.queues();
    if (!all) return refusal(all.error());
    return json_answer(200, *all);
}

Response pending(Question& of) {
    const auto all = of.jobs.pending(std::string(of.request.parameter("queue")));
    if (!all) return refusal(all.error());
    return json_answer(200, *all);
}

struct Page {
    std::string_view method;
    std::string_view
        behind;  // the job's name; of a page without one the whole path, "" of the list
    bool of_job;
    Response (*answer)(Question&);
    // The right that it needs.
    std::string_view verb;
    std::string_view subresource;
    std::string_view verb_too = "";  // another verb that it needs
};

constexpr std::array<Page, 12> kPages{{{"GET", "/v1/queues", false, queues, "list", ""},
                                       {"GET", "/v1/pending", false, pending, "list", ""},
                                       {"POST", "", false, submit, "create", ""},
                                       {"GET", "", false, list, "list", ""},
                                       {"GET", "", true, show, "get", ""},
                                       {"DELETE", "", true, remove, "delete", ""},
                                       {"GET", "/explain", true, explain, "get", ""},
                                       {"GET", "/logs", true, logs, "get", "log"},
                                       {"POST", "/cancel", true, cancel, "patch", ""},
                                       {"POST", "/suspend", true, suspend, "patch", ""},
                                       {"POST", "/resume", true, resume, "patch", ""},
                                       {"POST", "/retry", true, retry, "create", "", "delete"}}};

/// The name in "/v1/jobs/NAME" + behind; nullopt: another path.
std::optional<std::string> name_in(const Page& page, std::string_view path) {
    if (!page.of_job) {
        const std::string_view whole = page.behind.empty() ? kJobs : page.behind;
        return path == whole ? std::optional<std::string>("") : std::nullopt;
    }
    if (!path.starts_with(kJobs) || !path.ends_with(page.behind)) return std::nullopt;
    path.remove_prefix(kJobs.size());
    path.remove_suffix(page.behind.size());
    if (path.size() < 2 || path.front() != '/') return std::nullopt;
    path.remove_prefix(1);
    if (!k8s::check_dns_subdomain(std::string(path)).empty()) return std::nullopt;
    return std::string(path);
}

const Page* page_of(const Request& request, std::string& name, std::string& others) {
    for (const Page& page : kPages) {
        const auto found = name_in(page, request.path);
        if (!found) continue;
        if (page.method == request.method) {
            name = *found;
            return &page;
        }
        others += (others.empty() ? "" : ", ") + std::string(page.method);
    }
    return nullptr;
}

std::string space_of(const Request& request, const Asker& asker) {
    const auto named = request.parameter("namespace");
    return named.empty() ? asker.space : std::string(named);
}

}  // namespace

std::vector<Right> rights_of(const Request& request, const Asker& asker) {
    std::string name;
    std::string others;
    const Page* const page = page_of(request, name, others);
    if (page == nullptr) return {};
    const std::string space = space_of(request, asker);
    const bool of_pods = !page->subresource.empty();
    if (page->answer == queues)
        return {{.verb = "list", .group = "kueue.x-k8s.io", .resource = "clusterqueues"}};
    std::vector<Right> rights{{.verb = std::string(page->verb),
                               .group = of_pods ? "" : "batch",
                               .resource = of_pods ? "pods" : "jobs",
                               .subresource = std::string(page->subresource),
                               .space = space == "*" ? "" : space,
                               .name = of_pods ? "" : name}};
    if (!page->verb_too.empty()) {
        rights.push_back(rights.front());
        rights.back().verb = page->verb_too;
    }
    return rights;
}

Response respond(kube_client::Api& api, const Request& request, const Asker& asker,
                 const kube_client::Call& call) {
    std::string name;
    std::string others;
    const Page* const page = page_of(request, name, others);
    if (page == nullptr && others.empty())
        return refusal({ErrorCode::kNotFound, "there is no such path here"});
    if (page == nullptr) return http::wrong_method(others);
    const std::string space = space_of(request, asker);
    const bool all = space == "*" && page->verb == "list";
    if (!all && !k8s::check_dns_label(space).empty()) {
        return refusal({ErrorCode::kInvalidInput,
                        "namespace: '" + one_line(space, 80) + "' is not a name of a namespace"});
    }
    Question question{.jobs = ClusterJobs(api, all ? "" : space, call),
                      .request = request,
                      .asker = asker,
                      .space = space,
                      .name = name};
    return page->answer(question);
}

}  // namespace aliquot::cluster_jobs
