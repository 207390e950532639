"""The embedding model: where it is, what is wrong with it, how to get it, and the vectors it has yet to compute."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memem.core import files, locks
from memem.core.errors import Busy, MememError, ModelError
from memem.core.home import using_home
from memem.search.encoders import weights
from memem.search.meaning import MAX_INLINE_PASSAGES, encode_some, is_pending_current, update_pending
from memem.search.notes import NoteIndex
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.search.encoders.download import Progress
    from memem.search.vectors import VectorFolder
    from memem.workspace import Workspace

FIRST_STEP, STEP = 16, 128  # passages between two commits, at first and at most
STEP_SECONDS = 2.0  # about as much work as an interruption may lose


@dataclass(frozen=True, slots=True)
class ModelState:
    encoder: str
    model: str = ""
    folder: str = ""
    source: str = ""
    notice: str = ""  # places that should hold the weights and do not, though another one does
    problem: str = ""  # why it cannot be used
    passages: int = 0
    encoded: int = 0  # passages with a vector
    dimensions: int = 0  # 0 until the model was loaded once
    multilingual: bool | None = None  # None until then
    unread: int = 0  # memories in scripts that it does not read

    @property
    def described(self) -> str:
        size = f"{self.dimensions} dimensions" if self.dimensions else ""
        scripts = {True: "also reads non-Latin scripts", False: "reads only Latin script", None: ""}[self.multilingual]
        return ", ".join(filter(None, (self.model, size, scripts)))


def model_state(ws: Workspace) -> ModelState:
    """Describe the encoder. Loads our own, but not sentence-transformers, which takes seconds."""
    if ws.settings.encoder == "none":
        return ModelState("none")
    ours = ws.settings.encoder == "minilm"
    state = ModelState(ws.settings.encoder, weights.MODEL if ours else ws.settings.embed_model)
    try:
        if ours:
            found = weights.find(ws.weights_places)
            notice = "; ".join(found.problems)
            state = replace(state, folder=str(found.folder), source=found.source, notice=notice)
        elif importlib.util.find_spec("sentence_transformers") is None:
            raise ModelError("sentence-transformers is not installed. Install memem's sentence-transformers extra.")
        state = replace(state, passages=ws.index.passages.count())
        if ours:
            encoded, encoder = state.passages - update_pending(ws), ws.encoder()
            state = replace(state, encoded=encoded, dimensions=encoder.dimensions, multilingual=encoder.multilingual)
        elif stored := _describe_vectors(ws):
            encoded = state.passages - ws.index.passages.count_pending()
            state = replace(state, encoded=encoded, dimensions=stored.dimensions, multilingual=stored.multilingual)
        return replace(state, unread=ws.index.count_unreadable_scripts() if state.multilingual is False else 0)
    except MememError as problem:
        return replace(state, problem=str(problem))


def _describe_vectors(ws: Workspace) -> VectorFolder | None:
    ws.load_numpy()
    from memem.search import vectors

    folder = ws.home.vectors / ws.index.meta("encoded_in")
    is_there = is_pending_current(ws) and (folder / "vectors.db").exists()
    return vectors.describe_folder(folder) if is_there else None


def weights_folder(ws: Workspace) -> str:
    if ws.settings.encoder != "minilm":
        raise ModelError(f"The encoder is set to {ws.settings.encoder}, which does not use memem's weights.")
    return str(weights.find(ws.weights_places).folder)


def fetch(ws: Workspace, progress: Progress) -> str:
    if ws.settings.encoder == "none":
        return "The encoder is none: there is nothing to fetch."
    if ws.settings.encoder == "sentence-transformers":
        from memem.search.encoders.sentence import SentenceEncoder

        return f"{SentenceEncoder(ws.settings.embed_model, download=True).identity} has been downloaded."
    from memem.search.encoders import download

    places, installers = ws.weights_places, download.find_installers(ws.uv)
    found = download.fetch(places, endpoint=ws.hub_endpoint, installers=installers, progress=progress)
    return f"The weights are in {found.folder}."


@dataclass(frozen=True, slots=True)
class EncodeReport:
    encoded: int
    passages: int
    compacted: bool


def encode_all(
    ws: Workspace, progress: Callable[[int, int], object] = lambda *_: None, *, wait: float | None = None
) -> EncodeReport:
    """Encode every passage of the index. Raises ModelError, or Busy while another memem encodes."""
    require_vault(ws)
    ws.encoder()
    with using_home(ws.home):
        files.make_private_folder(ws.home.encode_lock.parent)
        with encode_lock(ws, ws.settings.lock_seconds if wait is None else wait):
            missing = update_pending(ws)
            total = ws.index.passages.count()
            before = ws.vectors().count()
            step = min(FIRST_STEP, STEP)
            while missing:
                ws.home.encode_log.touch(mode=files.PRIVATE_FILE)  # a sign of life, so that no other run starts
                progress(total - missing, total)
                started = ws.ticks()
                encode_some(ws, step)
                seconds = ws.ticks() - started
                if seconds > STEP_SECONDS:
                    step = max(1, step // 2)
                elif seconds < STEP_SECONDS / 4:
                    step = min(STEP, step * 2)
                left = update_pending(ws)
                if left >= missing:
                    break  # the rest is no longer in any note, or new notes arrive as fast: the next run sees
                missing = left
            progress(total - missing, total)
            encoded = ws.vectors().count() - before
            used = passages_in_use(ws)
            compacted = used is not None and ws.vectors().compact(used)
            ws.home.encode_log.touch(mode=files.PRIVATE_FILE)
            ws.home.encode_log.write_bytes(b"")  # the errors of earlier runs are over
            return EncodeReport(encoded, total, compacted)


def encode_after_save(ws: Workspace) -> None:
    """Encode a new note at once, so that meaning finds it, if an encoder is loaded; else the next search does it."""
    if ws.has_encoder:
        encode_pending(ws)


def encode_pending(ws: Workspace, limit: int = MAX_INLINE_PASSAGES) -> int:
    """Encode the passages without a vector, if there are at most `limit`; return how many were encoded."""
    try:
        missing = update_pending(ws)
        if not 0 < missing <= limit:
            return 0
        encode_some(ws, missing)
        return missing - update_pending(ws)
    except MememError:
        return 0


def passages_in_use(ws: Workspace) -> set[bytes] | None:
    """Collect the passages of all vaults, which share vectors; None when one of their indexes is incomplete."""
    keys: set[bytes] = set()
    for path in ws.home.indexes.glob("*/index.db"):
        try:
            with closing(NoteIndex(path)) as index:
                # A damaged index was replaced by an empty one when it was opened.
                if not index.meta("filled_for") or index.meta("built_for") != index.meta("filled_for"):
                    return None
                keys |= index.passages.keys()
        except MememError:
            return None
    return keys


@contextmanager
def encode_lock(ws: Workspace, seconds: float) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(locks.holding(ws.home.encode_lock, seconds))
        except Busy:
            raise Busy("Another memem process is encoding; `memem status` shows its progress.") from None
        yield
