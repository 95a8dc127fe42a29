"""Writes batch_norm_golden.inc: torch's BatchNorm in a perceptron 20-16-BN-8-BN-4 and on [N, C] and [N, C, H, W].

Needs torch. Run from anywhere: python make_batch_norm.py
The inputs are made of small fractions that the test writes again by the same formula.
"""
import pathlib

import torch

OUT = pathlib.Path(__file__).with_name("batch_norm_golden.inc")
torch.set_default_dtype(torch.float64)


def values(shape, seed):
    """(i * 7919 + seed * 104729) mod 257, from -1 to 1 in steps of 1/128; exact in f32."""
    count = 1
    for n in shape:
        count *= n
    flat = [((i * 7919 + seed * 104729) % 257 - 128) / 128.0 for i in range(count)]
    return torch.tensor(flat).reshape(shape)


def linear(inputs, outputs, seed):
    layer = torch.nn.Linear(inputs, outputs)
    layer.weight.data = values((outputs, inputs), seed)
    layer.bias.data = values((outputs,), seed + 1)
    return layer


def batch_norm(kind, channels, seed):
    layer = kind(channels)
    layer.weight.data = 1 + values((channels,), seed) / 2
    layer.bias.data = values((channels,), seed + 1)
    return layer


def text(name, tensor):
    numbers = ", ".join(f"{v:.9g}" for v in tensor.detach().flatten().tolist())
    return f"constexpr double {name}[] = {{{numbers}}};\n"


def main():
    lines = ["// Written by make_batch_norm.py with torch, in f64.\n"]

    model = torch.nn.Sequential(
        linear(20, 16, 1), batch_norm(torch.nn.BatchNorm1d, 16, 3), torch.nn.ReLU(),
        linear(16, 8, 5), batch_norm(torch.nn.BatchNorm1d, 8, 7), torch.nn.ReLU(), linear(8, 4, 9))
    model.train()
    for step in range(3):
        trained = model(values((6, 20), 20 + step))
    lines.append(text("kPerceptronTrain", trained))
    for name, layer in (("First", model[1]), ("Second", model[4])):
        lines.append(text(f"k{name}RunningMean", layer.running_mean))
        lines.append(text(f"k{name}RunningVariance", layer.running_var))
    model.eval()
    lines.append(text("kPerceptronEval", model(values((3, 20), 30))))

    for name, kind, shape in (("Rows", torch.nn.BatchNorm1d, (5, 3)), ("Maps", torch.nn.BatchNorm2d, (2, 3, 2, 3))):
        layer = batch_norm(kind, 3, 11)
        layer.train()
        lines.append(text(f"k{name}Train", layer(values(shape, 13))))
        lines.append(text(f"k{name}RunningMean", layer.running_mean))
        lines.append(text(f"k{name}RunningVariance", layer.running_var))
        layer.eval()
        lines.append(text(f"k{name}Eval", layer(values(shape, 14))))
    OUT.write_text("".join(lines))


if __name__ == "__main__":
    main()
