"""Classify prompts: trivial, a task, or a follow-up (`same for staging`) that needs the words it refers to."""

import re
from collections.abc import Sequence
from itertools import dropwhile

# A short prompt of only these words, numbers and letters refers to the conversation, not to a memory.
_ENGLISH = frozenset(
    """ok okay k kk yes yep yeah yup y no nope n not sure fine good great nice cool perfect awesome excellent right
    correct exactly agreed agree thanks thank you thx ty cheers please pls hi hello hey bye continue go on ahead proceed
    next do dont it this that thats now again then and so well done lgtm looks sounds to me all got i see understood
    makes sense keep going carry works fixed try retry run for lets very much job work never mind stop wait option
    options both either first second third last latter former one two three the with commit push merge""".split()
)
MOST_TRIVIAL_WORDS = 6
MOST_TRIVIAL_CHARACTERS = 20  # in Chinese; longer texts can be read in more ways
_CHINESE = re.compile(
    r"""(?:好[的吧]?|嗯|是的?|[对對]的?|行|可以|[没沒](?:[问問][题題]|[错錯]|事)|[谢謝][谢謝]你?|多[谢謝]|感[谢謝]|[继繼][续續]|
        接[着著]|下一步|[请請]|吧|了|呢|啊|哦|[当當]然|明白|知道|收到|不(?:用|[错錯])?|你好|再[见見]|[开開]始|做吧|[干幹]吧|同意|
        [确確][认認]|完成|再[试試]一?次|重[试試]|辛苦|太好|很好)+""",
    re.VERBOSE,
)
_APOSTROPHE = re.compile(r"['’]")
_PUNCTUATION = re.compile(r"[^\w\s+#]|_")
_CHOICE = re.compile(r"\d{1,2}|[a-h]", re.ASCII)


def is_trivial(prompt: str) -> bool:
    words = _PUNCTUATION.sub(" ", _APOSTROPHE.sub("", prompt.lower())).split()
    if len(words) > MOST_TRIVIAL_WORDS:
        return False
    return all(
        word in _ENGLISH
        or _CHOICE.fullmatch(word)
        or (len(word) <= MOST_TRIVIAL_CHARACTERS and _CHINESE.fullmatch(word))
        for word in words
    )


MOST_APPROVING_WORDS = 14
# An approval or a choice begins with one of these words, or one of a trivial prompt; the others may follow.
_APPROVING = frozenset(
    """absolutely accept accepted alright approve approved choose definitely gladly id implement let pick prefer select
    take totally use whatever your
    bitte einverstanden genau gerne gut ja jo klar mach passt adelante claro hazlo perfecto si sí vale daccord oui
    parfait vas isso pode sim bene certo va da tak""".split()
)
_APPROVED = frozenset(
    """a about above also an any approach are as at be below best better can change changes choice chosen could doing
    edits everything execute fifth fix fixes fourth from have idea ill im is ive just like make my number of off ones
    or our out plan proposal proposals propose proposed recommend recommendation recommendations recommended said
    solution such suggest suggested suggestion suggestions than them these they thing things think those thought too up
    us version want way we what whole will would you yours youve
    danke das los so weiter bien gracias fais le merci obrigado fallo grazie""".split()
)
_CHOOSING = frozenset(("use", "prefer", "take", "pick", "choose", "let", "id", "implement", "select"))
_REFERRING = frozenset(
    """a approach b both c d first fifth fourth idea it last latter number ones one option plan proposal proposed
    recommendation recommended second solution suggested suggestion suggestions that them these third this those version
    way what whatever you your yours 1 2 3 4 5 6 7 8 9""".split()
)
_FORBIDDING = frozenset(("never", "not", "dont"))  # without "mind", which they have in a nod


def is_approval(text: str) -> bool:
    """Whether a message only approves or chooses something, and states nothing of its own."""
    words = _PUNCTUATION.sub(" ", _APOSTROPHE.sub("", text.lower())).split()
    if len(words) > MOST_APPROVING_WORDS or _FORBIDDING.intersection(words):
        return False
    # "Use make" is a choice of the person's own; "use that one" refers to a proposal.
    if words and words[0] in _CHOOSING and not _REFERRING.intersection(words):
        return False
    starts = not words or words[0] in _APPROVING or is_trivial(words[0])
    return starts and all(word in _APPROVING or word in _APPROVED or is_trivial(word) for word in words)


MOST_WORDS = 14
MOST_CONTENT = 5  # a prompt with more words of its own names its subject
MOST_SIGNS = 24  # the same in scripts without spaces
FRAGMENT_WORDS = 3
MOST_UNEXPLAINED = 3  # after this many words of content, "it" refers to one of them
SEARCHED = 400  # characters: a vector covers little more, and the prompt must outweigh what it refers to
PERSON_SHARE = 160

_CHORES = frozenset(
    """commit push merge rebase squash stash ship amend undo revert no nope it this that them these those all
    everything changes and then now please open create make a an the draft pr to main it's let's lets just also
    again yes ok""".split()
)
_FUNCTION_WORDS = frozenset(
    """a an and are as at be been but by can could did do does for from had has have how i if in into is it its just
    let me may might must no not now of off ok okay on one ones or our please shall should so some such than that
    the their them then there these they this those to too under until up us was we well were what when where which
    who why will with without would yeah yes you your again also both else instead other others same about after
    before hm hmm btw only lets dont doesnt didnt thats whats""".split()
)
_ASKING = frozenset("why how when where which what who so come not else since then exactly now".split())
_NODS = frozenset(
    "ok okay yes yeah yep no nope thanks great good cool perfect nice hm hmm right sure alright so".split()
)
_PLACES = frozenset("for in on with without from under at via using except".split())
_VERBS = frozenset("is are does do did can could should will would has have was were".split())
_DETERMINERS = frozenset("the a an our my every each".split())
_EMPTY = r"possible|ok|okay|safe|better|worth|necessary|enough|fine|true|on\ purpose|simple|short|local"
# After any other word, "that" mostly joins two sentences: "check that ...", "a test that ...".
_BEFORE_THAT = (
    "do|did|does|doing|done|fix|use|revert|undo|about|for|of|like|with|in|why|is|was|are|can|could|has|may|should|will|make"
    "|change|remove|drop|want|need|to|and|on|from|than|explain|keep|hm,?|ok,?|yes,?"
)
_LITERAL = re.compile(r"[a-z-]*[\d_./@#]")
# Patterns as text: `re` compiles them when a prompt first needs them, not at import.
_END = r"\s*(?:[.?!,;]|$)"
_OPENING = rf"""(?:(?:{"|".join(sorted(_NODS))})\b[\s,.;:!-]*)*
        (?:and|or|plus|also|then|(?:what|how)\ about|same|ditto|now\ (?:the|for)|but\ (?:why|how|what|not))\b"""
_POINTING = rf"""\bthe\ other\b(?!\ (?:day|hand)) | \bthe\ others\b | \bthe\ rest\b(?!\ of)
        | \bthe\ (?:former|latter)\b
        | \bsame\ (?:for|with|in|on|thing|way|here|goes)\b | \bboth{_END} | \b(?:as\ well|too|instead){_END}
        | \b(?:why|how|what|where|when)(?:\ (?:do|did|does|is|was|are|were|we|i|you))*(?:\ \w+)?\ again{_END}
        | \b(?:why|how|what|where|when)\b.*\bthen\s*(?:[?]|$)"""
_STANDING_IN = rf"""(?<!give\ )(?<!mention\ )\b(?:it|its|it's)\b
            (?!\ (?:is\ |was\ |would\ be\ )?(?:{_EMPTY})\b)(?!\ (?:make\ sense|takes?|matters?|seems|looks\ like))
        | \b(?:they|them|those)\b | \b(?:in|from|on|over|up)\ there\b
        | \b(?:that|this|those|these|which|another|each|next|last|first|second|the)(?:\ [\w-]+){{0,2}}\ ones?\b(?!\ of)
        | (?:^|\b(?:{_BEFORE_THAT})\ )that\b | \bthat{_END}"""
_SIGN = "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_POINTING_SIGNS = r"""^(?:(?:好的?|嗯|行|可以)[，,。\s]*)?(?:那|[还還]有|另外|同[样樣]|也|然[后後])
          | 那[个個些]|另[一外][个個]|其[他它余餘]的?|它|上面[的那]|[刚剛][才刚剛]|前面[的那]|[前后後]者|同理|一[样樣]
          | 呢[？?。！!\s]*$ | 也[要用加改是有做给給在]
          | それ|あれ|その|もう一[つ方]|同じ|はどう | 그거|그것|그건|그럼|나머지|똑같"""


def refers_back(prompt: str) -> bool:
    """Whether a prompt needs the turns before it. A nod does not, nor does a chore."""
    if len(prompt) > SEARCHED or is_trivial(prompt):
        return False
    text = " ".join(prompt.lower().replace("’", "'").split())
    if not text.isascii() and (signs := re.findall(_SIGN, text)):
        return len(signs) <= MOST_SIGNS and re.search(_POINTING_SIGNS, text, re.VERBOSE) is not None
    words = _words(text)
    if not words or len(words) > MOST_WORDS or _CHORES.issuperset(words):
        return False
    return len(_content(words)) <= MOST_CONTENT and (_points(text) or _is_fragment(text, words))


def add_referent(prompt: str, before: Sequence[str]) -> str:
    """Return the prompt and what it refers to; the last item of `before` is Claude's."""
    parts = [" ".join(prompt.split())[:SEARCHED]]
    spoken = next((text for text in reversed(before[:-1]) if not is_trivial(text)), "")
    if spoken:
        parts.append(_begin(_prose(spoken), min(PERSON_SHARE, _room(parts))))
    if before:
        parts.append(_both_ends(_prose(before[-1]), _room(parts)))  # the end may ask something
    return "\n".join(filter(None, parts))


def _room(parts: Sequence[str]) -> int:
    return max(0, SEARCHED - sum(len(part) + 1 for part in parts))


def _words(text: str) -> list[str]:
    return [word for found in re.findall(r"[\w./@#-]+(?:'\w+)?", text) if (word := found.strip(".-"))]


def _content(words: Sequence[str]) -> list[str]:
    return [word for word in words if word.replace("'", "") not in _FUNCTION_WORDS]


def _points(text: str) -> bool:
    if re.match(_OPENING, text, re.VERBOSE) or re.search(_POINTING, text, re.VERBOSE):
        return True
    for pronoun in re.finditer(_STANDING_IN, text, re.VERBOSE):
        words = _words(text[: pronoun.start()])  # these may name an "it": "build the image and push it"
        is_named = any(word in _DETERMINERS or _LITERAL.match(word) for word in words)
        if not is_named and len(_content(words)) < MOST_UNEXPLAINED:
            return True
    return False


def _is_fragment(text: str, words: Sequence[str]) -> bool:
    """Whether the text is not a sentence: "on windows?", "why not", "the cache?"."""
    rest = list(dropwhile(_NODS.__contains__, words))
    if not rest:
        return False
    if _ASKING.issuperset(rest) or (rest[0] in _PLACES and len(rest) <= FRAGMENT_WORDS + 2):
        return True
    is_sentence = rest[0] in _VERBS or any(map(_LITERAL.match, rest))
    return text.endswith("?") and len(rest) <= FRAGMENT_WORDS and not is_sentence


def _prose(text: str) -> str:
    text = re.sub(r"```.*?(?:```|\Z)", " ", text, flags=re.DOTALL)
    lines = (line.strip() for line in text.splitlines() if not line.startswith(("    ", "\t")))
    kept = (re.sub(r"^[#>*+-]+\s+|^\d+[.)]\s+|[*`]+", "", line) for line in lines if not line.startswith(tuple("|├└│")))
    return " ".join(" ".join(line for line in kept if not _is_path(line)).split())


def _is_path(line: str) -> bool:
    words = line.split()
    return bool(words) and len(words) <= 3 and ("/" in words[0] or re.search(r"\w\.\w", words[0]) is not None)


def _both_ends(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = max(0, (most - 3) // 2)
    return " … ".join(filter(None, (_begin(text, half), _begin(text[::-1], half)[::-1])))


def _begin(text: str, most: int) -> str:
    """Return as many whole words as fit, or characters where words are not separated by spaces."""
    if len(text) <= most:
        return text
    cut = text[:most]
    whole = cut if text[most : most + 1].isspace() else cut.rpartition(" ")[0]
    return (whole if cut.isascii() or 2 * len(whole) > most else cut).strip()


_TASK_VERBS = {
    "debug": "debug fix fail fails failing failed broken crash crashes error bug traceback investigate diagnose why",
    "review": "review audit critique inspect",
    "test": "test tests coverage pytest",
    "refactor": "refactor rename restructure simplify clean cleanup extract dedupe",
    "deploy": "deploy release ship publish rollout rollback",
    "document": "document docs readme changelog",
    "plan": "plan design propose architect estimate",
    "explain": "explain describe summarise summarize understand how what where which",
    "build": "add build implement create write make continue finish support introduce",
}
GENERAL_MODE = "general"


def infer_task(prompt: str) -> str:
    modes = {verb: mode for mode, verbs in _TASK_VERBS.items() for verb in verbs.split()}
    words = re.findall(r"[a-z]+", prompt[:2_000].lower())
    return next((modes[word] for word in words if word in modes), GENERAL_MODE)
