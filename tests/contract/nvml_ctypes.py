# SPDX-License-Identifier: Apache-2.0
"""Uses libnvidia-ml.so.1 as Python's bindings do: by name, with structures of its own."""

import ctypes
import threading

nvml = ctypes.CDLL("libnvidia-ml.so.1")


class Memory(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint),
        ("total", ctypes.c_ulonglong),
        ("reserved", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    ]


class EventData(ctypes.Structure):
    _fields_ = [
        ("device", ctypes.c_void_p),
        ("type", ctypes.c_ulonglong),
        ("data", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


def check(result):
    if result != 0:
        text = ctypes.c_char_p(ctypes.cast(nvml.nvmlErrorString(result), ctypes.c_char_p).value)
        raise SystemExit(f"NVML error {result}: {text.value}")


nvml.nvmlErrorString.restype = ctypes.c_void_p
check(nvml.nvmlInitWithFlags(0))
count = ctypes.c_uint()
check(nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)))
assert count.value == 2, count.value

device = ctypes.c_void_p()
check(nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(1), ctypes.byref(device)))
name = ctypes.create_string_buffer(96)
check(nvml.nvmlDeviceGetName(device, name, ctypes.c_uint(96)))
assert name.value == b"NVIDIA A2", name.value

memory = Memory(version=ctypes.sizeof(Memory) | 2 << 24)
check(nvml.nvmlDeviceGetMemoryInfo_v2(device, ctypes.byref(memory)))
assert memory.total == 15356 << 20, memory.total
assert memory.used == 0, memory.used

# A wait in a thread does not keep the interpreter's other threads from running.
events = ctypes.c_void_p()
check(nvml.nvmlEventSetCreate(ctypes.byref(events)))
check(nvml.nvmlDeviceRegisterEvents(device, ctypes.c_ulonglong(8), events))
answers = []
data = EventData()
waiter = threading.Thread(
    target=lambda: answers.append(nvml.nvmlEventSetWait_v2(events, ctypes.byref(data), 50))
)
waiter.start()
waiter.join()
assert answers == [10], answers  # timeout
check(nvml.nvmlEventSetFree(events))
check(nvml.nvmlShutdown())
assert nvml.nvmlShutdown() == 1
