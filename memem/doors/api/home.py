"""The Python API: `memem.open()` returns a `MemoryHome`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias, overload

from memem.core.memory import GENERAL, Entry, Hits, Slice
from memem.doors.api.upkeep import Upkeep, check_optional, check_texts, read_texts
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
from memem.search.encoders import model
from memem.search.graph import build, read
from memem.search.graph.read import Neighborhood, Timeline, timeline
from memem.search.transcripts import sessions
from memem.search.transcripts.sessions import TurnHit
from memem.upkeep import purge as upkeep_purge
from memem.upkeep.purge import Purged
from memem.workspace import open_workspace

Kind: TypeAlias = Literal["decision", "convention", "preference", "fact", "lesson", "procedure"]
Layer: TypeAlias = Literal[0, 1, 2, 3]
Importance: TypeAlias = Literal[1, 2, 3, 4, 5]
NoteStatus: TypeAlias = Literal["active", "deprecated", "stale", "quarantined"]
Resolution: TypeAlias = Literal["keep", "both"]
Entries: TypeAlias = list[Entry]  # aliases, since the method `list` hides the type in the class
Conflicts: TypeAlias = list[Conflict]
Proposals: TypeAlias = list[Proposal]
Turns: TypeAlias = list[TurnHit]

ENCODE_AT_SEARCH = 128  # passages encoded before a search, about two seconds' work; more are left to the background


class MemoryHome(Upkeep):
    """One opened memory home. Not shared between threads."""

    def save(
        self,
        text: str,
        *,
        title: str = "",
        project: str = GENERAL,
        kind: Kind = "fact",
        tags: Iterable[str] = (),
        layer: Layer | None = None,
        importance: Importance = 3,
        keys: Iterable[str] = (),
        paths: Iterable[str] = (),
        why: str = "",
        anyway: bool = False,
    ) -> Written:
        """Save a memory as a note in the vault. A forgotten statement is refused, unless `anyway`."""
        check_texts(text=text, title=title, project=project, why=why)
        with catching_up(self._ws):
            written = save.save(
                self._ws,
                text,
                title=title,
                project=project,
                kind=kind,
                tags=read_texts(tags),
                layer=layer,
                importance=importance,
                keys=read_texts(keys),
                paths=read_texts(paths),
                why=why,
                folder=Path.cwd(),
                anyway=anyway,
            )
        model.encode_after_save(self._ws)
        return written

    def edit(
        self,
        id: str,
        *,
        body: str | None = None,
        title: str | None = None,
        project: str | None = None,
        kind: Kind | None = None,
        layer: Layer | None = None,
        importance: Importance | None = None,
        status: NoteStatus | None = None,
        tags: Iterable[str] | None = None,
        keys: Iterable[str] | None = None,
        paths: Iterable[str] | None = None,
        why: str = "",
    ) -> Written:
        """Change properties or the statement (`body`) of a note; None leaves a property as it is."""
        check_texts(id=id, why=why)
        check_optional(body=body, title=title, project=project, kind=kind, status=status)
        changes: dict[str, object] = {"body": body, "title": title, "project": project, "kind": kind, "layer": layer}
        changes |= {"importance": importance, "status": status}
        lists = {"tags": tags, "keys": keys, "paths": paths}
        changes |= {name: read_texts(values) for name, values in lists.items() if values is not None}
        given = {name: value for name, value in changes.items() if value is not None}
        return write.edit(self._refreshed(), id, why=why, **given)

    @overload
    def forget(self, id: str, *, why: str = "", purge: Literal[False] = False) -> Written: ...

    @overload
    def forget(self, id: str, *, why: str = "", purge: Literal[True]) -> Purged: ...

    def forget(self, id: str, *, why: str = "", purge: bool = False) -> Written | Purged:
        """Move a memory's note to `.forgotten/`, out of recall. `purge` removes every word of it for good."""
        check_texts(id=id, why=why)
        ws = self._refreshed()
        if purge:
            return upkeep_purge.purge(ws, id)
        with catching_up(ws):
            return forget.forget(ws, id, why=why)

    def proposals(self) -> Proposals:
        """List memories that wait for review."""
        return review.proposals(self._ws)

    def accept(self, id: str, *, why: str = "") -> Written:
        """Accept a proposal."""
        check_texts(id=id, why=why)
        with catching_up(self._ws):
            return review.accept(self._ws, id, why=why)

    def reject(self, id: str, *, why: str = "") -> Written:
        """Reject a proposal."""
        check_texts(id=id, why=why)
        with catching_up(self._ws):
            return review.reject(self._ws, id, why=why)

    def search(
        self,
        query: str,
        *,
        project: str | None = None,
        current: str | None = None,
        limit: int = 10,
        as_of: str | None = None,
    ) -> Hits:
        """Find memories, best first. `project` filters; hits of the project `current` rank a little higher.

        `as_of`, a date, a time or words like "last March", asks for what counted as true then.
        """
        check_texts(query=query)
        check_optional(project=project, current=current, as_of=as_of)
        model.encode_pending(self._refreshed(), ENCODE_AT_SEARCH)
        return find.search(self._ws, query, project=project, current=current, limit=limit, as_of=as_of)

    def get(self, id: str) -> Entry:
        """Return the memory with this id, or this beginning of an id."""
        check_texts(id=id)
        return find.get(self._refreshed(), id)

    def list(self, *, project: str | None = None, kind: Kind | None = None, limit: int = 50) -> Entries:
        """List memories, most recently changed first."""
        check_optional(project=project, kind=kind)
        return find.list_memories(self._refreshed(), project=project, kind=kind, limit=limit)

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
        """Return what Claude would be shown for this prompt; `text` is empty for nothing."""
        check_texts(prompt=prompt, task_mode=task_mode, session_id=session_id)
        check_optional(project=project)
        folder = Path(cwd) if cwd is not None else Path.cwd()
        ws = self._refreshed()
        return inject_slice.build_slice(
            ws, prompt, cwd=folder, project=project, task_mode=task_mode, session_id=session_id, always=always
        )

    def context(
        self, query: str, *, project: str | None = None, cwd: str | Path | None = None, session_id: str = ""
    ) -> Assembled:
        """Assemble one text for a task: the project's playbook, the slice, and the best turns of sessions."""
        check_texts(query=query, session_id=session_id)
        check_optional(project=project)
        folder = Path(cwd) if cwd is not None else Path.cwd()
        return assemble.assemble(self._refreshed(), query, cwd=folder, project=project, session_id=session_id)

    def mine(self, transcript: str | Path) -> Mined:
        """Mine the turns of a Claude Code session that have not been mined."""
        with catching_up(self._ws):
            return schedule.mine_file(self._ws, Path(transcript))

    def why(self, id: str) -> Provenance:
        """Show where a memory comes from, with the turns around its evidence, and where it was shown."""
        check_texts(id=id)
        return provenance.find_provenance(self._refreshed(), id)

    def last_decision(self, session_id: str = "") -> InjectionDecision:
        """Explain what was last shown to a session, or to any, or why nothing was."""
        check_texts(session_id=session_id)
        return receipts.last_decision(self._ws, session_id)

    def search_transcripts(self, query: str, *, project: str | None = None, limit: int = 10) -> Turns:
        """Search the turns of Claude Code sessions that may be mined. Raises InputError while mining is off."""
        check_texts(query=query)
        check_optional(project=project)
        return sessions.search(self._ws, query, limit=limit, project=project)

    def conflicts(self, *, project: str | None = None) -> Conflicts:
        """List memories that contradict each other, latest first."""
        check_optional(project=project)
        return conflicts.conflicts(self._refreshed(), project=project)

    def resolve(self, id: str, way: Resolution, *, over: str | None = None) -> Resolved:
        """Resolve the conflicts of a memory, or the one with `over`: `keep` it and end the others, or keep `both`."""
        check_texts(id=id, way=way)
        check_optional(over=over)
        with catching_up(self._ws):
            return conflicts.resolve(self._ws, id, way, over=over)

    def timeline(self, id: str) -> Timeline:
        """Show a memory's predecessors, successors and links, and what changed around it."""
        check_texts(id=id)
        return timeline(self._refreshed(), id)

    def neighbors(self, id: str, *, depth: int = 1, limit: int = 20) -> Neighborhood:
        """Show the memories up to `depth` steps away in the graph, closest first."""
        check_texts(id=id)
        build.refresh_graph(self._refreshed())
        return read.find_neighbors(self._ws, id, depth=depth, limit=limit)


def open_home(home: str | Path | None = None, vault: str | Path | None = None) -> MemoryHome:
    """Open the memory home that the settings name, or the one given."""
    home_path = Path(home).expanduser() if home is not None else None
    vault_path = Path(vault).expanduser() if vault is not None else None
    return MemoryHome(open_workspace(actor="api", home=home_path, vault=vault_path))
