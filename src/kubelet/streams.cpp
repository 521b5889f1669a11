// SPDX-License-Identifier: Apache-2.0
#include "kubelet/streams.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "api/kubelet/deviceplugin.grpc.pb.h"
#include "kubelet/to_proto.h"

namespace aliquot::kubelet {
namespace {

// kubelet has one stream per resource, and for a while those of its predecessors.
constexpr std::size_t kStreamLimit = 64;

class AllStreams;

/// One ListAndWatch call. The flags belong to AllStreams and its mutex.
class Stream final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
public:
    explicit Stream(std::shared_ptr<AllStreams> all) : all_(std::move(all)) {}

    void OnWriteDone(bool ok) override;
    void OnCancel() override;
    void OnDone() override;

    grpc::ByteBuffer message;
    std::uint64_t sent = 0;     // version of the last list that was written; 0: none
    std::uint64_t writing = 0;  // version of the list that is being written; 0: none
    bool broken = false;        // cancelled, or a write failed
    bool finished = false;

private:
    std::shared_ptr<AllStreams> all_;  // it outlives the last call
};

/// Ends a call that never became a stream.
class RefusedStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
public:
    explicit RefusedStream(grpc::Status why) { Finish(std::move(why)); }
    void OnDone() override { delete this; }
};

class AllStreams final : public Streams {
public:
    explicit AllStreams(std::function<void()> on_change) : on_change_(std::move(on_change)) {}

    StreamReactor* open() override {
        Stream* stream = nullptr;
        {
            const std::scoped_lock lock(mutex_);
            if (closed_)
                return new RefusedStream({grpc::StatusCode::UNAVAILABLE, "plugin is stopping"});
            if (streams_.size() >= kStreamLimit)
                return new RefusedStream(
                    {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many ListAndWatch streams"});
            stream = new Stream(std::static_pointer_cast<AllStreams>(shared_from_this()));
            streams_.push_back(stream);
            ++opened_;
        }
        step(*stream);
        on_change_();
        return stream;
    }

    void set(std::span<const Device> devices) override {
        const auto list = to_proto(devices);
        grpc::ByteBuffer bytes;  // serialised once; the streams share them
        bool owned = false;
        const auto status = grpc::SerializationTraits<v1beta1::ListAndWatchResponse>::Serialize(
            list, &bytes, &owned);
        if (!status.ok()) return;  // a list above 2 GiB: cannot be with ids of 63 bytes
        const std::scoped_lock lock(mutex_);
        list_ = bytes;
        ++version_;
    }

    void push() override {
        std::vector<Stream*> ready;
        {
            const std::scoped_lock lock(mutex_);
            pushed_ = version_;
            for (auto* stream : streams_)
                if (begin(*stream) == Step::kWrite) ready.push_back(stream);
        }
        for (auto* stream : ready) stream->StartWrite(&stream->message);
    }

    bool flush(std::chrono::milliseconds timeout) override {
        push();
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, timeout, [&] {
            return std::ranges::all_of(streams_, [&](const Stream* stream) {
                return stream->sent >= pushed_ || stream->broken;
            });
        });
    }

    void close() override {
        std::vector<Stream*> ready;
        {
            const std::scoped_lock lock(mutex_);
            closed_ = true;
            for (auto* stream : streams_)
                if (begin(*stream) == Step::kFinish) ready.push_back(stream);
        }
        for (auto* stream : ready) finish(*stream);
    }

    unsigned open_streams() const override {
        const std::scoped_lock lock(mutex_);
        return static_cast<unsigned>(
            std::ranges::count_if(streams_, [](const Stream* stream) { return !stream->broken; }));
    }

    std::uint64_t opened_streams() const override {
        const std::scoped_lock lock(mutex_);
        return opened_;
    }

    void written(Stream& stream, bool ok) {
        {
            const std::scoped_lock lock(mutex_);
            if (ok) stream.sent = stream.writing;
            if (!ok) stream.broken = true;
            stream.writing = 0;
            stream.message.Clear();
            changed_.notify_all();
        }
        step(stream);
    }

    void cancelled(Stream& stream) {
        {
            const std::scoped_lock lock(mutex_);
            stream.broken = true;
            changed_.notify_all();
        }
        on_change_();
        step(stream);
    }

    void done(Stream& stream) {
        {
            const std::scoped_lock lock(mutex_);
            std::erase(streams_, &stream);
            changed_.notify_all();
        }
        on_change_();
    }

private:
    enum class Step { kNothing, kWrite, kFinish };

    /// Decides what `stream` does next and marks it as being done. With the lock held; the act
    /// itself comes after, without the lock, since gRPC may call back from within.
    Step begin(Stream& stream) {
        if (stream.finished || stream.writing != 0) return Step::kNothing;
        if (stream.broken || closed_) {
            stream.finished = true;
            return Step::kFinish;
        }
        if (version_ == 0 || (stream.sent != 0 && stream.sent >= pushed_)) return Step::kNothing;
        stream.writing = version_;
        stream.message = list_;
        return Step::kWrite;
    }

    void step(Stream& stream) {
        Step step = Step::kNothing;
        {
            const std::scoped_lock lock(mutex_);
            step = begin(stream);
        }
        if (step == Step::kWrite) stream.StartWrite(&stream.message);
        if (step == Step::kFinish) finish(stream);
    }

    static void finish(Stream& stream) {
        stream.Finish({grpc::StatusCode::UNAVAILABLE, "plugin is stopping"});
    }

    const std::function<void()> on_change_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Stream*> streams_;  // each deletes itself when gRPC is done with it
    grpc::ByteBuffer list_;
    std::uint64_t version_ = 0;  // of list_
    std::uint64_t pushed_ = 0;   // the version that open streams have to have
    std::uint64_t opened_ = 0;
    bool closed_ = false;
};

void Stream::OnWriteDone(bool ok) { all_->written(*this, ok); }

void Stream::OnCancel() { all_->cancelled(*this); }

void Stream::OnDone() {
    all_->done(*this);
    delete this;
}

}  // namespace

std::shared_ptr<Streams> Streams::make(std::function<void()> on_change) {
    return std::make_shared<AllStreams>(std::move(on_change));
}

}  // namespace aliquot::kubelet
