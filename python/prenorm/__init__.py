"""Language models on the CPU: load one, generate, chat, see where the time goes; and the normalization kernels.

    import prenorm
    model = prenorm.Model.from_pretrained("model.gguf")
    for text in model.generate("Once upon a time", max_new_tokens=50):
        print(text, end="", flush=True)
    print(model.chat([{"role": "user", "content": "Hello!"}]).text)
    model.profile()  # in a notebook: a picture

Everything that computes runs without the global interpreter lock, and Ctrl-C ends it within a layer. `prenorm.norm`
normalizes NumPy arrays and whatever speaks DLPack (torch tensors on the CPU) where they lie. `prenorm.ray` runs a model
over a data set on many machines.

Errors: ValueError for arguments that no model makes valid, FileNotFoundError, OSError, MemoryError, and Error for all
else, with the kind in its attribute `code`: "bad_model", "unsupported", "context_full", "template", "busy", ...
"""

from . import _openmp
from . import norm
from ._generation import Generation, Stream
from ._model import Model
from ._prenorm import Error, __version__, compiled_targets, default_threads, diagnose, target
from ._profile import Profile
from ._session import Session

__all__ = [
    "Error",
    "Generation",
    "Model",
    "Profile",
    "Session",
    "Stream",
    "__version__",
    "compiled_targets",
    "default_threads",
    "diagnose",
    "norm",
    "openmp_runtimes",
    "target",
]

openmp_runtimes = _openmp.runtimes
