"""Build the fixed home and write down every answer: `python -m tests.golden.record tests/golden/expected`."""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

from tests.golden import frozen

if __name__ == "__main__":
    frozen.freeze()  # before anything of memem is imported

from tests import fake_claude
from tests.golden.fake_library import install_library
from tests.golden.recorder import Recorder, show_newlines
from tests.golden.scenario import (
    AT_LENGTH,
    BULLETS,
    BY_HAND,
    INSTRUCTION,
    TOKEN,
    UNREADABLE,
    WITHOUT_PROPERTIES,
    Scenario,
)

MODEL_SESSION = "aaaaaaaa-0000-4000-8000-000000000001"
RULES_SESSION = "bbbbbbbb-0000-4000-8000-000000000002"
STOP_SESSION = "cccccccc-0000-4000-8000-000000000003"
PROMPT_SESSION = "dddddddd-0000-4000-8000-000000000004"
OTHER_SESSION = "eeeeeeee-0000-4000-8000-000000000005"
FRESH_SESSION = "ffffffff-0000-4000-8000-000000000006"
DEAD_SESSION = "99999999-0000-4000-8000-000000000007"
OWN_TOOL = "mcp__plugin_memem_memem__"


def build_notes(at: Scenario) -> None:
    """Save, edit, supersede, contradict and forget: the notes that everything else is asked about."""
    run = at.recorder
    at.make_projects()
    for verb in ("status", "list", "check", "log"):
        run.record(f"cli/{verb}", verb)
    run.record("cli/search", "search", "before there is anything")
    at.save(
        "tokens",
        "Access tokens are signed with RS256 in src/tokens.py, since partners verify them with our public key.",
        *("--kind", "decision", "--importance", "5", "--keys", "JWT,auth", "--paths", "src/tokens.py"),
        *("--tags", "security", "--why", "golden"),
    )
    at.save("indent", "Python code is indented with four spaces, never tabs.", "-p", "general", "--kind", "convention")
    at.save("tea", "I prefer short answers without greetings.", "-p", "general", "--kind", "preference")
    at.save("port", "The staging database of shop-api listens on port 5433.", "--title", "Staging database port")
    at.save(
        "feeds",
        "The RSS feed was empty because Hugo skips drafts; building with --buildDrafts fixed it.",
        *("--kind", "lesson"),
        cwd=at.blog,
    )
    at.save(
        "release",
        "To release shop-api: 1. run `make check`, 2. tag the commit, 3. push the tag, 4. watch the pipeline.",
        *("--kind", "procedure", "--title", "How to release shop-api"),
    )
    at.save("pinned", "shop-api is the checkout backend: FastAPI and PostgreSQL.", "--layer", "0", "--kind", "fact")
    at.save("again", "The staging database of shop-api listens on port 5433.")
    at.save("port-now", "The staging database of shop-api no longer listens on port 5433; it listens on port 6543 now.")
    at.save("seven", "Invoices of shop-api are kept for seven years.", "--title", "How long invoices are kept")
    at.save("ten", "Invoices of shop-api are kept for ten years.")
    at.save("orm", "Queries of the blog go through the query builder and not through raw SQL.", cwd=at.blog)
    at.save(
        "orm-same",
        "Queries of the blog go through the query builder, and not through raw SQL, since June.",
        cwd=at.blog,
    )
    at.save("secret", f"The deploy bot authenticates with {TOKEN} against GitHub.", cwd=at.blog)
    at.save("invisible", "The blog is de\u200bployed from the branch \u202emain.", cwd=at.blog)
    at.save("instruction", INSTRUCTION, cwd=at.blog)
    at.save("unicode", "Die Größe der Vorschaubilder ist 320×240; 缩略图 liegen in static/thumbs.", cwd=at.blog)
    at.save("soon", "The old payment gateway is switched off on 2026-09-01.", "--kind", "fact")
    created = run.record(
        "cli/save", "save", "-", "--json", "--title", "Log format", stdin="Logs are JSON lines.", cwd=at.shop
    )
    at.ids["logs"] = created.data["id"]
    run.record("cli/save", "save", "The lunch menu is in the wiki.", "-p", "general", "--json")
    run.record("cli/edit", "edit", at.ids["logs"], "--importance", "4", "--tags", "ops,logs", "--why", "golden")
    run.record("cli/edit", "edit", at.ids["logs"], "--text", "Logs are JSON lines with a `level` field.", "--json")
    run.record("cli/edit", "edit", at.ids["logs"], "--importance", "4")
    run.record("cli/edit", "edit", at.ids["soon"], "--status", "deprecated", "--kind", "lesson", "-p", "general")
    at.save("gone", "The wifi password is on the fridge.", "-p", "general")
    at.save("gone-too", "The spare key is under the flower pot.", "-p", "general")
    run.record("cli/forget", "forget", at.ids["gone"], "--why", "golden")
    run.record("cli/forget", "forget", at.ids["gone-too"], "--json")
    at.save("refused", "The wifi password is on the fridge.", "-p", "general")
    at.save("backup", "Backups of the blog run every night.", cwd=at.blog)
    at.save("backup-more", "Backups of the blog run every night. They are kept for one week.", cwd=at.blog)
    at.save("never", "Never mind this sentence about purple elephants.", "-p", "general")
    run.record("cli/undo", "undo", "--dry-run", "--json")
    run.record("cli/undo", "undo")


def write_files_by_hand(at: Scenario) -> None:
    """Change the vault's files as a person and a sync service would."""
    run = at.recorder
    run.advance()
    at.write_by_hand(at.memories / "Deployment windows.md", BY_HAND)
    at.write_by_hand(at.memories / "broken.md", UNREADABLE)
    at.write_by_hand(at.memories / "Coffee.md", WITHOUT_PROPERTIES)
    at.write_by_hand(at.memories / "Held.md", f"---\ntitle: A held note\nproject: blog\n---\n{INSTRUCTION}\n")
    at.write_by_hand(run.vault / "Own note.md", "A note of the person's own, outside of memem's folder.\n")
    original = at.path_of("feeds")
    copy = original.with_name(f"{original.stem} (Ada's conflicted copy 2026-03-01).md")
    at.write_by_hand(copy, original.read_text(encoding="utf-8").replace("fixed it", "did fix it"))
    edited = at.path_of("release")
    at.write_by_hand(edited, edited.read_text(encoding="utf-8").replace("watch the pipeline", "watch it closely"))
    run.record("cli/check", "check")
    run.record("cli/edit", "edit", "6b1f3a52", "--importance", "5", "--layer", "1")
    run.note("cli/edit", (at.memories / "Deployment windows.md").read_text(encoding="utf-8"))
    deleted = at.path_of("unicode")
    deleted.unlink()
    run.record_both("cli/status", "status")


def mine_sessions(at: Scenario) -> None:
    """Opt in, and mine one session by the model, one by rules and one by the Stop hook."""
    run = at.recorder
    run.record_both("cli/mining", "mining")
    run.record("cli/transcript", "transcript", "before mining is on")
    run.record("cli/mining", "mining", "on")
    run.advance()
    fake_claude.set_steps(
        run.claude,
        [
            {
                "operations": [
                    operation("Carts expire after 20 minutes", "Carts of shop-api expire after 20 minutes.", "fact"),
                    operation(
                        "Amounts are integer cents",
                        "Amounts are integer cents.",
                        "convention",
                        quote="Amounts are integer cents",
                    ),
                    operation("Invented", "Nobody said this.", "fact", quote="words that were never said"),
                    {**operation("NOOP", "", "fact"), "op": "NOOP"},
                ]
            }
        ],
    )
    by_model = at.write_session(
        at.shop,
        MODEL_SESSION,
        ("user", f"Carts of shop-api expire after 20 minutes. Amounts are integer cents, please. {AT_LENGTH}"),
        ("assistant", "Noted: carts expire after 20 minutes and amounts are integer cents."),
    )
    by_rules = at.write_session(
        at.blog,
        RULES_SESSION,
        ("user", f"Remember that images of the blog are stored in WebP format. {AT_LENGTH}"),
        ("assistant", "I will use WebP from now on."),
        ("user", "We decided to use Netlify instead of Vercel because its build minutes are cheaper."),
        ("assistant", "Understood."),
    )
    run.record("cli/mine", "mine", "--session", str(by_model), "--dry-run", cwd=at.shop)
    run.record("cli/mine", "mine", "--session", str(by_model), cwd=at.shop)
    run.record("cli/mine", "mine", "--session", str(by_model), "--json", cwd=at.shop)
    run.record(
        "cli/mine", "mine", "--session", str(by_rules), "--json", cwd=at.blog, environ={"MEMEM_EXTRACTOR": "rules"}
    )
    run.advance()
    mined = run.run("search", "carts expire", "--json").data[0]["id"]
    replaces = {"op": "SUPERSEDE", "target": mined[:8]}
    longer = "Carts of shop-api now expire after 45 minutes instead of 20."
    fake_claude.set_steps(
        run.claude, [{"operations": [{**operation("Carts expire after 45 minutes", longer, "fact"), **replaces}]}]
    )
    at.write_session(at.shop, MODEL_SESSION, ("user", f"{longer} {AT_LENGTH}"), ("assistant", "Noted."))
    run.record("cli/mine", "mine", "--all", cwd=at.shop)
    at.ids["carts"] = mined
    note_model_calls(at)
    fake_claude.set_steps(run.claude, [{"exit": 1, "stderr": "API Error: 529 overloaded"}, {"echo": True}])
    run.advance()
    failing = at.write_session(
        at.shop,
        STOP_SESSION,
        ("user", f"FACT-cache: The cache of shop-api is Redis 7. {AT_LENGTH}"),
        ("assistant", "Yes."),
    )
    run.record("cli/mine", "mine", "--session", str(failing), cwd=at.shop)
    run.record("cli/mining", "mining")
    run.hook("Stop", "hooks/Stop", session_id=STOP_SESSION, transcript_path=str(failing), cwd=str(at.shop))
    run.record_both("cli/mine", "mine", "--all")
    run.record_both("cli/mining", "mining")
    run.record("cli/mine", "mine", "--retry")
    run.record("cli/mine", "mine", "--history", "--dry-run")
    fake_claude.set_steps(run.claude, [{"words": "I would rather not."}])
    run.advance()
    dead = at.write_session(at.shop, DEAD_SESSION, ("user", f"FACT-dead: Old queues are drained by hand. {AT_LENGTH}"))
    for _ in range(2):
        run.record("cli/mine", "mine", "--session", str(dead), environ={"MEMEM_MAX_FAILURES": "1"})
    run.record_both("cli/mining", "mining")
    fake_claude.set_steps(run.claude, [{"echo": True}])
    run.record("cli/mine", "mine", "--retry", "--json")
    run.record("cli/mine", "mine", "--history", "--yes")
    run.record_both("cli/transcript", "transcript", "WebP images")
    run.record("cli/transcript", "transcript", "zebra")


def operation(title: str, content: str, kind: str, quote: str = "") -> dict[str, Any]:
    """Build the model's answer for one memory."""
    common = {"op": "ADD", "target": None, "scope": "project", "importance": 3, "keys": ["golden"], "paths": []}
    return {**common, "title": title, "content": content, "kind": kind, "quote": quote or content}


def note_model_calls(at: Scenario) -> None:
    """How the model is asked: the options, and the whole question."""
    for call in fake_claude.calls(at.recorder.claude):
        arguments = "\n".join(call["argv"])
        at.recorder.note("model", f"claude in {call['cwd']}\n{arguments}\n--- standard input\n{call['stdin']}\n")


def answer_hooks(at: Scenario) -> None:
    """Every event of Claude Code, and the receipts they leave."""
    run, shop = at.recorder, {"cwd": str(at.shop), "session_id": PROMPT_SESSION}
    for source in ("startup", "resume", "compact"):
        run.hook("SessionStart", "hooks/SessionStart", source=source, **shop)
    run.hook("SessionStart", "hooks/SessionStart", source="startup", session_id=OTHER_SESSION, cwd=str(at.blog))

    def prompt(text: str, **more: str) -> None:
        run.hook("UserPromptSubmit", "hooks/UserPromptSubmit", **{**shop, "prompt": text, **more})

    run.record_both("cli/why", "why")
    prompt("How are access tokens signed, RS256 or HS256?", session_id=FRESH_SESSION)
    run.record_both("cli/why", "why")
    run.record("cli/why", "why", at.ids["tokens"])
    prompt("How are access tokens signed, RS256 or HS256?", session_id=FRESH_SESSION)
    prompt("Which port does the staging database of shop-api listen on?")
    prompt("How long are invoices of shop-api kept?")
    prompt("Please write a haiku about the sea and the wind.")
    run.record("cli/why", "why")
    for text in ("ok", "thanks!", "/clear", "", "yes, go on"):
        prompt(text)
    run.record("cli/why", "why")
    prompt("Why was the RSS feed empty?", session_id=OTHER_SESSION, cwd=str(at.blog))
    prompt("Which image format does the blog use, WebP?", session_id=OTHER_SESSION, cwd=str(at.blog))
    for tool, given in (
        ("memory_search", {"query": "tokens"}),
        ("memory_search", {"query": "tokens", "scope_id": "all"}),
        ("memory_forget", {"id": at.ids["feeds"]}),
        ("memory_save", {"text": "x"}),
    ):
        for event in ("PreToolUse", "PermissionRequest"):
            run.hook(event, f"hooks/{event}", tool_name=f"{OWN_TOOL}{tool}", tool_input=given, **shop)
    file = {"tool_name": "Edit", "tool_input": {"file_path": str(at.shop / "src" / "tokens.py")}}
    run.hook("PreToolUse", "hooks/PreToolUse", **file, **shop)
    run.run("config", "pretool_gating", "1")
    for session in (PROMPT_SESSION, DEAD_SESSION, DEAD_SESSION):
        run.hook("PreToolUse", "hooks/PreToolUse", **{**file, **shop, "session_id": session})
    run.run("config", "pretool_gating", "0")
    run.hook("PostToolUse", "hooks/PostToolUse", **file, **shop)
    run.advance()
    transcript = at.write_session(
        at.shop,
        FRESH_SESSION,
        ("user", "How are access tokens signed, RS256 or HS256?"),
        ("assistant", "They are signed with RS256 in src/tokens.py, so that partners verify them with the public key."),
    )
    told = {"transcript_path": str(transcript), **shop, "session_id": FRESH_SESSION}
    run.hook("Stop", "hooks/Stop", last_assistant_message="They are signed with RS256.", **told)
    run.record_both("cli/why", "why", at.ids["tokens"])
    run.hook("PreCompact", "hooks/PreCompact", trigger="manual", **told)
    run.hook("SessionEnd", "hooks/SessionEnd", reason="other", **told)
    run.hook("SubagentStop", "hooks/unknown", **told)
    run.record("hooks/unknown", "hook", "SessionStart", stdin="this is not JSON")
    run.note("hooks/hooks.log", read_text(run.home / "hooks.log"))
    run.record("cli/hook", "hook", "UserPromptSubmit", stdin=json.dumps({"prompt": "tokens RS256", **shop}))
    line = {"workspace": {"current_dir": str(at.shop), "project_dir": str(at.shop)}, "session_id": PROMPT_SESSION}
    run.record("cli/statusline", "statusline", stdin=json.dumps(line))
    run.record("cli/statusline", "statusline", stdin="nothing of use")
    run.record("cli/statusline", "statusline", "--show-setting")


def ask_every_verb(at: Scenario) -> None:
    """Verbs that read, and then those that change something."""
    run, tokens, shop = at.recorder, at.ids["tokens"], at.shop
    run.record_both("cli/search", "search", "how are tokens signed")
    run.record("cli/search", "search", "port", "-p", "shop-api", "-n", "2")
    run.record("cli/search", "search", "invoices", "--as-of", "2026-03-02T09:12:00")
    run.record("cli/search", "search", "port", "--as-of", "last March")
    run.record("cli/search", "search", "zebra crossing")
    run.record("cli/search", "search", "x", "--as-of", "whenever")
    run.record_both("cli/get", "get", tokens)
    run.record("cli/get", "get", tokens[:8], at.ids["port"], "6b1f3a52")
    run.record("cli/get", "get", at.ids["port"], at.ids["pinned"], "--json")
    run.record_both("cli/list", "list")
    run.record("cli/list", "list", "-p", "blog", "--kind", "lesson", "-n", "5")
    run.record_both("cli/slice", "slice", "How are access tokens signed?", cwd=shop)
    run.record("cli/slice", "slice", "Debug the empty RSS feed", "--scope", "blog", "--task-mode", "debug")
    run.record("cli/slice", "slice", "hello", "--always", "--session-id", PROMPT_SESSION, "--cwd", str(shop))
    run.record("cli/slice", "slice", "Write a poem about the sea", cwd=shop)
    run.record_both("cli/timeline", "timeline", at.ids["port"])
    run.record("cli/timeline", "timeline", at.ids["carts"])
    run.record("cli/search", "search", "carts expire", "--as-of", "2026-03-02T09:50:00")
    run.record_both("cli/conflicts", "conflicts")
    run.record_both("cli/review", "review")
    run.record_both("cli/check", "check")
    run.record_both("cli/status", "status")
    run.record("cli/forget", "forget", "--vanished", "--json")
    run.record_both("cli/log", "log", "-n", "12")
    run.record_both("cli/graph", "graph", "rebuild")
    run.record_both("cli/graph", "graph", "stats")
    run.record_both("cli/graph", "graph", "neighbors", at.ids["ten"])
    run.record_both("cli/graph", "graph", "audit")
    drawn = run.folder / "graph.svg"
    run.record("cli/graph", "graph", "draw", str(drawn))
    run.note("graph.svg", drawn.read_text(encoding="utf-8"))
    run.record_both("cli/curate", "curate")
    run.record_both("cli/pages", "pages")
    run.record("cli/config", "config")
    run.record("cli/config", "config", "daily_usd", "--json")
    run.record("cli/config", "config", "daily_usd", "3.5")
    run.record("cli/config", "config", "daily_usd")
    run.note("cli/config", read_text(run.home / "config.toml"))
    run.record_both("cli/model", "model")
    run.record("cli/model", "model", "path")
    run.record("cli/encode", "encode")
    run.record_both("cli/index", "index", "model")
    run.record_both("cli/index", "index", "check")
    run.record_both("cli/link", "link", "--check")
    run.record("cli/link", "link")
    run.record_both("cli/doctor", "doctor", environ={"MEMEM_HOOKS_OFF": "1"})
    run.record("cli/doctor", "--integrity-check")
    run.record_both("cli/reindex", "reindex")


def change_by_every_verb(at: Scenario) -> None:
    """Review, resolve, curate, import, export and undo."""
    run = at.recorder
    waiting = run.run("review", "--json").data
    run.record("cli/review", "review", "accept", waiting[0]["id"], "--json")
    run.record("cli/undo", "undo", "--json")
    run.record("cli/review", "review", "reject", waiting[0]["id"], "--why", "golden")
    run.record("cli/review", "review", "reject", waiting[1]["id"], "--json")
    run.record("cli/resolve", "resolve", at.ids["ten"], "keep", "--json")
    run.record("cli/undo", "undo", "--dry-run")
    run.record("cli/undo", "undo")
    run.record("cli/resolve", "resolve", at.ids["ten"], "both")
    files = run.folder / "to import"
    at.write_by_hand(
        files / "CLAUDE.md", "# Rules\n\n- Tests are run with `make test`.\n- Branches are named after issues.\n"
    )
    at.write_by_hand(files / "one.md", "---\ntitle: Imported\nproject: blog\n---\nThe blog has a search page.\n")
    run.record("cli/import", "import", str(files), "--dry-run")
    imported = run.record("cli/import", "import", str(files), "--json")
    run.record("cli/import", "import", str(files))
    run.record("cli/log", "log", imported.data["batch"])
    run.record("cli/undo", "undo", imported.data["batch"])
    run.record("cli/export", "export", str(run.folder / "export"))
    run.record("cli/export", "export", str(run.folder / "export.json"), "-p", "shop-api", "--json")
    run.note("export.json", read_text(run.folder / "export.json"))
    run.record("cli/forget", "forget", at.ids["secret"], "--purge", "--yes", "--json")
    run.record("cli/forget", "forget", at.ids["invisible"], "--purge")
    run.record("cli/reindex", "reindex")


def trust_folders(at: Scenario) -> None:
    run = at.recorder
    run.record_both("cli/project", "project")
    run.record_both("cli/project", "project", "trust", str(at.shop))
    run.record("cli/project", "project", "trsut")


def fail_in_every_way(at: Scenario) -> None:
    """Wrong usage and what is not there."""
    run = at.recorder
    for arguments in (
        ("nonsense",),
        ("search",),
        ("get", "ffffffff"),
        ("get", "not an id", "--json"),
        ("edit", at.ids["tokens"], "--kind", "poem"),
        ("edit", at.ids["tokens"], "--importance", "9"),
        ("edit", "ffffffff", "--title", "x"),
        ("forget", "ffffffff"),
        ("forget",),
        ("save", ""),
        ("save", "x", "--layer", "7"),
        ("save", "x", "--kind", "poem"),
        ("list", "--kind", "poem"),
        ("list", "-n", "0"),
        ("review", "accept", "ffffffff"),
        ("review", "accept"),
        ("undo", "ffffffff"),
        ("log", "ffffffff"),
        ("why", "ffffffff"),
        ("timeline", "ffffffff"),
        ("resolve", "ffffffff", "keep"),
        ("graph",),
        ("graph", "neighbors", "ffffffff"),
        ("curate", "--apply", "ffffffff"),
        ("import", "/nowhere/at/all"),
        ("export", str(run.folder / "export")),
        ("mine",),
        ("mine", "--session", "/nowhere.jsonl"),
        ("mining", "maybe"),
        ("config", "nonsense"),
        ("config", "daily_usd", "much"),
        ("hook", "Nonsense"),
        ("model", "nonsense"),
        ("status", "--nonsense"),
        ("serch", "tokens"),
        ("index",),
        ("index", "rebild"),
    ):
        run.record("cli/errors", *arguments)
    run.record("cli/errors", "status", environ={"MEMEM_DAILY_CALLS": "many"})
    run.record("cli/errors", "list", environ={"MEMEM_OBSIDIAN_VAULT": str(run.user / "no vault")})


def print_help(at: Scenario) -> None:
    """`--help` of memem and of every verb that it names."""
    run = at.recorder
    text = run.record("help/memem", "--help").out
    run.record("help/memem", "--version")
    run.record("help/memem")
    for verb in [*read_verbs(text), "demo", "hook", "serve"]:
        page = run.record(f"help/{verb}", verb, "--help").out
        for part in re.findall(rf"^  {verb} (\w+)  ", page, re.MULTILINE):
            run.record(f"help/{verb}", verb, part, "--help")


def read_verbs(help_text: str) -> list[str]:
    """The verbs that `memem --help` lists."""
    return re.findall(r"^  ([a-z]+)  ", help_text, re.MULTILINE)


def call_every_tool(at: Scenario) -> None:
    """The MCP server: what it offers, and an answer of each tool."""
    run, tokens = at.recorder, at.ids["tokens"]
    with run.serve(at.shop) as client:
        run.note("mcp/protocol", as_json(client.begin()))
        run.note("mcp/protocol", as_json(client.ask("ping")))
        run.note("mcp/protocol", as_json(client.ask("nonsense")))
        run.note("mcp/tools-default", as_json(client.ask("tools/list")["result"]))
    with run.serve(at.shop, MEMEM_TOOLS="full", CLAUDE_CODE_SESSION_ID=PROMPT_SESSION) as client:
        client.begin()
        tools = client.ask("tools/list")["result"]
        run.note("mcp/tools-full", as_json(tools))

        def call(name: str, **arguments: Any) -> str:
            answer = client.ask("tools/call", name=name, arguments=arguments)
            text = show_newlines(as_json(answer.get("result") or answer.get("error")))
            run.note(f"mcp/{name}", f"{name} < {json.dumps(arguments)}\n{text}")
            return text

        call("active_memory_slice", query="How are access tokens signed?")
        call("active_memory_slice", query="Write a poem about the sea", task_mode="plan")
        call("memory_search", query="which port has the staging database")
        call("memory_search", query="RSS", scope_id="all", limit=3)
        call("memory_search", query="zebra")
        call("memory_search", query="port", as_of="2026-03-02T09:12:00")
        call("memory_search")
        call("memory_search", query="x", limit="many")
        call("memory_recall", query="tokens", limit=1)
        call("memory_get", ids=[tokens, at.ids["port"]])
        call("memory_get", ids=["ffffffff"])
        call("memory_get", id=tokens)
        call("memory_list", scope_id="blog")
        call("memory_timeline", memory_id=at.ids["port"])
        call("transcript_search", query="WebP images", scope_id="all")
        call("context_assemble", query="How do we sign tokens?")
        call("memory_graph_neighbors", memory_id=at.ids["ten"])
        call("memory_graph_audit")
        call("memory_graph_rebuild")
        call("memory_save", content="Payments are settled every night at two.", title="Settlement")
        call("memory_save", content="Payments are settled every night at two.")
        call("memory_save", content=INSTRUCTION.replace("~/.ssh", "~/.aws"))
        call("memory_save", content=BULLETS, title="Facts about the warehouse")
        call("memory_forget", id=at.ids["soon"])
        call("no_such_tool")


def tidy(at: Scenario) -> None:
    """Curate, with a note of a machine's that can be split."""
    run = at.recorder
    run.record_both("cli/curate", "curate")
    run.record("cli/curate", "curate", "--apply", "--json")
    run.record("cli/undo", "undo")
    run.record("cli/curate", "curate", "--apply", "-p", "shop-api")


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def call_python(at: Scenario) -> None:
    """The Python API, in this process."""
    import memem

    run, tokens = at.recorder, at.ids["tokens"]
    run.advance()
    run.note("api", f"{sorted(memem.__all__)}\n")
    with chdir(at.shop), memem.open(run.home, run.vault) as home:

        def call(text: str, act: Callable[[], Any]) -> Any:
            try:
                result = act()
            except memem.MememError as error:
                result = error
            run.note("api", f">>> home.{text}\n{show_value(result)}\n")
            return result

        call("save(...)", lambda: home.save("The API of shop-api is versioned by path.", project="shop-api"))
        call("save(instruction)", lambda: home.save(INSTRUCTION, project="blog"))
        call("save('')", lambda: home.save(""))
        call("edit(...)", lambda: home.edit(at.ids["logs"], title="Log lines", keys=["jsonl"]))
        call("search(...)", lambda: home.search("how are tokens signed", current="shop-api", limit=2))
        call("get(...)", lambda: home.get(tokens))
        call("get(unknown)", lambda: home.get("ffffffff"))
        call("list(...)", lambda: home.list(project="blog", limit=3))
        call("slice(...)", lambda: home.slice("How are access tokens signed?", cwd=at.shop))
        call("context(...)", lambda: home.context("How are access tokens signed?", cwd=at.shop))
        call("why(...)", lambda: home.why(tokens))
        call("last_decision()", home.last_decision)
        call("search_transcripts(...)", lambda: home.search_transcripts("WebP", limit=1))
        call("proposals()", home.proposals)
        call("conflicts()", home.conflicts)
        call("timeline(...)", lambda: home.timeline(at.ids["port"]))
        call("neighbors(...)", lambda: home.neighbors(at.ids["ten"]))
        call("log(2)", lambda: home.log(2))
        call("curate()", home.curate)
        call("write_pages()", home.write_pages)
        call("check()", home.check)
        call("status()", home.status)
        call("forget(...)", lambda: home.forget(at.ids["logs"]))
        call("undo(dry_run=True)", lambda: home.undo(dry_run=True))
        call("undo()", home.undo)
        call("reindex()", home.reindex)


def show_value(value: Any) -> str:
    """A `repr` with a line for each field, so that differences can be read."""
    return re.sub(
        r", (?=\w+=)|(?<=\[)(?=\w+\()|(?<=\)), (?=\w+\()", lambda found: f"{found.group().strip()}\n    ", repr(value)
    )


def note_files(at: Scenario, page: str) -> None:
    """The bytes of everything in the vault, and the shape of the home."""
    run = at.recorder
    for path in sorted(run.vault.rglob("*")):
        if path.is_file():
            kind = path.relative_to(run.vault).parts[1] if path.is_relative_to(run.vault / "memem") else "others"
            name = kind if (run.vault / "memem" / kind).is_dir() else "top"
            text = path.read_bytes().decode()
            run.note(f"{page}/{name}", f"===== {path.relative_to(run.vault).as_posix()}\n{text}")
    run.note(f"{page}/events", read_text(run.home / "state" / "events.jsonl"))


def note_home(at: Scenario) -> None:
    """Which files a memory home consists of, and what mining writes to its log."""
    run = at.recorder
    files = sorted(path.relative_to(run.home).as_posix() for path in run.home.rglob("*") if path.is_file())
    run.note("home-files", "\n".join(sorted({re.sub(r"[0-9a-f]{8,}", "*", file) for file in files})))
    run.note("mine_delta.log", read_text(run.home / "mine_delta.log"))


def find_by_meaning(at: Scenario) -> None:
    """The same home with an encoder: what is encoded, and what meaning does to search, slices and the graph."""
    run = at.recorder
    chosen = {"environ": install_library(run.folder / "model")}
    run.record("meaning", "status", **chosen)
    run.record("meaning", "encode", "--json", **chosen)
    run.record("meaning", "encode", **chosen)
    run.record_both("meaning", "model", **chosen)
    run.record_both("meaning", "search", "how are credentials verified", "-n", "3", **chosen)
    run.record("meaning", "search", "pictures", "-p", "blog", **chosen)
    run.record("meaning", "slice", "How long are bills of the shop kept?", cwd=at.shop, **chosen)
    run.record("meaning", "slice", "Are credentials verified with RS256?", "--json", cwd=at.shop, **chosen)
    told = {"prompt": "Are credentials verified with RS256?", "cwd": str(at.shop), "session_id": OTHER_SESSION}
    run.record("meaning", "hook", "UserPromptSubmit", stdin=json.dumps(told), **chosen)
    run.record("meaning", "why", **chosen)
    run.record("meaning", "save", "Pictures of the blog are compressed at night.", cwd=at.blog, **chosen)
    run.record("meaning", "search", "compressed images", "-n", "2", **chosen)
    run.record_both("meaning", "graph", "rebuild", **chosen)
    run.record("meaning", "graph", "stats", **chosen)
    run.record("meaning", "graph", "neighbors", at.ids["tokens"], **chosen)
    run.record("meaning", "curate", **chosen)
    run.record("meaning", "doctor", environ={**chosen["environ"], "MEMEM_HOOKS_OFF": "1"})
    run.record("meaning", "search", "how are credentials verified", "-n", "3")


def leave(at: Scenario) -> None:
    """Record an uninstall, and the demo in a home of its own."""
    run = at.recorder
    run.record("cli/mining", "mining", "off")
    run.record("cli/uninstall", "uninstall")
    run.record("cli/uninstall", "uninstall", "--json")
    run.record("cli/uninstall", "uninstall", "--yes")
    run.note("cli/uninstall", "\n".join(sorted(path.name for path in run.user.iterdir())))
    run.record("cli/demo", "demo")
    with run.serve(at.shop) as client:
        begun = client.begin()["serverInfo"]["name"]
        run.note("cli/serve", f"`memem serve` speaks MCP on its streams, as pages mcp/* show. Its name is {begun}.")


def read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else "(no such file)\n"


def record(target: Path) -> None:
    """Write the pages below `target`, in the place of those that are there."""
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        at = Scenario(Recorder(Path(folder)))
        for part in (build_notes, write_files_by_hand, mine_sessions, answer_hooks, ask_every_verb):
            part(at)
        note_files(at, "vault")
        for part in (change_by_every_verb, trust_folders, fail_in_every_way, print_help):
            part(at)
        for part in (call_every_tool, tidy, call_python):
            part(at)
        note_files(at, "vault-changed")
        find_by_meaning(at)
        note_home(at)
        leave(at)
        shutil.rmtree(target, ignore_errors=True)
        at.recorder.write_pages(target)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
