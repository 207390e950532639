"""What is a name because of its place, whatever word it is: what something is called, and the number of a thing."""

from memem.gate.comparing import families, verbs
from memem.gate.comparing import lexicon as words
from memem.gate.comparing.numbers import Number
from memem.gate.comparing.wording import NAME, VERB_STEMS, WORD, Token, singular


def mark_names(tokens: list[Token]) -> None:
    """Mark the words of a sentence that only their place makes names."""
    _name_the_first(tokens)
    for index in range(1, len(tokens) - 1):
        if tokens[index].low in _CALLING and _calls(tokens, index):
            tokens[index].content = False
            _make_a_name(tokens[index + 1])
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        if token.number and _is_ordinal(token.number):
            token.named = token.raw.startswith("#") or _stands_by_a_noun(before, token, after)
        elif token.key in _CJK_NUMBERS and _is_counted_off(before, after):
            token.kind, token.named = NAME, True


def _name_the_first(tokens: list[Token]) -> None:
    """`A` before a verb is a name: `A depends on B`."""
    if len(tokens) > 1 and tokens[0].raw == "A" and tokens[1].key in _AFTER_A_NAME:
        tokens[0].content, tokens[0].quiet, tokens[0].kind = True, False, NAME


_AFTER_A_NAME = verbs.COPULAS | {singular(verb) for verb in verbs.STRONG_VERBS} | {"be"}

_CALLING = frozenset(
    "called named titled labelled labeled nicknamed dubbed namens appelé nommé llamado llamada".split()
)


def _calls(tokens: list[Token], index: int) -> bool:
    """Whether a name follows: `a queue called never is idle`; not in `is called by` or `prefer named exports`."""
    before, name = tokens[index - 1], tokens[index + 1]
    if not before.content or name.raw in ",()":
        return False
    if before.stem in VERB_STEMS and (index < 2 or tokens[index - 2].content):
        return False
    return name.content or index + 2 == len(tokens) or _is_verb(tokens[index + 2])


def _is_verb(token: Token) -> bool:
    if not token.content:
        return token.key in _AFTER_A_NAME or token.key in words.NEGATORS or token.low in ("do", "does", "did")
    return token.kind == WORD and token.stem in VERB_STEMS


def _make_a_name(token: Token) -> None:
    token.content, token.quiet, token.named, token.number = True, False, True, None
    token.key = token.stem = token.low
    token.kind = NAME if token.raw.isalpha() else token.kind


_CJK_NUMBERS = frozenset("一二三四五六七八九十")


def _is_counted_off(before: Token | None, after: Token | None) -> bool:
    """Whether what is between is the number of a thing: `3号`, `第三`."""
    return (before is not None and before.key == "第") or (after is not None and after.key == "号")


def _is_ordinal(number: Number) -> bool:
    return number.digits.isdigit() and not (number.unit or number.version or number.measures)


def _stands_by_a_noun(before: Token | None, token: Token, after: Token | None) -> bool:
    """Whether a number tells one thing from others of its kind: `worker 3`, `service number 4`; not `port 80`."""
    if _is_counted_off(before, after):
        return True
    if before is None:
        return False
    is_kind = before.key in families.NUMBERED and before.raw.islower()  # `node 3`, but `Node 22`
    if before.key in families.COUNTED and not is_kind and not token.raw.isalpha():
        goes_with = after is not None and after.content and after.kind == WORD and not after.low.endswith("s")
        return goes_with and before.key not in families.VERSIONED
    is_noun = before.content and before.kind == WORD and before.raw.isascii() and before.raw.isalpha()
    return is_noun or before.key in families.NUMBERED
