"""Judge the result of the soak, property by property."""

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench.soak_scene import Scene, cost_told
from bench.soak_sessions import Person, Session, Talk
from bench.soak_watch import CALL, COMMAND, HOOK, LATER, SERVER, Watch
from memem.core.surroundings import ROOT
from memem.state.calls import MIN_CALL_DOLLARS
from tests import fake_claude

MINERS = 2
"""As many as memem allows unless it is told otherwise."""
BACKGROUND = 5
"""Beside the miners: one at the letters, one that finds no room, one at the upkeep, one at vectors, one that ends."""
FLAT, LEAST_LOOKS, WARM_UP = 1.25, 30, 5
"""The growth that counts as flat, over a minimum of samples after the first fifth, in which servers still load."""
BOUNDS = {
    "hooks.log": 1_100_000,
    "mine_delta.log": 1_100_000,
    "mine_delta.log.1": 1_100_000,
    "events.jsonl": 50_000_000,
    "undo": 50_000_000,
    "contexts.db": 20_000_000,
    "state.db log": 20_000_000,
    "contexts.db log": 20_000_000,
    "index.db log": 64_000_000,
    "vectors.db log": 64_000_000,
    "turns.db log": 20_000_000,
}
ENDED = ("letters", "left by writers")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a property holds; `judged` is False where the run was too short to tell."""

    what: str
    holds: bool
    told: str
    judged: bool = True


@dataclass
class Report:
    """A measured property and its verdict."""

    seconds: float = 0.0
    hooks: list[dict[str, Any]] = field(default_factory=list)
    figures: list[tuple[str, str]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)

    def judge(self, what: str, holds: bool, told: str, *, judged: bool = True) -> None:
        self.verdicts.append(Verdict(what, holds, told, judged))


def hooks(report: Report, talk: Talk, watch: Watch) -> None:
    bare = median(watch.bare)
    for event in dict.fromkeys(each.event for each in talk.ran):
        taken = sorted(each.seconds for each in talk.ran if each.event == event)
        answered = sum(each.answered for each in talk.ran if each.event == event)
        p95 = taken[min(len(taken) - 1, int(0.95 * len(taken)))]
        limit = next(each.limit for each in talk.ran if each.event == event)
        report.hooks.append(
            {
                "event": event,
                "runs": len(taken),
                "p50_ms": round(1e3 * median(taken), 1),
                "x_bare": round(median(taken) / bare, 1),
                "p95_ms": round(1e3 * p95, 1),
                "max_ms": round(1e3 * taken[-1], 1),
                "deadline_ms": round(1e3 * limit),
                "answered": answered,
            }
        )
    told = f"{sum(talk.recalled)} of {len(talk.recalled)}"
    report.figures.append(("asked for by a prompt some turns after it was told, and shown", told))
    late = [each for each in talk.ran if each.seconds >= each.limit]
    report.figures.append(("a bare start meanwhile, median", f"{1e3 * bare:.1f} ms"))
    worst = max(talk.ran, key=lambda each: each.seconds / each.limit)
    told = f"{len(late)} of {len(talk.ran):,} passed; the nearest took {worst.seconds / worst.limit:.0%} of its own"
    report.judge("hooks within their deadlines", not late, told)
    failed = [each for each in talk.ran if each.code]
    log = Path(talk.scene.environ["MEMEM_DIR"], "hooks.log")
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    missed = [line for line in lines if "no answer within" in line or "not done within" in line]
    report.figures.append(("lines in hooks.log", f"{len(lines)}; the last: {lines[-1][:140]}" if lines else "0"))
    report.judge("answers missed", not failed and not missed, f"{len(missed)} given up, {len(failed)} failed")


def resources(report: Report, watch: Watch, worked: int, left: list[str], killed: dict[str, int]) -> None:
    looks = watch.looks[worked // WARM_UP : worked]
    full = max((look.servers for look in looks), default=0)
    busy = [look for look in looks if look.servers == full]
    memory = watch.thirds([look.memory for look in busy])
    files = watch.thirds([look.descriptors for look in busy])
    told = f"{memory[0] / 1e6:,.0f} MB of {full} servers in the first third, {memory[1] / 1e6:,.0f} MB in the last"
    enough = len(busy) >= LEAST_LOOKS
    report.judge("memory of servers flat", memory[1] <= FLAT * memory[0], told, judged=enough)
    told = f"{files[0]:.0f} at first, {files[1]:.0f} at last"
    report.judge("open files flat", files[1] <= FLAT * files[0], told, judged=enough)
    most = {kind: watch.most(kind) for kind in (SERVER, HOOK, LATER, CALL, COMMAND)}
    report.figures.append(("most processes at once", ", ".join(f"{count} {kind}" for kind, count in most.items())))
    report.figures.append(("killed with -9", ", ".join(f"{count} {whom}s" for whom, count in killed.items())))
    bounded = most[LATER] <= MINERS + BACKGROUND and most[CALL] <= MINERS + 1
    told = f"{most[LATER]} in the background (at most {MINERS} miners and {BACKGROUND}), {most[CALL]} calls"
    report.judge("processes bounded", bounded, told)
    report.judge("no process left", not left, "; ".join(left[:3]) or "none")
    over = [name for name, most in BOUNDS.items() if watch.largest(name) > most]
    last = watch.looks[-1].sizes
    over += [name for name in ENDED if last.get(name)]
    measured = ", ".join(f"{name} {watch.largest(name) / 1e6:.1f}" for name in BOUNDS if watch.largest(name) > 50_000)
    report.judge("files bounded", not over, ", ".join(over) or f"the largest in MB: {measured or 'none over 0.05'}")
    kept = sorted(last.items(), key=lambda each: -each[1])[:10]
    report.figures.append(
        ("largest in MEMEM_DIR at the end", ", ".join(f"{name} {size / 1e6:.1f}" for name, size in kept))
    )


def memories(report: Report, scene: Scene, sessions: list[Session], person: Person) -> None:
    told = [name for facts in (person.facts, *(each.facts for each in sessions)) for name in facts.told]
    untold = {name for session in sessions for name in session.facts.untold}
    kept = scene.count_saved_facts()
    lost = [name for name in told if not kept[name]]
    doubled = [name for name in told if kept[name] > 1]
    heard = [name for name in untold if kept[name]]
    report.judge("nothing lost", not lost, f"{len(told) - len(lost)} of {len(told)} facts kept {' '.join(lost[:3])}")
    report.judge("nothing doubled", not doubled, f"{len(doubled)} facts twice {' '.join(doubled[:3])}")
    report.judge("no tool's word kept", not heard, f"{len(heard)} of {len(untold)}")
    changed = [path for path, text in scene.theirs.items() if not path.is_file() or path.read_text("utf-8") != text]
    back = [path for path in person.deleted if path.exists() and path not in scene.theirs]
    wrong = (
        f"{len(changed)} of {len(scene.theirs)} notes changed, {len(back)} of {len(person.deleted)} deleted ones back"
    )
    report.judge("a person's notes intact", not changed and not back, wrong)
    report.figures.append(("facts told", str(len(told))))
    report.figures.append(("servers started again", str(sum(session.restarts for session in sessions))))
    report.figures.append(("commands by the person", str(person.commands)))


def calls(report: Report, scene: Scene, killed: dict[str, int]) -> None:
    """Compare the calls seen by the fake CLI with the ledger and with `memem status`."""
    made = fake_claude.calls(scene.claude)
    ws = scene.open()
    ledger = ws.state.ledger.spent(ws.today())
    ws.close()
    command = [str(ROOT / "hooks" / "memem"), "status", "--json"]
    status = json.loads(
        subprocess.run(command, env=scene.environ, cwd=scene.user, capture_output=True, check=True).stdout
    )
    mining = status["mining"]
    told, dollars, tokens = cost_told(made)
    # A call whose miner was killed counts all the same, and may have ended before it could say that it had begun.
    same = len(made) <= ledger.calls <= len(made) + killed["miner"]
    agrees = (mining["calls_today"], mining["tokens_today"]) == (
        ledger.calls,
        ledger.input_tokens + ledger.output_tokens,
    )
    agrees &= abs(mining["dollars_today"] - ledger.dollars) < 1e-4
    report.judge("calls: claude = ledger", same, f"{len(made)} seen, {ledger.calls} in the ledger")
    report.judge("ledger = status", agrees, f"{mining['calls_today']} calls, {mining['dollars_today']} dollars")
    most = dollars + (ledger.calls - told + killed["miner"]) * MIN_CALL_DOLLARS
    cost = f"{told} told {dollars:.3f} dollars and {tokens:,} tokens; the ledger has {ledger.dollars:.3f}"
    report.judge("cost as told", dollars - killed["miner"] * MIN_CALL_DOLLARS <= ledger.dollars <= most + 1e-6, cost)
    at_once = fake_claude.most_at_once(scene.claude)
    report.figures.append(("calls at once, as the claude saw them", str(at_once)))
