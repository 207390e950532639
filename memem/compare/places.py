"""The place of every word in its sentence: what the sentence is about, what it says of it, in which scope, and why.

A verb splits a sentence into what it is about and what it says; a preposition after that opens a scope.
"""

from memem.compare import families
from memem.compare import lexicon as words
from memem.compare.wording import ASIDE, HEAD, NAME, SCOPE, VALUE, VERB, VERB_STEMS, WORD, Number, Token, singular


def mark_places(tokens: list[Token]) -> None:
    """Give every content token its role: what the sentence is about, what it says, in which scope, and asides."""
    opening = _opening(tokens)
    verb = _main_verb(tokens, opening)
    role, fresh = (HEAD if verb >= 0 else VALUE), True
    before = ""
    last: Token | None = None
    clause = 0
    for index, token in enumerate(tokens):
        clause += not token.content and token.key in _PARTING
        token.clause = clause
        if index == verb or (index > verb >= 0 and fresh and role == VALUE and _is_participle(tokens, index)):
            role, fresh = VALUE, True
            token.role = VERB
        elif index > verb and token.key in words.REASONS and not token.content:
            role = ASIDE
        elif index > verb >= 0 and role != ASIDE and not token.content and token.key in words.SCOPING and not fresh:
            role = SCOPE
        elif role == SCOPE and not token.content and token.key in _BACK_TO_VALUE:
            role = VALUE
        if token.content and token.role != VERB:
            token.role, token.follows = role, before
            if role == VALUE and token.stem not in VERB_STEMS:
                fresh = False
        if last is not None and last.content and token.content and not token.number:
            last.alone = False
        if not (token.quiet and token.raw not in ","):
            before = token.key
            last = token
    for token in tokens[:opening]:
        if token.content:
            token.role = ASIDE if tokens[0].key in words.REASONS else SCOPE
    if verb < 0:
        _head_of_a_list(tokens)


def _head_of_a_list(tokens: list[Token]) -> None:
    """Without a verb, the number of a thing that comes first still tells what it is about: `3号机房在上海`."""
    content = [token for token in tokens if token.content]
    for token in content[:2]:
        if token.named and token is not content[-1]:
            token.role = HEAD


def _opening(tokens: list[Token]) -> int:
    """How many words tell when or since when, before it is said what: `When tests fail, ...`, `Since June ...`."""
    if tokens[0].content or tokens[0].key not in _OPENING:
        return 0
    commas = [index for index, token in enumerate(tokens) if token.quiet and token.raw == ","]
    if commas:
        return commas[0]
    return 2 if tokens[0].key in words.REASONS and len(tokens) > 3 else 0


_OPENING = frozenset("when whenever if unless while since because wenn falls weil".split())

_BACK_TO_VALUE = frozenset("to with from as via through using by be -> , and but mit avec con 用".split())

_PARTING = words.CLAUSE_ENDS | {",", "and", "or", "und", "oder", "et", "ou", "y", "o", "和", "与", "或"}


def _is_participle(tokens: list[Token], index: int) -> bool:
    """Whether it is a verb after `is`, with something said after it: `written` in `is written in Go`."""
    token = tokens[index]
    raw = token.low
    ends = raw.endswith("ed") or raw in words.PARTICIPLES
    plain = token.kind == WORD and token.content and raw not in words.OPPOSITES
    return plain and ends and any(other.content for other in tokens[index + 1 :])


def _main_verb(tokens: list[Token], start: int) -> int:
    """Where the sentence stops to name what it is about; -1 when it has no verb."""
    weak = -1
    before = ""
    for index, token in enumerate(tokens[start:], start):
        raw = token.low
        if not token.content:
            if weak >= 0 and (
                token.key in words.CLAUSE_ENDS or (token.raw == "," and _is_surely_a_verb(tokens[start:], weak - start))
            ):
                break
            if token.key == "be" or raw in words.COPULAS:
                return index
        elif token.named:
            pass
        elif raw in words.STRONG_VERBS or raw in _STRONG_CJK:
            return index
        elif token.kind != WORD or token.stem not in VERB_STEMS or before in _BEFORE_A_NOUN:
            pass
        elif weak < 0 or (_may_be_a_noun(tokens, weak, index) and before not in ("and", "or", ",")):
            weak = index
        before = "" if token.content else raw
    return weak if weak >= 0 else _behind_a_number(tokens)


def _behind_a_number(tokens: list[Token]) -> int:
    """Where an unknown verb stands: `concerns` in `Fact number 3 concerns ...`; -1 where none does."""
    for index in range(1, len(tokens) - 1):
        follows = tokens[index + 1]
        if tokens[index].named and tokens[index - 1].key in families.NUMBERED and follows.content:
            return index + 1 if follows.kind == WORD and follows.low.endswith(("s", "ed")) else -1
    return -1


_STRONG_CJK = frozenset(word for word in words.VERBS if not word.isascii())

_BEFORE_A_NOUN = frozenset("a an the our my your this that its to every each all any no of in on with from".split())


def _is_surely_a_verb(tokens: list[Token], index: int) -> bool:
    """Whether it can hardly be a noun: at the beginning, or behind a plural: `Ask Ruben, ...`, `Images go to ...`."""
    raw = tokens[index].low
    if raw in words.NOUNS_TOO or raw.endswith("s"):
        return False
    before = [token for token in tokens[:index] if token.content]
    return not before or (before[-1] is tokens[index - 1] and before[-1].low.endswith("s"))


def _may_be_a_noun(tokens: list[Token], index: int, following: int) -> bool:
    """Whether `Tests` or `Build` at the beginning, or `tests` in `Unit tests run`, names something rather than acts."""
    raw = tokens[index].low
    if following == index + 1 and raw.endswith("s") and not tokens[following].low.endswith("s"):
        return True
    first = next(token for token in tokens if not token.quiet)
    return tokens[index] is first and (raw.endswith("s") or raw in words.NOUNS_TOO)


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


_AFTER_A_NAME = words.COPULAS | {singular(verb) for verb in words.STRONG_VERBS} | {"be"}

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
