"""Makes training give the same bits on every x86-64 host: one thread, and the oldest instruction set everywhere.

Call restart_pinned() before torch is imported. Most of these settings are read when a library is loaded, and glibc's
before the program starts, hence the restart.
"""

import os
import sys

PINNED = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MKL_CBWR": "COMPATIBLE",  # MKL: the SSE2 code path, whatever the processor
    "ATEN_CPU_CAPABILITY": "default",  # PyTorch's own kernels: baseline code
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    # expf, logf, ... in the variants without FMA; malloc keeps freed memory (a third less time)
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F:glibc.malloc.mmap_threshold=4294967296"
                      ":glibc.malloc.trim_threshold=4294967296",
    "CUDA_VISIBLE_DEVICES": "",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONHASHSEED": "0",
    "HF_HUB_OFFLINE": "1",
}


def restart_pinned():
    """Replaces this process by itself with the settings above, unless they are there already.

    PRENORM_TINY_OVERRIDE="NAME=VALUE;..." changes single settings, to test how far the result depends on them.
    """
    wanted = dict(PINNED)
    for item in filter(None, os.environ.get("PRENORM_TINY_OVERRIDE", "").split(";")):
        name, _, value = item.partition("=")
        wanted[name] = value
    if all(os.environ.get(name) == value for name, value in wanted.items()):
        return
    os.execve(sys.executable, [sys.executable] + sys.argv, {**os.environ, **wanted})


def pin_torch(seed):
    """Sets what PyTorch offers in code; returns the torch module."""
    import torch

    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(seed)
    return torch
