"""From what a user calls a model to its file, as the command `prenorm` does it."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Optional, Union


def catalog() -> dict[str, Any]:
    """models/catalog.json of the source tree."""
    return json.loads(pathlib.Path(__file__).with_name("catalog.json").read_text(encoding="utf-8"))


def folder() -> pathlib.Path:
    """Where fetched models are kept: ${XDG_CACHE_HOME:-~/.cache}/prenorm/models."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(cache) if cache else pathlib.Path.home() / ".cache") / "prenorm" / "models"


def _in_hub_folder(path: pathlib.Path, part: str) -> Optional[pathlib.Path]:
    if not part and (path / "config.json").exists():
        return path
    names = sorted(file.name for file in path.glob("*.gguf") if part.lower() in file.name.lower())
    if not names or ("-of-" in names[0] and "-00001-of-" not in names[0]):
        return None
    return path / names[0]


def _in_cache(name: str, models: list[dict[str, Any]]) -> Optional[pathlib.Path]:
    for model in models:
        if model["name"] == name:
            return folder() / model["path"]
    if "/" in name:
        repository, _, part = name.partition(":")
        if repository.count("/") != 1 or ".." in repository:
            return None
        return _in_hub_folder(folder() / repository.replace("/", "--"), part)
    if name.startswith(".") or name.endswith(".part"):
        return None
    exact = folder() / name
    return exact if exact.exists() else folder() / f"{name}.gguf"


def find(name: Union[str, os.PathLike, None]) -> str:
    """The path of a model: `name` itself if there is such a file or folder, else what the cache has by that name.
    Without a name the default model. Errors: FileNotFoundError, with what to do."""
    if name is not None and os.path.exists(name):
        return os.fspath(name)
    models = catalog()
    wanted = models["default"] if name is None else os.fspath(name)
    path = _in_cache(wanted, models["models"])
    if path is not None and path.exists():
        return str(path)
    if any(model["name"] == wanted for model in models["models"]) or "/" in wanted and wanted.count("/") == 1:
        raise FileNotFoundError(
            f"{wanted}: neither a file nor in {folder()}: fetch it with: prenorm models fetch {wanted}"
        )
    names = ", ".join(model["name"] for model in models["models"])
    raise FileNotFoundError(f"{wanted}: neither a file nor a model in {folder()}; the catalog has: {names}")
