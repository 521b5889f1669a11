// SPDX-License-Identifier: Apache-2.0
#include "kubelet/stub_kubelet.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "api/kubelet/deviceplugin.grpc.pb.h"

namespace aliquot::kubelet {
namespace {

constexpr std::chrono::seconds kPatience{10};

SeenDevices words_of(const v1beta1::ListAndWatchResponse& list) {
    SeenDevices seen;
    for (const auto& device : list.devices()) {
        std::string nodes = device.has_topology() ? "" : " none";
        for (const auto& node : device.topology().nodes()) nodes += " " + std::to_string(node.id());
        seen[device.id()] = device.health() + nodes;
    }
    return seen;
}

}  // namespace

std::shared_ptr<grpc::Channel> dial(const std::filesystem::path& socket,
                                    const std::string& authority) {
    grpc::ChannelArguments arguments;
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + socket.native(), grpc::InsecureChannelCredentials(),
                                     arguments);
}

class StubKubelet::Implementation final : public v1beta1::Registration::Service {
public:
    explicit Implementation(std::filesystem::path directory) : directory_(std::move(directory)) {}
    ~Implementation() override { stop(); }
    Implementation(const Implementation&) = delete;
    Implementation& operator=(const Implementation&) = delete;

    void start() {
        for (const auto& entry : std::filesystem::directory_iterator(directory_))
            if (entry.is_socket()) std::filesystem::remove(entry.path());
        grpc::ServerBuilder builder;
        builder.AddListeningPort("unix:" + (directory_ / "kubelet.sock").native(),
                                 grpc::InsecureServerCredentials());
        builder.RegisterService(this);
        stopping_ = false;
        server_ = builder.BuildAndStart();
    }

    void stop() {
        {
            const std::scoped_lock lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        if (server_) server_->Shutdown(std::chrono::system_clock::now());
        hang_up();
        streams_.clear();  // joins
        server_.reset();
    }

    void hang_up() {
        const std::scoped_lock lock(mutex_);
        for (auto& stream : streams_) stream.context.TryCancel();
    }

    grpc::Status Register(grpc::ServerContext* /*context*/, const v1beta1::RegisterRequest* request,
                          v1beta1::Empty* /*response*/) override {
        StubBehaviour behaviour;
        {
            std::unique_lock lock(mutex_);
            behaviour = behaviour_;
            ++seen_.registers;
            seen_.resource = request->resource_name();
            seen_.endpoint = request->endpoint();
            seen_.preferred_in_request = request->options().get_preferred_allocation_available();
            changed_.notify_all();
            if (behaviour.hang) changed_.wait(lock, [this] { return stopping_; });
        }
        if (!behaviour.refuse_with.empty())
            return {grpc::StatusCode::UNKNOWN, behaviour.refuse_with};
        const auto channel = dial(directory_ / request->endpoint());
        v1beta1::DevicePluginOptions options;
        if (behaviour.dial_back) {
            grpc::ClientContext context;
            context.set_deadline(std::chrono::system_clock::now() + kPatience);
            const auto status = v1beta1::DevicePlugin::NewStub(channel)->GetDevicePluginOptions(
                &context, {}, &options);
            if (!status.ok()) return status;
        }
        const std::scoped_lock lock(mutex_);
        ++seen_.accepted;
        seen_.preferred_in_dial_back = options.get_preferred_allocation_available();
        changed_.notify_all();
        if (behaviour.listen && !stopping_) {
            auto& stream = streams_.emplace_back();
            stream.thread = std::jthread([this, &stream, channel] { listen(stream, channel); });
        }
        return grpc::Status::OK;
    }

    void behave(StubBehaviour behaviour) {
        const std::scoped_lock lock(mutex_);
        behaviour_ = std::move(behaviour);
    }

    Seen seen() const {
        const std::scoped_lock lock(mutex_);
        return seen_;
    }

    bool wait(const std::function<bool(const Seen&)>& condition) const {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kPatience, [&] { return condition(seen_); });
    }

private:
    struct Listening {
        grpc::ClientContext context;
        std::jthread thread;
    };

    void listen(Listening& stream, const std::shared_ptr<grpc::Channel>& channel) {
        const auto stub = v1beta1::DevicePlugin::NewStub(channel);
        const auto reader = stub->ListAndWatch(&stream.context, {});
        note([](Seen& seen) { ++seen.streams_opened; });
        v1beta1::ListAndWatchResponse list;
        while (reader->Read(&list)) {
            auto words = words_of(list);
            note([&](Seen& seen) { seen.lists.push_back(std::move(words)); });
        }
        [[maybe_unused]] const auto status = reader->Finish();
        note([](Seen& seen) { ++seen.streams_ended; });
    }

    template <class Change>
    void note(const Change& change) {
        const std::scoped_lock lock(mutex_);
        change(seen_);
        changed_.notify_all();
    }

    const std::filesystem::path directory_;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    StubBehaviour behaviour_;
    Seen seen_;
    bool stopping_ = false;
    std::list<Listening> streams_;
    std::unique_ptr<grpc::Server> server_;
};

StubKubelet::StubKubelet(std::filesystem::path directory)
    : implementation_(std::make_unique<Implementation>(std::move(directory))) {}
StubKubelet::~StubKubelet() = default;
void StubKubelet::start() { implementation_->start(); }
void StubKubelet::stop() { implementation_->stop(); }
void StubKubelet::behave(StubBehaviour behaviour) { implementation_->behave(std::move(behaviour)); }
void StubKubelet::hang_up() { implementation_->hang_up(); }
Seen StubKubelet::seen() const { return implementation_->seen(); }
bool StubKubelet::wait(const std::function<bool(const Seen&)>& condition) const {
    return implementation_->wait(condition);
}

}  // namespace aliquot::kubelet
