"""The embedding model: where it is, what is wrong with it, and how to get it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memem.core.errors import MememError, ModelError
from memem.flows import meaning
from memem.index import weights
from memem.workspace import Workspace

if TYPE_CHECKING:
    from memem.index.hub import Progress


@dataclass(frozen=True, slots=True)
class ModelState:
    """The encoder in use; `problem` says why it cannot be used. `encoded` of the `passages` have a vector.

    `notice` tells of a place that should hold the weights and does not, though another one does.
    """

    encoder: str
    model: str = ""
    folder: str = ""
    source: str = ""
    notice: str = ""
    problem: str = ""
    passages: int = 0
    encoded: int = 0


def state(ws: Workspace) -> ModelState:
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
        passages = ws.index.passages.count()
        if not ours and not meaning.is_looked_up(ws):
            return replace(known, passages=passages)
        missing = meaning.look_up(ws) if ours else ws.index.passages.pending()
        return replace(known, passages=passages, encoded=passages - missing)
    except MememError as trouble:
        return replace(known, problem=str(trouble))


def folder(ws: Workspace) -> str:
    """Where the weights of our own encoder are. Raises ModelError."""
    if ws.settings.encoder != "minilm":
        raise ModelError(f"The encoder {ws.settings.encoder} uses no weights of ours.")
    return str(weights.find(ws.weights_places).folder)


def fetch(ws: Workspace, progress: "Progress") -> str:
    """Get what the encoder needs, from wherever it can be had; says in words where it is. Raises ModelError."""
    if ws.settings.encoder == "none":
        return "The encoder is none: there is nothing to fetch."
    if ws.settings.encoder == "sentence-transformers":
        from memem.index.sentence import SentenceEncoder

        return f"{SentenceEncoder(ws.settings.embed_model, download=True).identity} is here."
    from memem.index import fetching

    places, installers = ws.weights_places, fetching.find_installers(ws.uv)
    found = fetching.fetch(places, endpoint=ws.hub_endpoint, installers=installers, progress=progress)
    return f"The weights are in {found.folder}."


def _require_library() -> None:
    from importlib.util import find_spec

    if find_spec("sentence_transformers") is None:
        raise ModelError("sentence-transformers is not installed. Install memem's extra of that name.")
