// SPDX-License-Identifier: Apache-2.0
#include "registry/image.h"

#include <algorithm>

#include "base/number.h"
#include "base/text.h"
#include "document/json.h"
#include "document/path.h"
#include "registry/hidden_paths.h"
#include "registry/layer.h"
#include "registry/package_lists.h"

namespace aliquot::registry {
namespace {

using document::Value;

constexpr std::size_t kMostLayers = 512;
constexpr std::size_t kMostConfigBytes = std::size_t{4} << 20U;
constexpr std::size_t kMostPackages = 200'000;

struct Layer {
    std::string digest;
    std::uint64_t size = 0;
};

Error wrong(const Reference& image, const std::string& why,
            ErrorCode code = ErrorCode::kInvalidInput) {
    return {code, image.text() + ": " + why};
}

bool is_index(const ManifestText& manifest, const Value& value) {
    return manifest.media_type.contains("image.index") ||
           manifest.media_type.contains("manifest.list") || value.find("manifests") != nullptr;
}

std::string platform_of(const Value& entry, bool with_variant) {
    const std::string variant = document::text_at(entry, {"variant"});
    return document::text_at(entry, {"os"}) + "/" + document::text_at(entry, {"architecture"}) +
           (with_variant && !variant.empty() ? "/" + variant : "");
}

bool is_for(const Value& entry, const std::string& platform) {
    return platform_of(entry, true) == platform || platform_of(entry, false) == platform;
}

/// The digest of the one for the platform in a list of manifests.
Result<std::string> choose(const Value& index, const Reference& image,
                           const std::string& platform) {
    std::vector<std::string> others;
    for (const Value& one : document::items_at(index, {"manifests"})) {
        const Value* const told = one.find("platform");
        const std::string digest = document::text_at(one, {"digest"});
        if (told == nullptr || !is_digest(digest)) continue;
        if (is_for(*told, platform)) return digest;
        // Notes about an image (who made it, of what) are listed beside it.
        if (platform_of(*told, true) != "unknown/unknown")
            others.push_back(platform_of(*told, true));
    }
    return wrong(
        image,
        "there is none for " + platform + (others.empty() ? "" : "; there is " + join(others)),
        ErrorCode::kNotFound);
}

Result<std::vector<Layer>> layers_of(const Value& manifest, const Reference& image) {
    const auto& list = document::items_at(manifest, {"layers"});
    if (list.empty()) {
        const bool is_old = document::text_at(manifest, {"schemaVersion"}) == "1";
        return is_old
                   ? wrong(image, "its manifest is of schema 1, which is not read; push it again",
                           ErrorCode::kUnsupported)
                   : wrong(image, "its manifest names no layers");
    }
    if (list.size() > kMostLayers)
        return wrong(image, std::to_string(list.size()) + " layers, at most 512 are read");
    std::vector<Layer> layers;
    for (const Value& one : list) {
        const std::string kind = document::text_at(one, {"mediaType"});
        const std::string digest = document::text_at(one, {"digest"});
        const auto size = parse_number<std::uint64_t>(document::text_at(one, {"size"}));
        if (!is_digest(digest) || !size)
            return wrong(image, "its manifest has a layer without digest or size");
        if (!kind.contains("tar") || kind.ends_with("zstd") || kind.ends_with("encrypted")) {
            return wrong(image,
                         "layer " + digest + " is " + kind +
                             "; layers with gzip are read: give a bill of "
                             "materials instead, as 'syft IMAGE -o spdx-json' writes it",
                         ErrorCode::kUnsupported);
        }
        layers.push_back({digest, *size});
    }
    return layers;
}

/// Where a single manifest is for: its configuration says.
Result<std::string> platform_by_config(Client& client, const Value& manifest,
                                       const Reference& image, const std::string& platform) {
    const std::string digest = document::text_at(manifest, {"config", "digest"});
    if (!is_digest(digest)) return wrong(image, "its manifest names no configuration");
    const auto text = client.blob(digest, kMostConfigBytes);
    if (!text) return text.error();
    const auto config = document::parse_json(*text);
    if (!config) return wrong(image, "its configuration is not JSON");
    if (!is_for(*config, platform)) {
        return wrong(image, "it is for " + platform_of(*config, true) + ", not for " + platform,
                     ErrorCode::kNotFound);
    }
    return platform_of(*config, true);
}

/// Reads layers from the top down into what is in the image.
class LayersReader {
public:
    LayersReader(Client& client, const Reference& image, ImageContents& contents)
        : client_(client), image_(image), contents_(contents) {}

    Result<Done> read(const Layer& layer) {
        const auto done = read_layer(
            [&](const auto& take) {
                return client_.stream(layer.digest, layer.size, [&](std::string_view bytes) {
                    contents_.bytes_read += bytes.size();
                    return take(bytes);
                });
            },
            {.wants = [&](const std::string& path) { return wants(path); },
             .take =
                 [&](const std::string& path, const std::string& text) {
                     hidden_.add(path);
                     add_packages(kind_of(path), path, text, contents_.packages);
                 }});
        if (!done)
            return Error{done.error().code,
                         image_.text() + ": " + layer.digest + ": " + done.error().message};
        hidden_.next_layer();
        ++contents_.layers_read;
        if (contents_.packages.size() > kMostPackages)
            return wrong(image_, "more than 200,000 packages");
        return Done{};
    }

private:
    bool wants(const std::string& path) {
        if (hidden_.take_whiteout(path) || hidden_.hides(path)) return false;
        if (path == "var/lib/rpm/rpmdb.sqlite" || path == "var/lib/rpm/Packages" ||
            path == "usr/lib/sysimage/rpm/rpmdb.sqlite") {
            contents_.remarks.push_back(
                "/" + path + " is not read: give a bill of materials for packages of RPM");
            hidden_.add(path);
        }
        return kind_of(path) != ListKind::kNone;
    }

    Client& client_;
    const Reference& image_;
    ImageContents& contents_;
    HiddenPaths hidden_;
};

}  // namespace

Result<ImageContents> read_image(Client& client, const Reference& image,
                                 const std::string& platform, const Enough& enough) {
    ImageContents contents{.platform = platform};
    auto manifest = client.manifest(image.version());
    if (!manifest) return std::move(manifest).error();
    auto value = document::parse_json(manifest->text);
    if (!value) return wrong(image, "its manifest is not JSON");
    const bool is_list = is_index(*manifest, *value);
    if (is_list) {
        const auto chosen = choose(*value, image, platform);
        if (!chosen) return chosen.error();
        manifest = client.manifest(*chosen);
        if (!manifest) return std::move(manifest).error();
        value = document::parse_json(manifest->text);
        if (!value) return wrong(image, "its manifest is not JSON");
    }
    contents.digest = manifest->digest;
    const auto layers = layers_of(*value, image);
    if (!layers) return layers.error();
    if (!is_list) {
        auto told = platform_by_config(client, *value, image, platform);
        if (!told) return std::move(told).error();
        contents.platform = *std::move(told);
    }
    contents.layers = layers->size();
    LayersReader reader(client, image, contents);
    for (auto layer = layers->rbegin(); layer != layers->rend(); ++layer) {
        const auto done = reader.read(*layer);
        if (!done) return done.error();
        if (enough(contents.packages)) break;
    }
    return contents;
}

}  // namespace aliquot::registry
