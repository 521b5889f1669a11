// SPDX-License-Identifier: Apache-2.0
#include "exposition/counter_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::exposition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CounterList, ReadsFieldTypeAndHelp) {
    const auto list = parse_counters("c.csv",
                                     "# Format,,\n\n"
                                     "DCGM_FI_DEV_DEC_UTIL ,     gauge, Decoder use (in %).\r\n"
                                     "DCGM_FI_DEV_FB_USED, gauge, \"Memory, \"\"used\"\"\"\n"
                                     "DCGM_FI_DRIVER_VERSION, label, Driver Version\n"
                                     "  # not this\n"
                                     "DCGM_EXP_XID_ERRORS_COUNT, counter, Xids");
    ASSERT_TRUE(list) << list.error().message;
    ASSERT_EQ(list->counters.size(), 3U);
    EXPECT_EQ(list->counters[0].name, "DCGM_FI_DEV_DEC_UTIL");
    EXPECT_EQ(list->counters[0].type, "gauge");
    EXPECT_EQ(list->counters[0].help, "Decoder use (in %).");
    EXPECT_EQ(list->counters[1].help, "Memory, \"used\"");
    EXPECT_EQ(list->counters[2].type, "counter");
    EXPECT_THAT(list->labels, ElementsAre("DCGM_FI_DRIVER_VERSION"));
    EXPECT_TRUE(list->warnings.empty());
}

TEST(CounterList, TakesTheNamesOfThe1xAndThe49List) {
    const auto list = parse_counters("c.csv",
                                     "dcgm_gpu_utilization, gauge, Use\n"
                                     "DCGM_FI_DEV_GPU_TEMP_CELSIUS, gauge, Heat\n"
                                     "DCGM_FI_SYSTEM_DRIVER_VERSION, label, Driver\n");
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_EQ(list->counters[0].name, "dcgm_gpu_utilization");
    EXPECT_EQ(list->counters[0].family->name, "DCGM_FI_DEV_GPU_UTIL");
    EXPECT_EQ(list->counters[1].family->group, Group::kRenamed);
    EXPECT_THAT(list->labels, ElementsAre("DCGM_FI_SYSTEM_DRIVER_VERSION"));
}

TEST(CounterList, AnUnknownFieldIsRefusedWithItsPlaceAndTheNearestName) {
    const auto list = parse_counters("c.csv", "#\n  DCGM_FI_DEV_GPU_UITL, gauge, Use\n");
    ASSERT_FALSE(list);
    EXPECT_EQ(list.error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(list.error().message,
              "c.csv:2:3: unknown field 'DCGM_FI_DEV_GPU_UITL': did you mean "
              "DCGM_FI_DEV_GPU_UTIL?");
}

TEST(CounterList, WrongLinesAreRefused) {
    const auto message = [](std::string_view text) {
        const auto list = parse_counters("c.csv", text);
        return list ? std::string() : list.error().message;
    };
    EXPECT_THAT(message("DCGM_FI_DEV_GPU_TEMP, gauge\n"), HasSubstr("c.csv:1:1: 2 columns"));
    EXPECT_THAT(message("DCGM_FI_DEV_GPU_TEMP, gauge, a, b\n"), HasSubstr("4 columns"));
    EXPECT_THAT(message("DCGM_FI_DEV_GPU_TEMP, guage, a\n"), HasSubstr("c.csv:1:23: "));
    EXPECT_THAT(message("DCGM_FI_DEV_GPU_TEMP, gauge, \"a\n"), HasSubstr("quote is not closed"));
    EXPECT_THAT(message(std::string((1U << 20U) + 1, '#')), HasSubstr("1 MiB"));
    EXPECT_THAT(message(std::string(5000, '\n')), HasSubstr("4096 lines"));
}

TEST(CounterList, WhatCannotBeGivenIsAWarning) {
    const auto list = parse_counters("c.csv",
                                     "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL, counter, Links\n"
                                     "DCGM_FI_DEV_SERIAL, label, Serial\n"
                                     "DCGM_FI_DEV_GPU_TEMP, gauge, Heat\n"
                                     "DCGM_FI_DEV_GPU_TEMP, gauge, Heat again\n"
                                     "DCGM_FI_DEV_GPU_UTIL, label, Use\n"
                                     "DCGM_FI_DRIVER_VERSION, gauge, Driver\n");
    ASSERT_TRUE(list) << list.error().message;
    ASSERT_EQ(list->counters.size(), 1U);
    EXPECT_EQ(list->counters[0].help, "Heat");
    EXPECT_THAT(list->warnings,
                ElementsAre(HasSubstr("c.csv:1:1: DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL has no rows"),
                            HasSubstr("c.csv:2:1: DCGM_FI_DEV_SERIAL"), HasSubstr("stands twice"),
                            HasSubstr("cannot be a label"), HasSubstr("only be of type label")));
}

// Names, not lines, of NVIDIA's three lists, active and commented ones.
TEST(CounterList, AllNamesOfNvidiasListsAreKnown) {
    std::string text;
    for (const std::string_view name : {"DCGM_FI_DEV_SM_CLOCK",
                                        "DCGM_FI_DEV_MEM_CLOCK",
                                        "DCGM_FI_DEV_MEMORY_TEMP",
                                        "DCGM_FI_DEV_GPU_TEMP",
                                        "DCGM_FI_DEV_POWER_USAGE",
                                        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
                                        "DCGM_FI_PROF_PCIE_TX_BYTES",
                                        "DCGM_FI_PROF_PCIE_RX_BYTES",
                                        "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
                                        "DCGM_FI_DEV_GPU_UTIL",
                                        "DCGM_FI_DEV_MEM_COPY_UTIL",
                                        "DCGM_FI_DEV_ENC_UTIL",
                                        "DCGM_FI_DEV_DEC_UTIL",
                                        "DCGM_FI_DEV_XID_ERRORS",
                                        "DCGM_FI_DEV_POWER_VIOLATION",
                                        "DCGM_FI_DEV_THERMAL_VIOLATION",
                                        "DCGM_FI_DEV_SYNC_BOOST_VIOLATION",
                                        "DCGM_FI_DEV_BOARD_LIMIT_VIOLATION",
                                        "DCGM_FI_DEV_LOW_UTIL_VIOLATION",
                                        "DCGM_FI_DEV_RELIABILITY_VIOLATION",
                                        "DCGM_EXP_CLOCK_EVENTS_COUNT",
                                        "DCGM_EXP_XID_ERRORS_COUNT",
                                        "DCGM_EXP_GPU_HEALTH_STATUS",
                                        "DCGM_EXP_P2P_STATUS",
                                        "DCGM_FI_DEV_FB_FREE",
                                        "DCGM_FI_DEV_FB_USED",
                                        "DCGM_FI_DEV_FB_RESERVED",
                                        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
                                        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
                                        "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL",
                                        "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL",
                                        "DCGM_FI_DEV_RETIRED_SBE",
                                        "DCGM_FI_DEV_RETIRED_DBE",
                                        "DCGM_FI_DEV_RETIRED_PENDING",
                                        "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
                                        "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
                                        "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
                                        "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
                                        "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
                                        "DCGM_FI_DEV_NVLINK_BANDWIDTH_L0",
                                        "DCGM_FI_DEV_VGPU_LICENSE_STATUS",
                                        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
                                        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
                                        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
                                        "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
                                        "DCGM_FI_PROF_SM_ACTIVE",
                                        "DCGM_FI_PROF_SM_OCCUPANCY",
                                        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
                                        "DCGM_FI_PROF_DRAM_ACTIVE",
                                        "DCGM_FI_PROF_PIPE_FP64_ACTIVE",
                                        "DCGM_FI_PROF_PIPE_FP32_ACTIVE",
                                        "DCGM_FI_PROF_PIPE_FP16_ACTIVE",
                                        "dcgm_sm_clock",
                                        "dcgm_memory_clock",
                                        "dcgm_memory_temp",
                                        "dcgm_gpu_temp",
                                        "dcgm_power_usage",
                                        "dcgm_total_energy_consumption",
                                        "dcgm_fi_prof_pcie_tx_bytes",
                                        "dcgm_fi_prof_pcie_rx_bytes",
                                        "dcgm_pcie_replay_counter",
                                        "dcgm_gpu_utilization",
                                        "dcgm_mem_copy_utilization",
                                        "dcgm_enc_utilization",
                                        "dcgm_dec_utilization",
                                        "dcgm_xid_errors",
                                        "dcgm_power_violation",
                                        "dcgm_thermal_violation",
                                        "dcgm_sync_boost_violation",
                                        "dcgm_board_limit_violation",
                                        "dcgm_low_util_violation",
                                        "dcgm_reliability_violation",
                                        "dcgm_fb_free",
                                        "dcgm_fb_used",
                                        "dcgm_ecc_sbe_volatile_total",
                                        "dcgm_ecc_dbe_volatile_total",
                                        "dcgm_ecc_sbe_aggregate_total",
                                        "dcgm_ecc_dbe_aggregate_total",
                                        "dcgm_retired_pages_sbe",
                                        "dcgm_retired_pages_dbe",
                                        "dcgm_retired_pages_pending",
                                        "dcgm_nvlink_flit_crc_error_count_total",
                                        "dcgm_nvlink_data_crc_error_count_total",
                                        "dcgm_nvlink_replay_error_count_total",
                                        "dcgm_nvlink_recovery_error_count_total",
                                        "dcgm_nvlink_bandwidth_total",
                                        "dcgm_fi_prof_gr_engine_active",
                                        "dcgm_fi_prof_sm_active",
                                        "dcgm_fi_prof_sm_occupancy",
                                        "dcgm_fi_prof_pipe_tensor_active",
                                        "dcgm_fi_prof_dram_active"}) {
        text += std::string(name) + ", gauge, Help\n";
    }
    for (const std::string_view label :
         {"DCGM_FI_DRIVER_VERSION", "DCGM_FI_NVML_VERSION", "DCGM_FI_DEV_BRAND",
          "DCGM_FI_DEV_SERIAL", "DCGM_FI_DEV_OEM_INFOROM_VER", "DCGM_FI_DEV_ECC_INFOROM_VER",
          "DCGM_FI_DEV_POWER_INFOROM_VER", "DCGM_FI_DEV_INFOROM_IMAGE_VER",
          "DCGM_FI_DEV_VBIOS_VERSION"}) {
        text += std::string(label) + ", label, Help\n";
    }
    const auto list = parse_counters("all.csv", text);
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_EQ(list->counters.size(), 78U);
    EXPECT_EQ(list->warnings.size(), 21U);
}

}  // namespace
}  // namespace aliquot::exposition
