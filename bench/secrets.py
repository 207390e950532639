"""How many secrets the gate finds, what it takes for one by mistake, and what that costs.

Recall is over a labelled set (`secret_samples.toml`) of formats in everything that carries them; a third of the formats
is held out. False positives are counted on what has to pass, and, with --data, on what was said and done in real
sessions (`DIR/transcripts/*/*.jsonl.gz`). Where gitleaks, detect-secrets or secretlint are on the path, they are asked
the same.
"""

import argparse
import gzip
import io
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import measure, options, vaults
from bench.latency import say, verdict
from bench.measure import Promise
from bench.secret_samples import DEV, HELD, SORTS, Sample, harmless, samples
from memem.safety.credentials import redact
from memem.transcript import session
from memem.transcript.work import SHELL_TOOL

MISSED_LIMIT, FALSE_LIMIT, HARMLESS_LIMIT = 0.05, 0.2, 0.02
"""Limits: held-out secrets found; false alarms per thousand lines of speech; harmless texts flagged."""
LEFT_LIMIT = 8
"""So many characters of a secret in a row may be left of it: fewer than half of a short one."""
PROSE_CHARACTERS = 24_000
CLI_SECONDS = 600
Found = Mapping[int, Sequence[str]]
"""By the number of a text, what a scanner took for secrets in it."""


def run(arguments: list[str]) -> int:
    """Measure and print; 1 when a promise is broken."""
    chosen = _options(arguments)
    wanted = [each for each in samples() if chosen.part in ("all", each.split)][:: chosen.every]
    report: dict[str, Any] = {"bench": "secrets", "machine": measure.machine(), "samples": len(wanted)}
    promises: list[Promise] = []
    _recall(wanted, report, promises, show=chosen.show)
    _harmless(report, promises, show=chosen.show)
    texts = list(_read_sessions(chosen.data)) if chosen.data else []
    if texts:
        _false_positives(texts, report, promises)
    else:
        print("\nReal sessions: skipped, there is no --data.")
    _speed(texts or [vaults.memory(number).body for number in range(2_000)], report, chosen.repeat)
    if not chosen.alone:
        _others(wanted, texts, report)
    for promise in promises:
        print(f"{promise.what}: {promise.ratio:.3f}, at most {promise.limit} ({verdict(promise)})")
    if chosen.json:
        measure.save_json(chosen.json, report | {"promises": [each.as_json() for each in promises]})
    return 0 if all(promise.holds for promise in promises) else 1


def is_gone(sample: Sample, redacted: str) -> bool:
    """Whether no piece of the secret that is worth anything is left in a text."""
    length = min(LEFT_LIMIT, max(4, len(sample.secret) // 2))
    pieces = (sample.secret[start : start + length] for start in range(len(sample.secret) - length + 1))
    return not any(piece in redacted for piece in pieces if not sample.secret.startswith(piece))


def _recall(wanted: Sequence[Sample], report: dict[str, Any], promises: list[Promise], *, show: bool) -> None:
    missed = [each for each in wanted if not is_gone(each, redact.redact(each.text)[0])]
    rows = []
    for part in (DEV, HELD):
        for sort in (*SORTS, "all"):
            own = [each for each in wanted if each.split == part and sort in ("all", each.sort)]
            lost = sum(each.split == part and sort in ("all", each.sort) for each in missed)
            if own:
                rows.append(
                    [f"{part}, {sort}", len({each.name for each in own}), len(own), 100 * (1 - lost / len(own))]
                )
    print(measure.table(["recall", "formats", "samples", "found, %"], rows))
    by_carrier = Counter(each.carrier for each in missed)
    print(f"Missed by carrier: {_counted(by_carrier)}")
    if show:
        by_name = Counter(each.name for each in missed if each.split == DEV)
        print(f"Missed by format, of the part that may be looked at: {_counted(by_name)}")
    report["recall"] = [dict(zip(("what", "formats", "samples", "found"), row, strict=True)) for row in rows]
    if held := [each for each in wanted if each.split == HELD]:
        lost = sum(each.split == HELD for each in missed)
        promises.append(Promise("secrets missed in the held-out part", lost / len(held), MISSED_LIMIT))


def _harmless(report: dict[str, Any], promises: list[Promise], *, show: bool) -> None:
    taken = [each for each in harmless() if redact.find(each.text)]
    print(f"\nOf {len(harmless())} texts that have to pass, {len(taken)} do not: {_counted(c.name for c in taken)}")
    if show:
        for each in taken:
            print(f"  {each.name}: {redact.redact(each.text)[0]!r}")
    report["harmless"] = {"texts": len(harmless()), "taken": len(taken)}
    promises.append(Promise("harmless texts taken for secrets", len(taken) / len(harmless()), HARMLESS_LIMIT))


def _false_positives(texts: Sequence[str], report: dict[str, Any], promises: list[Promise]) -> None:
    lines = sum(text.count("\n") + 1 for text in texts)
    found = [(span.kind, text[span.start : span.end]) for text in texts for span in redact.find(text)]
    rate = 1_000 * len(found) / lines
    print(f"\nIn {lines:,} lines that were said or done in real sessions: {len(found)}, {rate:.2f} in a thousand.")
    for kind, value in dict.fromkeys(found):
        print(f"  {kind}: {_masked(value)}")
    report["said"] = {"lines": lines, "found": len(found), "in_a_thousand": rate}
    promises.append(Promise("false positives in a thousand lines that were said", rate, FALSE_LIMIT))


def _speed(texts: Sequence[str], report: dict[str, Any], repeat: int) -> None:
    """In the processor's time, against what any look at a text costs: its words in lower case."""
    prose = "\n\n".join(text for text in texts if len(text) > 200)
    pieces = [prose[start : start + PROSE_CHARACTERS] for start in range(0, len(prose), PROSE_CHARACTERS)]
    tasks = {"redacted": redact.redact, "lower case, in words": lambda text: text.lower().split()}
    taken = measure.interleave({name: _over(pieces, work) for name, work in tasks.items()}, repeat)
    rows = [
        [what, len(prose) / min(seconds) / 1e6, min(seconds) / min(taken["lower case, in words"])]
        for what, seconds in taken.items()
    ]
    print(f"\n{measure.table(['speed', 'MB a second', 'times'], rows)}")
    report["speed"] = [dict(zip(("what", "mb_per_second", "times"), row, strict=True)) for row in rows]


def _over(pieces: Iterable[str], work: Callable[[str], object]) -> Callable[[], float]:
    def task() -> float:
        begun = time.process_time()
        for piece in pieces:
            work(piece)
        return time.process_time() - begun

    return task


# --- other scanners -------------------------------------------------------------------------------------------------


def _others(wanted: Sequence[Sample], texts: Sequence[str], report: dict[str, Any]) -> None:
    """They name what they found, so what is left of a text is what they have not named."""
    rows = []
    for name, scan in (("gitleaks", _gitleaks), ("detect-secrets", _detect_secrets), ("secretlint", _secretlint)):
        program = shutil.which(name)
        if program is None:
            say(f"{name} is not on the path, and not compared")
            continue
        found = scan(program, [each.text for each in wanted])
        gone = [is_gone(each, _without(each.text, found.get(number, ()))) for number, each in enumerate(wanted)]
        passing = scan(program, [each.text for each in harmless()])
        said = sum(map(len, scan(program, texts).values())) if texts else 0
        rows.append([name, 100 * statistics.fmean(gone), len(passing), said])
    if rows:
        ours = [is_gone(each, redact.redact(each.text)[0]) for each in wanted]
        taken = sum(bool(redact.find(each.text)) for each in harmless())
        rows.insert(0, ["memem", 100 * statistics.fmean(ours), taken, sum(len(redact.find(text)) for text in texts)])
        print(f"\n{measure.table(['scanner', 'found, %', 'harmless taken', 'found in sessions'], rows)}")
        report["scanners"] = rows


def _without(text: str, found: Iterable[str]) -> str:
    for secret in found:
        text = text.replace(secret, "") if secret else text
    return text


def _laid_out(folder: Path, texts: Sequence[str]) -> None:
    for number, text in enumerate(texts):
        Path(folder, f"{number}.txt").write_text(text, encoding="utf-8", newline="")


def _gitleaks(program: str, texts: Sequence[str]) -> Found:
    with tempfile.TemporaryDirectory(prefix="memem-bench-") as place:
        given, told = Path(place, "given"), Path(place, "told.json")
        given.mkdir()
        _laid_out(given, texts)
        command = [program, "dir", str(given), "--report-format", "json", "--report-path", str(told), "--no-banner"]
        subprocess.run(command, capture_output=True, timeout=CLI_SECONDS, check=False)
        found: dict[int, list[str]] = {}
        for each in json.loads(told.read_text(encoding="utf-8")):
            found.setdefault(int(Path(each["File"]).stem), []).append(each["Secret"])
        return found


def _detect_secrets(program: str, texts: Sequence[str]) -> Found:
    """It names lines, and no secrets: the whole line counts as found."""
    with tempfile.TemporaryDirectory(prefix="memem-bench-") as place:
        _laid_out(Path(place), texts)
        command = [program, "scan", "--all-files", "--no-verify", "."]
        done = subprocess.run(command, capture_output=True, timeout=CLI_SECONDS, check=True, cwd=place)
        found: dict[int, list[str]] = {}
        for name, spots in json.loads(done.stdout)["results"].items():
            number = int(Path(name).stem)
            lines = texts[number].splitlines()
            found[number] = [lines[spot["line_number"] - 1] for spot in spots if spot["line_number"] <= len(lines)]
        return found


def _secretlint(program: str, texts: Sequence[str]) -> Found:
    with tempfile.TemporaryDirectory(prefix="memem-bench-") as place:
        _laid_out(Path(place), texts)
        rules = {"rules": [{"id": "@secretlint/secretlint-rule-preset-recommend"}]}
        Path(place, ".secretlintrc.json").write_text(json.dumps(rules), encoding="utf-8")
        modules = Path(program).resolve()
        while modules.name != "node_modules" and modules != modules.parent:
            modules = modules.parent
        Path(place, "node_modules").symlink_to(modules)
        told = Path(place, "told.json")  # it ends before a pipe has taken all that it says
        command = [program, "*.txt", "--format", "json", "--no-maskSecrets", "--output", str(told)]
        subprocess.run(command, capture_output=True, timeout=CLI_SECONDS, check=False, cwd=place)
        found: dict[int, list[str]] = {}
        for each in json.loads(told.read_text(encoding="utf-8")) if told.exists() else ():
            number = int(Path(each["filePath"]).stem)
            ranges = [message["range"] for message in each["messages"]]
            if ranges:
                found[number] = [texts[number][start:end] for start, end in ranges]
        return found


# --- what was said --------------------------------------------------------------------------------------------------


def _read_sessions(data: Path) -> Iterator[str]:
    """Yield the text memem reads from real sessions (turns and work digest), from the last snapshot of each."""
    for folder in sorted(data.glob("transcripts/*")):
        snapshots = sorted(folder.glob("*.jsonl.gz"), key=lambda path: int(path.name.partition(".")[0]))
        for step in session.steps(io.BytesIO(gzip.decompress(snapshots[-1].read_bytes())), 0, "") if snapshots else ():
            line = step.line
            if line.turn:
                yield line.turn.text
            if line.work:
                yield from (*line.work.files, *line.work.commands)
                yield from (call.target for call in line.work.calls if call.tool == SHELL_TOOL)
                yield from (result.text for result in line.work.results if result.is_error)


def _masked(value: str) -> str:
    return f"{value[:3]}… ({len(value)} characters)" if len(value) > 6 else f"{len(value)} characters"


def _counted(names: Iterable[str] | Counter[str]) -> str:
    counts = names if isinstance(names, Counter) else Counter(names)
    return ", ".join(f"{name} {number}" for name, number in counts.most_common()) or "none"


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = options.shared(argparse.ArgumentParser(prog="python -m bench secrets", description=__doc__))
    parser.add_argument("--part", choices=("all", DEV, HELD), default="all", help="of the labelled set (default: all)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth sample")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="rounds of the measure of speed")
    parser.add_argument("--show", action="store_true", help="list what was missed and what was wrongly taken")
    parser.add_argument("--alone", action="store_true", help="leave other scanners aside")
    return parser.parse_args(arguments)
