// SPDX-License-Identifier: Apache-2.0
#include "agent/cluster_link.h"

#include <algorithm>

#include "base/log.h"
#include "kube_client/object.h"
#include "node/names.h"

namespace aliquot::agent {
namespace {

using namespace std::chrono_literals;

constexpr char kMigFile[] = "config.yaml";

kube_client::InformerOptions one_object(std::string namespace_name, const std::string& name) {
    kube_client::InformerOptions options;
    options.namespace_name = std::move(namespace_name);
    options.field_selector = "metadata.name=" + name;
    return options;
}

std::string feature_name(const std::string& node) { return "aliquot-features-for-" + node; }

/// The pairs of a ConfigMap's data.
std::map<std::string, std::string> data_of(const kube_client::Object& object) {
    return kube_client::strings_at(object.json, "/data");
}

}  // namespace

std::string node_feature(const std::string& node, const std::string& namespace_name,
                         const labels::Labels& labels) {
    using kube_client::json_quoted;
    std::string text =
        R"({"apiVersion":"nfd.k8s-sigs.io/v1alpha1","kind":"NodeFeature","metadata":{"name":)" +
        json_quoted(feature_name(node)) + R"(,"namespace":)" + json_quoted(namespace_name) +
        R"(,"labels":{"nfd.node.kubernetes.io/node-name":)" + json_quoted(node) +
        R"(}},"spec":{"labels":{)";
    bool first = true;
    for (const auto& [key, value] : labels) {
        text += (first ? "" : ",") + json_quoted(key) + ":" + json_quoted(value);
        first = false;
    }
    return text + "}}}";
}

std::string guard_reason(std::string_view kind) {
    std::string reason = "Guard";
    bool upper = true;
    for (const char c : kind) {
        if (c == '_') {
            upper = true;
            continue;
        }
        reason += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        upper = false;
    }
    return reason;
}

ClusterLink::ClusterLink(kube_client::Api& api, os::Clock& clock, std::string node,
                         ClusterOptions options)
    : api_(api),
      clock_(clock),
      node_(std::move(node)),
      options_(std::move(options)),
      place_("ConfigMap " + options_.namespace_name + "/" + options_.config_map) {
    supplied_.choice.problem = "the API server has not answered yet";
    events_ = std::make_unique<kube_client::EventRecorder>(
        api_,
        kube_client::EventRecorderOptions{
            .controller = "aliquot.dev/agent",
            .instance = options_.pod_name.empty() ? "aliquot-agent-" + node_ : options_.pod_name});
    const auto look = [this](const auto&, const auto&, const auto&) { look_again(); };
    auto node_options = one_object("", node_);
    node_options.projection = kube_client::keep_fields(
        {"metadata.labels", "metadata.annotations", "spec.taints", "status.conditions"});
    nodes_ = std::make_unique<kube_client::Informer>(api_, kube_client::resources::nodes(),
                                                     std::move(node_options), look);
    configs_ = std::make_unique<kube_client::Informer>(
        api_, kube_client::resources::config_maps(),
        one_object(options_.namespace_name, options_.config_map), look);
    if (options_.mig) {
        mig_configs_ = std::make_unique<kube_client::Informer>(
            api_, kube_client::resources::config_maps(),
            one_object(options_.namespace_name, options_.mig_config_map), look);
    }
}

ClusterLink::~ClusterLink() {
    {
        const std::scoped_lock lock(looking_);
        ended_ = true;
    }
    if (thread_.joinable()) {
        thread_.request_stop();
        thread_.join();
    }
}

void ClusterLink::start(std::chrono::milliseconds patience, const std::stop_token& stop) {
    nodes_->start();
    configs_->start();
    if (mig_configs_) mig_configs_->start();
    const os::TimePoint limit = clock_.now() + patience;
    const auto rest = [&] {
        return std::max(
            0ms, std::chrono::duration_cast<std::chrono::milliseconds>(limit - clock_.now()));
    };
    const bool synced = nodes_->wait_synced(rest(), stop) && configs_->wait_synced(rest(), stop) &&
                        (!mig_configs_ || mig_configs_->wait_synced(rest(), stop));
    look_again();
    if (!synced && !stop.stop_requested()) {
        log::warning("cluster.not_reached",
                     {{"why", config().choice.problem}, {"node", nodes_->state().last_failure}});
    }
    thread_ = std::jthread([this](const std::stop_token& token) { run(token); });
}

node::ConfigChoices ClusterLink::choices() const {
    node::ConfigChoices choices{.place = place_, .default_key = options_.default_config};
    const auto state = configs_->state();
    if (!state.synced) {
        choices.problem = place_ + " cannot be read: " +
                          (state.last_failure.empty() ? "no answer yet" : state.last_failure);
        return choices;
    }
    const auto found = configs_->store().find({options_.namespace_name, options_.config_map});
    if (found) choices.data = data_of(*found);
    return choices;
}

/// After anything that was read has changed: what does the Node ask for?
void ClusterLink::look_again() {
    const std::scoped_lock looking(looking_);
    if (ended_) return;
    const auto object = nodes_->store().find({"", node_});
    const bool known = nodes_->state().synced && configs_->state().synced;
    std::optional<node::NodeObject> node;
    if (object) {
        if (auto read = node::read_node(object->json)) node = *std::move(read);
    }
    const auto choices = this->choices();
    SuppliedConfig supplied;
    supplied.choice =
        node::choose_config(node ? node->label(node::kConfigLabel) : std::nullopt, choices);
    supplied.name = node::file_name(choices, supplied.choice);
    MigSpec asked;
    if (node && options_.mig) asked.config = node->label(node::kMigConfigLabel).value_or("");
    if (mig_configs_ && !asked.config.empty()) {
        const auto found =
            mig_configs_->store().find({options_.namespace_name, options_.mig_config_map});
        if (found) {
            const auto data = data_of(*found);
            const auto text = data.find(kMigFile);
            if (text != data.end()) asked.text = text->second;
        }
    }
    const std::scoped_lock lock(mutex_);
    if (known) {
        supplied.version = supplied_.version;
        if (supplied.version == 0 || supplied.choice != supplied_.choice) ++supplied.version;
        supplied_ = std::move(supplied);
    } else if (supplied_.version == 0) {
        supplied_.choice.problem =
            choices.problem.empty()
                ? "the Node " + node_ + " cannot be read: " + nodes_->state().last_failure
                : choices.problem;
    }
    if (asked.config != mig_spec_.config || asked.text != mig_spec_.text) {
        asked.version = mig_spec_.version + 1;
        mig_spec_ = std::move(asked);
    }
    ++wanted_;
    changed_.notify_all();
}

SuppliedConfig ClusterLink::config() const {
    const std::scoped_lock lock(mutex_);
    return supplied_;
}

ClusterLink::MigSpec ClusterLink::mig_spec() const {
    const std::scoped_lock lock(mutex_);
    return mig_spec_;
}

ClusterLink::MigSpec ClusterLink::wait_mig_spec(std::uint64_t seen, std::chrono::milliseconds limit,
                                                const std::stop_token& stop) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, limit, [&] { return mig_spec_.version != seen; });
    return mig_spec_;
}

void ClusterLink::tell(Told told) {
    std::vector<node::Note> notes;
    {
        const std::scoped_lock lock(mutex_);
        notes = node::health_notes(told_ ? told_->inventory : gpu::Inventory{}, told.inventory);
        told_ = std::move(told);
        ++wanted_;
        changed_.notify_all();
    }
    for (const node::Note& one : notes) note(one);
}

void ClusterLink::tell_config(const node::ConfigStatus& told) {
    node::Note news;
    {
        const std::scoped_lock lock(mutex_);
        if (config_known_ && told == config_status_) return;
        const bool first = !config_known_;
        config_status_ = told;
        config_known_ = true;
        ++wanted_;
        changed_.notify_all();
        if (!told.served) {
            news = {.warning = true,
                    .reason = "GpuConfigRefused",
                    .text = told.problem + "; the last good configuration is served"};
        } else if (!first) {
            news = {.reason = "GpuConfigServed",
                    .text = node::config_condition(told, place_).message};
        }
    }
    news.action = "Configure";
    if (!news.reason.empty()) note(news);
}

void ClusterLink::tell_mig(const node::MigStatus& told) {
    node::Note news{.action = "Partition"};
    {
        const std::scoped_lock lock(mutex_);
        if (told == mig_status_) return;
        const bool same_state =
            told.state == mig_status_.state && told.config == mig_status_.config;
        mig_status_ = told;
        ++wanted_;
        changed_.notify_all();
        if (told.state == node::MigStatus::State::kNone ||
            (same_state && told.state == node::MigStatus::State::kPending)) {
            return;
        }
    }
    const node::Condition condition = node::mig_condition(told);
    news.warning = told.state == node::MigStatus::State::kFailed;
    news.reason = condition.reason;
    news.text = condition.message;
    note(news);
}

void ClusterLink::tell_guard(const GuardSnapshot& snapshot) {
    std::vector<node::Note> notes;
    {
        const std::scoped_lock lock(mutex_);
        for (const GuardEvent& event : snapshot.events) {
            if (event.at <= guard_told_) continue;
            notes.push_back({.warning = true,
                             .reason = guard_reason(event.kind),
                             .action = "KeepLimits",
                             .text = event.container + ": " + event.message});
        }
        if (!snapshot.events.empty()) guard_told_ = snapshot.events.back().at;
    }
    for (const node::Note& one : notes) note(one);
}

void ClusterLink::note(const node::Note& note) {
    // kubelet, too, gives the name as the uid of its Node: kubectl describe looks for that.
    events_->record(
        {.regarding = {.api_version = "v1", .kind = "Node", .name = node_, .uid = node_},
         .warning = note.warning,
         .reason = note.reason,
         .action = note.action,
         .note = note.text});
}

bool ClusterLink::flush(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    const std::uint64_t goal = wanted_;
    return changed_.wait_for(lock, limit, [&] { return written_ >= goal; });
}

}  // namespace aliquot::agent
