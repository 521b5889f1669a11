// SPDX-License-Identifier: Apache-2.0
#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/json_text.h"
#include "base/number.h"
#include "base/text.h"
#include "base/time_text.h"
#include "bundle/bundle.h"
#include "bundle/collect.h"
#include "bundle/entry_kind.h"
#include "bundle/foreign_names.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::bundle {
namespace {

using document::text_at;
using document::Value;
using Writer = std::unique_ptr<archive, decltype(&archive_write_free)>;
using Reader = std::unique_ptr<archive, decltype(&archive_read_free)>;
using Member = std::unique_ptr<archive_entry, decltype(&archive_entry_free)>;

constexpr std::size_t kMostUnpackedBytes = 256U << 20U;
constexpr std::size_t kMostMembers = 100'000;

Error too_much() {
    return Error{ErrorCode::kInvalidInput, "bundle: more than 256 MiB when unpacked"};
}

std::string meta_of(const Tree& tree, const std::string& node) {
    std::string text = "{\"schemaVersion\":\"1\",\"tool\":\"aliquot " ALIQUOT_VERSION
                       "\",\"node\":" +
                       json_quoted(node) + ",\"taken\":" + std::to_string(tree.taken_s) +
                       ",\"complete\":" + (tree.complete ? "true" : "false") + ",\"kinds\":{";
    bool first = true;
    for (const auto& [path, entry] : tree.entries()) {
        const bool plain = entry.kind == Entry::Kind::kFile ||
                           entry.kind == Entry::Kind::kDirectory ||
                           entry.kind == Entry::Kind::kLink;
        if (plain) continue;
        text += (first ? "" : ",") + json_quoted(path) + ":" +
                json_quoted(std::string(word_of(entry.kind)) +
                            (entry.kind == Entry::Kind::kUnreadable ? " " + entry.content : ""));
        first = false;
    }
    return text + "}}\n";
}

la_ssize_t append_to(archive*, void* text, const void* bytes, std::size_t size) {
    static_cast<std::string*>(text)->append(static_cast<const char*>(bytes), size);
    return static_cast<la_ssize_t>(size);
}

Error refused(archive* writer) {
    const char* const why = archive_error_string(writer);
    return Error{ErrorCode::kInternal,
                 std::string("bundle: libarchive: ") + (why == nullptr ? "no memory" : why)};
}

Result<Done> put(archive* writer, const std::string& path, const Entry& entry) {
    const Member member(archive_entry_new(), archive_entry_free);
    const bool file = entry.kind == Entry::Kind::kFile;
    const bool folder = entry.kind == Entry::Kind::kDirectory;
    archive_entry_copy_pathname(member.get(), path.c_str());
    archive_entry_set_filetype(member.get(), folder ? AE_IFDIR : AE_IFREG);
    if (entry.kind == Entry::Kind::kLink) {
        archive_entry_set_filetype(member.get(), AE_IFLNK);
        archive_entry_copy_symlink(member.get(), entry.content.c_str());
    }
    archive_entry_set_perm(member.get(), folder ? 0755 : 0644);
    archive_entry_set_mtime(member.get(), std::max<std::int64_t>(entry.modified_s, 0), 0);
    archive_entry_set_size(member.get(), file ? static_cast<la_int64_t>(entry.content.size()) : 0);
    if (archive_write_header(writer, member.get()) < ARCHIVE_WARN) return refused(writer);
    if (file && archive_write_data(writer, entry.content.data(), entry.content.size()) < 0) {
        return refused(writer);
    }
    return Done{};
}

struct Unpacked {
    std::string bytes;
    bool whole = true;
};

/// libarchive's own gzip filter drops the last block of a file that was cut short; here it is kept.
Result<Unpacked> unpacked(std::string_view bytes) {
    z_stream stream{};
    if (inflateInit2(&stream, 15 + 32) != Z_OK) {
        return Error{ErrorCode::kInternal, "bundle: zlib does not start"};
    }
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    std::string out;
    std::array<char, 1U << 16U> part{};
    int state = Z_OK;
    while (state == Z_OK && out.size() <= kMostUnpackedBytes) {
        stream.next_out = reinterpret_cast<Bytef*>(part.data());
        stream.avail_out = static_cast<uInt>(part.size());
        state = inflate(&stream, Z_NO_FLUSH);
        out.append(part.data(), part.size() - stream.avail_out);
        // Several gzip files one behind the other, as bgzip and `cat` make them, are one.
        const bool more = stream.avail_in > 1 && stream.next_in[0] == 0x1f;
        if (state == Z_STREAM_END && more) state = inflateReset(&stream);
    }
    inflateEnd(&stream);
    if (out.size() > kMostUnpackedBytes) return too_much();
    if (state != Z_STREAM_END && out.empty()) {
        return Error{ErrorCode::kInvalidInput, "bundle: no gzipped tar file"};
    }
    const bool whole = state == Z_STREAM_END;
    return Unpacked{std::move(out), whole};  // of a file that was cut short: what is there
}

/// Under which name a member of an archive stands in a tree; empty: it is nothing that we know, or its
/// name leads out of the archive.
std::string known_name(std::string_view name) {
    while (name.starts_with("./")) name.remove_prefix(2);
    while (name.starts_with('/')) name.remove_prefix(1);
    if (name.empty() || concat({"/", name, "/"}).contains("/../")) return {};
    if (is_ours(name)) return std::string(name);
    std::string known = our_name(name);
    if (!known.empty()) return known;
    // A bundle inside a directory of its own: "bundle-2026/host/...".
    const auto slash = name.find('/');
    const auto inner = slash == std::string_view::npos ? "" : name.substr(slash + 1);
    return std::string(is_ours(inner) ? inner : "");
}

/// What a tar file holds, member after member. Nothing that a header claims is believed: memory is
/// taken for bytes that are there, and for holes of sparse files within the limits.
class TarReader {
public:
    explicit TarReader(std::string_view bytes)
        : reader_(archive_read_new(), archive_read_free), bytes_(bytes) {}

    Result<Tree> run() {
        archive_read_support_format_tar(reader_.get());
        archive_read_open_memory(reader_.get(), bytes_.data(), bytes_.size());
        for (std::size_t members = 0;; ++members) {
            archive_entry* member = nullptr;
            const int state = archive_read_next_header(reader_.get(), &member);
            if (state == ARCHIVE_EOF) break;
            if (state == ARCHIVE_FATAL && members > 0) {  // it ends inside a member
                tree_.cut = true;
                break;
            }
            if (state != ARCHIVE_OK && state != ARCHIVE_WARN) {
                const char* const why = archive_error_string(reader_.get());
                return Error{ErrorCode::kInvalidInput,
                             "bundle: byte " +
                                 std::to_string(archive_read_header_position(reader_.get())) +
                                 ": not a tar header" + (why == nullptr ? "" : ": ") +
                                 (why == nullptr ? "" : why)};
            }
            if (members == kMostMembers) {
                return Error{ErrorCode::kInvalidInput, "bundle: more than 100,000 files"};
            }
            if (!take(member)) return too_much();
        }
        return std::move(tree_);
    }

private:
    /// false: more than the limit
    bool take(archive_entry* member) {
        const char* name = archive_entry_pathname(member);
        // A name in UTF-8 has no other form where the locale is "C".
        if (name == nullptr) name = archive_entry_pathname_utf8(member);
        std::string known = known_name(name == nullptr ? "" : name);
        if (known.empty()) return true;
        Entry entry{.modified_s = std::clamp<std::int64_t>(archive_entry_mtime(member), 0,
                                                           std::int64_t{1} << 40)};
        const char* const same = archive_entry_hardlink(member);
        const char* const link = same == nullptr ? archive_entry_symlink(member) : same;
        if (link != nullptr) {
            entry.kind = Entry::Kind::kLink;
            entry.content = link;
        } else if (archive_entry_filetype(member) == AE_IFDIR) {
            entry.kind = Entry::Kind::kDirectory;
        } else if (archive_entry_filetype(member) != AE_IFREG) {
            return true;
        } else if (!read(entry, most_bytes_of(known))) {
            return false;
        }
        tree_.add(std::move(known), std::move(entry));
        return true;
    }

    /// The last bytes of the member, `most` of them.
    bool read(Entry& entry, std::size_t most) {
        std::string& text = entry.content;
        la_int64_t end = 0;
        for (;;) {
            const void* block = nullptr;
            std::size_t size = 0;
            la_int64_t offset = 0;
            const int state = archive_read_data_block(reader_.get(), &block, &size, &offset);
            // The last call tells where the hole at the end of a sparse file ends.
            const bool done = state != ARCHIVE_OK;
            if (state < ARCHIVE_WARN) tree_.cut = true;
            const auto hole = static_cast<std::size_t>(std::clamp<la_int64_t>(
                state < ARCHIVE_WARN ? 0 : offset - end, 0, static_cast<la_int64_t>(most)));
            if (done) size = 0;
            unpacked_ += hole + size;
            if (unpacked_ > kMostUnpackedBytes) return false;
            text.append(hole, '\0').append(static_cast<const char*>(block), size);
            if (offset - end > static_cast<la_int64_t>(most)) entry.cut = true;
            end = offset + static_cast<la_int64_t>(size);
            if (text.size() > 2 * most || (done && text.size() > most)) {
                text.erase(0, text.size() - most);
                entry.cut = true;
            }
            if (done) return true;
        }
    }

    Reader reader_;
    std::string_view bytes_;
    std::size_t unpacked_ = 0;
    Tree tree_;
};

void apply_meta(Tree& tree) {
    const std::string* const text = tree.text("meta.json");
    if (text == nullptr) return;
    const auto meta = document::parse_json(*text);
    if (!meta) return;
    tree.complete = document::is_true(meta->find("complete"));
    tree.taken_s = parse_number<std::int64_t>(text_at(*meta, {"taken"})).value_or(tree.taken_s);
    if (const auto time = parse_rfc3339(text_at(*meta, {"taken"})); time && tree.taken_s == 0) {
        tree.taken_s = std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count();
    }
    const std::string host = "host/" + text_at(*meta, {"node"});
    for (const Value::Entry& one : document::entries_at(*meta, {"kinds"})) {
        const std::string& word = one.second.scalar;
        Entry entry{.kind = kind_of(word.substr(0, word.find(' ')))};
        if (const auto blank = word.find(' '); blank != std::string::npos) {
            entry.content = word.substr(blank + 1);
        }
        const bool of_host =
            one.first.scalar.starts_with('/') || one.first.scalar.starts_with("cmd/");
        tree.add(
            of_host ? host + "/" +
                          std::string(one.first.scalar.starts_with('/') ? one.first.scalar.substr(1)
                                                                        : one.first.scalar)
                    : one.first.scalar,
            std::move(entry));
    }
}

}  // namespace

Result<std::string> to_bundle(const Tree& tree, const std::string& node) {
    std::string packed;
    const Writer writer(archive_write_new(), archive_write_free);
    archive_write_set_format_gnutar(writer.get());
    archive_write_add_filter_gzip(writer.get());
    archive_write_set_filter_option(writer.get(), "gzip", "timestamp", nullptr);
    archive_write_set_bytes_in_last_block(writer.get(), 1);
    if (archive_write_open(writer.get(), &packed, nullptr, append_to, nullptr) != ARCHIVE_OK) {
        return refused(writer.get());
    }
    auto done = put(writer.get(), "meta.json",
                    {.content = meta_of(tree, node), .modified_s = tree.taken_s});
    for (const auto& [path, entry] : tree.entries()) {
        if (!done) return std::move(done).error();
        if (path == "meta.json" || entry.kind == Entry::Kind::kUnreadable) continue;
        const bool of_host = path.starts_with('/') || path.starts_with("cmd/");
        const std::string name =
            of_host ? concat({"host/", node, path.starts_with('/') ? "" : "/", path}) : path;
        const bool kept = entry.kind != Entry::Kind::kDevice && entry.kind != Entry::Kind::kSocket;
        done = put(writer.get(), name, kept ? entry : Entry{.modified_s = entry.modified_s});
    }
    if (!done) return std::move(done).error();
    if (archive_write_close(writer.get()) != ARCHIVE_OK) return refused(writer.get());
    return packed;
}

Result<Tree> from_tar(std::string_view bytes) {
    auto tree = TarReader(bytes).run();
    if (!tree) return tree;
    apply_meta(*tree);
    tree->complete = tree->complete && !tree->cut;  // what is missing may be what was cut off
    return tree;
}

Result<Tree> from_bundle(std::string_view bytes) {
    auto tar = unpacked(bytes);
    if (!tar) return std::move(tar).error();
    auto tree = from_tar(tar->bytes);
    if (tree && tree->entries().empty()) {
        return Error{ErrorCode::kInvalidInput, "bundle: nothing in it that we know"};
    }
    if (tree && !tar->whole) {
        tree->cut = true;
        tree->complete = false;
    }
    return tree;
}

}  // namespace aliquot::bundle
