"""Ask the model of an OpenAI-compatible server, such as Ollama, llama.cpp, LM Studio or vLLM."""

import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.message import Message
from pathlib import Path
from typing import Any, ClassVar

from memem.core import files
from memem.core.dates import Clock
from memem.core.errors import (
    CallFailed,
    ExtractError,
    ModelMissing,
    NotLoggedIn,
    Overloaded,
    RateLimited,
    Refused,
    TookTooLong,
    Usage,
)
from memem.core.files import from_json
from memem.model.answer import MAX_TOKENS, ModelAnswer, parse_words, read_number
from memem.model.connection import HttpReply, Server
from memem.model.errors import quote_words, read_retry_at

LIST_SECONDS = 10.0
RECHECK = timedelta(days=30)  # a server may be updated: the best format is tried again
FORMATS = ("json_schema", "json_object", "text")  # best first; a server may reject the first two
_MAX_LISTED = 8
_REJECTING = (400, 415, 422, 501)
_OVERLOADED = (502, 503, 504, 529)  # with 500 a server may also fail for the turns: it counts against them
_OF_FORMAT = re.compile(r"response_format|json|schema|grammar|\bformat\b", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context (length|size|window)|maximum context|too many tokens|too long|exceeds? .*(context|token)"
)
_NO_MODEL = re.compile(r"model\b.{0,80}\b(not found|does not exist|not loaded|unknown)|(unknown|invalid|no such) model")
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


@dataclass
class Endpoint:
    """The server at `url`. Without a `model` it is asked for the only one that it has."""

    url: str
    model: str
    seconds: float
    key: str = field(repr=False)
    formats_file: Path
    clock: Clock
    makes_sessions: ClassVar[bool] = False

    def ask(
        self,
        *,
        system: str,
        instruction: str,
        text: str,
        schema: Mapping[str, Any],
        session: str = "",  # noqa: ARG002 - of the interface; a server keeps no sessions
    ) -> ModelAnswer:
        """Return the model's answer about `text`."""
        until = time.monotonic() + self.seconds
        model = self.model or self._find_only_model()
        # Servers that force the schema on a model do not show it: it is in words, too, where it can be cached.
        form = f"Answer with one JSON object of this schema and nothing else: {json.dumps(schema)}"
        messages = [
            {"role": "system", "content": _encodable(f"{system}\n\n{form}")},
            {"role": "user", "content": _encodable(f"{instruction}\n\n{text}")},
        ]
        content = {"model": model, "messages": messages, "temperature": 0, "stream": False}
        remembered = self._load_format(model)
        for name in FORMATS[FORMATS.index(remembered) :]:
            left = until - time.monotonic()
            if left <= 0:
                raise TookTooLong(f"{self.url} did not answer within {self.seconds:g} seconds. Nothing is lost.")
            reply = self._server.post("/chat/completions", {**content, **_response_format(name, schema)}, left)
            if not self._rejects_format(reply):
                break
        if reply.status == 200 and name != remembered:
            self._store_format(model, name)
        return self._read_answer(reply, model)

    def list_models(self) -> list[str]:
        """List the names of the server's models. Raises ExtractError."""
        reply = self._server.get("/models", min(self.seconds, LIST_SECONDS))
        if reply.status != 200:
            raise self._explain(reply.status, self._words(reply), reply.headers, self.model)
        with suppress(ValueError):
            listed = _object(from_json(reply.body)).get("data")
            rows = [_object(each).get("id") for each in listed] if isinstance(listed, list) else []
            return [name for name in rows if isinstance(name, str) and name]
        raise self._not_compatible()

    @property
    def _server(self) -> Server:
        return Server(self.url, self.key)

    def _find_only_model(self) -> str:
        names = self.list_models()
        if len(names) == 1:
            return names[0]
        has = f"has {len(names)} models ({describe_models(names)})" if names else "lists no model"
        raise ModelMissing(f"{self.url} {has}. Set MEMEM_MODEL to the one to use; nothing is lost.")

    def _rejects_format(self, reply: HttpReply) -> bool:
        """Whether a request may have failed for its format alone; the words of servers differ too much to be sure."""
        if reply.status not in (*_REJECTING, 500):
            return False
        words = self._words(reply).lower()
        if _TOO_LONG.search(words) or _NO_MODEL.search(words):
            return False
        return reply.status in _REJECTING or bool(_OF_FORMAT.search(words))

    def _read_answer(self, reply: HttpReply, model: str) -> ModelAnswer:
        if reply.status != 200:
            raise self._explain(reply.status, self._words(reply), reply.headers, model)
        try:
            report = _object(from_json(reply.body))
        except ValueError:
            raise self._not_compatible() from None
        usage = _usage(report)
        choices = report.get("choices")
        choice = _object(choices[0]) if isinstance(choices, list) and choices else {}
        message = _object(choice.get("message"))
        words = _content(message.get("content"))
        problem: ExtractError | None = None
        if not choice:
            status = _object(report.get("error")).get("code")
            if isinstance(status, int):
                problem = self._explain(status, self._words(reply), reply.headers, model)
            else:
                problem = self._not_compatible()
        elif choice.get("finish_reason") == "length":
            cut = f"{self.url} cut the answer off after {usage.output_tokens:,} tokens."
            problem = CallFailed(f"{cut} Allow the model longer answers, or a larger context; nothing is lost.")
        elif choice.get("finish_reason") == "content_filter" or message.get("refusal"):
            reason = quote_words(self._hide_key(str(message.get("refusal") or "by the server's filter")))
            problem = Refused(f"The model refused to answer about these turns ({reason}).")
        elif not words.strip():
            problem = CallFailed(f"{self.url} sent an empty answer. Look at the server's log; nothing is lost.")
        if problem:
            problem.usage = usage
            raise problem
        return ModelAnswer(parse_words(_THOUGHTS.sub("", words), usage), usage)

    def _explain(self, status: int, words: str, headers: Message, model: str) -> ExtractError:
        lower, answered = words.lower(), f"{self.url} answered {status} ({quote_words(words) or 'it gave no reason'})."
        if status == 429:
            return RateLimited(f"{answered} Nothing is lost.", retry_at=_retry_at(headers, words, self.clock()))
        if status in _OVERLOADED:
            return Overloaded(f"{answered} It is starting or overloaded; nothing is lost.")
        if status == 413 or _TOO_LONG.search(lower):
            return CallFailed(f"{answered} The turns are too long for it: give the model a larger context.")
        if problem := self._explain_set_up(status, lower, answered, model):
            return problem
        return CallFailed(f"{answered} Look at the server's log; nothing is lost.")

    def _explain_set_up(self, status: int, words: str, answered: str, model: str) -> ExtractError | None:
        if status in (401, 403):
            advice = "Correct MEMEM_MODEL_KEY" if self.key else "Set MEMEM_MODEL_KEY"
            return NotLoggedIn(f"{answered} {advice}; nothing is lost.")
        if 300 <= status < 400:
            return ModelMissing(
                f"{self.url} redirects, and memem follows no redirects. Set MEMEM_MODEL_URL to the target."
            )
        if status in (404, 405) or _NO_MODEL.search(words):
            tried = f"It has no model {quote_words(model)!r}, or is not" if model else "It is not"
            advice = "`memem doctor` lists its models; set MEMEM_MODEL, or correct MEMEM_MODEL_URL."
            return ModelMissing(f"{answered} {tried} an OpenAI-compatible address. {advice}")
        return None

    def _words(self, reply: HttpReply) -> str:
        """Return what a server says about a failure, without our key, which it may repeat."""
        text = reply.body[:10_000].decode("utf-8", "replace")
        with suppress(ValueError):
            report = _object(from_json(reply.body))
            error = report.get("error")
            named = [_object(error).get("message"), error, report.get("message"), report.get("detail")]
            text = next((each for each in named if isinstance(each, str)), text)
        return "" if text.lstrip().startswith("<") else self._hide_key(text)

    def _hide_key(self, text: str) -> str:
        return text.replace(self.key, "[redacted]") if self.key else text

    def _not_compatible(self) -> ExtractError:
        problem = f"{self.url} does not answer like an OpenAI-compatible server."
        return CallFailed(f"{problem} Set MEMEM_MODEL_URL to a URL such as http://127.0.0.1:11434/v1; nothing is lost.")

    # --- formats --------------------------------------------------------------------------------------------------

    def _load_format(self, model: str) -> str:
        with suppress(LookupError, TypeError, ValueError):  # unknown, or written by others
            known = self._load_formats()[self._format_key(model)]
            age = self.clock() - datetime.fromisoformat(known["at"])
            if known["format"] in FORMATS and timedelta(0) <= age < RECHECK:
                return str(known["format"])
        return FORMATS[0]

    def _store_format(self, model: str, name: str) -> None:
        entry = {self._format_key(model): {"format": name, "at": self.clock().isoformat()}}
        data = json.dumps({**self._load_formats(), **entry}).encode()
        with suppress(OSError):  # the server rejects it again next time
            files.make_private_folder(self.formats_file.parent)
            files.write_atomic(self.formats_file, data, fsync=False, mode=files.PRIVATE_FILE)

    def _load_formats(self) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            return _object(from_json(self.formats_file.read_bytes()))
        return {}

    def _format_key(self, model: str) -> str:
        return f"{self.url} {model}"


def describe_models(names: list[str]) -> str:
    """List names that a server gave, within a line."""
    shown = [quote_words(name) for name in names[:_MAX_LISTED]]
    return ", ".join(shown + (["…"] if len(names) > _MAX_LISTED else []))


def _response_format(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    if name == "text":
        return {}
    named = {"json_schema": {"name": "answer", "strict": True, "schema": schema}} if name == "json_schema" else {}
    return {"response_format": {"type": name, **named}}


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _content(content: Any) -> str:
    """Return the words of a message, which some servers send in parts."""
    parts = content if isinstance(content, list) else [content]
    texts = [_object(part).get("text") if isinstance(part, dict) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def _usage(report: Mapping[str, Any]) -> Usage:
    counted = _object(report.get("usage"))
    read, written = (read_number(counted.get(name), MAX_TOKENS) for name in ("prompt_tokens", "completion_tokens"))
    return Usage(int(read or 0), int(written or 0))


def _retry_at(headers: Message, words: str, now: datetime) -> datetime | None:
    from email.utils import parsedate_to_datetime

    stated = str(headers.get("Retry-After") or "").strip()
    with suppress(ValueError, OverflowError):
        date = parsedate_to_datetime(stated)
        return read_retry_at(f"retry-after: {max(0, int((date - now).total_seconds()))}", now)
    return read_retry_at(f"retry-after: {stated} {words}" if stated.isdecimal() else words, now)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
