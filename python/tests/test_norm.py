"""The norms of the Python package against their formulas in float64: python -m unittest."""

import subprocess
import sys
import unittest

import numpy as np

from prenorm import norm

try:
    import torch
except ImportError:
    torch = None
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


def rms(x, gain=1.0, eps=1e-5):
    x = x.astype(np.float64)
    return gain * x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)


def layer(x, gain=1.0, bias=0.0, eps=1e-5, axis=-1):
    x = x.astype(np.float64)
    return gain * (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps) + bias


class NormTest(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(1)
        self.x = random.normal(2, 3, (5, 7, 96)).astype(np.float32)
        self.f = random.normal(0, 1, (5, 7, 96)).astype(np.float32)
        self.gain = random.normal(1, 0.1, 96).astype(np.float32)
        self.bias = random.normal(0, 1, 96).astype(np.float32)

    def close(self, found, wanted, tolerance=2e-6):
        self.assertEqual(found.dtype, np.float32)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)

    def test_rms_norm(self):
        self.close(norm.rms_norm(self.x, self.gain, eps=1e-5), rms(self.x, self.gain))
        self.close(norm.rms_norm(self.x, self.gain, eps=1e-5, one_plus_gain=True), rms(self.x, 1 + self.gain))
        self.close(norm.rms_norm(self.x[0, 0], eps=0.5), rms(self.x[0, 0], eps=0.5))
        self.assertEqual(norm.rms_norm(self.x[:0], eps=1e-5).shape, (0, 7, 96))

    def test_layer_norm(self):
        self.close(norm.layer_norm(self.x, self.gain, self.bias, eps=1e-5), layer(self.x, self.gain, self.bias))
        self.close(norm.layer_norm(self.x, bias=self.bias, eps=1e-5), layer(self.x, 1.0, self.bias))

    def test_residuals(self):
        out, total = norm.residual_rms_norm(self.x, self.f, self.gain, eps=1e-5)
        self.close(total, self.x + self.f)
        self.close(out, rms(total, self.gain))
        total = self.x.copy()
        out, same = norm.residual_layer_norm(
            total, self.f, self.gain, self.bias, eps=1e-5, sum=total, form="scaled_input", alpha=2.5
        )
        self.assertIs(same, total)
        self.close(total, 2.5 * self.x + self.f)
        self.close(out, layer(total, self.gain, self.bias))
        _, total = norm.residual_rms_norm(self.x, self.f, eps=1e-5, form="layer_scale", layer_scale=self.gain)
        self.close(total, self.x + self.gain * self.f)
        with self.assertRaisesRegex(ValueError, "form"):
            norm.residual_rms_norm(self.x, self.f, eps=1e-5, form="other")
        with self.assertRaisesRegex(ValueError, "layer_scale"):
            norm.residual_rms_norm(self.x, self.f, eps=1e-5, form="layer_scale")

    def test_reductions(self):
        x = self.x.astype(np.float64)
        self.close(norm.inv_rms(self.x, eps=1e-5), 1 / np.sqrt((x * x).mean(-1) + 1e-5))
        self.close(norm.log_sum_exp(self.x), np.log(np.exp(x).sum(-1)))
        self.close(norm.softmax(self.x), np.exp(x) / np.exp(x).sum(-1, keepdims=True), 2e-6)
        copy = self.x.copy()
        self.assertIs(norm.softmax(copy, out=copy), copy)
        np.testing.assert_array_equal(copy, norm.softmax(self.x))

    def test_channels(self):
        x = np.ascontiguousarray(self.x[..., :12].transpose(0, 2, 1))  # [samples, channels, space]
        gain, bias = self.gain[:12], self.bias[:12]
        wanted = layer(x.reshape(5, 3, 4 * 7)).reshape(x.shape) * gain[:, None] + bias[:, None]
        self.close(norm.group_norm(x, 3, gain, bias, eps=1e-5), wanted)
        last = np.ascontiguousarray(x.transpose(0, 2, 1))
        self.close(norm.group_norm(last, 3, gain, bias, eps=1e-5, channels_last=True), wanted.transpose(0, 2, 1))
        running_mean, running_variance = np.zeros(12, np.float32), np.ones(12, np.float32)
        found = norm.batch_norm_train(
            x, gain, bias, eps=1e-5, running_mean=running_mean, running_variance=running_variance
        )
        self.close(found, layer(x, axis=(0, 2)) * gain[:, None] + bias[:, None])
        self.close(running_mean, 0.1 * x.mean((0, 2)))
        self.close(running_variance, 0.9 + 0.1 * x.var((0, 2), ddof=1), 1e-5)
        wanted = (x - running_mean[:, None]) / np.sqrt(running_variance[:, None] + 1e-5)
        self.close(norm.batch_norm_eval(x, running_mean, running_variance, eps=1e-5), wanted, 1e-5)

    def test_writes_where_it_is_told_without_a_copy(self):
        big = np.zeros((10, 200), np.float32)
        view = big[2:7, 50:146]
        view[:] = self.x[0, :5]
        out = norm.rms_norm(view, eps=1e-5, out=view)
        self.assertIs(out, view)
        np.testing.assert_array_equal(view, norm.rms_norm(np.ascontiguousarray(self.x[0, :5]), eps=1e-5))
        self.assertEqual(np.count_nonzero(big), view.size)

    def test_threads_do_not_change_a_bit(self):
        x = np.random.default_rng(3).normal(size=(512, 512)).astype(np.float32)
        np.testing.assert_array_equal(norm.layer_norm(x, eps=1e-5, threads=1), norm.layer_norm(x, eps=1e-5, threads=4))

    def test_refuses(self):
        refused = (ValueError, TypeError)
        for x in (
            self.x[..., ::2],
            self.x[..., ::-1],
            self.x[::-1],
            self.x.transpose(1, 0, 2),
            self.x.astype(np.float64),
            self.x.view(np.uint32),
            np.float32(1),
            [1.0, 2.0],
            np.broadcast_to(self.gain, (3, 96)),
        ):
            with self.assertRaises(refused):
                norm.rms_norm(x, eps=1e-5, out=np.empty(np.shape(x), np.float32))
        with self.assertRaisesRegex(ValueError, "uint16"):
            norm.rms_norm(np.ones((2, 4), np.uint16), eps=1e-5)
        with self.assertRaisesRegex(ValueError, "gain"):
            norm.rms_norm(self.x, self.gain[:5], eps=1e-5)
        with self.assertRaisesRegex(ValueError, "eps"):
            norm.rms_norm(self.x, eps=-1.0)
        with self.assertRaisesRegex(ValueError, "out"):
            norm.rms_norm(self.x, eps=1e-5, out=self.x[0])
        read_only = self.x.copy()
        read_only.setflags(write=False)
        norm.rms_norm(read_only, eps=1e-5)
        with self.assertRaises(refused):
            norm.rms_norm(self.x, eps=1e-5, out=read_only)

    @unittest.skipIf(ml_dtypes is None, "ml_dtypes is not installed")
    def test_bfloat16_of_numpy(self):
        x = self.x.astype(ml_dtypes.bfloat16)
        out = norm.rms_norm(x, eps=1e-5)
        self.assertEqual(out.dtype, x.dtype)
        np.testing.assert_allclose(out.astype(np.float64), rms(x), rtol=2**-8)

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_torch(self):
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.randn(4, 64).to(dtype)
            out = norm.rms_norm(x, eps=1e-5)
            self.assertEqual(out.dtype, dtype)
            wanted = torch.nn.functional.rms_norm(x.double(), (64,), eps=1e-5)
            torch.testing.assert_close(out.double(), wanted, rtol=2**-8 if dtype == torch.bfloat16 else 2e-6, atol=0)
            self.assertIs(norm.layer_norm(x, eps=1e-5, out=out), out)
        self.assertEqual(norm.inv_rms(x, eps=1e-5).shape, (4,))

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_one_openmp_runtime_beside_torch(self):
        def runtimes(first, second):
            code = (
                f"import {first}, {second}\n"
                "torch.ones(999, 999) @ torch.ones(999, 999)\n"
                "prenorm.norm.rms_norm(torch.ones(4000, 400), eps=1e-5)\n"
                "print(len(prenorm.openmp_runtimes()))\n"
                "with __import__('warnings').catch_warnings(record=True) as caught:\n"
                "    prenorm._openmp.warn_of_several()\n"
                "print(len(caught))\n"
            )
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            return done.stdout.split()

        self.assertEqual(runtimes("torch", "prenorm"), ["1", "0"])
        count, warned = runtimes("prenorm", "torch")  # One only where torch has none of its own.
        self.assertEqual(warned, str(int(count) - 1))


if __name__ == "__main__":
    unittest.main()
