// SPDX-License-Identifier: Apache-2.0
#include "placement/engine.h"

#include <gtest/gtest.h>
