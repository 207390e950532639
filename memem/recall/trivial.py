"""Prompts that ask for nothing: a nod, a thank-you, a "go on", in English and in Chinese."""

import re

_ENGLISH = frozenset(
    """ok okay k kk yes yep yeah yup y no nope n not sure fine good great nice cool perfect awesome excellent right
    correct exactly agreed agree thanks thank you thx ty cheers please pls hi hello hey bye continue go on ahead proceed
    next do dont it this that thats now again then and so well done lgtm looks sounds to me all got i see understood
    makes sense keep going carry works fixed try retry run for lets very much job work never mind stop wait option
    options both either first second third last latter former one two three the with commit push merge""".split()
)
"""A prompt made of these alone, or of numbers and letters, and short, refers to what was said before, not to anything
one could look up."""
MOST_WORDS = 6
MOST_CHARACTERS = 20
"""Of a row of nods in Chinese, which can be read in more ways the longer it is."""
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
    """Whether a prompt is nothing but a nod."""
    words = _PUNCTUATION.sub(" ", _APOSTROPHE.sub("", prompt.lower())).split()
    if not words:
        return True
    if len(words) > MOST_WORDS:
        return False
    return all(word in _ENGLISH or _is_choice(word) or _is_chinese_nod(word) for word in words)


def _is_choice(word: str) -> bool:
    """The number or the letter of an option."""
    return _CHOICE.fullmatch(word) is not None


def _is_chinese_nod(word: str) -> bool:
    return len(word) <= MOST_CHARACTERS and _CHINESE.fullmatch(word) is not None
