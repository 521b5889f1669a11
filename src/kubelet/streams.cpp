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

/// One ListAndWatch call, waiting or open. The flags belong to AllStreams and its mutex.
struct Stream {
    using Reaction = void (AllStreams::*)(Stream&, bool);
    struct Reacting final : Event {
        Reacting(Stream& owner, Reaction what) : stream(owner), reaction(what) {}
        void happen(bool ok) override;
        Stream& stream;
        Reaction reaction;
    };

    explicit Stream(AllStreams& owner);

    AllStreams& all;
    grpc::ServerContext context;
    grpc::ByteBuffer request;
    grpc::ByteBuffer message;
    grpc::ServerAsyncWriter<grpc::ByteBuffer> writer{&context};
    Reacting on_open;
    Reacting on_write;
    Reacting on_finish;
    Reacting on_done;

    std::uint64_t sent = 0;     // version of the last list that was written; 0: none
    std::uint64_t writing = 0;  // version of the list that is being written; 0: none
    bool broken = false;        // cancelled, refused, or a write failed
    bool finishing = false;
    bool finished = false;  // gRPC is through with Finish...
    bool done = false;      // ...and with the call
};

class AllStreams final : public Streams {
public:
    explicit AllStreams(std::function<void()> on_change) : on_change_(std::move(on_change)) {}
    ~AllStreams() override = default;
    AllStreams(const AllStreams&) = delete;
    AllStreams& operator=(const AllStreams&) = delete;

    void listen(CallQueue& queue, RequestStream request) override {
        queue_ = &queue;
        request_ = std::move(request);
        await();
    }

    void set(std::span<const grant::Device> devices) override {
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
        const std::scoped_lock lock(mutex_);
        pushed_ = version_;
        for (auto* stream : streams_) step(*stream);
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
        const std::scoped_lock lock(mutex_);
        closed_ = true;
        for (auto* stream : streams_) step(*stream);
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

    // Reactions, on the server's thread.

    void opened(Stream& stream, bool ok) {
        if (!ok) {  // the server has ended; gRPC tells nothing more of this call
            delete &stream;
            return;
        }
        await();
        {
            const std::scoped_lock lock(mutex_);
            stream.broken = streams_.size() >= kStreamLimit;
            streams_.push_back(&stream);
            ++opened_;
            step(stream);
        }
        on_change_();
    }

    void written(Stream& stream, bool ok) {
        react(stream, [&] {
            if (ok) stream.sent = stream.writing;
            if (!ok) stream.broken = true;
            stream.writing = 0;
            stream.message.Clear();
        });
    }

    void finished(Stream& stream, bool /*ok*/) {
        react(stream, [&] { stream.finished = true; });
    }

    /// The call is over: by our Finish, or since kubelet is gone.
    void done(Stream& stream, bool /*ok*/) {
        react(stream, [&] { stream.done = stream.broken = true; });
        on_change_();
    }

private:
    void await() {
        auto* stream = new Stream(*this);
        if (!queue_->begin([&](grpc::ServerCompletionQueue& queue) {
                stream->context.AsyncNotifyWhenDone(&stream->on_done);
                request_(&stream->context, &stream->request, &stream->writer, queue,
                         &stream->on_open);
            }))
            delete stream;
    }

    /// Notes what happened, does what follows, and deletes a stream to which nothing can happen.
    template <class Note>
    void react(Stream& stream, const Note& note) {
        bool over = false;
        {
            const std::scoped_lock lock(mutex_);
            note();
            step(stream);
            over = stream.finished && stream.done && stream.writing == 0;
            if (over) std::erase(streams_, &stream);
            changed_.notify_all();
        }
        if (over) delete &stream;
    }

    /// Begins what `stream` has to do next, if it is not at something. With the lock held.
    void step(Stream& stream) {
        if (stream.finishing || stream.writing != 0) return;
        if (stream.broken || closed_) {
            stream.finishing = true;
            const bool full = streams_.size() > kStreamLimit;
            const grpc::Status why(
                full ? grpc::StatusCode::RESOURCE_EXHAUSTED : grpc::StatusCode::UNAVAILABLE,
                full ? "too many ListAndWatch streams" : "plugin is stopping");
            if (!queue_->begin([&](grpc::ServerCompletionQueue& /*queue*/) {
                    stream.writer.Finish(why, &stream.on_finish);
                }))
                stream.finished = true;
            return;
        }
        if (version_ == 0 || (stream.sent != 0 && stream.sent >= pushed_)) return;
        stream.message = list_;
        if (queue_->begin([&](grpc::ServerCompletionQueue& /*queue*/) {
                stream.writer.Write(stream.message, &stream.on_write);
            }))
            stream.writing = version_;
    }

    const std::function<void()> on_change_;
    CallQueue* queue_ = nullptr;
    RequestStream request_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Stream*> streams_;  // open ones; each is deleted by its last event
    grpc::ByteBuffer list_;
    std::uint64_t version_ = 0;  // of list_
    std::uint64_t pushed_ = 0;   // the version that open streams have to have
    std::uint64_t opened_ = 0;
    bool closed_ = false;
};

Stream::Stream(AllStreams& owner)
    : all(owner),
      on_open(*this, &AllStreams::opened),
      on_write(*this, &AllStreams::written),
      on_finish(*this, &AllStreams::finished),
      on_done(*this, &AllStreams::done) {}

void Stream::Reacting::happen(bool ok) { (stream.all.*reaction)(stream, ok); }

}  // namespace

std::unique_ptr<Streams> Streams::make(std::function<void()> on_change) {
    return std::make_unique<AllStreams>(std::move(on_change));
}

}  // namespace aliquot::kubelet
