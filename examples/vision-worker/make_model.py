#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_model.py FILE [--side 64] [--convolutions N] [--sample-mib 512] [--sample-us 4000] [--batch-us 2000]

Writes a small ONNX detector that needs no package: it sees the same two things in every picture. Its output has the layout of a
detector that does its own selection ([batch, boxes, 6]). With --convolutions it computes something on the way, for measurements.
The three others say what a simulated GPU takes for a picture and for a batch; a real ONNX Runtime does not look at them.
"""
import argparse
import random
import struct

FLOAT, INT64 = 1, 7
BOXES = [(8.0, 8.0, 40.0, 40.0, 0.9, 0.0), (32.0, 16.0, 56.0, 60.0, 0.6, 1.0)]


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def port(name, shape):
    axes = b"".join(text(1, text(2, "N") if axis is None else number(1, axis)) for axis in shape)
    return text(1, name) + text(2, text(1, number(1, FLOAT) + text(2, axes)))


def tensor(name, kind, shape, values):
    raw = struct.pack(f"<{len(values)}{'f' if kind == FLOAT else 'q'}", *values)
    return b"".join(number(1, axis) for axis in shape) + number(2, kind) + text(8, name) + text(9, raw)


def integers(name, values):
    return text(5, text(1, name) + b"".join(number(8, value) for value in values) + number(20, 7))


def node(kind, inputs, output, attributes=b""):
    return text(1, b"".join(text(1, name) for name in inputs) + text(2, output) + text(4, kind) + attributes)


def model(side, convolutions, metadata):
    """images * 0 + boxes, by way of so many convolutions of 16 channels."""
    rng = random.Random(1)
    graph, weights, last, channels = b"", b"", "images", 3
    for i in range(convolutions):
        values = [rng.uniform(-0.1, 0.1) for _ in range(16 * channels * 9)]
        weights += text(5, tensor(f"weight{i}", FLOAT, [16, channels, 3, 3], values))
        graph += node("Conv", [last, f"weight{i}"], f"seen{i}", integers("pads", [1, 1, 1, 1]))
        graph += node("Relu", [f"seen{i}"], f"kept{i}")
        last, channels = f"kept{i}", 16
    keep = text(5, text(1, "keepdims") + number(3, 0) + number(20, 2))
    graph += node("ReduceMean", [last], "mean", integers("axes", [1, 2, 3]) + keep)
    graph += node("Reshape", ["mean", "column"], "means")
    graph += node("Mul", ["means", "zero"], "nothing")
    graph += node("Add", ["nothing", "boxes"], "output0")
    graph += text(2, "detector")
    graph += text(5, tensor("boxes", FLOAT, [1, len(BOXES), 6], [value * (side / 64 if i < 4 else 1) for box in BOXES
                                                                for i, value in enumerate(box)]))
    graph += text(5, tensor("zero", FLOAT, [1], [0.0])) + text(5, tensor("column", INT64, [3], [-1, 1, 1])) + weights
    graph += text(11, port("images", [None, 3, side, side])) + text(12, port("output0", [None, len(BOXES), 6]))
    properties = b"".join(text(14, text(1, key) + text(2, str(value))) for key, value in metadata.items())
    return number(1, 8) + text(7, graph) + text(8, number(2, 17)) + properties


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--convolutions", type=int, default=0)
    parser.add_argument("--weights-mib", type=int, default=256)
    parser.add_argument("--sample-mib", type=int, default=512)
    parser.add_argument("--sample-us", type=int, default=4000)
    parser.add_argument("--batch-us", type=int, default=2000)
    asked = parser.parse_args()
    metadata = {"task": "detect", "names": "{0: 'cat', 1: 'dog'}", "simulated.weights_mib": asked.weights_mib,
                "simulated.sample_mib": asked.sample_mib, "simulated.sample_us": asked.sample_us,
                "simulated.batch_us": asked.batch_us}
    with open(asked.file, "wb") as out:
        out.write(model(asked.side, asked.convolutions, metadata))


if __name__ == "__main__":
    main()
