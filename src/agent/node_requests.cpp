// SPDX-License-Identifier: Apache-2.0
#include "agent/node_requests.h"

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

/// The pairs of a ConfigMap's data.
std::map<std::string, std::string> data_of(const kube_client::Object& object) {
    return kube_client::strings_at(object.json, "/data");
}

}  // namespace

NodeRequests::NodeRequests(kube_client::Api& api, os::Clock& clock, std::string node,
                           const ClusterOptions& options, std::function<void()> changed)
    : clock_(clock),
      node_(std::move(node)),
      options_(options),
      place_("ConfigMap " + options_.namespace_name + "/" + options_.config_map),
      changed_(std::move(changed)) {
    supplied_.choice.problem = "the API server has not answered yet";
    const auto look = [this](const auto&, const auto&, const auto&) { look_again(); };
    auto node_options = one_object("", node_);
    node_options.projection = kube_client::keep_fields(
        {"metadata.labels", "metadata.annotations", "spec.taints", "status.conditions"});
    nodes_ = std::make_unique<kube_client::Informer>(api, kube_client::resources::nodes(),
                                                     std::move(node_options), look);
    configs_ = std::make_unique<kube_client::Informer>(
        api, kube_client::resources::config_maps(),
        one_object(options_.namespace_name, options_.config_map), look);
    if (options_.mig) {
        mig_configs_ = std::make_unique<kube_client::Informer>(
            api, kube_client::resources::config_maps(),
            one_object(options_.namespace_name, options_.mig_config_map), look);
    }
}

void NodeRequests::start(std::chrono::milliseconds patience, const std::stop_token& stop) {
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
    if (synced || stop.stop_requested()) return;
    log::warning("cluster.not_reached",
                 {{"why", config().choice.problem}, {"node", nodes_->state().last_failure}});
}

void NodeRequests::stop() {
    const std::scoped_lock lock(looking_);
    ended_ = true;
}

node::ConfigChoices NodeRequests::choices() const {
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

SuppliedConfig NodeRequests::supplied(const std::optional<k8s::Node>& node,
                                      const node::ConfigChoices& choices) const {
    SuppliedConfig supplied;
    supplied.choice =
        node::choose_config(node ? node->label(node::kConfigLabel) : std::nullopt, choices);
    supplied.name = node::file_name(choices, supplied.choice);
    return supplied;
}

MigSpec NodeRequests::asked(const std::optional<k8s::Node>& node) const {
    MigSpec asked;
    if (!mig_configs_ || !node) return asked;
    asked.config = node->label(node::kMigConfigLabel).value_or("");
    if (asked.config.empty()) return asked;
    const auto found =
        mig_configs_->store().find({options_.namespace_name, options_.mig_config_map});
    if (!found) return asked;
    const auto data = data_of(*found);
    const auto text = data.find(kMigFile);
    if (text != data.end()) asked.text = text->second;
    return asked;
}

void NodeRequests::look_again() {
    const std::scoped_lock looking(looking_);
    if (ended_) return;
    const auto node = this->node();
    const bool known = nodes_->state().synced && configs_->state().synced;
    const auto choices = this->choices();
    SuppliedConfig supplied = this->supplied(node, choices);
    MigSpec asked = this->asked(node);
    {
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
        news_.notify_all();
    }
    changed_();
}

SuppliedConfig NodeRequests::config() const {
    const std::scoped_lock lock(mutex_);
    return supplied_;
}

MigSpec NodeRequests::mig_spec() const {
    const std::scoped_lock lock(mutex_);
    return mig_spec_;
}

MigSpec NodeRequests::wait_mig_spec(std::uint64_t seen, std::chrono::milliseconds limit,
                                    const std::stop_token& stop) const {
    std::unique_lock lock(mutex_);
    news_.wait_for(lock, stop, limit, [&] { return mig_spec_.version != seen; });
    return mig_spec_;
}

std::optional<k8s::Node> NodeRequests::node() const {
    const auto object = nodes_->store().find({"", node_});
    if (!object) return std::nullopt;
    auto read = k8s::parse_node(object->json);
    if (!read) return std::nullopt;
    return *std::move(read);
}

bool NodeRequests::has_no_node() const {
    return nodes_->state().synced && !nodes_->store().find({"", node_});
}

}  // namespace aliquot::agent
