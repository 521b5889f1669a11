// SPDX-License-Identifier: Apache-2.0
#include "registry/layer.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <thread>

#include "base/descriptor.h"

namespace aliquot::registry {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{64} << 20U;
constexpr std::size_t kMostMembers = 5'000'000;
constexpr std::size_t kBlockBytes = std::size_t{64} << 10U;

Error layer_error(const std::string& why) { return {ErrorCode::kInvalidInput, "layer: " + why}; }

std::string archive_words(archive* reader) {
    const char* const why = archive_error_string(reader);
    return why == nullptr ? "not a tar file, or one that is compressed by other means than gzip"
                          : why;
}

std::string path_of(archive_entry* member) {
    const char* name = archive_entry_pathname(member);
    if (name == nullptr) name = archive_entry_pathname_utf8(member);
    std::string_view path = name == nullptr ? "" : name;
    while (path.starts_with("./")) path.remove_prefix(2);
    while (path.starts_with('/')) path.remove_prefix(1);
    while (path.ends_with('/')) path.remove_suffix(1);
    return std::string(path);
}

Result<std::string> content_of(archive* reader) {
    std::string text;
    std::array<char, 16384> part{};
    for (;;) {
        const la_ssize_t count = archive_read_data(reader, part.data(), part.size());
        if (count < 0) return layer_error(archive_words(reader));
        if (count == 0) return text;
        text.append(part.data(), static_cast<std::size_t>(count));
        if (text.size() > kMostFileBytes)
            return layer_error("a list of packages is larger than 64 MiB");
    }
}

Result<Done> read_members(int socket, const LayerReader& wanted) {
    const std::unique_ptr<archive, decltype(&archive_read_free)> reader(archive_read_new(),
                                                                        archive_read_free);
    archive_read_support_filter_gzip(reader.get());
    archive_read_support_format_tar(reader.get());
    if (archive_read_open_fd(reader.get(), socket, kBlockBytes) != ARCHIVE_OK)
        return layer_error(archive_words(reader.get()));
    for (std::size_t members = 0; members < kMostMembers; ++members) {
        archive_entry* member = nullptr;
        const int state = archive_read_next_header(reader.get(), &member);
        if (state == ARCHIVE_EOF) return Done{};
        if (state != ARCHIVE_OK && state != ARCHIVE_WARN)
            return layer_error(archive_words(reader.get()));
        const std::string path = path_of(member);
        if (!wanted.wants(path)) continue;
        auto text = content_of(reader.get());
        if (!text) return std::move(text).error();
        wanted.take(path, *std::move(text));
    }
    return layer_error("more than five million files");
}

/// false: nobody reads any more.
bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

/// Reads on to the end: what follows a tar file's end belongs to the digest of the layer.
void drain(int socket) {
    std::array<char, 16384> part{};
    while (::recv(socket, part.data(), part.size(), 0) > 0) {
    }
}

}  // namespace

Result<Done> read_layer(const LayerSource& source, const LayerReader& reader) {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
        return Error{ErrorCode::kUnavailable, "layer: no socket"};
    }
    Descriptor inside(pair[0]);
    Descriptor outside(pair[1]);
    Result<Done> fetched = Done{};
    Result<Done> read = Done{};
    {
        const std::jthread fetcher([&] {
            fetched =
                source([&](std::string_view bytes) { return send_all(outside.get(), bytes); });
            ::shutdown(outside.get(), SHUT_WR);
        });
        read = read_members(inside.get(), reader);
        if (read) drain(inside.get());
        inside = Descriptor();  // a source that still sends ends
    }
    // A source that failed leaves half a file: its error is the cause. One that was ended by us succeeds.
    if (!fetched) return fetched;
    return read;
}

}  // namespace aliquot::registry
