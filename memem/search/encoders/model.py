"""The embedding model: where it is, what is wrong with it, and how to get it."""

from __future__ import annotations

import importlib.util
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
    """The encoder in use."""

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
        scripts = {True: "reads other scripts", False: "reads only Latin script", None: ""}[self.multilingual]
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
            encoded, encoder = state.passages - meaning.update_pending(ws), ws.encoder()
            state = replace(state, encoded=encoded, dimensions=encoder.dimensions, multilingual=encoder.multilingual)
        elif stored := _find_vectors(ws):
            encoded = state.passages - ws.index.passages.count_pending()
            state = replace(state, encoded=encoded, dimensions=stored.dimensions, multilingual=stored.multilingual)
        return replace(state, unread=ws.index.count_unreadable_scripts() if state.multilingual is False else 0)
    except MememError as problem:
        return replace(state, problem=str(problem))


def _find_vectors(ws: Workspace) -> VectorFolder | None:
    """Find the vectors that the model computed when it was last loaded."""
    ws.load_numpy()
    from memem.search import vectors

    folder = ws.home.vectors / ws.index.meta("encoded_in")
    is_there = meaning.is_pending_current(ws) and (folder / "vectors.db").exists()
    return vectors.describe_folder(folder) if is_there else None


def weights_folder(ws: Workspace) -> str:
    """Find the folder with the weights of our own encoder. Raises ModelError."""
    if ws.settings.encoder != "minilm":
        raise ModelError(f"The encoder {ws.settings.encoder} does not use memem's weights.")
    return str(weights.find(ws.weights_places).folder)


def fetch(ws: Workspace, progress: Progress) -> str:
    """Download the encoder's files and say where they are. Raises ModelError."""
    if ws.settings.encoder == "none":
        return "The encoder is none: there is nothing to fetch."
    if ws.settings.encoder == "sentence-transformers":
        from memem.search.encoders.sentence import SentenceEncoder

        return f"{SentenceEncoder(ws.settings.embed_model, download=True).identity} is downloaded."
    from memem.search.encoders import download

    places, installers = ws.weights_places, download.find_installers(ws.uv)
    found = download.fetch(places, endpoint=ws.hub_endpoint, installers=installers, progress=progress)
    return f"The weights are in {found.folder}."
