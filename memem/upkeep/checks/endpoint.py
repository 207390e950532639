"""The doctor's check of the server at MEMEM_MODEL_URL: one request for its list of models, without any text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memem.core.errors import ExtractError
from memem.upkeep.checks.result import DEGRADED, Diagnosis, degraded, fine, of_error

if TYPE_CHECKING:
    from memem.workspace import Workspace

WHAT = "model server"
CHOOSE = "Run `memem config model NAME`, or pull the model there."
CORRECT = "Start the server, or correct MEMEM_MODEL_URL."


def check(ws: Workspace) -> list[Diagnosis]:
    url, model = ws.settings.model_url, ws.settings.model
    if not url or not ws.asks_model:
        return []
    from memem.model.endpoint import describe_models  # imports an HTTP client

    try:
        names = ws.endpoint().list_models()
    except ExtractError as problem:
        return [of_error(WHAT, problem, CORRECT, DEGRADED)]
    has = describe_models(names) or "no model"
    # Ollama adds a tag to the name of each model.
    if model not in (*names, *(name.removesuffix(":latest") for name in names)) and (model or len(names) != 1):
        problem_text = f"has no model {model!r}" if model else "has several models and MEMEM_MODEL names none"
        if not names:
            problem_text = "lists no model"
        return [degraded(WHAT, f"{url} answers, but {problem_text}; it has {has}", CHOOSE)]
    key = "with the key in MEMEM_MODEL_KEY" if ws.model_key else "without a key"
    return [
        fine(
            WHAT, f"{url} answers {key} and has {model or has}; text goes only there, not through `claude` to Anthropic"
        )
    ]
