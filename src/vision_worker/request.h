// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vision/detections.h"

namespace aliquot::vision_worker {

/// The pictures of one request, and how they are to be looked at.
struct ReadRequest {
    struct Named {
        std::string name;  // of the file, as the asker calls it; may be empty
        std::shared_ptr<const std::string> owner;
        std::string_view bytes;
    };
    std::vector<Named> pictures;  // 1 to 16
    vision::DetectionLimits limits;
    std::size_t top = 5;
};

inline constexpr std::size_t kMostPictures = 16;

/// Reads a form (multipart/form-data), JSON or a picture as it is.
///   form    each part with a file name or of the name "image" is a picture; "confidence", "overlap", "top" are fields
///   JSON    {"image": BASE64} or {"images": [BASE64, ...]}, with the same fields
///   others  the body is the picture
/// base     what the fields are without being said
/// errors   kInvalidInput
Result<ReadRequest> read_request(std::string_view content_type, std::string body,
                                 const ReadRequest& base);

}  // namespace aliquot::vision_worker
