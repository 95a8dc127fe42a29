"""A model over a data set on many machines, by Ray (pip install ray): answers, or embeddings.

    import ray, prenorm.ray
    ray.init("auto")
    parts = prenorm.ray.map_batches(prompts, "answers", model="/models/model.gguf", max_new_tokens=100)
    parts = prenorm.ray.map_batches(texts, "vectors", model="/models/all-minilm-l6-v2", task="embed")

Every node gets one worker, a process with one copy of the weights; its sessions are threads, one answer each, because
a model is immutable and nothing here holds the interpreter's lock while it computes. With `processes` a node gets more
workers, which share one read-only mapping of prepared weights. The model's name must mean the same file on every node.
The caller's machine alone writes the results, so no shared file system is needed.
"""

from __future__ import annotations

import collections
import hashlib
import io
import itertools
import json
import os
import pathlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Optional, Union

import numpy
import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ._generation import Generation
from ._model import Model
from ._prenorm import Error

__all__ = ["Worker", "map_batches", "workers"]

_ATTEMPTS = 3  # Deaths of workers with the same part, or on the same node, before the job gives up on it.
_LOOK_FOR_NODES = 10.0  # Seconds.
_SUFFIXES = {"generate": ".jsonl", "embed": ".npy"}


class _Worker:
    """A model on a node. Every method may be called `sessions` times at once."""

    def __init__(
        self,
        model: Optional[str],
        sessions: int = 1,
        session_options: Optional[Mapping[str, Any]] = None,
        prepared: bool = False,
    ) -> None:
        self._name, self._count, self._options = model, sessions, dict(session_options or {})
        self._prepared = prepared
        self._lock = threading.Lock()
        self._model: Optional[Model] = None
        self._sessions: "queue.SimpleQueue[Any]" = queue.SimpleQueue()

    def ready(self) -> int:
        """Loads the model; returns the id of this process."""
        with self._lock:
            if self._model is None:
                model = Model.from_pretrained(self._name, prepared=self._prepared, **self._options)
                for _ in range(self._count):
                    self._sessions.put(model)  # Becomes a session when an answer is wanted: encoders have none.
                self._model = model
        return os.getpid()

    def generate(self, rows: list[Any], first: int, options: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Answers to rows: prompts, lists of messages, or objects with one of them as "prompt" or "messages".

        Row i gets the seed options["seed"] + first + i: answers do not depend on which worker gives them. What a row
        cannot be answered for stands in "error"."""
        self.ready()
        session = self._sessions.get()
        if isinstance(session, Model):
            session = session.session()
        try:
            return [
                {
                    "index": first + i,
                    **self._answer(session, row, {**options, "seed": options.get("seed", 0) + first + i}),
                }
                for i, row in enumerate(rows)
            ]
        finally:
            self._sessions.put(session)

    def embed(self, rows: list[Any], _first: int, options: Mapping[str, Any]) -> numpy.ndarray:
        """float32 [rows, dim]: the vectors of rows, texts or objects with one as "text". Options of Model.embed."""
        self.ready()
        assert self._model is not None
        texts = [row["text"] if isinstance(row, Mapping) else row for row in rows]
        return self._model.embed(texts, **{"threads": self._options.get("threads", 0), **options})

    def _answer(self, session: Any, row: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        assert self._model is not None
        try:
            if isinstance(row, Mapping):
                row = row["messages"] if "messages" in row else row["prompt"]
            ids = self._model.encode(row) if isinstance(row, str) else self._model.render_chat(row)[1]
            session.rewind(0)
            answer: Generation = session.generate(ids, **options).read()
        except (Error, ValueError, KeyError) as error:
            return {"error": f"{type(error).__name__}: {error}"}
        return {
            "text": answer.text,
            "finish_reason": answer.finish_reason,
            "prompt_tokens": answer.prompt_tokens,
            "tokens": len(answer.ids),
        }


Worker = ray.remote(_Worker)


def workers(
    model: Optional[str] = None, *, sessions: Optional[int] = None, processes: int = 1, **session_options: Any
) -> list[Any]:
    """Actors of the class Worker, `processes` on every node that has processors. Options as of map_batches."""
    _check_processes(processes)
    return [_hire(node, model, sessions, processes, session_options)[0] for node in _nodes() for _ in range(processes)]


def _check_processes(processes: int) -> None:
    if processes < 1:
        raise ValueError(f"processes: expected 1 or more, found {processes}")


class _Part(NamedTuple):
    number: int
    first: int
    rows: list[Any]
    path: pathlib.Path


def map_batches(
    rows: Iterable[Any],
    output: Union[str, os.PathLike],
    *,
    model: Optional[str] = None,
    task: str = "generate",
    part_rows: int = 64,
    sessions: Optional[int] = None,
    processes: int = 1,
    session_options: Optional[Mapping[str, Any]] = None,
    progress: Optional[Callable[[pathlib.Path], None]] = None,
    **options: Any,
) -> list[pathlib.Path]:
    """Answers or embeds every row and writes the results, `part_rows` a file, to the folder `output`.

    rows             to embed: strings, or objects with "text"; to answer: strings, lists of chat messages, or objects
                     with "prompt" or "messages"; read as they are needed
    model            as of Model.from_pretrained
    task             "generate" or "embed"
    sessions         answers at once on a node; None: as many as Ray gives the node processors
    processes        workers of a node; more than one share the weights (from_pretrained(prepared=True)) and divide the
                     sessions among them
    session_options  of Session; threads is 1 unless given
    progress         called with each part that has been written in this run
    options          of Model.generate; seed (0) is that of row 0, row i has seed + i. Or of Model.embed

    Returns the parts in the order of the rows: files of JSON lines, {"index", "text", "finish_reason", "prompt_tokens",
    "tokens"} or {"index", "error"}; for vectors files of NumPy (.npy), float32 [rows, dim]. A part appears when it is
    complete, and its name has a digest of its rows, the model's name and all options but threads: what is there
    already is not made again, so a job that broke off goes on where it was, and changed rows are made anew. The part of
    a worker that dies is given to another one; nodes that come later get workers too.
    Errors: those of loading the model, and of Model.embed; RuntimeError where no node is left or a part has ended three
    workers."""
    if task not in _SUFFIXES:
        raise ValueError(f"task: expected generate or embed, found {task}")
    if part_rows < 1:
        raise ValueError(f"part_rows: expected 1 or more, found {part_rows}")
    _check_processes(processes)
    folder = pathlib.Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    # Threads change no byte of an answer.
    kept = {name: value for name, value in (session_options or {}).items() if name != "threads"}
    digest = json.dumps([str(model), task, options, kept], sort_keys=True, default=str)
    paths: list[pathlib.Path] = []

    def missing() -> Iterator[_Part]:
        for part in _parts(rows, part_rows, folder, digest, _SUFFIXES[task]):
            paths.append(part.path)
            if not part.path.exists():
                yield part

    def finish(part: _Part, results: Any) -> None:
        _write(part.path, results)
        if progress is not None:
            progress(part.path)

    job = _Job(missing(), task, model, sessions, processes, {"threads": 1, **(session_options or {})}, options)
    try:
        job.run(finish)
    finally:
        job.dismiss()
    return paths


def _parts(rows: Iterable[Any], part_rows: int, folder: pathlib.Path, digest: str, suffix: str) -> Iterator[_Part]:
    iterator = iter(rows)
    for number in itertools.count():
        some = list(itertools.islice(iterator, part_rows))
        if not some:
            return
        text = json.dumps([digest, number * part_rows, some], sort_keys=True)
        name = f"part-{number:06d}-{hashlib.sha256(text.encode()).hexdigest()[:12]}{suffix}"
        yield _Part(number, number * part_rows, some, folder / name)


def _write(path: pathlib.Path, results: Any) -> None:
    """The whole file or none, whatever happens to the machine meanwhile."""
    if isinstance(results, numpy.ndarray):
        buffer = io.BytesIO()
        numpy.save(buffer, results)
        content = buffer.getvalue()
    else:
        content = "".join(json.dumps(result, ensure_ascii=False) + "\n" for result in results).encode()
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(draft, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


def _nodes() -> list[Mapping[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]


def _hire(
    node: Mapping[str, Any],
    model: Optional[str],
    sessions: Optional[int],
    processes: int,
    session_options: Mapping[str, Any],
) -> tuple[Any, int]:
    """A worker for a node, and how many answers it makes at once. It takes all processors that it uses."""
    threads = max(1, session_options.get("threads", 1))
    cpus = int(node["Resources"]["CPU"])
    count = max(1, (sessions or cpus // threads) // processes)
    share = cpus / processes  # Ray takes parts of one processor, but no parts of several.
    actor = Worker.options(
        num_cpus=min(share if share < 1 else int(share), count * threads),
        max_concurrency=count,
        scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
    )
    return actor.remote(model, count, {**session_options, "threads": threads}, processes > 1), count


class _Employed(NamedTuple):
    node: str
    place: tuple[str, int]  # Node and number on it.
    actor: Any
    sessions: int


class _Job:
    """Hands parts to workers, and those of the dead to others."""

    def __init__(
        self,
        parts: Iterator[_Part],
        task: str,
        model: Optional[str],
        sessions: Optional[int],
        processes: int,
        session_options: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> None:
        self._processes = processes
        self._parts, self._exhausted, self._task = parts, False, task
        self._redo: "collections.deque[_Part]" = collections.deque()
        self._model, self._sessions, self._session_options, self._options = model, sessions, session_options, options
        self._workers: dict[tuple[str, int], _Employed] = {}  # By place.
        self._under_way: dict[Any, tuple[_Employed, Optional[_Part]]] = {}  # Without a part: the loading of the model.
        self._deaths: "collections.Counter[Union[str, int]]" = collections.Counter()  # By node, and by part.
        self._looked = 0.0

    def run(self, finish: Callable[[_Part, Any], None]) -> None:
        part = self._next()
        if part is None:
            return  # All there: no node needs to load anything.
        self._redo.append(part)
        while self._redo or not self._exhausted or any(part is not None for _, part in self._under_way.values()):
            self._look_for_nodes()
            if not self._under_way:
                raise RuntimeError("prenorm.ray: no node is left that a worker can run on")
            done, _ = ray.wait(list(self._under_way), num_returns=1, timeout=_LOOK_FOR_NODES)
            for reference in done:
                worker, part = self._under_way.pop(reference)
                try:
                    results = ray.get(reference)
                except RayTaskError:
                    raise  # An error of our own, e.g. of the model's file: the same everywhere.
                except RayError as error:
                    self._bury(worker, part, error)
                    continue
                if part is not None:
                    finish(part, results)
                for _ in range(1 if part is not None else worker.sessions + 1):  # One waits, so that no session does.
                    self._assign(worker)

    def dismiss(self) -> None:
        for worker in self._workers.values():
            ray.kill(worker.actor)

    def _next(self) -> Optional[_Part]:
        if self._redo:
            return self._redo.popleft()
        part = None if self._exhausted else next(self._parts, None)
        self._exhausted = part is None
        return part

    def _assign(self, worker: _Employed) -> None:
        if self._workers.get(worker.place) is not worker:
            return  # Buried meanwhile.
        part = self._next()
        if part is not None:
            call = worker.actor.embed if self._task == "embed" else worker.actor.generate
            reference = call.remote(part.rows, part.first, self._options)
            self._under_way[reference] = (worker, part)

    def _bury(self, worker: _Employed, part: Optional[_Part], error: RayError) -> None:
        if self._workers.get(worker.place) is worker:
            del self._workers[worker.place]
            ray.kill(worker.actor)  # It may live where only a result was lost, and would keep its processors.
            self._deaths[worker.node] += 1
            self._looked = 0.0
        if part is None:
            return
        self._deaths[part.number] += 1
        if self._deaths[part.number] >= _ATTEMPTS:
            raise RuntimeError(f"prenorm.ray: rows from {part.first} on ended {_ATTEMPTS} workers") from error
        self._redo.append(part)
        for other in list(self._workers.values()):  # Where all else is done they wait for nothing.
            self._assign(other)

    def _look_for_nodes(self) -> None:
        if time.monotonic() - self._looked < _LOOK_FOR_NODES:
            return
        self._looked = time.monotonic()
        for node in _nodes():
            for place in ((node["NodeID"], number) for number in range(self._processes)):
                if place in self._workers or self._deaths[place[0]] >= _ATTEMPTS * self._processes:
                    continue
                actor, count = _hire(node, self._model, self._sessions, self._processes, self._session_options)
                self._workers[place] = worker = _Employed(place[0], place, actor, count)
                self._under_way[actor.ready.remote()] = (worker, None)
