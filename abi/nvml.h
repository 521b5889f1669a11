/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALIQUOT_ABI_NVML_H
#define ALIQUOT_ABI_NVML_H

/*
 * The part of the NVML binary interface that this project calls (src/nvml, sim/smi) or imitates
 * (sim/nvml). Written by hand; names, numbers and layouts are those of nvml.h 13.x (x86-64 and
 * aarch64 agree). Names keep NVIDIA's spelling because they are the interface.
 *
 * Bump rule: an existing number, layout or prototype never changes here, since libraries in the
 * field have it. A newer layout gets a new name with the suffix NVIDIA gives it (_v4), a newer
 * constant is added; both come with the size they were measured to have.
 *
 * A client takes types only, with decltype(&nvmlInit_v2), and finds the functions at run time: any
 * of them may be missing from an older library. The simulated library defines them.
 *
 * Enumerations are plain integers of the same size, so that a value newer than this file is valid.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define NVML_ABI_SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type)
#define NVML_ABI_AT(type, field, at) static_assert(offsetof(type, field) == (at), #type "." #field)
extern "C" {
#else
#define NVML_ABI_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)
#define NVML_ABI_AT(type, field, at) _Static_assert(offsetof(type, field) == (at), #type "." #field)
#endif

/* What a versioned struct carries in its first word; a wrong one is answered
 * NVML_ERROR_ARGUMENT_VERSION_MISMATCH. */
#define NVML_STRUCT_VERSION(bytes, number) \
    ((unsigned int)((bytes) | ((unsigned int)(number) << 24U)))

/* clang-format off */

/* ---- Return codes ------------------------------------------------------------------------ */
typedef int nvmlReturn_t;
enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,           NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,           NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_ALREADY_INITIALIZED = 5,     NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,       NVML_ERROR_INSUFFICIENT_POWER = 8,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,       NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_IRQ_ISSUE = 11,              NVML_ERROR_LIBRARY_NOT_FOUND = 12,
    NVML_ERROR_FUNCTION_NOT_FOUND = 13,     NVML_ERROR_CORRUPTED_INFOROM = 14,
    NVML_ERROR_GPU_IS_LOST = 15,            NVML_ERROR_RESET_REQUIRED = 16,
    NVML_ERROR_OPERATING_SYSTEM = 17,       NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
    NVML_ERROR_IN_USE = 19,                 NVML_ERROR_MEMORY = 20,
    NVML_ERROR_NO_DATA = 21,                NVML_ERROR_VGPU_ECC_NOT_SUPPORTED = 22,
    NVML_ERROR_INSUFFICIENT_RESOURCES = 23, NVML_ERROR_FREQ_NOT_SUPPORTED = 24,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25, NVML_ERROR_DEPRECATED = 26,
    NVML_ERROR_NOT_READY = 27,              NVML_ERROR_GPU_NOT_FOUND = 28,
    NVML_ERROR_INVALID_STATE = 29,          NVML_ERROR_RESET_TYPE_NOT_SUPPORTED = 30,
    NVML_ERROR_UNKNOWN = 999
};

/* ---- Limits (bytes with the terminating zero, or entries) -------------------------------- */
enum {
    NVML_DEVICE_UUID_BUFFER_SIZE = 80,           NVML_DEVICE_UUID_V2_BUFFER_SIZE = 96,
    NVML_DEVICE_NAME_BUFFER_SIZE = 64,           NVML_DEVICE_NAME_V2_BUFFER_SIZE = 96,
    NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE = 80, NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE = 80,
    NVML_DEVICE_SERIAL_BUFFER_SIZE = 30,         NVML_DEVICE_VBIOS_VERSION_BUFFER_SIZE = 32,
    NVML_DEVICE_PART_NUMBER_BUFFER_SIZE = 80,    NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE = 32,
    NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE = 16,  NVML_MIG_PROFILE_NAME_BUFFER_SIZE = 96,
    NVML_GPU_FABRIC_UUID_LEN = 16,
    NVML_NVLINK_MAX_LINKS = 36,
    NVML_GPU_INSTANCE_PROFILE_COUNT = 18,
    NVML_COMPUTE_INSTANCE_PROFILE_COUNT = 9,
    NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED = 0,
    NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT = 1
};

/* usedGpuMemory when the driver does not tell. */
#define NVML_VALUE_NOT_AVAILABLE 0xFFFFFFFFFFFFFFFFULL
/* gpuInstanceId and computeInstanceId when there is none. */
#define NVML_NO_INSTANCE 0xFFFFFFFFU

/* ---- Enumerations ------------------------------------------------------------------------ */
typedef unsigned int nvmlEnableState_t;
enum { NVML_FEATURE_DISABLED = 0, NVML_FEATURE_ENABLED = 1 };

enum { /* nvmlInitWithFlags */
    NVML_INIT_FLAG_NO_GPUS = 1, NVML_INIT_FLAG_NO_ATTACH = 2, NVML_INIT_FLAG_FORCE_INIT = 4 };

typedef unsigned int nvmlComputeMode_t;
enum {
    NVML_COMPUTEMODE_DEFAULT = 0,    NVML_COMPUTEMODE_EXCLUSIVE_THREAD = 1,
    NVML_COMPUTEMODE_PROHIBITED = 2, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS = 3 };

enum { /* MIG mode */
    NVML_DEVICE_MIG_DISABLE = 0, NVML_DEVICE_MIG_ENABLE = 1 };

enum { /* the argument of ProfileInfo calls, not the profile id */
    NVML_GPU_INSTANCE_PROFILE_1_SLICE = 0,        NVML_GPU_INSTANCE_PROFILE_2_SLICE = 1,
    NVML_GPU_INSTANCE_PROFILE_3_SLICE = 2,        NVML_GPU_INSTANCE_PROFILE_4_SLICE = 3,
    NVML_GPU_INSTANCE_PROFILE_7_SLICE = 4,        NVML_GPU_INSTANCE_PROFILE_8_SLICE = 5,
    NVML_GPU_INSTANCE_PROFILE_6_SLICE = 6,        NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1 = 7,
    NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1 = 8,   NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2 = 9,
    NVML_GPU_INSTANCE_PROFILE_1_SLICE_GFX = 10,   NVML_GPU_INSTANCE_PROFILE_2_SLICE_GFX = 11,
    NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX = 12,   NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME = 13,
    NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME = 14, NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME = 15,
    NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME = 16, NVML_GPU_INSTANCE_PROFILE_3_SLICE_GFX = 17 };
enum {
    NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE = 0, NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE = 1,
    NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE = 2, NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE = 3,
    NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE = 4, NVML_COMPUTE_INSTANCE_PROFILE_8_SLICE = 5,
    NVML_COMPUTE_INSTANCE_PROFILE_6_SLICE = 6, NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1 = 7,
    NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE_NVL = 8 };

enum { /* bits of nvmlEventData_t.eventType */
    nvmlEventTypeNone = 0x0,                  nvmlEventTypeSingleBitEccError = 0x1,
    nvmlEventTypeDoubleBitEccError = 0x2,     nvmlEventTypePState = 0x4,
    nvmlEventTypeXidCriticalError = 0x8,      nvmlEventTypeClock = 0x10,
    nvmlEventTypePowerSourceChange = 0x80,    nvmlEventMigConfigChange = 0x100,
    nvmlEventTypeSingleBitEccErrorStorm = 0x200, nvmlEventTypeDramRetirementEvent = 0x400,
    nvmlEventTypeDramRetirementFailure = 0x800,  nvmlEventTypeNonFatalPoisonError = 0x1000,
    nvmlEventTypeFatalPoisonError = 0x2000,   nvmlEventTypeGpuUnavailableError = 0x4000,
    nvmlEventTypeGpuRecoveryAction = 0x8000 };

typedef unsigned int nvmlDeviceArchitecture_t;
enum {
    NVML_DEVICE_ARCH_KEPLER = 2, NVML_DEVICE_ARCH_MAXWELL = 3, NVML_DEVICE_ARCH_PASCAL = 4,
    NVML_DEVICE_ARCH_VOLTA = 5,  NVML_DEVICE_ARCH_TURING = 6,  NVML_DEVICE_ARCH_AMPERE = 7,
    NVML_DEVICE_ARCH_ADA = 8,    NVML_DEVICE_ARCH_HOPPER = 9,  NVML_DEVICE_ARCH_BLACKWELL = 10,
    NVML_DEVICE_ARCH_RUBIN = 13 };

typedef unsigned int nvmlBrandType_t;
enum {
    NVML_BRAND_UNKNOWN = 0,     NVML_BRAND_QUADRO = 1,      NVML_BRAND_TESLA = 2,
    NVML_BRAND_NVS = 3,         NVML_BRAND_GRID = 4,        NVML_BRAND_GEFORCE = 5,
    NVML_BRAND_TITAN = 6,       NVML_BRAND_QUADRO_RTX = 12, NVML_BRAND_NVIDIA_RTX = 13,
    NVML_BRAND_NVIDIA = 14,     NVML_BRAND_GEFORCE_RTX = 15, NVML_BRAND_TITAN_RTX = 16 };

typedef unsigned int nvmlClockType_t;
enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_CLOCK_VIDEO = 3 };
typedef unsigned int nvmlClockId_t;
enum {
    NVML_CLOCK_ID_CURRENT = 0,           NVML_CLOCK_ID_APP_CLOCK_TARGET = 1,
    NVML_CLOCK_ID_APP_CLOCK_DEFAULT = 2, NVML_CLOCK_ID_CUSTOMER_BOOST_MAX = 3 };
enum { /* bits of the clocks event reasons */
    nvmlClocksEventReasonGpuIdle = 0x1,             nvmlClocksEventReasonApplicationsClocksSetting = 0x2,
    nvmlClocksEventReasonSwPowerCap = 0x4,          nvmlClocksThrottleReasonHwSlowdown = 0x8,
    nvmlClocksEventReasonSyncBoost = 0x10,          nvmlClocksEventReasonSwThermalSlowdown = 0x20,
    nvmlClocksThrottleReasonHwThermalSlowdown = 0x40, nvmlClocksThrottleReasonHwPowerBrakeSlowdown = 0x80,
    nvmlClocksEventReasonDisplayClockSetting = 0x100 };

typedef unsigned int nvmlTemperatureSensors_t;
enum { NVML_TEMPERATURE_GPU = 0 };
typedef unsigned int nvmlTemperatureThresholds_t;
enum {
    NVML_TEMPERATURE_THRESHOLD_SHUTDOWN = 0, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 1,
    NVML_TEMPERATURE_THRESHOLD_MEM_MAX = 2,  NVML_TEMPERATURE_THRESHOLD_GPU_MAX = 3,
    NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_MIN = 4, NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_CURR = 5,
    NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_MAX = 6, NVML_TEMPERATURE_THRESHOLD_GPS_CURR = 7 };

typedef unsigned int nvmlPstates_t; /* 0 fastest .. 15; 32 unknown */
enum { NVML_PSTATE_UNKNOWN = 32 };

typedef unsigned int nvmlMemoryErrorType_t;
enum { NVML_MEMORY_ERROR_TYPE_CORRECTED = 0, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1 };
typedef unsigned int nvmlEccCounterType_t;
enum { NVML_VOLATILE_ECC = 0, NVML_AGGREGATE_ECC = 1 };
typedef unsigned int nvmlMemoryLocation_t;
enum {
    NVML_MEMORY_LOCATION_L1_CACHE = 0,      NVML_MEMORY_LOCATION_L2_CACHE = 1,
    NVML_MEMORY_LOCATION_DRAM = 2,          NVML_MEMORY_LOCATION_DEVICE_MEMORY = 2,
    NVML_MEMORY_LOCATION_REGISTER_FILE = 3, NVML_MEMORY_LOCATION_TEXTURE_MEMORY = 4,
    NVML_MEMORY_LOCATION_TEXTURE_SHM = 5,   NVML_MEMORY_LOCATION_CBU = 6,
    NVML_MEMORY_LOCATION_SRAM = 7 };
typedef unsigned int nvmlPageRetirementCause_t;
enum {
    NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS = 0,
    NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR = 1 };

typedef unsigned int nvmlPcieUtilCounter_t;
enum { NVML_PCIE_UTIL_TX_BYTES = 0, NVML_PCIE_UTIL_RX_BYTES = 1 };

typedef unsigned int nvmlGpuTopologyLevel_t; /* what two GPUs have in common, nearest first */
enum {
    NVML_TOPOLOGY_INTERNAL = 0,    NVML_TOPOLOGY_SINGLE = 10, NVML_TOPOLOGY_MULTIPLE = 20,
    NVML_TOPOLOGY_HOSTBRIDGE = 30, NVML_TOPOLOGY_NODE = 40,   NVML_TOPOLOGY_SYSTEM = 50 };
typedef unsigned int nvmlGpuP2PCapsIndex_t;
enum {
    NVML_P2P_CAPS_INDEX_READ = 0,    NVML_P2P_CAPS_INDEX_WRITE = 1, NVML_P2P_CAPS_INDEX_NVLINK = 2,
    NVML_P2P_CAPS_INDEX_ATOMICS = 3, NVML_P2P_CAPS_INDEX_PCI = 4 };
typedef unsigned int nvmlGpuP2PStatus_t;
enum {
    NVML_P2P_STATUS_OK = 0,                     NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED = 1,
    NVML_P2P_STATUS_GPU_NOT_SUPPORTED = 2,      NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED = 3,
    NVML_P2P_STATUS_DISABLED_BY_REGKEY = 4,     NVML_P2P_STATUS_NOT_SUPPORTED = 5,
    NVML_P2P_STATUS_UNKNOWN = 6 };

typedef unsigned int nvmlIntNvLinkDeviceType_t;
enum {
    NVML_NVLINK_DEVICE_TYPE_GPU = 0,    NVML_NVLINK_DEVICE_TYPE_IBMNPU = 1,
    NVML_NVLINK_DEVICE_TYPE_SWITCH = 2, NVML_NVLINK_DEVICE_TYPE_UNKNOWN = 255 };
typedef unsigned int nvmlNvLinkCapability_t;
enum {
    NVML_NVLINK_CAP_P2P_SUPPORTED = 0,  NVML_NVLINK_CAP_SYSMEM_ACCESS = 1,
    NVML_NVLINK_CAP_P2P_ATOMICS = 2,    NVML_NVLINK_CAP_SYSMEM_ATOMICS = 3,
    NVML_NVLINK_CAP_SLI_BRIDGE = 4,     NVML_NVLINK_CAP_VALID = 5 };
typedef unsigned int nvmlNvLinkErrorCounter_t;
enum {
    NVML_NVLINK_ERROR_DL_REPLAY = 0,   NVML_NVLINK_ERROR_DL_RECOVERY = 1,
    NVML_NVLINK_ERROR_DL_CRC_FLIT = 2, NVML_NVLINK_ERROR_DL_CRC_DATA = 3,
    NVML_NVLINK_ERROR_DL_ECC_DATA = 4 };

typedef unsigned int nvmlSamplingType_t;
enum {
    NVML_TOTAL_POWER_SAMPLES = 0,         NVML_GPU_UTILIZATION_SAMPLES = 1,
    NVML_MEMORY_UTILIZATION_SAMPLES = 2,  NVML_ENC_UTILIZATION_SAMPLES = 3,
    NVML_DEC_UTILIZATION_SAMPLES = 4,     NVML_PROCESSOR_CLK_SAMPLES = 5,
    NVML_MEMORY_CLK_SAMPLES = 6,          NVML_MODULE_POWER_SAMPLES = 7,
    NVML_JPG_UTILIZATION_SAMPLES = 8,     NVML_OFA_UTILIZATION_SAMPLES = 9 };
typedef unsigned int nvmlValueType_t;
enum {
    NVML_VALUE_TYPE_DOUBLE = 0,             NVML_VALUE_TYPE_UNSIGNED_INT = 1,
    NVML_VALUE_TYPE_UNSIGNED_LONG = 2,      NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
    NVML_VALUE_TYPE_SIGNED_LONG_LONG = 4,   NVML_VALUE_TYPE_SIGNED_INT = 5,
    NVML_VALUE_TYPE_UNSIGNED_SHORT = 6 };
typedef unsigned int nvmlPerfPolicyType_t;
enum {
    NVML_PERF_POLICY_POWER = 0,           NVML_PERF_POLICY_THERMAL = 1,
    NVML_PERF_POLICY_SYNC_BOOST = 2,      NVML_PERF_POLICY_BOARD_LIMIT = 3,
    NVML_PERF_POLICY_LOW_UTILIZATION = 4, NVML_PERF_POLICY_RELIABILITY = 5,
    NVML_PERF_POLICY_TOTAL_APP_CLOCKS = 10, NVML_PERF_POLICY_TOTAL_BASE_CLOCKS = 11 };
typedef unsigned int nvmlAffinityScope_t;
enum { NVML_AFFINITY_SCOPE_NODE = 0, NVML_AFFINITY_SCOPE_SOCKET = 1 };
typedef unsigned char nvmlGpuFabricState_t;
enum {
    NVML_GPU_FABRIC_STATE_NOT_SUPPORTED = 0, NVML_GPU_FABRIC_STATE_NOT_STARTED = 1,
    NVML_GPU_FABRIC_STATE_IN_PROGRESS = 2,   NVML_GPU_FABRIC_STATE_COMPLETED = 3 };
typedef unsigned int nvmlGpuVirtualizationMode_t;
enum {
    NVML_GPU_VIRTUALIZATION_MODE_NONE = 0,      NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH = 1,
    NVML_GPU_VIRTUALIZATION_MODE_VGPU = 2,      NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU = 3,
    NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA = 4 };
enum { /* nvmlDeviceAddressingMode_t.value */
    NVML_DEVICE_ADDRESSING_MODE_NONE = 0, NVML_DEVICE_ADDRESSING_MODE_HMM = 1,
    NVML_DEVICE_ADDRESSING_MODE_ATS = 2 };
enum { /* value of the field GPU_RECOVERY_ACTION */
    NVML_GPU_RECOVERY_ACTION_NONE = 0,        NVML_GPU_RECOVERY_ACTION_GPU_RESET = 1,
    NVML_GPU_RECOVERY_ACTION_NODE_REBOOT = 2, NVML_GPU_RECOVERY_ACTION_DRAIN_P2P = 3,
    NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET = 4, NVML_GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN = 5 };
enum { /* nvmlProcessDetailList_t.mode */
    NVML_PROCESS_MODE_COMPUTE = 0, NVML_PROCESS_MODE_GRAPHICS = 1, NVML_PROCESS_MODE_MPS = 2 };

/* ---- Field ids (nvmlDeviceGetFieldValues) ------------------------------------------------ */
enum {
    NVML_FI_DEV_ECC_CURRENT = 1,                 NVML_FI_DEV_ECC_PENDING = 2,
    NVML_FI_DEV_ECC_SBE_VOL_TOTAL = 3,           NVML_FI_DEV_ECC_DBE_VOL_TOTAL = 4,
    NVML_FI_DEV_ECC_SBE_AGG_TOTAL = 5,           NVML_FI_DEV_ECC_DBE_AGG_TOTAL = 6,
    NVML_FI_DEV_RETIRED_SBE = 29,                NVML_FI_DEV_RETIRED_DBE = 30,
    NVML_FI_DEV_RETIRED_PENDING = 31,
    NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL = 38,
    NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL = 45,
    NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL = 52,
    NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL = 59,
    NVML_FI_DEV_PERF_POLICY_POWER = 74,          NVML_FI_DEV_PERF_POLICY_THERMAL = 75,
    NVML_FI_DEV_PERF_POLICY_SYNC_BOOST = 76,     NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT = 77,
    NVML_FI_DEV_PERF_POLICY_LOW_UTILIZATION = 78, NVML_FI_DEV_PERF_POLICY_RELIABILITY = 79,
    NVML_FI_DEV_PERF_POLICY_TOTAL_APP_CLOCKS = 80, NVML_FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS = 81,
    NVML_FI_DEV_MEMORY_TEMP = 82,                NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION = 83,
    NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON = 90,   NVML_FI_DEV_NVLINK_LINK_COUNT = 91,
    NVML_FI_DEV_RETIRED_PENDING_SBE = 92,        NVML_FI_DEV_RETIRED_PENDING_DBE = 93,
    NVML_FI_DEV_PCIE_REPLAY_COUNTER = 94,        NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER = 95,
    NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX = 138, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX = 139,
    NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_TX = 140,  NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX = 141,
    NVML_FI_DEV_REMAPPED_COR = 142,              NVML_FI_DEV_REMAPPED_UNC = 143,
    NVML_FI_DEV_REMAPPED_PENDING = 144,          NVML_FI_DEV_REMAPPED_FAILURE = 145,
    NVML_FI_DEV_NVLINK_GET_SPEED = 164,          NVML_FI_DEV_NVLINK_GET_STATE = 165,
    NVML_FI_DEV_NVLINK_GET_VERSION = 166,        NVML_FI_DEV_C2C_LINK_COUNT = 170,
    NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS = 173, NVML_FI_DEV_PCIE_COUNT_NAKS_RECEIVED = 174,
    NVML_FI_DEV_PCIE_COUNT_RECEIVER_ERROR = 175, NVML_FI_DEV_PCIE_COUNT_BAD_TLP = 176,
    NVML_FI_DEV_PCIE_COUNT_NAKS_SENT = 177,      NVML_FI_DEV_PCIE_COUNT_BAD_DLLP = 178,
    NVML_FI_DEV_PCIE_COUNT_NON_FATAL_ERROR = 179, NVML_FI_DEV_PCIE_COUNT_FATAL_ERROR = 180,
    NVML_FI_DEV_PCIE_COUNT_UNSUPPORTED_REQ = 181, NVML_FI_DEV_PCIE_COUNT_LCRC_ERROR = 182,
    NVML_FI_DEV_PCIE_COUNT_LANE_ERROR = 183,     NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED = 184,
    NVML_FI_DEV_POWER_AVERAGE = 185,             NVML_FI_DEV_POWER_INSTANT = 186,
    NVML_FI_DEV_POWER_MIN_LIMIT = 187,           NVML_FI_DEV_POWER_MAX_LIMIT = 188,
    NVML_FI_DEV_POWER_DEFAULT_LIMIT = 189,       NVML_FI_DEV_POWER_CURRENT_LIMIT = 190,
    NVML_FI_DEV_ENERGY = 191,                    NVML_FI_DEV_POWER_REQUESTED_LIMIT = 192,
    NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT = 193, NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT = 194,
    NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT = 195, NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT = 196,
    NVML_FI_DEV_PCIE_COUNT_TX_BYTES = 197,       NVML_FI_DEV_PCIE_COUNT_RX_BYTES = 198,
    NVML_FI_DEV_IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE = 199,
    NVML_FI_DEV_NVLINK_COUNT_XMIT_PACKETS = 201, NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES = 202,
    NVML_FI_DEV_NVLINK_COUNT_RCV_PACKETS = 203,  NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES = 204,
    NVML_FI_DEV_NVLINK_COUNT_VL15_DROPPED = 205, NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS = 206,
    NVML_FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS = 207, NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS = 208,
    NVML_FI_DEV_NVLINK_COUNT_RCV_REMOTE_ERRORS = 209, NVML_FI_DEV_NVLINK_COUNT_RCV_GENERAL_ERRORS = 210,
    NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS = 211,
    NVML_FI_DEV_NVLINK_COUNT_XMIT_DISCARDS = 212,
    NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS = 213,
    NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS = 214,
    NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS = 215,
    NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER = 220, NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER = 222,
    NVML_FI_DEV_RESET_STATUS = 226,              NVML_FI_DEV_DRAIN_AND_RESET_STATUS = 227,
    NVML_FI_DEV_GET_GPU_RECOVERY_ACTION = 230,
    NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN = 269,
    NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN = 270,
    NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN = 271,
    NVML_FI_DEV_REMAPPED_ROWS_COR_INACTIVE = 301, NVML_FI_DEV_REMAPPED_ROWS_UNC_INACTIVE = 302,
    NVML_FI_MAX = 303
};

/* ---- GPM metric ids (Hopper and newer) --------------------------------------------------- */
enum {
    NVML_GPM_METRIC_GRAPHICS_UTIL = 1, NVML_GPM_METRIC_SM_UTIL = 2,
    NVML_GPM_METRIC_SM_OCCUPANCY = 3,  NVML_GPM_METRIC_INTEGER_UTIL = 4,
    NVML_GPM_METRIC_ANY_TENSOR_UTIL = 5, NVML_GPM_METRIC_DFMA_TENSOR_UTIL = 6,
    NVML_GPM_METRIC_HMMA_TENSOR_UTIL = 7, NVML_GPM_METRIC_DMMA_TENSOR_UTIL = 8,
    NVML_GPM_METRIC_IMMA_TENSOR_UTIL = 9, NVML_GPM_METRIC_DRAM_BW_UTIL = 10,
    NVML_GPM_METRIC_FP64_UTIL = 11,    NVML_GPM_METRIC_FP32_UTIL = 12,
    NVML_GPM_METRIC_FP16_UTIL = 13,    NVML_GPM_METRIC_PCIE_TX_PER_SEC = 20,
    NVML_GPM_METRIC_PCIE_RX_PER_SEC = 21, NVML_GPM_METRIC_NVDEC_0_UTIL = 30,
    NVML_GPM_METRIC_NVJPG_0_UTIL = 40, NVML_GPM_METRIC_NVOFA_0_UTIL = 50,
    NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC = 60, NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC = 61,
    NVML_GPM_METRIC_NVLINK_L0_RX_PER_SEC = 62, NVML_GPM_METRIC_NVLINK_L0_TX_PER_SEC = 63,
    NVML_GPM_METRIC_GR0_CTXSW_ACTIVE_PCT = 174 /* time spent on switching contexts */
};

/* clang-format on */

/* ---- Handles ----------------------------------------------------------------------------- */
typedef struct nvmlDevice_st* nvmlDevice_t;
typedef struct nvmlEventSet_st* nvmlEventSet_t;
typedef struct nvmlGpuInstance_st* nvmlGpuInstance_t;
typedef struct nvmlComputeInstance_st* nvmlComputeInstance_t;
typedef struct nvmlGpmSample_st* nvmlGpmSample_t;

/* ---- Structs ----------------------------------------------------------------------------- */
typedef struct nvmlPciInfo_st { /* nvmlDeviceGetPciInfo_v3, nvmlDeviceGetNvLinkRemotePciInfo_v2 */
    char busIdLegacy[NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE]; /* "0000:07:00.0" */
    uint32_t domain;
    uint32_t bus;
    uint32_t device;
    uint32_t pciDeviceId; /* device << 16 | vendor (0x10DE) */
    uint32_t pciSubSystemId;
    char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE]; /* "00000000:07:00.0" */
} nvmlPciInfo_t;
NVML_ABI_SIZE(nvmlPciInfo_t, 68);
NVML_ABI_AT(nvmlPciInfo_t, pciDeviceId, 28);
NVML_ABI_AT(nvmlPciInfo_t, busId, 36);

typedef struct nvmlPciInfo_v2_st { /* nvmlDeviceGetPciInfo_v2; unversioned: up to pciDeviceId */
    char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE];
    uint32_t domain;
    uint32_t bus;
    uint32_t device;
    uint32_t pciDeviceId;
    uint32_t pciSubSystemId;
    uint32_t reserved[4];
} nvmlPciInfo_v2_t;
NVML_ABI_SIZE(nvmlPciInfo_v2_t, 52);

typedef struct nvmlPciInfoExt_v1_st {
    uint32_t version;
    uint32_t domain;
    uint32_t bus;
    uint32_t device;
    uint32_t pciDeviceId;
    uint32_t pciSubSystemId;
    uint32_t baseClass;
    uint32_t subClass;
    char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
} nvmlPciInfoExt_v1_t;
typedef nvmlPciInfoExt_v1_t nvmlPciInfoExt_t;
#define nvmlPciInfoExt_v1 NVML_STRUCT_VERSION(sizeof(nvmlPciInfoExt_v1_t), 1)
NVML_ABI_SIZE(nvmlPciInfoExt_v1_t, 64);

typedef struct nvmlMemory_st { /* used includes what the driver reserves */
    uint64_t total;
    uint64_t free;
    uint64_t used;
} nvmlMemory_t;
NVML_ABI_SIZE(nvmlMemory_t, 24);

typedef struct nvmlMemory_v2_st { /* used does not include reserved */
    uint32_t version;
    uint32_t padding;
    uint64_t total;
    uint64_t reserved;
    uint64_t free;
    uint64_t used;
} nvmlMemory_v2_t;
#define nvmlMemory_v2 NVML_STRUCT_VERSION(sizeof(nvmlMemory_v2_t), 2)
NVML_ABI_SIZE(nvmlMemory_v2_t, 40);

typedef struct nvmlBAR1Memory_st {
    uint64_t bar1Total;
    uint64_t bar1Free;
    uint64_t bar1Used;
} nvmlBAR1Memory_t;
NVML_ABI_SIZE(nvmlBAR1Memory_t, 24);

typedef struct nvmlUtilization_st { /* percent */
    uint32_t gpu;
    uint32_t memory;
} nvmlUtilization_t;
NVML_ABI_SIZE(nvmlUtilization_t, 8);

typedef struct nvmlProcessInfo_v1_st { /* the unversioned ...RunningProcesses */
    uint32_t pid;
    uint32_t padding;
    uint64_t usedGpuMemory;
} nvmlProcessInfo_v1_t;
NVML_ABI_SIZE(nvmlProcessInfo_v1_t, 16);

typedef struct nvmlProcessInfo_st { /* ...RunningProcesses_v2 and _v3 */
    uint32_t pid;
    uint32_t padding;
    uint64_t usedGpuMemory;
    uint32_t gpuInstanceId;
    uint32_t computeInstanceId;
} nvmlProcessInfo_t;
typedef nvmlProcessInfo_t nvmlProcessInfo_v2_t;
NVML_ABI_SIZE(nvmlProcessInfo_t, 24);

typedef struct nvmlProcessDetail_v1_st {
    uint32_t pid;
    uint32_t padding;
    uint64_t usedGpuMemory;
    uint32_t gpuInstanceId;
    uint32_t computeInstanceId;
    uint64_t usedGpuCcProtectedMemory;
} nvmlProcessDetail_v1_t;
NVML_ABI_SIZE(nvmlProcessDetail_v1_t, 32);

typedef struct nvmlProcessDetailList_v1_st {
    uint32_t version;
    uint32_t mode;
    uint32_t numProcArrayEntries;
    uint32_t padding;
    nvmlProcessDetail_v1_t* procArray;
} nvmlProcessDetailList_v1_t;
typedef nvmlProcessDetailList_v1_t nvmlProcessDetailList_t;
#define nvmlProcessDetailList_v1 NVML_STRUCT_VERSION(sizeof(nvmlProcessDetailList_v1_t), 1)
NVML_ABI_SIZE(nvmlProcessDetailList_v1_t, 24);

typedef struct nvmlProcessUtilizationSample_st {
    uint32_t pid;
    uint32_t padding;
    uint64_t timeStamp; /* microseconds since the epoch */
    uint32_t smUtil;
    uint32_t memUtil;
    uint32_t encUtil;
    uint32_t decUtil;
} nvmlProcessUtilizationSample_t;
NVML_ABI_SIZE(nvmlProcessUtilizationSample_t, 32);

typedef struct nvmlProcessUtilizationInfo_v1_st {
    uint64_t timeStamp;
    uint32_t pid;
    uint32_t smUtil;
    uint32_t memUtil;
    uint32_t encUtil;
    uint32_t decUtil;
    uint32_t jpgUtil;
    uint32_t ofaUtil;
    uint32_t padding;
} nvmlProcessUtilizationInfo_v1_t;
NVML_ABI_SIZE(nvmlProcessUtilizationInfo_v1_t, 40);

typedef struct nvmlProcessesUtilizationInfo_v1_st {
    uint32_t version;
    uint32_t processSamplesCount;
    uint64_t lastSeenTimeStamp;
    nvmlProcessUtilizationInfo_v1_t* procUtilArray;
} nvmlProcessesUtilizationInfo_v1_t;
typedef nvmlProcessesUtilizationInfo_v1_t nvmlProcessesUtilizationInfo_t;
#define nvmlProcessesUtilizationInfo_v1 \
    NVML_STRUCT_VERSION(sizeof(nvmlProcessesUtilizationInfo_v1_t), 1)
NVML_ABI_SIZE(nvmlProcessesUtilizationInfo_v1_t, 24);

typedef struct nvmlDeviceAttributes_st { /* MIG handles only */
    uint32_t multiprocessorCount;
    uint32_t sharedCopyEngineCount;
    uint32_t sharedDecoderCount;
    uint32_t sharedEncoderCount;
    uint32_t sharedJpegCount;
    uint32_t sharedOfaCount;
    uint32_t gpuInstanceSliceCount;
    uint32_t computeInstanceSliceCount;
    uint64_t memorySizeMB;
} nvmlDeviceAttributes_t;
NVML_ABI_SIZE(nvmlDeviceAttributes_t, 40);

typedef struct nvmlEventData_st { /* nvmlEventSetWait fills only the first 24 bytes */
    nvmlDevice_t device;
    uint64_t eventType;
    uint64_t eventData; /* the Xid of an Xid event */
    uint32_t gpuInstanceId;
    uint32_t computeInstanceId;
} nvmlEventData_t;
NVML_ABI_SIZE(nvmlEventData_t, 32);

typedef union nvmlValue_st {
    double dVal;
    int32_t siVal;
    uint32_t uiVal;
    unsigned long ulVal;
    uint64_t ullVal;
    int64_t sllVal;
    uint16_t usVal;
} nvmlValue_t;
NVML_ABI_SIZE(nvmlValue_t, 8);

typedef struct nvmlSample_st {
    uint64_t timeStamp;
    nvmlValue_t sampleValue;
} nvmlSample_t;
NVML_ABI_SIZE(nvmlSample_t, 16);

typedef struct nvmlFieldValue_st {
    uint32_t fieldId;
    uint32_t scopeId;
    int64_t timestamp;
    int64_t latencyUsec;
    nvmlValueType_t valueType;
    nvmlReturn_t nvmlReturn;
    nvmlValue_t value;
} nvmlFieldValue_t;
NVML_ABI_SIZE(nvmlFieldValue_t, 40);
NVML_ABI_AT(nvmlFieldValue_t, value, 32);

typedef struct nvmlGpuInstanceProfileInfo_st {
    uint32_t id;
    uint32_t isP2pSupported;
    uint32_t sliceCount;
    uint32_t instanceCount;
    uint32_t multiprocessorCount;
    uint32_t copyEngineCount;
    uint32_t decoderCount;
    uint32_t encoderCount;
    uint32_t jpegCount;
    uint32_t ofaCount;
    uint64_t memorySizeMB;
} nvmlGpuInstanceProfileInfo_t;
NVML_ABI_SIZE(nvmlGpuInstanceProfileInfo_t, 48);

typedef struct nvmlGpuInstanceProfileInfo_v2_st {
    uint32_t version;
    uint32_t id;
    uint32_t isP2pSupported;
    uint32_t sliceCount;
    uint32_t instanceCount;
    uint32_t multiprocessorCount;
    uint32_t copyEngineCount;
    uint32_t decoderCount;
    uint32_t encoderCount;
    uint32_t jpegCount;
    uint32_t ofaCount;
    uint32_t padding;
    uint64_t memorySizeMB;
    char name[NVML_MIG_PROFILE_NAME_BUFFER_SIZE]; /* "MIG 1g.10gb" */
} nvmlGpuInstanceProfileInfo_v2_t;
#define nvmlGpuInstanceProfileInfo_v2 \
    NVML_STRUCT_VERSION(sizeof(nvmlGpuInstanceProfileInfo_v2_t), 2)
NVML_ABI_SIZE(nvmlGpuInstanceProfileInfo_v2_t, 152);
NVML_ABI_AT(nvmlGpuInstanceProfileInfo_v2_t, name, 56);

typedef struct nvmlGpuInstanceProfileInfo_v3_st {
    uint32_t version;
    uint32_t id;
    uint32_t sliceCount;
    uint32_t instanceCount;
    uint32_t multiprocessorCount;
    uint32_t copyEngineCount;
    uint32_t decoderCount;
    uint32_t encoderCount;
    uint32_t jpegCount;
    uint32_t ofaCount;
    uint64_t memorySizeMB;
    char name[NVML_MIG_PROFILE_NAME_BUFFER_SIZE];
    uint32_t capabilities; /* 0x1 P2P, 0x2 graphics */
    uint32_t padding;
} nvmlGpuInstanceProfileInfo_v3_t;
#define nvmlGpuInstanceProfileInfo_v3 \
    NVML_STRUCT_VERSION(sizeof(nvmlGpuInstanceProfileInfo_v3_t), 3)
NVML_ABI_SIZE(nvmlGpuInstanceProfileInfo_v3_t, 152);
NVML_ABI_AT(nvmlGpuInstanceProfileInfo_v3_t, capabilities, 144);

typedef struct nvmlGpuInstancePlacement_st {
    uint32_t start;
    uint32_t size;
} nvmlGpuInstancePlacement_t;
NVML_ABI_SIZE(nvmlGpuInstancePlacement_t, 8);

typedef struct nvmlGpuInstanceInfo_st {
    nvmlDevice_t device;
    uint32_t id;
    uint32_t profileId;
    nvmlGpuInstancePlacement_t placement;
} nvmlGpuInstanceInfo_t;
NVML_ABI_SIZE(nvmlGpuInstanceInfo_t, 24);

typedef struct nvmlComputeInstanceProfileInfo_st {
    uint32_t id;
    uint32_t sliceCount;
    uint32_t instanceCount;
    uint32_t multiprocessorCount;
    uint32_t sharedCopyEngineCount;
    uint32_t sharedDecoderCount;
    uint32_t sharedEncoderCount;
    uint32_t sharedJpegCount;
    uint32_t sharedOfaCount;
} nvmlComputeInstanceProfileInfo_t;
NVML_ABI_SIZE(nvmlComputeInstanceProfileInfo_t, 36);

typedef struct nvmlComputeInstanceProfileInfo_v2_st {
    uint32_t version;
    uint32_t id;
    uint32_t sliceCount;
    uint32_t instanceCount;
    uint32_t multiprocessorCount;
    uint32_t sharedCopyEngineCount;
    uint32_t sharedDecoderCount;
    uint32_t sharedEncoderCount;
    uint32_t sharedJpegCount;
    uint32_t sharedOfaCount;
    char name[NVML_MIG_PROFILE_NAME_BUFFER_SIZE];
} nvmlComputeInstanceProfileInfo_v2_t;
#define nvmlComputeInstanceProfileInfo_v2 \
    NVML_STRUCT_VERSION(sizeof(nvmlComputeInstanceProfileInfo_v2_t), 2)
NVML_ABI_SIZE(nvmlComputeInstanceProfileInfo_v2_t, 136);

typedef struct nvmlComputeInstanceProfileInfo_v3_st {
    uint32_t version;
    uint32_t id;
    uint32_t sliceCount;
    uint32_t instanceCount;
    uint32_t multiprocessorCount;
    uint32_t sharedCopyEngineCount;
    uint32_t sharedDecoderCount;
    uint32_t sharedEncoderCount;
    uint32_t sharedJpegCount;
    uint32_t sharedOfaCount;
    char name[NVML_MIG_PROFILE_NAME_BUFFER_SIZE];
    uint32_t capabilities;
} nvmlComputeInstanceProfileInfo_v3_t;
#define nvmlComputeInstanceProfileInfo_v3 \
    NVML_STRUCT_VERSION(sizeof(nvmlComputeInstanceProfileInfo_v3_t), 3)
NVML_ABI_SIZE(nvmlComputeInstanceProfileInfo_v3_t, 140);

typedef struct nvmlComputeInstancePlacement_st {
    uint32_t start;
    uint32_t size;
} nvmlComputeInstancePlacement_t;
NVML_ABI_SIZE(nvmlComputeInstancePlacement_t, 8);

typedef struct nvmlComputeInstanceInfo_st { /* the unversioned call fills only the first 24 bytes */
    nvmlDevice_t device;
    nvmlGpuInstance_t gpuInstance;
    uint32_t id;
    uint32_t profileId;
    nvmlComputeInstancePlacement_t placement;
} nvmlComputeInstanceInfo_t;
NVML_ABI_SIZE(nvmlComputeInstanceInfo_t, 32);

typedef struct nvmlGpuFabricInfo_st {
    unsigned char clusterUuid[NVML_GPU_FABRIC_UUID_LEN];
    nvmlReturn_t status;
    uint32_t cliqueId;
    nvmlGpuFabricState_t state;
    unsigned char padding[3];
} nvmlGpuFabricInfo_t;
NVML_ABI_SIZE(nvmlGpuFabricInfo_t, 28);

typedef struct nvmlGpuFabricInfo_v2_st {
    uint32_t version;
    unsigned char clusterUuid[NVML_GPU_FABRIC_UUID_LEN];
    nvmlReturn_t status;
    uint32_t cliqueId;
    nvmlGpuFabricState_t state;
    unsigned char padding[3];
    uint32_t healthMask;
} nvmlGpuFabricInfo_v2_t;
#define nvmlGpuFabricInfo_v2 NVML_STRUCT_VERSION(sizeof(nvmlGpuFabricInfo_v2_t), 2)
NVML_ABI_SIZE(nvmlGpuFabricInfo_v2_t, 36);

typedef struct nvmlGpuFabricInfo_v3_st {
    uint32_t version;
    unsigned char clusterUuid[NVML_GPU_FABRIC_UUID_LEN];
    nvmlReturn_t status;
    uint32_t cliqueId;
    nvmlGpuFabricState_t state;
    unsigned char padding[3];
    uint32_t healthMask;
    unsigned char healthSummary;
    unsigned char padding2[3];
} nvmlGpuFabricInfo_v3_t;
typedef nvmlGpuFabricInfo_v3_t nvmlGpuFabricInfoV_t; /* versions 2 and 3 are both accepted */
#define nvmlGpuFabricInfo_v3 NVML_STRUCT_VERSION(sizeof(nvmlGpuFabricInfo_v3_t), 3)
NVML_ABI_SIZE(nvmlGpuFabricInfo_v3_t, 40);

typedef struct nvmlTemperature_v1_st {
    uint32_t version;
    nvmlTemperatureSensors_t sensorType;
    int32_t temperature;
} nvmlTemperature_v1_t;
typedef nvmlTemperature_v1_t nvmlTemperature_t;
#define nvmlTemperature_v1 NVML_STRUCT_VERSION(sizeof(nvmlTemperature_v1_t), 1)
NVML_ABI_SIZE(nvmlTemperature_v1_t, 12);

typedef struct nvmlEccErrorCounts_st {
    uint64_t l1Cache;
    uint64_t l2Cache;
    uint64_t deviceMemory;
    uint64_t registerFile;
} nvmlEccErrorCounts_t;
NVML_ABI_SIZE(nvmlEccErrorCounts_t, 32);

typedef struct nvmlEccSramErrorStatus_v1_st {
    uint32_t version;
    uint32_t padding;
    uint64_t aggregateUncParity;
    uint64_t aggregateUncSecDed;
    uint64_t aggregateCor;
    uint64_t volatileUncParity;
    uint64_t volatileUncSecDed;
    uint64_t volatileCor;
    uint64_t aggregateUncBucketL2;
    uint64_t aggregateUncBucketSm;
    uint64_t aggregateUncBucketPcie;
    uint64_t aggregateUncBucketMcu;
    uint64_t aggregateUncBucketOther;
    uint32_t bThresholdExceeded;
    uint32_t padding2;
} nvmlEccSramErrorStatus_v1_t;
typedef nvmlEccSramErrorStatus_v1_t nvmlEccSramErrorStatus_t;
#define nvmlEccSramErrorStatus_v1 NVML_STRUCT_VERSION(sizeof(nvmlEccSramErrorStatus_v1_t), 1)
NVML_ABI_SIZE(nvmlEccSramErrorStatus_v1_t, 104);

typedef struct nvmlRowRemapperHistogramValues_st {
    uint32_t max;
    uint32_t high;
    uint32_t partial;
    uint32_t low;
    uint32_t none;
} nvmlRowRemapperHistogramValues_t;
NVML_ABI_SIZE(nvmlRowRemapperHistogramValues_t, 20);

typedef struct nvmlViolationTime_st { /* nanoseconds */
    uint64_t referenceTime;
    uint64_t violationTime;
} nvmlViolationTime_t;
NVML_ABI_SIZE(nvmlViolationTime_t, 16);

typedef struct nvmlAccountingStats_st {
    uint32_t gpuUtilization;
    uint32_t memoryUtilization;
    uint64_t maxMemoryUsage;
    uint64_t time;      /* milliseconds */
    uint64_t startTime; /* microseconds since the epoch */
    uint32_t isRunning;
    uint32_t reserved[5];
} nvmlAccountingStats_t;
NVML_ABI_SIZE(nvmlAccountingStats_t, 56);

typedef struct nvmlGpmSupport_st {
    uint32_t version; /* 1, without the size */
    uint32_t isSupportedDevice;
} nvmlGpmSupport_t;
enum { NVML_GPM_SUPPORT_VERSION = 1, NVML_GPM_METRICS_GET_VERSION = 1 };
NVML_ABI_SIZE(nvmlGpmSupport_t, 8);

typedef struct nvmlGpmMetric_st {
    uint32_t metricId;
    nvmlReturn_t nvmlReturn;
    double value;
    struct {
        char* shortName;
        char* longName;
        char* unit;
    } metricInfo;
} nvmlGpmMetric_t;
NVML_ABI_SIZE(nvmlGpmMetric_t, 40);

/* Followed by numMetrics nvmlGpmMetric_t. The array bound in NVIDIA's header grows with its
 * versions (333 in 13.x), so a library touches no more than numMetrics entries. */
typedef struct nvmlGpmMetricsGet_st {
    uint32_t version; /* 1, without the size */
    uint32_t numMetrics;
    nvmlGpmSample_t sample1;
    nvmlGpmSample_t sample2;
    nvmlGpmMetric_t metrics[1];
} nvmlGpmMetricsGet_t;
NVML_ABI_SIZE(nvmlGpmMetricsGet_t, 64);
NVML_ABI_AT(nvmlGpmMetricsGet_t, metrics, 24);

typedef struct nvmlGridLicensableFeature_st {
    int32_t featureCode;   /* 1 vGPU, 2 workstation, 3 gaming, 4 compute */
    uint32_t featureState; /* not 0: licensed now */
    char licenseInfo[128];
    char productName[128];
    uint32_t featureEnabled;
    uint32_t licenseExpiry[4];
} nvmlGridLicensableFeature_t;
NVML_ABI_SIZE(nvmlGridLicensableFeature_t, 284);
NVML_ABI_AT(nvmlGridLicensableFeature_t, featureEnabled, 264);

typedef struct nvmlGridLicensableFeatures_st { /* nvmlDeviceGetGridLicensableFeatures_v4 */
    int32_t isGridLicenseSupported;
    uint32_t licensableFeaturesCount;
    nvmlGridLicensableFeature_t gridLicensableFeatures[3];
} nvmlGridLicensableFeatures_t;
NVML_ABI_SIZE(nvmlGridLicensableFeatures_t, 860);

typedef struct nvmlDeviceAddressingMode_v1_st {
    uint32_t version;
    uint32_t value;
} nvmlDeviceAddressingMode_v1_t;
typedef nvmlDeviceAddressingMode_v1_t nvmlDeviceAddressingMode_t;
#define nvmlDeviceAddressingMode_v1 NVML_STRUCT_VERSION(sizeof(nvmlDeviceAddressingMode_v1_t), 1)
NVML_ABI_SIZE(nvmlDeviceAddressingMode_v1_t, 8);

/* ---- Functions: library and system ------------------------------------------------------- */
nvmlReturn_t nvmlInit(void);
nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlInitWithFlags(unsigned int flags);
nvmlReturn_t nvmlShutdown(void);
const char* nvmlErrorString(nvmlReturn_t result);
nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length);
nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length);
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version);
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version);
nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char* name, unsigned int length);
/* Undocumented; NVIDIA's own nvidia-smi needs it. `id` points to 16 bytes. */
nvmlReturn_t nvmlInternalGetExportTable(const void** table, const void* id);

/* ---- Functions: handles ------------------------------------------------------------------ */
nvmlReturn_t nvmlDeviceGetCount(unsigned int* count); /* counts only GPUs that answer */
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count);
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* busId, nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* busId, nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetHandleBySerial(const char* serial, nvmlDevice_t* device);

/* ---- Functions: identity ----------------------------------------------------------------- */
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned int length);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length);
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char* serial, unsigned int length);
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int* index);
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int* minorNumber);
nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t* type);
nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned int* boardId);
nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned int* multiGpu);
nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char* partNumber,
                                          unsigned int length);
nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char* version, unsigned int length);
nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t* architecture);
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor);
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_v2_t* pci); /* writes 32 bytes */
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_v2_t* pci);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci);
nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t* pci);
nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t device, unsigned int* node);
nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int size,
                                         unsigned long* nodes, nvmlAffinityScope_t scope);
nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int size, unsigned long* cpus);
nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int size,
                                                 unsigned long* cpus, nvmlAffinityScope_t scope);
nvmlReturn_t nvmlDeviceGetModuleId(nvmlDevice_t device, unsigned int* moduleId);
nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned int* cores);
nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned int* bits);
nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_t* mode);
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, nvmlEnableState_t* active);
nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, nvmlEnableState_t* mode);
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* mode);
nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t mode);
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device,
                                             nvmlGpuVirtualizationMode_t* mode);

/* ---- Functions: memory and utilisation --------------------------------------------------- */
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory);
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t* memory);
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization);
nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned int* percent,
                                             unsigned int* periodMicroseconds);
nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned int* percent,
                                             unsigned int* periodMicroseconds);
nvmlReturn_t nvmlDeviceGetJpgUtilization(nvmlDevice_t device, unsigned int* percent,
                                         unsigned int* periodMicroseconds);
nvmlReturn_t nvmlDeviceGetOfaUtilization(nvmlDevice_t device, unsigned int* percent,
                                         unsigned int* periodMicroseconds);
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type,
                                  unsigned long long lastSeen, nvmlValueType_t* valueType,
                                  unsigned int* count, nvmlSample_t* samples);
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values);

/* ---- Functions: temperature, power, clocks ----------------------------------------------- */
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                      unsigned int* celsius);
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t* temperature);
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device,
                                               nvmlTemperatureThresholds_t type,
                                               unsigned int* celsius);
nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned int* percent);
nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned int fan, unsigned int* percent);
nvmlReturn_t nvmlDeviceGetNumFans(nvmlDevice_t device, unsigned int* fans);
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int* milliwatts);
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                 unsigned long long* millijoules);
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int* milliwatts);
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned int* lowest,
                                                          unsigned int* highest);
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device,
                                                      unsigned int* milliwatts);
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int* milliwatts);
nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned int milliwatts);
nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, nvmlPstates_t* state);
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                    unsigned int* megahertz);
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                       unsigned int* megahertz);
nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t id,
                                unsigned int* megahertz);
nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, nvmlClockType_t type,
                                            unsigned int* megahertz);
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                    unsigned long long* reasons);
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long* reasons);
nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t device,
                                                      unsigned long long* reasons);
nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t device,
                                                         unsigned long long* reasons);
nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, nvmlPerfPolicyType_t policy,
                                          nvmlViolationTime_t* time);

/* ---- Functions: ECC and memory health ---------------------------------------------------- */
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current,
                                  nvmlEnableState_t* pending);
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                         nvmlEccCounterType_t counter, unsigned long long* count);
nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                             nvmlEccCounterType_t counter,
                                             nvmlMemoryLocation_t location,
                                             unsigned long long* count);
nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                            nvmlEccCounterType_t counter,
                                            nvmlEccErrorCounts_t* counts);
nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
                                       unsigned int* count, unsigned long long* addresses);
nvmlReturn_t nvmlDeviceGetRetiredPages_v2(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
                                          unsigned int* count, unsigned long long* addresses,
                                          unsigned long long* timestamps);
nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device,
                                                    nvmlEnableState_t* pending);
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int* corrected,
                                       unsigned int* uncorrected, unsigned int* pending,
                                       unsigned int* failure);
nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device,
                                               nvmlRowRemapperHistogramValues_t* values);
nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, nvmlEccSramErrorStatus_t* status);

/* ---- Functions: processes ---------------------------------------------------------------- */
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                  nvmlProcessInfo_v1_t* infos);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_v2_t* infos);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_t* infos);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                   nvmlProcessInfo_v1_t* infos);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                      nvmlProcessInfo_v2_t* infos);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                      nvmlProcessInfo_t* infos);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_v1_t* infos);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                        nvmlProcessInfo_v2_t* infos);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                        nvmlProcessInfo_t* infos);
nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
                                                   nvmlProcessDetailList_t* list);
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                             nvmlProcessUtilizationSample_t* samples,
                                             unsigned int* count, unsigned long long lastSeen);
nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device,
                                                   nvmlProcessesUtilizationInfo_t* info);
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode);
nvmlReturn_t nvmlDeviceSetComputeMode(nvmlDevice_t device, nvmlComputeMode_t mode);
nvmlReturn_t nvmlDeviceGetAccountingMode(nvmlDevice_t device, nvmlEnableState_t* mode);
nvmlReturn_t nvmlDeviceSetAccountingMode(nvmlDevice_t device, nvmlEnableState_t mode);
nvmlReturn_t nvmlDeviceGetAccountingStats(nvmlDevice_t device, unsigned int pid,
                                          nvmlAccountingStats_t* stats);
nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned int* count,
                                         unsigned int* pids);
nvmlReturn_t nvmlDeviceGetAccountingBufferSize(nvmlDevice_t device, unsigned int* entries);
nvmlReturn_t nvmlDeviceClearAccountingPids(nvmlDevice_t device);

/* ---- Functions: events ------------------------------------------------------------------- */
nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set);
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set);
nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t* data,
                              unsigned int timeoutMilliseconds);
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data,
                                 unsigned int timeoutMilliseconds);
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                      nvmlEventSet_t set);
nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long* types);

/* ---- Functions: licences ----------------------------------------------------------------- */
nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device,
                                                    nvmlGridLicensableFeatures_t* features);

/* ---- Functions: links -------------------------------------------------------------------- */
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link,
                                      nvmlEnableState_t* state);
nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int link,
                                        unsigned int* version);
nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned int link,
                                           nvmlNvLinkCapability_t capability, unsigned int* value);
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned int link,
                                              nvmlPciInfo_v2_t* pci);
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link,
                                                 nvmlPciInfo_t* pci);
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                                 nvmlIntNvLinkDeviceType_t* type);
nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned int link,
                                             nvmlNvLinkErrorCounter_t counter,
                                             unsigned long long* value);
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second,
                                                 nvmlGpuTopologyLevel_t* level);
nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level,
                                              unsigned int* count, nvmlDevice_t* devices);
nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t first, nvmlDevice_t second, int* same);
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t first, nvmlDevice_t second,
                                    nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t* status);
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter,
                                         unsigned int* kilobytesPerSecond);
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned int* count);
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned int* generation);
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int* lanes);
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int* generation);
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int* lanes);
nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t* info);
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t* info);

/* ---- Functions: MIG ---------------------------------------------------------------------- */
nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned int mode, nvmlReturn_t* activation);
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int* current,
                                  unsigned int* pending);
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int profile,
                                                 nvmlGpuInstanceProfileInfo_t* info);
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned int profile,
                                                  nvmlGpuInstanceProfileInfo_v2_t* info);
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoByIdV(nvmlDevice_t device, unsigned int profileId,
                                                      nvmlGpuInstanceProfileInfo_v2_t* info);
nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(nvmlDevice_t device, unsigned int profileId,
                                                        nvmlGpuInstancePlacement_t* placements,
                                                        unsigned int* count);
nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device,
                                                           unsigned int profileId,
                                                           nvmlGpuInstancePlacement_t* placements,
                                                           unsigned int* count);
nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device, unsigned int profileId,
                                                       unsigned int* count);
nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned int profileId,
                                         nvmlGpuInstance_t* instance);
nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned int profileId,
                                                      const nvmlGpuInstancePlacement_t* placement,
                                                      nvmlGpuInstance_t* instance);
nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t instance);
nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int profileId,
                                       nvmlGpuInstance_t* instances, unsigned int* count);
nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int id,
                                          nvmlGpuInstance_t* instance);
nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t* info);
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t instance,
                                                          unsigned int profile,
                                                          unsigned int engineProfile,
                                                          nvmlComputeInstanceProfileInfo_t* info);
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(
    nvmlGpuInstance_t instance, unsigned int profile, unsigned int engineProfile,
    nvmlComputeInstanceProfileInfo_v2_t* info);
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t instance,
                                                                unsigned int profileId,
                                                                unsigned int* count);
nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(
    nvmlGpuInstance_t instance, unsigned int profileId, nvmlComputeInstancePlacement_t* placements,
    unsigned int* count);
nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t instance,
                                                  unsigned int profileId,
                                                  nvmlComputeInstance_t* computeInstance);
nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(
    nvmlGpuInstance_t instance, unsigned int profileId,
    const nvmlComputeInstancePlacement_t* placement, nvmlComputeInstance_t* computeInstance);
nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t instance);
nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t instance, unsigned int profileId,
                                                nvmlComputeInstance_t* instances,
                                                unsigned int* count);
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t instance, unsigned int id,
                                                   nvmlComputeInstance_t* computeInstance);
nvmlReturn_t nvmlComputeInstanceGetInfo(nvmlComputeInstance_t instance,
                                        nvmlComputeInstanceInfo_t* info);
nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t instance,
                                           nvmlComputeInstanceInfo_t* info);
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int* isMig);
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int* id);
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int* id);
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int* count);
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
                                                 nvmlDevice_t* migDevice);
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t migDevice,
                                                          nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes);
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes);

/* ---- Functions: GPM ---------------------------------------------------------------------- */
nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t* support);
nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t* sample);
nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample);
nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample);
nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned int gpuInstanceId,
                                 nvmlGpmSample_t sample);
nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t* metrics);
nvmlReturn_t nvmlGpmSetStreamingEnabled(nvmlDevice_t device, unsigned int enabled);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
