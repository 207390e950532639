"""What a query says of time: "last week", "in March", "before 2024", or only that it asks how things were.

In doubt it says nothing: a "may" that is a verb, a version, a number of files, a moment of the work to come. Most
prompts have no word of time in them at all; the patterns are loaded and compiled for one that has.
"""

import re
from datetime import date
from functools import cache
from typing import NamedTuple

from memem.core.dates import moment

LONGEST = 1_000
"""In characters. Dates in a longer text are mostly those of a log, or of something else that was pasted."""
_QUOTED = r'`[^`]*`|"[^"]*"|“[^”]*”'  # code, and the words on a button
_ENGLISH = frozenset(
    """day week weeks month months quarter year years days yesterday today night morning recently lately monday tuesday
    wednesday thursday friday saturday sunday january february march april may june july august september october
    november december jan feb mar apr jun jul aug sep sept oct nov dec""".split()
)
_CHINESE = frozenset("天日昨周週期拜月季年近")
_PAST = tuple(
    "original|former|historical|previous|initial|before| old |used to|at first|back then|in the past".split("|")
)
_PAST_CHINESE = frozenset("前原初始")


class When(NamedTuple):
    """The first and the last day that are asked about, either of them open, or that the query asks for the past.

    A tuple, since a dataclass would cost a prompt a millisecond more.
    """

    start: date | None = None
    end: date | None = None
    past: bool = False

    @property
    def has_period(self) -> bool:
        return self.start is not None or self.end is not None

    @property
    def is_set(self) -> bool:
        return self.has_period or self.past

    def __bool__(self) -> bool:
        return self.is_set


UNSAID = When()


def asked(text: str, today: date) -> When:
    """What a query says of time, most often nothing. Of several periods it is the days that they share."""
    if len(text) > LONGEST:
        return UNSAID
    bare = " ".join(re.sub(_QUOTED, " … ", text).split())
    words = set(re.findall(r"[a-z]+|(?:19|20)\d\d", bare.lower()))
    said = _spans(bare, words, today)
    if not said:
        return When(past=_is_past(bare))
    start = max((first for first, _ in said if first), default=None)
    end = min((last for _, last in said if last), default=None)
    return UNSAID if start and end and start > end else When(start, end)


def fits(when: When, valid_from: str, valid_to: str, dated: str) -> bool:
    """Whether what a memory states held within the period; where it does not say, whether it was written down in it.

    Without a period nothing fits, nor does a memory with a date that cannot be read.
    """
    begins = valid_from or dated
    stated = [text for text in (begins, valid_to) if text]
    days = [read.date() for read in map(moment, stated) if read]
    if not when.has_period or not days or len(days) < len(stated):
        return False
    first = days[0] if begins else date.min
    last = days[-1] if valid_to or not valid_from else date.max
    return first <= (when.end or date.max) and last >= (when.start or date.min)


def _spans(text: str, words: set[str], today: date) -> list[tuple[date | None, date | None]]:
    said: list[tuple[date | None, date | None]] = []
    if not words.isdisjoint(_ENGLISH) or any(word.isdigit() for word in words):
        from memem.search.dates import english

        said += english.spans(text, today)
    if not _CHINESE.isdisjoint(text):
        from memem.search.dates import chinese

        said += chinese.spans(text, today)
    return said


def _is_past(text: str) -> bool:
    lowered = text.lower()
    if not any(cue in lowered for cue in _PAST) and _PAST_CHINESE.isdisjoint(text):
        return False
    return asks_for_past(text)


def asks_for_past(text: str) -> bool:
    return _in_english(text.lower()) or (not text.isascii() and _chinese().search(text) is not None)


def _in_english(text: str) -> bool:
    """Some words are enough; others are as often about what is to be done, and need a verb in the past beside them."""
    clear, doubtful, happened = _english()
    return bool(clear.search(text) or (doubtful.search(text) and happened.search(text)))


@cache
def _english() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    changed = (
        r"(?:moved|migrated|upgraded|switched|changed|replaced|rewrote|refactored|released|introduced|added|split)"
    )
    change = r"(?:release|migration|upgrade|rewrite|refactor(?:ing)?|switch|redesign|rollout|split|cut-?over|move)"
    talk = r"(?:conversation|chat|session|message|commit|answer|question|command|step|discussion|turn|one|page)"
    old = "(?:old|former|previous|original|initial)"
    clear = rf"""\b(?: originally | formerly | historically | back\ then | in\ the\ old\ days
          | (?:we|it|they|i|there|things|everything|that)\ used\ to\b(?!\ (?:it|this|that|the)\b)
          | (?<!is\ )(?<!are\ )(?<!be\ )(?<!was\ )(?<!were\ )(?<!been\ )(?<!get\ )(?<!got\ )(?<!being\ )
            used\ to\ (?:be|have|work|live|exist|look|contain|fail|pass|support|return)
          | before\ (?:we|i|they|you)\ {changed}
          | what(?:\ (?:was|were|is|are)|['’]s)\ (?:the|our|my|its)\ {old}\ (?!{talk})
        )\b"""
    doubtful = rf"""\b(?: previously | initially | at\ first(?=\s*(?:[,.;:?!]|$|(?:we|i|it|they|but|and)\b))
          | before\ (?:the|that|this)\ (?:[\w.-]+\ )?{change} | the\ old | in\ the\ past | before(?=\W*$) )"""
    asks = r"(?:how|what|which|where|why|who)\b[^.;]*\bdid"
    happened = rf"\b(?:was|were|wasn['’]?t|weren['’]?t|had|hadn['’]?t|{asks}|(?:we|i|they)\ \w+ed)\b"
    return re.compile(clear, re.VERBOSE), re.compile(doubtful, re.VERBOSE), re.compile(happened)


@cache
def _chinese() -> re.Pattern[str]:
    """ "Before" behind a verb is mostly a moment to come (提交之前), and 原来如此 is only an "I see"."""
    return re.compile(
        r"""(?:^|[我咱他]们|[我咱他]們|[，,。；、\s])(?:[之以]前(?!要|先|需|必)) | [之以]前的
          | 原来(?!如此|是|你|这) | 原來(?!如此|是|你|這) | 原先 | 最初 | 起初 | 一[开開]始(?:[我用就是采採为為选選的])
          | (?:迁移|升[级級]|重[构構]|改版|切[换換]|遷移|[发發]布)[之以]?前.{0,20}?(?:用的|是怎|是什|是多少|的做法)""",
        re.VERBOSE,
    )
