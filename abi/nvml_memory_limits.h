/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALIQUOT_ABI_NVML_MEMORY_LIMITS_H
#define ALIQUOT_ABI_NVML_MEMORY_LIMITS_H

/*
 * NVML's memory limits of a control group, from driver 615 on. Apart from abi/nvml.h, since this
 * layout is written from the public reference (names and order of the members) and was not seen in
 * a driver yet: nobody calls it who was not told to.
 */

#include "abi/nvml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* No hard limit. */
#define NVML_DEVICE_MEMORY_LIMIT_MAX (~0ULL)

typedef struct {
    const char* nameSpace; /* full path of the control group's directory (cgroup v2) */
    unsigned long long softLimit;
    unsigned long long hardLimit;
} nvmlSetMemoryLimits_v1_t;
NVML_ABI_SIZE(nvmlSetMemoryLimits_v1_t, 24);

typedef struct {
    const char* nameSpace;
    unsigned long long softLimit;
    unsigned long long hardLimit;
    unsigned long long currentUsed;
} nvmlGetMemoryLimits_v1_t;
NVML_ABI_SIZE(nvmlGetMemoryLimits_v1_t, 32);

nvmlReturn_t nvmlDeviceSetMemoryLimits_v1(nvmlDevice_t device, nvmlSetMemoryLimits_v1_t* limits);
nvmlReturn_t nvmlDeviceGetMemoryLimits_v1(nvmlDevice_t device, nvmlGetMemoryLimits_v1_t* limits);

#ifdef __cplusplus
}
#endif

#endif
