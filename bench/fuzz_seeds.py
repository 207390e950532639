"""Seeds for the fuzzer: a few valid inputs of every format that memem reads."""

import io
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memem.core.memory import Memory
from memem.core.options import OPTIONS
from memem.doors.mcp.tools import TOOLS
from memem.pages import markdown, playbook_page
from memem.pages.playbook_page import PlaybookLine
from memem.vault import note as notes

EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "Stop", "PreCompact", "SessionEnd")
ID = "3f2c9a1e-0000-4000-8000-00000000000"


def _lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def memory(number: int = 1, body: str = "Tokens are signed with RS256 in `src/auth.py` since 2026-03-01.") -> Memory:
    return Memory(
        f"{ID}{number}",
        "How tokens are signed",
        body,
        "shop-api",
        "decision",
        ("memem", "auth"),
        keys=("RS256",),
        paths=("src/auth/**",),
        related=("[[gateway-1a2b3c4d]]",),
        created="2026-03-01T09:00:00+01:00",
        author="model",
        evidence="let's move signing to RS256,\nthe gateway cannot share a secret",
    )


def transcripts() -> list[bytes]:
    common = {"sessionId": "s1", "cwd": "/srv/shop", "gitBranch": "main", "timestamp": "2026-03-01T09:00:00Z"}
    asked = {"type": "user", "uuid": "u1", **common, "message": {"role": "user", "content": "Always sign with RS256."}}
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Done.\n## What memem remembers\n1. 3f2c9a1e · **Tokens**\n   > RS256"},
        {"type": "tool_use", "name": "Edit", "input": {"file_path": "/srv/shop/src/auth.py"}},
        {"type": "tool_use", "name": "Bash", "input": {"command": "pytest -q"}},
    ]
    said = {"type": "assistant", "uuid": "a1", **common, "message": {"role": "assistant", "content": parts}}
    failed = [{"type": "tool_result", "is_error": True, "content": "<tool_use_error>E1\nE2</tool_use_error>"}]
    result = {"type": "user", "uuid": "u2", **common, "message": {"role": "user", "content": failed}}
    context = {"type": "hook_additional_context", "content": ["a", "b"]}
    attached = {"type": "attachment", "attachment": context, "isSidechain": False}
    shell = {"type": "user", "message": {"content": "<bash-input>ls</bash-input><system-reminder>x</system-reminder>"}}
    whole = _lines(asked, said, result, attached, shell)
    return [
        *(whole, _lines(asked), _lines(said), json.dumps(said, indent=2).encode() + b"\n" + _lines(asked)),
        whole[:-40] + _lines(asked),  # torn, with the next one right behind
        json.dumps(asked).encode() + json.dumps(said).encode() + b"\n",
    ]


def note_texts() -> list[bytes]:
    page = markdown.merge_part("# Mine\n\nhello\n", "## Decisions\n\n- [[tokens-3f2c9a1e|Tokens]]")
    book = playbook_page.render_part(
        [PlaybookLine(2, "3f2c9a1e", "Tokens are RS256.", "[[a-3f2c9a1e]]", "abcd")], playbook_page.parse_page("")
    )
    return [
        notes.new_text(memory()).encode(),
        notes.new_text(memory(2, "Erste Zeile\n\n- a\n- b")).replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf---\nid: 12345678\ntitle: |\n  Folded\n  text\ntags:\n- a # why\n- b\nmine: {a: 1}\n---\nBody\n",
        b"---\ntitle: 'It''s'\nrelated: [[a]]\nkeys: [a, \"b\", 'c']\nx: &a 1\ny: *a\n# comment\nempty:\n---\nText\n",
        b"# A heading\n\nwritten by hand, without properties\n",
        page.encode(),
        markdown.merge_part("# Playbook\n", book).encode(),
    ]


def tombstones() -> list[bytes]:
    stone = {"key": "k1", "salt": "aabbccdd", "time": "2026-03-01T09:00:00Z", "statements": ["ab"], "sizes": [1]}
    return [
        _lines({"salt": "ab" * 16}, {"tombstone": stone}, {"lifted": "k1"}),
        _lines({"removed": "x", "key": "k", "time": "t"}, {"salt": "cd" * 16}),
    ]


def exported() -> list[bytes]:
    header = {"format": "memem-export", "version": 1, "memem": "0.7.0", "created": "x", "project": "", "files": 2}
    note = {"path": "memories/tokens-3f2c9a1e.md", "modified": 1, "text": notes.new_text(memory())}
    coded = {"path": "projects/Shop.md", "modified": 10**18, "base64": "IyBTaG9wCg=="}
    stone = {"tombstone": json.dumps({"salt": "ab" * 16})}
    return [json.dumps([header, stone, note, coded], indent=1).encode(), json.dumps([header]).encode()]


def chats() -> list[bytes]:
    message = {"uuid": "m1", "sender": "human", "text": "Always use tabs.", "created_at": "2026-03-01T09:00:00Z"}
    claude = [{"uuid": "c1", "name": "Tabs", "chat_messages": [message, {"sender": "assistant", "content": []}]}]
    node = {"author": {"role": "user"}, "create_time": 1.7e9, "content": {"content_type": "text", "parts": ["Never."]}}
    mapping = {"a": {"message": node, "parent": "b"}, "b": {"message": None, "parent": None}}
    chatgpt = [{"title": "T", "conversation_id": "c2", "current_node": "a", "mapping": mapping}]
    plain = [{"role": "user", "content": "Remember that we deploy on Fridays."}]
    return [json.dumps(each).encode() for each in (claude, chatgpt, plain, {"conversations": claude})]


def instructions() -> list[bytes]:
    return [
        b"# Shop\n\nAlways run `make test`.\n\n## Style\n\n- Use tabs\n- Never push\n  - on Fridays\n\n@docs/x.md\n",
        b"Run this:\n\n```sh\nmake\n```\n\n1. First\n2. Then\n\n<!-- hidden -->\n[x](memory.md)\n---\n",
    ]


_CLAUDE_MEM = """
PRAGMA page_size = 512;
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT, project TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, type TEXT, title TEXT,
  facts TEXT, narrative TEXT, files_modified TEXT, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE directives (id INTEGER PRIMARY KEY, scope TEXT, project TEXT, content TEXT, status TEXT, created_at TEXT);
INSERT INTO sdk_sessions VALUES (1, 'claude-1', 'memory-1', 'zoo');
INSERT INTO observations VALUES (7, 'memory-1', 'The Zoo', 'bugfix', 'Pump', '["It ran dry"]', 'The pump stopped.',
  '["src/pump.py"]', '2025-03-01T10:00:00Z', 1740823200000);
INSERT INTO directives VALUES (1, 'global', NULL, 'Never feed by hand.', 'active', NULL);
"""


def databases() -> list[bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "claude-mem.db")
        with closing(sqlite3.connect(path)) as database:
            database.executescript(_CLAUDE_MEM)
        return [path.read_bytes()]


def archives() -> list[bytes]:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", chats()[0])
    return [held.getvalue()]


def envelopes() -> list[bytes]:
    common = {"session_id": "s1", "transcript_path": "s1.jsonl", "cwd": "."}
    told: dict[str, dict[str, Any]] = {
        "SessionStart": {"source": "startup"},
        "UserPromptSubmit": {"prompt": "how do we sign tokens last week in src/auth.py, and the other one?"},
        "PreToolUse": {"tool_name": "Edit", "tool_input": {"file_path": "src/auth.py"}},
        "PermissionRequest": {"tool_name": "mcp__plugin_memem_memem__memory_search"},
        "Stop": {"last_assistant_message": "It is signed with RS256."},
    }
    return [
        event.encode() + b" " + json.dumps({"hook_event_name": event, **common, **told.get(event, {})}).encode()
        for event in EVENTS
    ]


def requests() -> list[bytes]:
    facts = b"root=/x\0cwd=/y\0seconds=3.0\0HOME=/z\0"
    body = envelopes()[1].partition(b" ")[2]
    return [
        b"memem 1 hook UserPromptSubmit %d %d\n" % (len(facts), len(body)) + facts + body,
        b"memem 1 tool memory_search 13 15\nsettings=abc\0" + b'{"query": "xy"}',
        b"memem 1 done 5\nhello",
        b"memem 1 failed 3\nno\n",
    ]


def calls() -> list[bytes]:
    """A tool's name and its arguments."""
    values: dict[str, Any] = {"string": "how are tokens signed", "integer": 3, "array": ["3f2c9a1e", "auth"]}
    held = []
    for tool_name, tool in TOOLS.items():
        given = {name: values[each["type"]] for name, each in tool["inputSchema"]["properties"].items()}
        given |= {name: "3f2c9a1e" for name in ("memory_id", "id") if name in given}
        given |= {name: "2026-03-01" for name in ("as_of",) if name in given}
        given |= {name: "shop-api" for name in ("scope_id", "project") if name in given}
        held.append(tool_name.encode() + b" " + json.dumps(given).encode())
    return held


def messages() -> list[bytes]:
    return [
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":"x"}}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
        b'{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"no"}}',
        b'{"jsonrpc":"2.0","id":3,"result":{}}',
    ]


def settings() -> list[bytes]:
    rows = [f"{each.key} = {json.dumps(each.default)}" for each in OPTIONS if each.default]
    return [
        *("\n".join(rows).encode(), b'vault = "x"\nfsync = true\ndaily_usd = 1.5\nmax_miners = 2\n'),
        b'project = "Shop API"\nmining = false\n',
        *(json.dumps({each.key: each.default}).encode() for each in OPTIONS[:6]),
    ]


def answers() -> list[bytes]:
    operation = {
        **{"op": "ADD", "target": None, "title": "T", "content": "Tokens are signed with RS256.", "kind": "fact"},
        **{"scope": "project", "importance": 3, "keys": ["a"], "paths": ["b"], "quote": "sign with RS256"},
    }
    value = {"operations": [operation, {"op": "NOOP"}]}
    verdicts = {"verdicts": [{"pair": 1, "verdict": "contradiction", "why": "x"}], "lines": [{"id": "a", "line": "b"}]}
    usage = {"input_tokens": 5, "cache_read_input_tokens": 1, "output_tokens": 7}
    report = {"type": "result", "is_error": False, "result": "ok", "usage": usage, "total_cost_usd": 0.01}
    failed = {**report, "is_error": True, "result": "API Error: 429 rate limit, resets 3pm (Europe/Berlin)"}
    return [
        json.dumps({**report, "structured_output": value}).encode(),
        json.dumps([{"type": "system"}, {**report, "result": f"```json\n{json.dumps(value)}\n```"}]).encode(),
        json.dumps({**report, "structured_output": verdicts}).encode(),
        json.dumps(failed).encode(),
        b"Claude AI usage limit reached|1772355600",
        b"error: unknown option '--safe-mode'",
        b"Retry after 20 seconds; try again at 2026-03-01T09:00:00Z",
    ]


def server_answers() -> list[bytes]:
    usage = {"prompt_tokens": 5, "completion_tokens": 7}
    words = "<think>{</think>```json\n" + json.dumps({"operations": []}) + "\n```"
    choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": words}}
    parts = {**choice, "message": {"content": [{"type": "text", "text": "{}"}], "refusal": None}}
    formats = {"http://127.0.0.1:1/v1 m": {"format": "text", "at": "2026-03-01T09:00:00+00:00"}}
    return [
        json.dumps({"choices": [choice], "usage": usage}).encode(),
        json.dumps({"choices": [parts, {**choice, "finish_reason": "length"}], "usage": usage}).encode(),
        json.dumps({"error": {"code": 429, "message": "try again in 20s"}}).encode(),
        json.dumps({"detail": "This model's maximum context length is 4096 tokens"}).encode(),
        json.dumps(formats).encode(),
        b"Sun, 01 Mar 2026 09:00:00 GMT",
        b"<html>gateway</html>",
    ]


def states() -> list[bytes]:
    event = {"time": "2026-03-01T09:00:00+01:00", "actor": "cli", "action": "save", "id": ID + "1"}
    event |= {"path": "memories/a.md", "why": "x", "before": "", "after": "ab", "batch": "0a", "what": "save"}
    second = {**event, "action": "edit", "before": "ab", "after": "cd", "number": 1, "vault": "v"}
    known = {"of": "f", "anchors": ["a.py"], "because": "a.py is gone", "since": "", "digest": "", "vouched": False}
    stone = {"key": "k1", "salt": "aabbccdd", "time": "2026-03-01T09:00:00Z", "statements": ["ab"], "sizes": [1]}
    gone = {"id": "x", "path": "a.md", "time": "t", "together": 1, "tombstone": stone, "digest": ""}
    chunk = {"session": "s", "path": "p", "project": "x", "turns": [], "work": "", "inode": 1, "offset": 2}
    return [
        _lines(event, second),
        json.dumps({"v": {"notes": {"i": known}, "places": {"x": "i"}, "withheld": {"x": "why"}}}).encode(),
        json.dumps({"v": {"salts": {"aabbccdd": "ab" * 16}, "notes": [gone]}}).encode(),
        *(b'["One thing is wrong."]', b"[1772355600.0, 5000]", b'{"cli": ["x", 1], "flags": ["--tools"]}'),
        *(b'{"/vault": {"vault_id": "v", "since": "t"}}', b'{"version": 2, "plugins": {"memem@x": [{}]}}'),
        *(json.dumps({**chunk, "digest": "d"}).encode(), b'[{"id": "a", "title": "t", "score": 0.5}]'),
        *(b'vault_id = "3f2c9a1e-0000-4000-8000-000000000001"\n', b"2026-03-01T09:00:00+01:00\nnew\n", b"a" * 32),
    ]


def commands() -> list[bytes]:
    """Arguments, parted by NUL."""
    told = (
        *("save --title T --project p --tags a,b text", "search --limit 3 --json tokens", "get 3f2c9a1e --json"),
        *("list --project p --limit 2", "slice --json tokens", "forget 3f2c9a1e", "log --limit 1", "undo --dry-run"),
        *("why --json", "why 3f2c9a1e", "conflicts --json", "timeline 3f2c9a1e", "graph stats --json", "status"),
        *("graph neighbors 3f2c9a1e --depth 2", "check --json", "config daily_calls", "config daily_calls 5"),
        *("edit 3f2c9a1e --title X --importance 2", "transcript words --limit 2", "review", "curate --limit 1"),
        *("export OUT --force", "import IN --dry-run", "graph draw OUT.svg", "resolve 3f2c9a1e 3f2c9a1e", "mining"),
        *("search tokens --as-of 2026-03-01", "save text --valid-to 2026-01-01 --importance 9", "pages", "graph audit"),
    )
    return [each.replace(" ", "\0").encode() for each in told]
