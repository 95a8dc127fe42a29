"""Normalization of arrays where they lie: NumPy float32 (and bfloat16 of ml_dtypes), or float32 and bfloat16 of any
library that speaks DLPack, such as torch on the CPU.

Nothing is copied. Rows are the last axis, contiguous; the other axes may have gaps as long as rows follow one another
at one stride. `out`, where given, is written and returned, and may be x; else it is a new array like x. gain and bias
may be None. eps has no default: it belongs to the model. threads: the most to use, 0 for the default of OpenMP; results
do not depend on it. Errors: ValueError with the operand and the numbers, TypeError for what is no array. The accuracy
of each stands in include/prenorm/norm.h.
"""

from __future__ import annotations

from typing import Any, Optional

import numpy

from . import _prenorm

__all__ = [
    "batch_norm_eval",
    "batch_norm_train",
    "group_norm",
    "inv_rms",
    "layer_norm",
    "log_sum_exp",
    "residual_layer_norm",
    "residual_rms_norm",
    "rms_norm",
    "softmax",
]


def _array(x: Any) -> Any:
    """What the extension module takes for x: bfloat16 of NumPy goes as its bits."""
    if isinstance(x, numpy.ndarray):
        if x.dtype.name == "bfloat16":
            return x.view(numpy.uint16)
        if x.dtype == numpy.uint16:
            raise ValueError("expected elements of float32 or bfloat16, found uint16")
    return x


def _like(x: Any, out: Optional[Any], name: str = "out") -> Any:
    if out is not None:
        return out
    if isinstance(x, numpy.ndarray):
        return numpy.empty(x.shape, x.dtype)
    if type(x).__module__.split(".")[0] == "torch":
        import torch

        return torch.empty(x.shape, dtype=x.dtype)
    raise TypeError(f"{name}: give an array to write to: there is no rule to make one like a {type(x).__name__}")


def _rows_of(x: Any, out: Optional[Any]) -> Any:
    """float32, one number a row of x."""
    if out is not None:
        return out
    if isinstance(x, numpy.ndarray):
        return numpy.empty(x.shape[:-1], numpy.float32)
    return _like(x[..., 0].float(), None)


def rms_norm(
    x: Any,
    gain: Optional[Any] = None,
    *,
    eps: float,
    out: Optional[Any] = None,
    eps_outside_root: bool = False,
    one_plus_gain: bool = False,
    round_before_gain: bool = False,
    exact_sums: bool = False,
    threads: int = 0,
) -> Any:
    """gain * x / sqrt(mean(x ** 2) + eps). Returns out.

    eps_outside_root: / (sqrt(mean(x ** 2)) + eps). one_plus_gain: the factor is 1 + gain (Gemma). round_before_gain:
    the quotient is rounded to the type of out before the gain (Llama). exact_sums: f64 sums of exact squares."""
    out = _like(x, out)
    _prenorm.rms_norm(
        _array(x),
        _array(out),
        _array(gain),
        eps=eps,
        eps_outside_root=eps_outside_root,
        one_plus_gain=one_plus_gain,
        round_before_gain=round_before_gain,
        exact_sums=exact_sums,
        threads=threads,
    )
    return out


def layer_norm(
    x: Any,
    gain: Optional[Any] = None,
    bias: Optional[Any] = None,
    *,
    eps: float,
    out: Optional[Any] = None,
    single_pass: bool = False,
    threads: int = 0,
) -> Any:
    """gain * (x - mean(x)) / sqrt(var(x) + eps) + bias. Returns out. single_pass: moments merged in one pass."""
    out = _like(x, out)
    _prenorm.layer_norm(
        _array(x), _array(out), _array(gain), _array(bias), eps=eps, single_pass=single_pass, threads=threads
    )
    return out


def residual_rms_norm(
    x: Any,
    f: Any,
    gain: Optional[Any] = None,
    *,
    eps: float,
    sum: Optional[Any] = None,
    out: Optional[Any] = None,
    one_plus_gain: bool = False,
    form: str = "plain",
    alpha: float = 1.0,
    layer_scale: Optional[Any] = None,
    threads: int = 0,
) -> tuple[Any, Any]:
    """sum = x + f, out = rms_norm(sum), in one go. Returns (out, sum); sum may be x.

    form: "plain", "scaled_input" (alpha * x + f), "scaled_branch" (x + alpha * f) or "layer_scale"
    (x + layer_scale * f)."""
    sum, out = _like(x, sum, "sum"), _like(x, out)
    _prenorm.residual_rms_norm(
        _array(x),
        _array(f),
        _array(sum),
        _array(out),
        _array(gain),
        eps=eps,
        one_plus_gain=one_plus_gain,
        form=form,
        alpha=alpha,
        layer_scale=layer_scale,
        threads=threads,
    )
    return out, sum


def residual_layer_norm(
    x: Any,
    f: Any,
    gain: Optional[Any] = None,
    bias: Optional[Any] = None,
    *,
    eps: float,
    sum: Optional[Any] = None,
    out: Optional[Any] = None,
    form: str = "plain",
    alpha: float = 1.0,
    layer_scale: Optional[Any] = None,
    threads: int = 0,
) -> tuple[Any, Any]:
    """As residual_rms_norm, with layer_norm of the sum."""
    sum, out = _like(x, sum, "sum"), _like(x, out)
    _prenorm.residual_layer_norm(
        _array(x),
        _array(f),
        _array(sum),
        _array(out),
        _array(gain),
        _array(bias),
        eps=eps,
        form=form,
        alpha=alpha,
        layer_scale=layer_scale,
        threads=threads,
    )
    return out, sum


def inv_rms(
    x: Any,
    *,
    eps: float,
    out: Optional[Any] = None,
    eps_outside_root: bool = False,
    exact_sums: bool = False,
    threads: int = 0,
) -> Any:
    """1 / sqrt(mean(x ** 2) + eps) of each row, float32 with the shape of x without its last axis."""
    out = _rows_of(x, out)
    _prenorm.inv_rms(_array(x), out, eps=eps, eps_outside_root=eps_outside_root, exact_sums=exact_sums, threads=threads)
    return out


def softmax(x: Any, *, out: Optional[Any] = None, threads: int = 0) -> Any:
    """exp(x - max(x)), divided by its sum over the row, float32; out=x works in place."""
    out = _like(x, out)
    if out is not x:
        out[...] = x
    _prenorm.softmax(out, threads=threads)
    return out


def log_sum_exp(x: Any, *, out: Optional[Any] = None, threads: int = 0) -> Any:
    """log(sum(exp(x))) of each row, float32 with the shape of x without its last axis."""
    out = _rows_of(x, out)
    _prenorm.log_sum_exp(x, out, threads=threads)
    return out


def group_norm(
    x: Any,
    groups: int,
    gain: Optional[Any] = None,
    bias: Optional[Any] = None,
    *,
    eps: float,
    out: Optional[Any] = None,
    channels_last: bool = False,
    threads: int = 0,
) -> Any:
    """GroupNorm of x [samples, channels, ...], or [samples, ..., channels] with channels_last, without gaps.
    groups == channels makes it InstanceNorm. Returns out."""
    out = _like(x, out)
    _prenorm.group_norm(
        _array(x),
        _array(out),
        groups,
        _array(gain),
        _array(bias),
        eps=eps,
        channels_last=channels_last,
        threads=threads,
    )
    return out


def batch_norm_train(
    x: Any,
    gain: Optional[Any] = None,
    bias: Optional[Any] = None,
    *,
    eps: float,
    momentum: float = 0.1,
    running_mean: Optional[Any] = None,
    running_variance: Optional[Any] = None,
    out: Optional[Any] = None,
    channels_last: bool = False,
    threads: int = 0,
) -> Any:
    """BatchNorm with the statistics of this batch, which update running_mean and running_variance where given."""
    out = _like(x, out)
    _prenorm.batch_norm_train(
        _array(x),
        _array(out),
        _array(gain),
        _array(bias),
        running_mean,
        running_variance,
        eps=eps,
        momentum=momentum,
        channels_last=channels_last,
        threads=threads,
    )
    return out


def batch_norm_eval(
    x: Any,
    mean: Optional[Any],
    variance: Any,
    gain: Optional[Any] = None,
    bias: Optional[Any] = None,
    *,
    eps: float,
    out: Optional[Any] = None,
    channels_last: bool = False,
    threads: int = 0,
) -> Any:
    """BatchNorm with given statistics, float32 [channels]; mean None stands for zeros."""
    out = _like(x, out)
    _prenorm.batch_norm_eval(
        _array(x),
        _array(out),
        mean,
        variance,
        _array(gain),
        _array(bias),
        eps=eps,
        channels_last=channels_last,
        threads=threads,
    )
    return out
