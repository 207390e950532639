"""Render memories as quoted text: every line is quoted, tags become entities, control characters are removed.

Pure and without clocks: the same memories give the same bytes.
"""

import re

from memem.core.dates import get_said_day
from memem.core.memory import SLICE_HEADING, Entry, Memory, id8_of
from memem.safety.naming import hide_joined_orders, hide_orders

WORKING = "## Working (current state)"
RELEVANT = "## Relevant"
# Characters that look like `<`. Those of the second group quote words in some languages, and become quotation marks;
# those of the third are headings there, and become round.
_ANGLES = "<˂˱ᐸ≪≮≺⊀⊰⋖⋘⍃❬❮❰⟨⟪⦑⦓⧀⧼⩹⩻⪡⪣⪦⪻⫷◀◁◂◃◄◅⏴⯇︽︿﹤＜⊲⊴⮘⮜🞀🢐"
_GUILLEMETS = "«‹\u2329\u3008《"
_SQUARE = "【〖⟦〚"
_OPENING = (
    f"(?:[{_ANGLES.replace('ᐸ', '')}{_GUILLEMETS}{_SQUARE}]|ᐸ(?![\u1400-\u167f]))"  # the last is a letter of Inuktitut
)
_CLOSING = "[>˃˲ᐳ≫≻⋗⋙❭❯❱⟩⟫⦒⦔⧽⪢⪼⫸▶▷▸▹►▻⏵⯈︾﹀﹥＞»›\u232a\u3009》]"
_UNSEEN = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u20d0-\u20ff\u2800\u3164\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff"
)
_SLASHES = "/\\\\／⁄∕⧸╱⟋＼⧵∖"
_LETTER = "(?:[^\\W\\d]|[\u2460-\u24ff\U0001f110-\U0001f1ff])"
# Opens a tag: before a slash or mark, also after spaces; before a letter; before spaces and a letter if it is closed.
_MARKS = f"[{_SLASHES}!！¡?？|｜¦%％]"
_BRACKET = re.compile(_OPENING)
_TAG = re.compile(
    f"{_OPENING}(?=[\\s{_UNSEEN}]*+(?:{_MARKS}|{_LETTER}[^\n]{{0,80}}?{_CLOSING})|[{_UNSEEN}]*+{_LETTER})"
)
_ASCII_TAG = re.compile(r"<(?=\s*+(?:[/\\!?|%]|[A-Za-z_][^>\n]{0,80}>)|[A-Za-z_])")
_ESCAPED = dict.fromkeys(_ANGLES, "&lt;") | dict.fromkeys(_GUILLEMETS, '"') | dict.fromkeys(_SQUARE, "(")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_GAP = re.compile(f"[{_UNSEEN}]")
MAX_NAME_CHARS = 80  # of a tag, with the invisible characters in it
_CUT = " […]"


def one_line(text: str, most: int = 200) -> str:
    """Flatten a text to one harmless line; names in it that read like instructions are hidden."""
    flat = _tame(hide_orders(" ".join(text.split()))).strip().replace("`", "'")
    return flat if len(flat) <= most else flat[: most - len(_CUT)].rstrip() + _CUT


def quote_block(text: str, most: int, indent: str = "   ") -> str:
    """Render a text as a block quotation of at most about `most` characters."""
    if len(text) > most:
        # The last word is probably cut; scripts without spaces are cut where they are.
        *start, last = text[:most].rsplit(None, 1) or [""]
        text = (start[0] if start and len(last) < 40 else text[:most]).rstrip() + _CUT
    lines = (_tame(hide_joined_orders(line.rstrip())) for line in text.splitlines())
    return "\n".join(f"{indent}> {line}".rstrip() for line in lines)


def _tame(line: str) -> str:
    return escape_brackets(_CONTROL.sub("", line))


def escape_brackets(text: str, names: re.Pattern[str] | None = None) -> str:
    """Escape what could open a tag, or only a tag that `names` matches, in all look-alike characters. Idempotent."""
    if text.isascii():
        if "<" not in text:
            return text
        if names is None:
            return _ASCII_TAG.sub("&lt;", text)
    if names is None:
        return _TAG.sub(lambda match: _ESCAPED[match[0]], text)

    def escape(match: re.Match[str]) -> str:
        start = _read_as_ascii(text[match.end() : match.end() + MAX_NAME_CHARS])
        return _ESCAPED[match[0]] if names.match(start) else match[0]

    return _BRACKET.sub(escape, text)


def _read_as_ascii(text: str) -> str:
    """Replace characters that look like ASCII letters and slashes, and drop invisible ones."""
    if text.isascii():
        return text
    import unicodedata

    from memem.safety.folding import LOOK_ALIKE

    plain = unicodedata.normalize("NFKC", _GAP.sub("", text)).casefold().translate(LOOK_ALIKE)
    return _GAP.sub("", unicodedata.normalize("NFKD", re.sub(f"[{_SLASHES}]", "/", plain)))


def render_item(rank: int, entry: Entry, project: str, most: int, passage: str = "") -> str:
    """Render one memory of a numbered list; of a long one show the matching `passage`."""
    memory = entry.memory
    labels = [get_said_day(memory), memory.id8]
    if memory.project != project:
        labels.append(memory.project)
    if memory.status != "active" or memory.superseded_by:
        labels.append(memory.status if memory.status != "active" else "superseded")
    if memory.contradicts:
        labels.append(f"contradicts {', '.join(map(id8_of, memory.contradicts))}")
    head = f"{rank}. {' · '.join(one_line(label) for label in labels if label)} · **{escape_title(memory.title)}**"
    inside = passage and passage not in memory.body[:most]
    return _with_body(head, memory, quote_block(f"{_CUT.strip()} {passage}" if inside else memory.body, most))


def render_pinned(memory: Memory, most: int) -> str:
    head = f"- Pinned · {one_line(memory.id8)} · **{escape_title(memory.title)}**"
    return _with_body(head, memory, quote_block(memory.body, most, indent="  "))


def _with_body(head: str, memory: Memory, body: str) -> str:
    repeats = " ".join(memory.body.split()).rstrip(".。") == memory.title.rstrip(".。")
    return head if repeats or not body else f"{head}\n{body}"


def escape_title(title: str) -> str:
    return one_line(title).replace("*", "∗")


def list_facts(*, project: str, branch: str, task_mode: str, files: tuple[str, ...]) -> list[str]:
    facts = {"Project": project, "Branch": branch, "Task": task_mode, "Files": ", ".join(files)}
    return [render_fact(name, value) for name, value in facts.items() if value]


def render_fact(name: str, value: str) -> str:
    return f"- {name}: {one_line(value)}"


def count_noun(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def join_words(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def render_slice(working_part: list[str], relevant_part: list[str]) -> str:
    return render_page((WORKING, working_part), *([(RELEVANT, relevant_part)] if relevant_part else []))


def render_page(*parts: tuple[str, list[str]]) -> str:
    lines = [SLICE_HEADING]
    for heading, items in parts:
        lines += ["", heading, *items]
    return "\n".join(lines) + "\n"
