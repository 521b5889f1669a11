// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "document/value.h"

/// What an API server of 1.36 refuses in resource.k8s.io/v1, in its words; the beta gates of 1.36 are on.
/// source   k8s.io/kubernetes/pkg/apis/resource/validation
namespace aliquot::claims {

struct Problem {
    enum class Kind : unsigned char {
        kRequired,
        kInvalid,
        kForbidden,
        kTooMany,
        kDuplicate,
        kUnsupported
    };
    Kind kind = Kind::kInvalid;
    std::string field;    // "spec.devices[0].name"
    std::string value;    // as JSON; empty: there is none, or it is too long to show
    std::string message;  // of kUnsupported the supported values, a comma and a blank between them
    document::Mark mark;  // of the value, or of what it is missing in
};

/// Below `spec`: of a ResourceSlice, of a DeviceClass, of a ResourceClaim (of a template with `path`
/// "spec.spec").
std::vector<Problem> slice_problems(const document::Value& spec);
std::vector<Problem> class_problems(const document::Value& spec);
std::vector<Problem> claim_problems(const document::Value& spec, std::string_view path = "spec");
/// Below `status` of a claim whose spec is `spec`.
std::vector<Problem> status_problems(const document::Value& status, const document::Value& spec);

}  // namespace aliquot::claims
