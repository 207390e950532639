"""Find words that one note calls over and another still claims, and subjects with two values."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from memem.compare.relation import Difference
from memem.compare.sentences import number_difference, text_of
from memem.compare.tokens import BREAK, NAME, NUMBER, WORD, Sentence, Token, content_keys, phrases, sentences, words

REACH_AFTER, REACH_BEFORE = 4, 8  # words of the same clause
MIN_BEGINNING = 2  # telling words with which two claims about one thing begin
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True)
class Statement:
    """A memory's text, with the title that sums it up."""

    text: str
    title: str = ""
    kind: str = ""

    @cached_property
    def claims(self) -> tuple[Sentence, ...]:
        """Its title and its first sentence."""
        return (*sentences(self.title)[:1], *sentences(self.text)[:1])


def find_retired(old: Statement, new: Statement, common: Collection[str] = ()) -> list[Token]:
    """The words that `old` claims and `new` calls over: a rare name, or plain words that cover the title."""
    over, denied = _words_over(new, content_keys(old.title, old.text)), _names_denied(new.title)
    if not over and not denied:
        return []
    held = {token.key: token for token in _held(old, old.claims) if token.key not in common}
    title = {token.key for token in _held(old, old.claims[:1])} & held.keys()
    found = [token for key, token in held.items() if key in over or (key in denied and key in title)]
    names = _names(old) | ({token.key for token in found if token.raw[:1].isupper()} & _names(new))
    if any(token.key in names for token in found):
        return found
    found = [token for token in found if token.key in title]
    return found if len(found) > 1 or title <= content_keys(new.title, new.text) else []


def find_other_value(old: Statement, new: Statement, common: Collection[str], apart: bool) -> Difference | None:
    """One subject with two values in the titles, or in the first sentences unless the titles are `apart`."""
    scopes, others = (
        {token.key for claim in statement.claims for token in claim.content} & words("scopes")
        for statement in (old, new)
    )
    if scopes != others:
        return None
    pairs = zip(sentences(old.title)[:1] if apart else old.claims, new.claims, strict=False)
    for one, two in pairs:
        difference = _differ_after_beginning(one, two) or _differ_in_number(one, two, common)
        if not difference and old.kind == new.kind:
            difference = _differ_in_value(one, two)
        if difference:
            return difference
    return None


def titles_differ(old: Statement, new: Statement) -> bool:
    """Whether the titles name different things that the texts leave out: "The port is 6379", of Redis or Postgres."""
    return bool(old.title and new.title and _named_by_title(old, new) and _named_by_title(new, old))


def _named_by_title(one: Statement, other: Statement) -> bool:
    written = content_keys(one.text, other.text, other.title)
    title = [token for sentence in sentences(one.title) for token in sentence.spoken]
    is_label = len(title) == 1 and title[0].kind == WORD  # the first word of a sentence is capitalised, name or not
    return any(
        token.key not in written
        and (
            token.kind == NAME
            or is_label
            or token.key in words("scopes")
            or (token.kind == NUMBER and before.key in words("numbered"))
        )
        for before, token in zip([*title[:1], *title], title, strict=False)
    )


def _differ_after_beginning(one: Sentence, two: Sentence) -> Difference | None:
    """Claims that begin alike and go on with another name or number: "Tokens are signed with RS256 ..."."""
    beginning = []
    for old, new in zip(one.spoken, two.spoken, strict=False):
        if old.key != new.key:
            break
        beginning.append(old)
    else:
        return None
    counted = [
        token.is_telling or (token.is_content and before.key == "be")  # "is signed with"
        for before, token in zip([*beginning[:1], *beginning], beginning, strict=False)
    ]
    if sum(counted) < MIN_BEGINNING or not any(token.is_verb for token in beginning):
        return None
    if old.kind == new.kind == NUMBER:
        is_thing = beginning[-1].key in words("numbered") and beginning[-1].raw.islower()
        return None if is_thing or _are_limited_apart(one, two) else number_difference(old, new)
    is_name = NAME in (old.kind, new.kind) and {old.kind, new.kind} <= {NAME, WORD}
    return Difference("name", old.raw, new.raw) if is_name and not beginning[-1].is_content else None


def _differ_in_number(one: Sentence, two: Sentence, common: Collection[str]) -> Difference | None:
    """One thing with two numbers: "format v2" and "format v3"."""
    mine, yours = dict(_counted(one)), dict(_counted(two))
    for thing, old in mine.items():
        new = yours.get(thing)
        if new and old.key != new.key and thing[-1] not in common:
            return None if _are_limited_apart(one, two) else number_difference(old, new)
    return None


def _are_limited_apart(one: Sentence, two: Sentence) -> bool:
    """Whether two sentences say for what they are true, and differ in it: "19 % in Germany", "20 % in Austria"."""
    mine, yours = (
        {token.key for before, token in pairwise(each.spoken) if token.kind == NAME and before.key in words("places")}
        for each in (one, two)
    )
    return bool(mine and yours) and mine.isdisjoint(yours)


def _counted(sentence: Sentence) -> Iterator[tuple[tuple[str, ...], Token]]:
    """The numbers of a sentence, each with its first word and the word before the number, which say what it counts."""
    tokens = sentence.tokens
    for place, token in enumerate(tokens):
        before = tokens[max(0, place - 2) : place]
        if token.kind == NUMBER and before and before[-1].is_telling and before[-1].kind != NUMBER:
            thing = before if _CJK.search(before[-1].raw) else (tokens[0], before[-1])
            is_title = place == 1 and len(tokens) == 2  # "Note 3"
            if len(thing) == 2 and not is_title and thing[1].key not in words("numbered"):
                yield tuple(each.key for each in thing), token


def _differ_in_value(one: Sentence, two: Sentence) -> Difference | None:
    """Claims about the same subject that have no word in common: "Articles are MDX files", "Articles live in ..."."""
    old, new = _parts(one), _parts(two)
    if not old or not new or old[:2] != new[:2]:
        return None
    is_shared = {token.key for token in old[2]} & {token.key for token in new[2]}
    if is_shared or (old[2][0].kind == new[2][0].kind == NUMBER and _are_limited_apart(one, two)):
        return None
    return Difference("value", text_of(old[2]), text_of(new[2]))


def _parts(sentence: Sentence) -> tuple[tuple[str, ...], str, tuple[Token, ...]] | None:
    """Subject, verb and value of a claim; none where it gives no name or number as a value."""
    spoken = sentence.spoken
    place = next((at for at, token in enumerate(spoken) if token.is_verb), 0)
    subject = tuple(token.key for token in spoken[:place] if token.key not in words("modifiers"))
    end = next((at for at, _ in _find_phrases(spoken, "negations") if at > place), len(spoken))
    value = tuple(token for token in spoken[place + 1 : end] if token.is_content)
    if not subject or not any(token.is_value for token in value):
        return None
    verb = spoken[place]
    if value[0].kind == WORD and value[0].key.endswith(("ed", "en")):  # "is written in", "is owned by"
        return subject, value[0].key, value
    return subject, "be" if verb.key == "be" or verb.raw.casefold() in words("placing") else verb.key, value


def _held(statement: Statement, claims: tuple[Sentence, ...]) -> list[Token]:
    """The telling words of some claims that the statement does not itself call over."""
    over = _words_over(statement)
    telling = (token for sentence in claims for token in sentence.telling.values())
    return [token for token in telling if token.key not in over and not _CJK.search(token.raw)]


def _names(statement: Statement) -> set[str]:
    both = (*sentences(statement.title), *sentences(statement.text))
    content = [token for sentence in both for token in sentence.content]
    return {token.key for token in content if token.kind == NAME or (token.kind == NUMBER and token.key[0] == "v")}


@lru_cache(maxsize=256)
def _names_denied(title: str) -> frozenset[str]:
    """The names with which a clause ends after a negation: "hosted on SAE, not Vercel"."""
    ends = [clause[at + length :] for clause in _clauses(title) for at, length in _find_phrases(clause, "negations")]
    return frozenset(rest[0].key for rest in ends if len(rest) == 1 and rest[0].kind == NAME)


def _words_over(statement: Statement, stated: Collection[str] | None = None) -> set[str]:
    """The words that a statement says are over, as far as this limits them to no use that is not `stated` elsewhere."""
    return {
        key
        for text in (statement.text, statement.title)
        for keys, uses in _retirements(text)
        if stated is None or not uses or not uses.isdisjoint(stated)
        for key in keys
    }


@lru_cache(maxsize=256)
def _retirements(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """The words that each clause says are over, and those of the use that it names: "no longer use X for sessions"."""
    retirements = []
    for clause in _clauses(text):
        found: list[Token] = []
        # "Rows are never deleted" denies that something is over, "no web target any more" does not.
        denied = {at + reach for at, _ in _find_phrases(clause, "negations") for reach in (1, 2)}
        for at, length in _find_phrases(clause, "gone_after"):
            if at not in denied and not _is_passive(clause, at):
                found += clause[at + length : at + length + REACH_AFTER]
        for at, length in _find_phrases(clause, "gone_before"):
            active = (
                clause[at].key in words("participles") and at + length < len(clause) and not _is_passive(clause, at)
            )
            if not active and at not in denied:
                found += _subject_before(clause, at)
        moves = [at for at, token in enumerate(clause) if token.raw.casefold() in words("moves")]
        for at, token in enumerate(clause):
            if moves and at > moves[0] and token.key in words("from"):
                found += clause[at + 1 : at + 2]
        if found:
            purpose = next((at for at, token in enumerate(clause) if token.key in words("purposes")), len(clause))
            over, uses = (
                frozenset(token.key for token in some if token.is_telling) for some in (found, clause[purpose:])
            )
            retirements.append((over - uses, uses))
    return tuple(retirements)


def _subject_before(clause: tuple[Token, ...], place: int) -> Iterator[Token]:
    """The words before a phrase, back to the verb of another clause: "it is off and X is gone" names X alone."""
    for at in range(place - 1, max(-1, place - 1 - REACH_BEFORE), -1):
        if clause[at].is_verb and clause[at].raw.isalpha() and at < place - 2:
            return
        yield clause[at]


def _is_passive(clause: tuple[Token, ...], place: int) -> bool:
    return any(token.key in words("passive") for token in clause[max(0, place - 2) : place])


@lru_cache(maxsize=256)
def _clauses(text: str) -> tuple[tuple[Token, ...], ...]:
    clauses: list[list[Token]] = []
    for sentence in sentences(text):
        clauses.append([])
        for token in sentence.tokens:
            if token.kind == BREAK or token.raw == ":" or token.key in words("clause_ends"):
                clauses.append([])
            else:
                clauses[-1].append(token)
    return tuple(tuple(clause) for clause in clauses if clause)


def _find_phrases(tokens: tuple[Token, ...], name: str) -> Iterator[tuple[int, int]]:
    """Where phrases of a list stand, and how many words each has."""
    keys, listed = tuple(token.key for token in tokens), phrases(name)
    for place, key in enumerate(keys):
        for phrase in listed.get(key, ()):
            if keys[place : place + len(phrase)] == phrase:
                yield place, len(phrase)
                break
