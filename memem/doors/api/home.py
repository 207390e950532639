"""The Python API.

import memem
with memem.open() as mem:
    mem.save("Tokens are signed with RS256.", project="shop-api", kind="decision")
    mem.search("how do we sign tokens", project="shop-api")
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, TypeAlias, overload

from memem.core.errors import InputError
from memem.core.memory import GENERAL, Entry, Hits, Slice
from memem.doors.api.arguments import several, text_of
from memem.doors.api.upkeep import Upkeep
from memem.inject import assemble, provenance, receipts
from memem.inject import slice as inject_slice
from memem.inject.assemble import Assembled
from memem.inject.provenance import Provenance
from memem.inject.receipts import InjectionDecision
from memem.mine import schedule
from memem.mine.ask import Mined
from memem.notes import conflicts, forget, review, save, write
from memem.notes.conflicts import Conflict, Resolved
from memem.notes.review import Proposal
from memem.notes.write import Written
from memem.pages.catch_up import catching_up
from memem.search import find
from memem.search.graph import build, read
from memem.search.graph.read import Neighborhood
from memem.search.timeline import Timeline, timeline
from memem.search.transcripts import sessions
from memem.search.transcripts.sessions import Said
from memem.upkeep import purge as upkeep_purge
from memem.upkeep.purge import Purged
from memem.workspace import open_workspace

Entries: TypeAlias = list[Entry]
Conflicts: TypeAlias = list[Conflict]
Proposals: TypeAlias = list[Proposal]
Sayings: TypeAlias = list[Said]


class MemoryHome(Upkeep):
    """One opened memory home. Not shared between threads."""

    def save(
        self,
        text: str,
        *,
        title: str = "",
        project: str = GENERAL,
        kind: str = "fact",
        tags: Iterable[str] = (),
        layer: int | None = None,
        importance: int = 3,
        keys: Iterable[str] = (),
        paths: Iterable[str] = (),
        why: str = "",
        anyway: bool = False,
    ) -> Written:
        """Keep a memory as a note in the vault. What was forgotten is refused, unless it is wanted `anyway`."""
        for name, value in (("text", text), ("title", title), ("project", project), ("why", why)):
            text_of(value, name)
        lists = {"tags": several(tags), "keys": several(keys), "paths": several(paths)}
        options: dict[str, Any] = {"layer": layer, "importance": importance, "why": why, "anyway": anyway, **lists}
        with catching_up(self._ws):
            return save.save(self._ws, text, folder=Path.cwd(), title=title, project=project, kind=kind, **options)

    def edit(self, id: str, *, why: str = "", **changes: Any) -> Written:
        """Change properties (`title`, `project`, `kind`, ...) or the statement (`body`) of a note."""
        self._look()
        unknown = sorted(set(changes) - set(write.EDITABLE))
        if unknown:
            raise InputError(f"There is no {unknown[0]!r} to edit. Known: {', '.join(write.EDITABLE)}.")
        given = {
            name: several(value) if name in _LISTS else value for name, value in changes.items() if value is not None
        }
        for name in ("body", "title", "project", "kind", "status"):
            text_of(given.get(name, ""), name)
        return write.edit(self._ws, text_of(id, "id"), why=text_of(why, "why"), **given)

    @overload
    def forget(self, id: str, *, why: str = "", purge: Literal[False] = False) -> Written: ...

    @overload
    def forget(self, id: str, *, why: str = "", purge: Literal[True]) -> Purged: ...

    def forget(self, id: str, *, why: str = "", purge: bool = False) -> Written | Purged:
        """Take a memory out of recall; its note moves to `.forgotten/`. `purge` removes every word of it, for good."""
        self._look()
        if purge:
            return upkeep_purge.purge(self._ws, text_of(id, "id"))
        with catching_up(self._ws):
            return forget.forget(self._ws, text_of(id, "id"), why=text_of(why, "why"))

    def proposals(self) -> Proposals:
        """What waits for a person to say whether it is to be remembered."""
        return review.proposals(self._ws)

    def accept(self, id: str, *, why: str = "") -> Written:
        """Remember what was proposed."""
        with catching_up(self._ws):
            return review.accept(self._ws, text_of(id, "id"), why=text_of(why, "why"))

    def reject(self, id: str, *, why: str = "") -> Written:
        """Forget what was proposed."""
        with catching_up(self._ws):
            return review.reject(self._ws, text_of(id, "id"), why=text_of(why, "why"))

    def search(
        self,
        query: str,
        *,
        project: str | None = None,
        current: str | None = None,
        limit: int = 10,
        as_of: str | None = None,
    ) -> Hits:
        """The best hits, as a list; `project` filters, `current` names the project whose hits are preferred a little.

        `as_of`, a date, a time or words like "last march", asks for what was held true then. The list's `degraded` says
        why keywords answered alone, when they should not have.
        """
        self._look()
        text_of(project or "", "project")
        text_of(current or "", "current project")
        text_of(as_of or "", "date")
        options: dict[str, Any] = {"project": project, "current": current, "limit": limit, "as_of": as_of}
        return find.search(self._ws, text_of(query, "query"), **options)

    def get(self, id: str) -> Entry:
        """One memory, by its id or the beginning of it."""
        self._look()
        return find.get(self._ws, text_of(id, "id"))

    def list(self, *, project: str | None = None, kind: str | None = None, limit: int = 50) -> Entries:
        """Memories, the last changed first."""
        self._look()
        return find.list_memories(self._ws, project=project, kind=kind, limit=limit)

    def slice(
        self,
        prompt: str,
        *,
        project: str | None = None,
        cwd: str | Path | None = None,
        task_mode: str = "",
        session_id: str = "",
        always: bool = False,
    ) -> Slice:
        """What Claude should know for this prompt; `text` is empty when that is nothing."""
        self._look()
        folder = Path(cwd) if cwd is not None else Path.cwd()
        options: dict[str, Any] = {"task_mode": task_mode, "session_id": session_id, "always": always}
        text_of(project or "", "project")
        return inject_slice.build_slice(self._ws, text_of(prompt, "prompt"), cwd=folder, project=project, **options)

    def context(
        self, query: str, *, project: str | None = None, cwd: str | Path | None = None, session_id: str = ""
    ) -> Assembled:
        """Everything for a task in one text: the project's playbook, the slice, and the best turns of sessions."""
        self._look()
        folder = Path(cwd) if cwd is not None else Path.cwd()
        text_of(project or "", "project")
        return assemble.assemble(self._ws, text_of(query, "query"), cwd=folder, project=project, session_id=session_id)

    def mine(self, transcript: str | Path) -> Mined:
        """Learn from a session of Claude Code: all of it that is not mined yet, at once."""
        with catching_up(self._ws):
            return schedule.mine_file(self._ws, Path(transcript))

    def why(self, id: str) -> Provenance:
        """Where a memory comes from: its words in the session, with what was around them; and where it was shown."""
        self._look()
        return provenance.why(self._ws, text_of(id, "id"))

    def last_decision(self, session_id: str = "") -> InjectionDecision:
        """What was last shown to a session, or to any, or why nothing was; also in words."""
        return receipts.last_decision(self._ws, text_of(session_id, "session id"))

    def search_transcripts(self, query: str, *, project: str | None = None, limit: int = 10) -> Sayings:
        """What was said in sessions of Claude Code, as far as it may be mined. InputError while mining is off."""
        text_of(project or "", "project")
        return sessions.search(self._ws, text_of(query, "query"), limit=limit, project=project)

    def conflicts(self, *, project: str | None = None) -> Conflicts:
        """Memories that contradict each other, the latest first."""
        self._look()
        return conflicts.conflicts(self._ws, project=project)

    def resolve(self, id: str, way: str, *, over: str | None = None) -> Resolved:
        """End the conflicts of a memory (or the one with `over`): `keep` it and end the others, or `both` hold."""
        with catching_up(self._ws):
            return conflicts.resolve(self._ws, text_of(id, "id"), text_of(way, "way"), over=over)

    def timeline(self, id: str) -> Timeline:
        """A memory among others: what it replaced, what replaced it, its links, what changed around it."""
        self._look()
        return timeline(self._ws, text_of(id, "id"))

    def neighbors(self, id: str, *, depth: int = 1, limit: int = 20) -> Neighborhood:
        """What is around a memory in the graph, up to `depth` steps away, the nearest first."""
        self._look()
        build.look_at_graph(self._ws)
        return read.neighbors(self._ws, text_of(id, "id"), depth=depth, limit=limit)


_LISTS = ("tags", "keys", "paths")


def open_home(home: str | Path | None = None, vault: str | Path | None = None) -> MemoryHome:
    """Open the memory home that the settings name, or the one given."""
    paths = {name: Path(path).expanduser() for name, path in (("home", home), ("vault", vault)) if path is not None}
    return MemoryHome(open_workspace(actor="api", home=paths.get("home"), vault=paths.get("vault")))
