/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALIQUOT_ABI_ONNXRUNTIME_H
#define ALIQUOT_ABI_ONNXRUNTIME_H

/*
 * The part of ONNX Runtime's binary interface that this project calls (src/onnx) or imitates
 * (sim/onnxruntime). Written by hand; numbers and prototypes are those of onnxruntime_c_api.h, API
 * version 17, and are the same in all versions since 1.17. Names keep ONNX Runtime's spelling
 * because they are the interface.
 *
 * The library exports one symbol, OrtGetApiBase. All other functions are entries of a table that
 * grows at its end only: an entry is known by its place. A call returns null when it went well, or a
 * status that tells why not and is to be released.
 *
 * Bump rule: an existing number or prototype never changes here; entries behind the last one of an
 * API version may be missing from an older library, which answers null to a higher version.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */

enum { ORT_API_WANTED = 17 };

typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtValue OrtValue;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtModelMetadata OrtModelMetadata;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtCUDAProviderOptionsV2 OrtCUDAProviderOptionsV2;
typedef struct OrtTensorRTProviderOptionsV2 OrtTensorRTProviderOptionsV2;

typedef struct OrtApiBase {
    const void* const* (*GetApi)(uint32_t version); /* the table; null: the library is older */
    const char* (*GetVersionString)(void);
} OrtApiBase;
const OrtApiBase* OrtGetApiBase(void);

/* Error codes. Out of memory has none of its own: it is told by the words of a message. */
enum {
    ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2, ORT_NO_SUCHFILE = 3, ORT_NO_MODEL = 4, ORT_ENGINE_ERROR = 5,
    ORT_RUNTIME_EXCEPTION = 6, ORT_INVALID_PROTOBUF = 7, ORT_MODEL_LOADED = 8, ORT_NOT_IMPLEMENTED = 9,
    ORT_INVALID_GRAPH = 10, ORT_EP_FAIL = 11
};

/* Types of the elements of a tensor. */
enum {
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 = 2,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 = 7, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 = 10
};

enum { ORT_LOGGING_LEVEL_WARNING = 2, ORT_LOGGING_LEVEL_ERROR = 3, ORT_LOGGING_LEVEL_FATAL = 4 };
enum { OrtDeviceAllocator = 0, OrtArenaAllocator = 1 };
enum { OrtMemTypeDefault = 0 };

typedef void (*OrtLoggingFunction)(void* param, int severity, const char* category, const char* logid,
                                   const char* code_location, const char* message);

/* ORT_ENTRY(place in the table, name, result, parameters) */
#define ORT_ENTRIES(ORT_ENTRY) \
    ORT_ENTRY(1, GetErrorCode, int, (const OrtStatus* status)) \
    ORT_ENTRY(2, GetErrorMessage, const char*, (const OrtStatus* status)) \
    ORT_ENTRY(4, CreateEnvWithCustomLogger, OrtStatus*, (OrtLoggingFunction log, void* param, int least_severity, const char* logid, OrtEnv** out)) \
    ORT_ENTRY(8, CreateSessionFromArray, OrtStatus*, (const OrtEnv* env, const void* model, size_t model_bytes, const OrtSessionOptions* options, OrtSession** out)) \
    ORT_ENTRY(9, Run, OrtStatus*, (OrtSession* session, const OrtRunOptions* options, const char* const* input_names, const OrtValue* const* inputs, size_t input_count, const char* const* output_names, size_t output_count, OrtValue** outputs)) \
    ORT_ENTRY(10, CreateSessionOptions, OrtStatus*, (OrtSessionOptions** out)) \
    ORT_ENTRY(17, DisableMemPattern, OrtStatus*, (OrtSessionOptions* options)) \
    ORT_ENTRY(24, SetIntraOpNumThreads, OrtStatus*, (OrtSessionOptions* options, int threads)) \
    ORT_ENTRY(25, SetInterOpNumThreads, OrtStatus*, (OrtSessionOptions* options, int threads)) \
    ORT_ENTRY(30, SessionGetInputCount, OrtStatus*, (const OrtSession* session, size_t* out)) \
    ORT_ENTRY(31, SessionGetOutputCount, OrtStatus*, (const OrtSession* session, size_t* out)) \
    ORT_ENTRY(33, SessionGetInputTypeInfo, OrtStatus*, (const OrtSession* session, size_t index, OrtTypeInfo** out)) \
    ORT_ENTRY(34, SessionGetOutputTypeInfo, OrtStatus*, (const OrtSession* session, size_t index, OrtTypeInfo** out)) \
    ORT_ENTRY(36, SessionGetInputName, OrtStatus*, (const OrtSession* session, size_t index, OrtAllocator* allocator, char** out)) \
    ORT_ENTRY(37, SessionGetOutputName, OrtStatus*, (const OrtSession* session, size_t index, OrtAllocator* allocator, char** out)) \
    ORT_ENTRY(49, CreateTensorWithDataAsOrtValue, OrtStatus*, (const OrtMemoryInfo* memory, void* data, size_t bytes, const int64_t* shape, size_t axes, int type, OrtValue** out)) \
    ORT_ENTRY(51, GetTensorMutableData, OrtStatus*, (OrtValue* value, void** out)) \
    ORT_ENTRY(55, CastTypeInfoToTensorInfo, OrtStatus*, (const OrtTypeInfo* info, const OrtTensorTypeAndShapeInfo** out)) \
    ORT_ENTRY(60, GetTensorElementType, OrtStatus*, (const OrtTensorTypeAndShapeInfo* info, int* out)) \
    ORT_ENTRY(61, GetDimensionsCount, OrtStatus*, (const OrtTensorTypeAndShapeInfo* info, size_t* out)) \
    ORT_ENTRY(62, GetDimensions, OrtStatus*, (const OrtTensorTypeAndShapeInfo* info, int64_t* out, size_t count)) \
    ORT_ENTRY(64, GetTensorShapeElementCount, OrtStatus*, (const OrtTensorTypeAndShapeInfo* info, size_t* out)) \
    ORT_ENTRY(65, GetTensorTypeAndShape, OrtStatus*, (const OrtValue* value, OrtTensorTypeAndShapeInfo** out)) \
    ORT_ENTRY(69, CreateCpuMemoryInfo, OrtStatus*, (int allocator_type, int memory_type, OrtMemoryInfo** out)) \
    ORT_ENTRY(76, AllocatorFree, OrtStatus*, (OrtAllocator* allocator, void* memory)) \
    ORT_ENTRY(78, GetAllocatorWithDefaultOptions, OrtStatus*, (OrtAllocator** out)) \
    ORT_ENTRY(92, ReleaseEnv, void, (OrtEnv* env)) \
    ORT_ENTRY(93, ReleaseStatus, void, (OrtStatus* status)) \
    ORT_ENTRY(94, ReleaseMemoryInfo, void, (OrtMemoryInfo* info)) \
    ORT_ENTRY(95, ReleaseSession, void, (OrtSession* session)) \
    ORT_ENTRY(96, ReleaseValue, void, (OrtValue* value)) \
    ORT_ENTRY(98, ReleaseTypeInfo, void, (OrtTypeInfo* info)) \
    ORT_ENTRY(99, ReleaseTensorTypeAndShapeInfo, void, (OrtTensorTypeAndShapeInfo* info)) \
    ORT_ENTRY(100, ReleaseSessionOptions, void, (OrtSessionOptions* options)) \
    ORT_ENTRY(111, SessionGetModelMetadata, OrtStatus*, (const OrtSession* session, OrtModelMetadata** out)) \
    ORT_ENTRY(116, ModelMetadataLookupCustomMetadataMap, OrtStatus*, (const OrtModelMetadata* metadata, OrtAllocator* allocator, const char* key, char** out)) \
    ORT_ENTRY(118, ReleaseModelMetadata, void, (OrtModelMetadata* metadata)) \
    ORT_ENTRY(125, GetAvailableProviders, OrtStatus*, (char*** out, int* count)) \
    ORT_ENTRY(126, ReleaseAvailableProviders, OrtStatus*, (char** names, int count)) \
    ORT_ENTRY(130, AddSessionConfigEntry, OrtStatus*, (OrtSessionOptions* options, const char* key, const char* value)) \
    ORT_ENTRY(170, SessionOptionsAppendExecutionProvider_TensorRT_V2, OrtStatus*, (OrtSessionOptions* options, const OrtTensorRTProviderOptionsV2* provider)) \
    ORT_ENTRY(171, CreateTensorRTProviderOptions, OrtStatus*, (OrtTensorRTProviderOptionsV2** out)) \
    ORT_ENTRY(172, UpdateTensorRTProviderOptions, OrtStatus*, (OrtTensorRTProviderOptionsV2* provider, const char* const* keys, const char* const* values, size_t count)) \
    ORT_ENTRY(174, ReleaseTensorRTProviderOptions, void, (OrtTensorRTProviderOptionsV2* provider)) \
    ORT_ENTRY(204, SessionOptionsAppendExecutionProvider_CUDA_V2, OrtStatus*, (OrtSessionOptions* options, const OrtCUDAProviderOptionsV2* provider)) \
    ORT_ENTRY(205, CreateCUDAProviderOptions, OrtStatus*, (OrtCUDAProviderOptionsV2** out)) \
    ORT_ENTRY(206, UpdateCUDAProviderOptions, OrtStatus*, (OrtCUDAProviderOptionsV2* provider, const char* const* keys, const char* const* values, size_t count)) \
    ORT_ENTRY(208, ReleaseCUDAProviderOptions, void, (OrtCUDAProviderOptionsV2* provider))

enum { ORT_ENTRIES_KNOWN = 209 }; /* a table that has them all is as long */

/* Ort_Run and so on: where it is and what it is. */
#define ORT_DECLARE_ENTRY(place, name, result, parameters) \
    enum { Ort_##name = place };                           \
    typedef result (*Ort_##name##_t) parameters;
ORT_ENTRIES(ORT_DECLARE_ENTRY)
#undef ORT_DECLARE_ENTRY

/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif /* ALIQUOT_ABI_ONNXRUNTIME_H */
