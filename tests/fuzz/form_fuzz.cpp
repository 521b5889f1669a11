// SPDX-License-Identifier: Apache-2.0
// A request to the vision worker is read or refused, as a form, as JSON and as it is; parts lie in the body.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "vision/multipart.h"
#include "vision_worker/request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace aliquot;
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    constexpr std::string_view kType = "multipart/form-data; boundary=x";
    if (const auto parts = vision::read_form(kType, body)) {
        for (const vision::FormPart& part : *parts) {
            const bool inside =
                part.content.empty() ||
                (part.content.data() >= body.data() &&
                 part.content.data() + part.content.size() <= body.data() + body.size());
            if (!inside || part.content.find("\r\n--x") != std::string_view::npos) std::abort();
        }
    }
    for (const std::string_view type :
         {kType, std::string_view("application/json"), body.substr(0, 100)}) {
        const auto read = vision_worker::read_request(type, std::string(body), {});
        if (read &&
            (read->pictures.empty() || read->pictures.size() > vision_worker::kMostPictures))
            std::abort();
    }
    return 0;
}
