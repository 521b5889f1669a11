// SPDX-License-Identifier: Apache-2.0
#include "kubelet/streams.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "api/kubelet/deviceplugin.pb.h"
#include "kubelet/to_proto.h"
#include "rpc/body.h"

namespace aliquot::kubelet {
namespace {

// kubelet has one stream per resource, and for a while those of its predecessors.
constexpr std::size_t kStreamLimit = 64;

class AllStreams final : public Streams {
public:
    explicit AllStreams(std::function<void()> on_change) : on_change_(std::move(on_change)) {}
    ~AllStreams() override = default;
    AllStreams(const AllStreams&) = delete;
    AllStreams& operator=(const AllStreams&) = delete;

    void attach(std::function<void()> wake) override { wake_ = std::move(wake); }

    void set(std::span<const grant::Device> devices) override {
        std::string bytes;
        if (!to_proto(devices).SerializeToString(&bytes)) return;  // above 2 GiB: cannot be
        auto list = std::make_shared<const std::string>(rpc::framed(bytes));
        const std::scoped_lock lock(mutex_);
        list_ = std::move(list);  // the streams share it
        ++version_;
    }

    void push() override {
        {
            const std::scoped_lock lock(mutex_);
            pushed_ = version_;
        }
        if (wake_) wake_();
    }

    bool flush(std::chrono::milliseconds timeout) override {
        push();
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, timeout, [&] {
            return std::ranges::all_of(sent_,
                                       [&](const auto& one) { return one.second >= pushed_; });
        });
    }

    void close() override {
        {
            const std::scoped_lock lock(mutex_);
            closed_ = true;
        }
        if (wake_) wake_();
    }

    unsigned open_streams() const override {
        const std::scoped_lock lock(mutex_);
        return static_cast<unsigned>(sent_.size());
    }

    std::uint64_t opened_streams() const override {
        const std::scoped_lock lock(mutex_);
        return opened_;
    }

    // Of the server's thread.

    rpc::Status opened(std::uint64_t stream) override {
        {
            const std::scoped_lock lock(mutex_);
            ++opened_;
            if (sent_.size() >= kStreamLimit)
                return {rpc::Code::kResourceExhausted, "too many ListAndWatch streams"};
            if (closed_) return stopping();
            sent_[stream] = 0;
        }
        on_change_();
        return {};
    }

    Next next(std::uint64_t stream) override {
        const std::scoped_lock lock(mutex_);
        if (closed_) return {.step = Next::Step::kEnd, .frame = {}, .status = stopping()};
        const auto had = given_[stream];
        if (version_ == 0 || (had != 0 && had >= pushed_)) return {};
        given_[stream] = version_;
        return {.step = Next::Step::kMessage, .frame = list_, .version = version_, .status = {}};
    }

    void sent(std::uint64_t stream, std::uint64_t version) override {
        const std::scoped_lock lock(mutex_);
        sent_[stream] = version;
        changed_.notify_all();
    }

    void closed(std::uint64_t stream) override {
        {
            const std::scoped_lock lock(mutex_);
            sent_.erase(stream);
            given_.erase(stream);
            changed_.notify_all();
        }
        on_change_();
    }

private:
    static rpc::Status stopping() { return {rpc::Code::kUnavailable, "plugin is stopping"}; }

    const std::function<void()> on_change_;
    std::function<void()> wake_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::uint64_t, std::uint64_t> given_;  // of each open stream: the version it writes
    std::map<std::uint64_t, std::uint64_t> sent_;   // ... and the last it has written; 0: none
    std::shared_ptr<const std::string> list_;
    std::uint64_t version_ = 0;  // of list_
    std::uint64_t pushed_ = 0;   // the version that open streams have to have
    std::uint64_t opened_ = 0;
    bool closed_ = false;
};

}  // namespace

std::unique_ptr<Streams> Streams::make(std::function<void()> on_change) {
    return std::make_unique<AllStreams>(std::move(on_change));
}

}  // namespace aliquot::kubelet
