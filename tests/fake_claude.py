"""A stand-in for the claude CLI: a program that plays the steps it was given and writes down how it was called.

    command = install(folder, [{"exit": 1, "stderr": "error: no"}, {"operations": []}])
    ...                       # run it, from as many processes at once as you like
    calls(folder)             # -> [{"argv": [], "stdin": "", "env": {}, "pid": 1, "cwd": "", "step": 0}, ...]
    set_steps(folder, [...])  # from now on other steps, beginning with the first
    ends(calls(folder)[0]["pid"])
    most_at_once(folder)      # -> how many calls were under way at the same time

Each call takes the next step, and the last one repeats. A step is a dict of

    quotes      the second answer, about unproven operations
    operations  the answer, as structured output        echo      the answer is made from standard input: see below
    words       what the model says instead             result    the whole report of the call, as a dict
    raw         the whole output, as it is              empty     no output at all
    truncate    how many characters of it are given     flood     writes without end to this stream
    stderr, exit                                        sleep     seconds before any of it
    child       starts a process that sleeps, ignores SIGTERM and is written down as "child", with its pid
    kill        ends by SIGKILL, after the sleep
    hooks       runs memem's hooks, as a CLI does that knows no option against them: a list of the client, and of the
                environment and the folder they get (None: its own). It keeps a session file too: see `nested`
    lines       what it makes of lines of a playbook, when it is asked about such: a list of ids and texts
    verdict     what it says of pairs of memories, when it is asked about such: that they contradict, if nothing

With `echo` every `FACT-word: text` on standard input becomes an ADD with that text as its quote. `reword` makes the
title and the content different in each call, as a model does, while the quote stays.

`--help` lists `flags`, and an option that is not among them is refused as the CLI does it. `install(..., help=...)`
replaces what is listed, so that it can be wrong, after `help_sleep` seconds and with the exit code `help_exit`. These
questions take no step and are written down with `step` None.
"""

import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from memem.core import processes

FLAGS = (
    "--safe-mode --tools --system-prompt --no-session-persistence --strict-mcp-config --setting-sources"
    " --disable-slash-commands --model --session-id --output-format --json-schema"
).split()

Step = dict[str, Any]

_PROGRAM = r'''#!{python} -IS
import os, sys
import json, re, signal, time

FOLDER = {folder!r}
SWITCHES = {{"--safe-mode", "--no-session-persistence", "--strict-mcp-config", "--disable-slash-commands"}}
FACT = re.compile(r"FACT-(\w+): (.+)")
PAIR = re.compile(r"<pair number=(\d+)>")
LINE = re.compile(r"<line id=(\S+)>")


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return json.load(file)


def append(name, value):
    """One line in one write, so that processes do not write into each other's."""
    descriptor = os.open(os.path.join(FOLDER, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, (json.dumps(value) + "\n").encode())
    os.close(descriptor)


def take_number(round):
    """The next number that nobody has: whoever makes the file first has it."""
    number = 0
    while True:
        try:
            os.close(os.open(os.path.join(FOLDER, "taken", "%s-%d" % (round, number)), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            number += 1
        else:
            return number


def write_down(step, said, **more):
    env = {{name: value for name, value in os.environ.items() if name.startswith(("CLAUDE", "ANTHROPIC", "MEMEM"))}}
    call = dict(argv=sys.argv[1:], stdin=said, env=env, pid=os.getpid(), cwd=os.getcwd(), step=step, **more)
    append("calls.jsonl", call)


def start_child():
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(writing, 1)
        os.execv(sys.executable, [sys.executable, "-IS", "-c", code])
    os.read(reading, 1)
    return pid


def fire_hooks(client, env, folder, said):
    import subprocess
    session = sys.argv[sys.argv.index("--session-id") + 1]
    projects = os.path.join((env or os.environ)["HOME"], ".claude", "projects", os.getcwd().replace("/", "-"))
    os.makedirs(projects, exist_ok=True)
    path = os.path.join(projects, session + ".jsonl")
    line = dict(type="user", uuid=session, sessionId=session, cwd=os.getcwd(), timestamp="2030-01-01T00:00:00Z",
                isSidechain=False, message=dict(role="user", content=sys.argv[-1] + "\n\n" + said))
    with open(path, "w") as file:
        file.write(json.dumps(line) + "\n")
    told = dict(session_id=session, transcript_path=path, cwd=folder or os.getcwd(), source="startup", prompt="hello")
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
        done = subprocess.run([sys.executable, "-I", "-S", client, "hook", event], env=env, cwd=folder,
                              input=json.dumps(dict(told, hook_event_name=event)).encode(), capture_output=True)
        append("nested.jsonl", dict(event=event, code=done.returncode, session=session))


def echoed(said, number, reword):
    words = " (in the words of call %d)" % number if reword else ""
    return [
        dict(op="ADD", target=None, title="About %s%s" % (name, words), content=text + words, kind="fact",
             scope="project", importance=3, keys=[name], paths=[], quote=text)
        for name, text in FACT.findall(said)
    ]


def report(step, said, number):
    usage = dict(input_tokens=100, cache_creation_input_tokens=20, cache_read_input_tokens=3, output_tokens=12)
    made = dict(type="result", subtype="success", is_error=False, result=step.get("words", ""), stop_reason="end_turn",
                total_cost_usd=0.001, num_turns=1, usage=usage, modelUsage={{"claude-fake-1": {{}}}})
    operations = echoed(said, number, step.get("reword")) if step.get("echo") else step.get("operations")
    if operations is not None:
        made["structured_output"] = dict(operations=operations)
    elif "quotes" in step:
        made["structured_output"] = dict(quotes=step["quotes"])
    pairs = PAIR.findall(said)
    if pairs:
        told = dict(verdict=step.get("verdict", "contradict"), why="as the model says")
        made["structured_output"] = dict(pairs=[dict(number=int(number), **told) for number in pairs])
    if LINE.search(said):
        made["structured_output"] = dict(lines=step.get("lines", []))
    return json.dumps(step.get("result", made))


def play(step, said, number):
    if step.get("hooks"):
        fire_hooks(*step["hooks"], said)
    time.sleep(step.get("sleep", 0))
    if step.get("kill"):
        os.kill(os.getpid(), signal.SIGKILL)
    while step.get("flood"):
        os.write(step["flood"], b"flood " * 10000)
    os.write(2, step.get("stderr", "").encode())
    silent = step.get("empty") or ("exit" in step and not {{"result", "words", "operations"}} & set(step))
    output = step.get("raw", "" if silent else report(step, said, number))
    sys.stdout.buffer.write(output[: step.get("truncate", len(output))].encode())
    return step.get("exit", 0)


def main():
    given, setup = sys.argv[1:], read("setup.json")
    if given in (["--version"], ["--help"]):
        write_down(None, "")
        if given == ["--version"]:
            print("2.1.325 (Claude Code)")
            return 0
        time.sleep(setup["help_sleep"])
        print(setup["help"])
        return setup["help_exit"]
    for each in given[: given.index("--")] if "--" in given else given:
        if each.startswith("--") and each not in setup["flags"]:
            sys.stderr.write("error: unknown option '%s'\n" % each)
            return 1
    said = sys.stdin.buffer.read().decode("utf-8", "replace")
    play_list = read("steps.json")
    number = take_number(play_list["round"])
    step = play_list["steps"][min(number, len(play_list["steps"]) - 1)]
    begun = time.monotonic()
    write_down(number, said, begun=begun, **(dict(child=start_child()) if step.get("child") else {{}}))
    code = play(step, said, number)
    append("ends.jsonl", dict(begun=begun, ended=time.monotonic()))
    return code


code = main()
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)  # at once: it is called thousands of times
'''


def install(
    folder: Path,
    steps: Sequence[Step] = ({"operations": []},),
    *,
    flags: Iterable[str] = FLAGS,
    help: str | None = None,
    help_exit: int = 0,
    help_sleep: float = 0,
) -> Path:
    """Put the program into `folder`, which becomes its own; returns its path."""
    (folder / "taken").mkdir(parents=True, exist_ok=True)
    flags = list(flags)
    listed = "\n".join(f"  {flag:<38}What it does" for flag in flags)
    text = f"Usage: claude [options] [command] [prompt]\n\nOptions:\n{listed}\n" if help is None else help
    _write(folder / "setup.json", {"flags": flags, "help": text, "help_exit": help_exit, "help_sleep": help_sleep})
    set_steps(folder, steps)
    program = folder / "claude"
    program.write_text(_PROGRAM.format(python=sys.executable, folder=str(folder)), encoding="utf-8")
    program.chmod(0o755)
    return program


def set_steps(folder: Path, steps: Sequence[Step]) -> None:
    """Set the behaviour of the next calls; running calls keep theirs."""
    path = folder / "steps.json"
    last = json.loads(path.read_text(encoding="utf-8"))["round"] if path.exists() else 0
    _write(path, {"round": last + 1, "steps": list(steps)})


def calls(folder: Path, *, questions: bool = False) -> list[dict[str, Any]]:
    """The calls in the order in which they began to play; with `questions` also those for its help and version."""
    path = folder / "calls.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    made = [json.loads(line) for line in lines]
    return [each for each in made if questions or each["step"] is not None]


def nested(folder: Path) -> list[dict[str, Any]]:
    """The hooks that calls have run."""
    path = folder / "nested.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def most_at_once(folder: Path) -> int:
    """How many calls were under way at the same time; those that were killed are not counted."""
    path = folder / "ends.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    spans = [json.loads(line) for line in lines]
    return max((sum(each["begun"] <= span["begun"] < each["ended"] for each in spans) for span in spans), default=0)


def ends(pid: int) -> bool:
    """Whether a process is gone soon: a killed one takes a moment, and its new parent another."""
    until = time.monotonic() + 10
    while processes.read_start_time(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not processes.read_start_time(pid)


def _write(path: Path, value: Any) -> None:
    """In one piece: the program may be reading it."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value), encoding="utf-8")
    new.replace(path)
