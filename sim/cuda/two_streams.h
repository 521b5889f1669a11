// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cuda/trace.h"

/// Defines an entry point twice: as it is, and with the suffix by which a null stream means the one
/// of the calling thread. `expression` may ask `own_stream`.
#define TWO_STREAMS(name, suffix, parameters, expression) \
    CUresult name parameters {                            \
        ::aliquot::sim::called(#name);                    \
        constexpr bool own_stream = false;                \
        return expression;                                \
    }                                                     \
    CUresult name##suffix parameters {                    \
        ::aliquot::sim::called(#name #suffix);            \
        constexpr bool own_stream = true;                 \
        return expression;                                \
    }
