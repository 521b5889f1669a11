// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "document/value.h"

namespace aliquot::lint {

/// A container image as written somewhere.
struct Image {
    enum class Source : std::uint8_t {
        kContainer,   // `image:` of a container of a pod
        kValues,      // repository/tag of Helm values, or `image:` elsewhere in YAML
        kCommand,     // kubectl run --image, docker run/pull
        kDockerfile,  // FROM, COPY --from
        kStatement,   // inline code of prose
    };
    Source source = Source::kContainer;
    std::string text;        // as written: "nvcr.io/nvidia/cuda:12.4.1-base-ubuntu22.04"
    std::string repository;  // without registry, tag and digest: "nvidia/cuda"
    std::string registry;    // "nvcr.io"; "" when none is written
    std::string tag;         // "" when none
    std::string digest;      // "sha256:..."; "" when none
    document::Mark mark;
    bool placeholder = false;  // some part of it is a variable or a stand-in
    int pod = -1;              // of kContainer: index into File::pods
    int container = -1;        // index into that PodSpec::containers
    int command = -1;          // of kCommand: index into File::commands
    int instruction = -1;      // of kDockerfile: index into File::instructions

    /// The last part of the repository: "cuda".
    [[nodiscard]] std::string_view base_name() const;
};

/// Splits a reference; text that is none has an empty repository.
Image read_image(std::string_view text);

}  // namespace aliquot::lint
