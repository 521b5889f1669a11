// SPDX-License-Identifier: Apache-2.0
#include "doctor/bundle.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/json_text.h"
#include "base/number.h"
#include "base/text.h"
#include "doctor/bundle_names.h"
#include "doctor/collect.h"
#include "doctor/json.h"
#include "doctor/text.h"
#include "os/root.h"

namespace aliquot::doctor {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kMostBundleBytes = 64U << 20U;
constexpr std::size_t kMostUnpackedBytes = 256U << 20U;
constexpr std::size_t kMostFiles = 100'000;

constexpr std::array<std::pair<Entry::Kind, std::string_view>, 6> kKinds{
    {{Entry::Kind::kFile, "file"},
     {Entry::Kind::kDirectory, "directory"},
     {Entry::Kind::kLink, "link"},
     {Entry::Kind::kDevice, "device"},
     {Entry::Kind::kSocket, "socket"},
     {Entry::Kind::kUnreadable, "unreadable"}}};

std::string_view word_of(Entry::Kind kind) {
    return kKinds.at(static_cast<std::size_t>(kind)).second;
}

Entry::Kind kind_of(std::string_view word) {
    const auto* const found =
        std::ranges::find(kKinds, word, &std::pair<Entry::Kind, std::string_view>::second);
    return found == kKinds.end() ? Entry::Kind::kFile : found->first;
}

std::string hex_text(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 0xfU];
    }
    return text;
}

std::string bytes_of(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes += static_cast<char>(parse_hex(hex.substr(i, 2)).value_or(0));
    }
    return bytes;
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

void put_octal(char* field, std::size_t size, std::uint64_t value) {
    // Digits from the right; the last byte stays 0. Our limits keep every value within its field.
    for (std::size_t i = size - 1; i-- > 0; value >>= 3U)
        field[i] = static_cast<char>('0' + (value & 7U));
}

void append_header(std::string& tar, std::string_view name, char type, std::size_t size,
                   std::int64_t modified_s, std::string_view link) {
    std::array<char, kBlock> header{};
    std::ranges::copy(name.substr(0, 100), header.begin());
    put_octal(header.data() + 100, 8, type == '5' ? 0755 : 0644);
    put_octal(header.data() + 108, 8, 0);
    put_octal(header.data() + 116, 8, 0);
    put_octal(header.data() + 124, 12, size);
    put_octal(header.data() + 136, 12,
              static_cast<std::uint64_t>(std::max<std::int64_t>(modified_s, 0)));
    header[156] = type;
    std::ranges::copy(link.substr(0, 100), header.begin() + 157);
    std::memcpy(header.data() + 257, "ustar\00000", 8);
    std::memset(header.data() + 148, ' ', 8);
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    std::snprintf(header.data() + 148, 8, "%06o", sum);
    tar.append(header.data(), header.size());
}

void append_content(std::string& tar, std::string_view content) {
    tar += content;
    tar.append((kBlock - content.size() % kBlock) % kBlock, '\0');
}

void append_member(std::string& tar, const std::string& path, const Entry& entry) {
    if (path.size() > 100) {  // the name as a member of its own, as GNU tar writes it
        append_header(tar, "././@LongLink", 'L', path.size() + 1, 0, "");
        append_content(tar, path + '\0');
    }
    const bool link = entry.kind == Entry::Kind::kLink && entry.content.size() <= 100;
    const bool file = entry.kind == Entry::Kind::kFile;
    const char type = entry.kind == Entry::Kind::kDirectory ? '5' : link ? '2' : '0';
    append_header(tar, path, type, file ? entry.content.size() : 0, entry.modified_s,
                  link ? std::string_view(entry.content) : std::string_view());
    if (file) append_content(tar, entry.content);
}

Result<std::string> packed(const std::string& bytes) {
    z_stream stream{};
    if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return Error{ErrorCode::kInternal, "bundle: zlib does not start"};
    }
    std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int done = deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    if (done != Z_STREAM_END) return Error{ErrorCode::kInternal, "bundle: zlib did not finish"};
    return out;
}

struct Unpacked {
    std::string bytes;
    bool whole = true;
};

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
    }
    inflateEnd(&stream);
    if (out.size() > kMostUnpackedBytes) {
        return Error{ErrorCode::kInvalidInput, "bundle: more than 256 MiB when unpacked"};
    }
    if (state != Z_STREAM_END && out.empty()) {
        return Error{ErrorCode::kInvalidInput, "bundle: no gzipped tar file"};
    }
    const bool whole = state == Z_STREAM_END;
    return Unpacked{std::move(out), whole};  // of a file that was cut short: what is there
}

void apply_meta(Tree& tree) {
    const std::string* const text = tree.text("meta.json");
    if (text == nullptr) return;
    const auto meta = parse_json(*text);
    if (!meta) return;
    tree.complete = is_true(meta->find("complete"));
    tree.taken_s = parse_number<std::int64_t>(text_at(*meta, {"taken"})).value_or(tree.taken_s);
    if (tree.taken_s == 0) tree.taken_s = time_of(text_at(*meta, {"taken"})).value_or(0);
    const std::string host = "host/" + text_at(*meta, {"node"});
    for (const Node::Entry& one : entries_at(*meta, {"kinds"})) {
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

std::string facts_to_json(const Tree& tree) {
    std::string text = "{\"schemaVersion\":\"1\",\"tool\":\"aliquot " ALIQUOT_VERSION
                       "\",\"taken\":" +
                       std::to_string(tree.taken_s) +
                       ",\"complete\":" + (tree.complete ? "true" : "false") + ",\"entries\":[";
    bool first = true;
    for (const auto& [path, entry] : tree.entries()) {
        text += first ? "\n{" : ",\n{";
        first = false;
        text += "\"path\":" + json_quoted(path) + ",\"kind\":" + json_quoted(word_of(entry.kind));
        if (entry.modified_s != 0) text += ",\"modified\":" + std::to_string(entry.modified_s);
        if (entry.cut) text += ",\"cut\":true";
        const std::string plain = json_quoted(entry.content);
        const bool whole = !plain.contains("\xef\xbf\xbd");
        text += whole ? ",\"text\":" + plain : ",\"hex\":" + json_quoted(hex_text(entry.content));
        text += "}";
    }
    return text + "\n]}\n";
}

Result<Tree> facts_from_json(std::string_view text) {
    const auto root = parse_json(text);
    if (!root) return Error(root.error()).during("facts");
    const Node* const entries = root->find("entries");
    if (entries == nullptr || !entries->is_sequence()) {
        return Error{ErrorCode::kInvalidInput,
                     "facts: no list \"entries\": not a file that `aliquot doctor --save` wrote"};
    }
    const std::string schema = text_at(*root, {"schemaVersion"});
    if (!schema.empty() && schema != "1") {
        return Error{ErrorCode::kInvalidInput, "facts: schemaVersion '" + schema +
                                                   "' found, 1 expected: a newer aliquot wrote it"};
    }
    if (entries->items.empty()) {
        return Error{ErrorCode::kInvalidInput,
                     "facts: the list \"entries\" is empty: nothing was saved"};
    }
    Tree tree;
    tree.complete = is_true(root->find("complete"));
    tree.taken_s = parse_number<std::int64_t>(text_at(*root, {"taken"})).value_or(0);
    for (const Node& item : entries->items) {
        const std::string path = text_at(item, {"path"});
        const Node* const given = item.find("path");
        if (path.empty() || !given->is_string()) {
            return Error{ErrorCode::kInvalidInput, "facts: line " + std::to_string(item.mark.line) +
                                                       ": an entry without a path"};
        }
        Entry entry{.kind = kind_of(text_at(item, {"kind"}))};
        const Node* const hex = item.find("hex");
        entry.content = hex != nullptr ? bytes_of(hex->scalar) : text_at(item, {"text"});
        entry.modified_s = parse_number<std::int64_t>(text_at(item, {"modified"})).value_or(0);
        entry.cut = is_true(item.find("cut"));
        tree.add(path, std::move(entry));
    }
    return tree;
}

Result<std::string> to_bundle(const Tree& tree, const std::string& node) {
    std::string tar;
    append_member(tar, "meta.json", {.content = meta_of(tree, node), .modified_s = tree.taken_s});
    for (const auto& [path, entry] : tree.entries()) {
        if (path == "meta.json" || entry.kind == Entry::Kind::kUnreadable) continue;
        const bool of_host = path.starts_with('/') || path.starts_with("cmd/");
        const std::string name =
            of_host ? concat({"host/", node, path.starts_with('/') ? "" : "/", path}) : path;
        Entry copy = entry;
        if (copy.kind == Entry::Kind::kDevice || copy.kind == Entry::Kind::kSocket) {
            copy = {.modified_s = entry.modified_s};
        }
        append_member(tar, name, copy);
    }
    tar.append(2 * kBlock, '\0');
    return packed(tar);
}

Result<Tree> from_tar(std::string_view bytes) {
    Tree tree;
    std::string long_name;
    std::size_t files = 0;
    for (std::size_t at = 0; at + kBlock <= bytes.size();) {
        const std::string_view header = bytes.substr(at, kBlock);
        if (header.find_first_not_of('\0') == std::string_view::npos) break;
        if (++files > kMostFiles) {
            return Error{ErrorCode::kInvalidInput, "bundle: more than 100,000 files"};
        }
        const auto field = [&](std::size_t begin, std::size_t size) {
            const std::string_view text = header.substr(begin, size);
            return text.substr(0, text.find('\0'));
        };
        std::uint64_t size = 0;
        for (const char c : trim(field(124, 12))) {
            if (c < '0' || c > '7' || size > kMostUnpackedBytes) {
                return Error{ErrorCode::kInvalidInput,
                             "bundle: byte " + std::to_string(at) + ": not a tar header"};
            }
            size = size * 8 + static_cast<std::uint64_t>(c - '0');
        }
        const std::size_t body = at + kBlock;
        const std::size_t have =
            body >= bytes.size() ? 0 : std::min<std::size_t>(size, bytes.size() - body);
        const std::string_view content = bytes.substr(std::min(body, bytes.size()), have);
        tree.cut = tree.cut || have < size;
        std::string name(field(0, 100));
        if (header.substr(257, 5) == "ustar" && !field(345, 155).empty() && header[263] == '0') {
            name = concat({field(345, 155), "/", name});
        }
        const char type = header[156];
        at = body + (size + kBlock - 1) / kBlock * kBlock;
        if (type == 'L') {
            long_name = std::string(content.substr(0, content.find('\0')));
            continue;
        }
        if (type == 'x') {
            std::string_view path = after(content, " path=");
            if (!path.empty()) long_name = std::string(path.substr(0, path.find('\n')));
            continue;
        }
        if (!long_name.empty()) name = std::exchange(long_name, {});
        while (name.starts_with("./")) name.erase(0, 2);
        while (name.starts_with('/')) name.erase(0, 1);
        if (name.empty() || ("/" + name + "/").contains("/../")) continue;
        std::string known = is_ours(name) ? name : our_name(name);
        if (known.empty()) {
            // A bundle inside a directory of its own: "bundle-2026/host/...".
            const auto slash = name.find('/');
            const std::string inner = slash == std::string::npos ? "" : name.substr(slash + 1);
            if (is_ours(inner)) known = inner;
        }
        if (known.empty()) continue;
        Entry entry;
        entry.modified_s = 0;
        for (const char c : trim(field(136, 12))) {
            if (c >= '0' && c <= '7' && entry.modified_s < (std::int64_t{1} << 40)) {
                entry.modified_s = entry.modified_s * 8 + (c - '0');
            }
        }
        if (type == '5') {
            entry.kind = Entry::Kind::kDirectory;
        } else if (type == '2' || type == '1') {
            entry.kind = Entry::Kind::kLink;
            entry.content = std::string(field(157, 100));
        } else if (type == '0' || type == '\0') {
            const std::size_t skip =
                content.size() > kMostFileBytes ? content.size() - kMostFileBytes : 0;
            entry.content = std::string(content.substr(skip));
            entry.cut = skip != 0;
        } else {
            continue;
        }
        tree.add(std::move(known), std::move(entry));
    }
    apply_meta(tree);
    tree.complete = tree.complete && !tree.cut;  // what is missing may be what was cut off
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

Result<Tree> load_tree(const std::string& file) {
    const std::filesystem::path path = std::filesystem::absolute(file);
    auto bytes = os::Root("/").read(path.native(), kMostBundleBytes);
    if (!bytes) return std::move(bytes).error();
    const bool gzip = bytes->starts_with("\x1f\x8b");
    const bool tar = bytes->size() > 262 && bytes->substr(257, 5) == "ustar";
    auto tree = gzip ? from_bundle(*bytes) : tar ? from_tar(*bytes) : facts_from_json(*bytes);
    if (!tree) return Error(tree.error()).during(file);
    tree->name = file;
    return tree;
}

}  // namespace aliquot::doctor
