"""The embedding model: where it is, what is wrong with it, and how to get it."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.errors import MememError, ModelError
from memem.flows import meaning
from memem.index import weights
from memem.index.weights import Weights
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
        if not ours and not meaning.is_settled(ws):
            return replace(known, passages=passages)
        missing = meaning.settle(ws) if ours else ws.index.passages.pending()
        return replace(known, passages=passages, encoded=passages - missing)
    except MememError as trouble:
        return replace(known, problem=str(trouble))


def fetch(ws: Workspace, progress: "Progress") -> Weights:
    """The weights of our own encoder, from wherever they can be had. Raises FetchFailed."""
    import shutil

    from memem.index import fetching

    own_uv = Path(sys.prefix, ".memem", "uv", "bin", "uv")  # what bootstrap.sh fetched where there was none
    uv = str(own_uv) if own_uv.is_file() else shutil.which("uv", path=ws.environ.get("PATH"))
    return fetching.fetch(
        ws.weights_places, endpoint=ws.hub_endpoint, installers=fetching.find_installers(uv), progress=progress
    )


def _require_library() -> None:
    from importlib.util import find_spec

    if find_spec("sentence_transformers") is None:
        raise ModelError("sentence-transformers is not installed. Install memem's extra of that name.")
