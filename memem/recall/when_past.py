"""Whether a query asks how something was before, without a date."""

import re
from functools import cache


def is_asked(text: str) -> bool:
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
