"""Full-text search: text as folded words (parts of identifiers, bigrams of scripts without spaces), ranked by BM25."""

import re
import sqlite3
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

from memem.core.files import from_json
from memem.core.sqlite import split_values
from memem.search.query import Term, is_name

MAX_TERMS = 32
COMMON_SHARE = 0.2  # a term in a larger share of the rows is dropped when a rarer one is asked for too
MIN_COMMON = 20  # a term in at most this many rows is never common
MAX_TIES = 20
_TABLES = from_json(Path(__file__).with_name("words.json").read_bytes())  # JSON, since TOML would cost a prompt 5 ms
# Invisible within words: soft hyphens, spaces without width, direction marks, variation selectors.
_UNSEEN = "[\u00ad\u061c\u200b\u200e\u200f\u2060\ufeff\ufe00-\ufe0f\U000e0100-\U000e01ef]"


def _patterns(letter: str, run: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the patterns of a token (a run of a script without spaces, or a compound) and of a compound's part."""
    compound = rf"[_.]?{letter}+(?:[_./\\:@#+'‘’\u200c\u200d-]+{letter}+)*(?:\+\+|#(?!\w))?"
    return re.compile(rf"(?P<run>{run})|(?P<compound>{compound})"), re.compile(rf"{letter}+")


_ASCII = _patterns("[A-Za-z0-9]", "(?!)")


@cache
def _all_alphabets() -> tuple[re.Pattern[str], re.Pattern[str]]:  # compiled on use, since that takes ten times as long
    # Written without spaces, or with endings glued to the word.
    spaceless = "".join(_TABLES["scripts_without_spaces"].values())
    marks = "".join(_TABLES["marks_within_words"].values())  # `\w` leaves them out
    return _patterns(rf"(?:(?![{spaceless}_])[\w{marks}])", f"[{spaceless}]+")


_APOSTROPHES = str.maketrans(dict.fromkeys("‘’ʻʼ", "'"))
_POSSESSIVE = re.compile(r"'s\Z", re.IGNORECASE)
# French and Italian articles before a vowel: `accès` and `l'accès` match each other.
_ELIDED = frozenset(" ".join(_TABLES["elided_articles"]).split())
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Accents, points, tatweel, joiners; the dot of Hindi's borrowed letters; the dot between the parts of a katakana name.
_ACCENTS = (
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u07a6-\u07b0\u093c\u200c\u200d"
    "\u30fb]"
)
# Letters that Unicode does not decompose though they are variants: strokes, ligatures, the dotless i, letters that
# differ between Arabic and Persian keyboards or in careless Arabic, and other digits.
_VARIANTS = str.maketrans(
    {
        **dict(zip("đðħłøŧı", "ddhloti", strict=True)),
        **{"æ": "ae", "œ": "oe", "þ": "th"},
        **{"\u06a9": "\u0643", "\u06cc": "\u064a", "\u0649": "\u064a", "\u0629": "\u0647"},
        **{chr(zero + digit): str(digit) for zero in (0x660, 0x6F0, 0x966) for digit in range(10)},
    }
)
_LITERAL = re.compile(
    r"""\w*_\w[\w.-]*                      # snake_case, ENV_VAR
      | (?=[^\s]*\d)(?=[^\s]*[a-zA-Z.\-/:])[^\s]{2,}   # a number with anything beside it: v3.3.0, OPS-4821, 10:30
      | \d{3,}                              # a port, an error code
      | [^\s]+[/\\][^\s]+\.\w+              # a path to a file
      | [\w-]+\.(?:[a-z]{1,5}|[A-Z]{1,5})               # a file name
      | [a-z]+[A-Z]\w+ | [A-Z][a-z]+[A-Z]\w+  # camelCase, CamelCase
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(r"(?:[^\W\d]\.)+[^\W\d]|(?:vs|etc|eg|ie)\.\w+", re.IGNORECASE)

MAX_TERM = 120  # characters; a longer run without a space is a blob, not a word

STOP_WORDS = frozenset(" ".join(_TABLES["stop_words"]).split())


def fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", re.sub(_ACCENTS, "", decomposed).translate(_VARIANTS))


def _spellings(word: str) -> tuple[str, ...]:
    """Both numbers of a word in -s: the porter stemmer turns `alias` to `alia` and `aliases` to `alias`."""
    if not word.isalpha() or len(word) < 3 or word.endswith("ss"):
        return (word,)
    if word.endswith("ses"):
        return (word, word[:-2])
    return (word, word + "es") if word.endswith("s") else (word,)


def index_text(text: str) -> str:
    return " ".join(term.text for term in _terms(text, for_query=False))


def query_terms(query: str, most: int) -> list[Term]:
    terms: dict[str, Term] = {}
    for term in _terms(query, for_query=True):
        if term.text not in terms or (terms[term.text].part and not term.part):
            terms[term.text] = term
    meaningful = [term for term in terms.values() if term.literal or term.text not in STOP_WORDS]
    chosen = sorted(meaningful, key=lambda term: not term.literal)[:most]
    return [term for term in meaningful if term in chosen]


def _terms(text: str, *, for_query: bool) -> Iterator[Term]:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", re.sub(_UNSEEN, "", text))
    token, _ = _ASCII if text.isascii() else _all_alphabets()
    for match in token.finditer(text):
        if match["run"]:
            run = fold(match["run"])
            yield from (Term(first + second, bigram=True) for first, second in pairwise(run))
            if len(run) == 1 or (run and not for_query):
                # The last character alone, so that a query of one character finds it as a prefix anywhere.
                yield Term(run[-1], prefix=for_query)
        elif len(match["compound"]) <= MAX_TERM:
            yield from _compound(match["compound"])
        else:  # a blob is not worth caching
            yield from _compound.__wrapped__(match["compound"])


@lru_cache(maxsize=20_000)
def _compound(word: str) -> tuple[Term, ...]:
    word = _POSSESSIVE.sub("", word.translate(_APOSTROPHES))
    article, _, rest = word.partition("'")
    if len(rest) > 1 and article.lower() in _ELIDED:
        word = rest
    word = word.lstrip("._")  # a hidden file, a private name, emphasis in markdown
    whole = fold(word)
    literal = bool(_LITERAL.fullmatch(word)) and not _ABBREVIATION.fullmatch(word)
    terms = [Term(whole, literal=literal)] if 0 < len(whole) <= MAX_TERM else []
    if "'" not in word:  # the halves of don't and aujourd'hui mean nothing
        pieces = (fold(piece) for piece in _pieces(word))
        terms += [Term(piece, part=True) for piece in pieces if piece != whole and 1 < len(piece) <= MAX_TERM]
    return tuple(terms)


def _pieces(word: str) -> list[str]:
    """Split a compound: `src/auth/token.py` has `src`, `auth`, `token.py`, `token`, `py`."""
    pieces: list[str] = []
    _, part_pattern = _ASCII if word.isascii() else _all_alphabets()
    segments = re.split(r"[/\\:]+", word)
    if len(segments) > 1:
        pieces += [segment for segment in segments if not part_pattern.fullmatch(segment)]
    if re.fullmatch(r"[vV]\d[\w.-]*", word):
        pieces.append(word[1:])
    for part in part_pattern.findall(word):
        pieces.append(part)
        if part.isascii() and not part.islower():
            humps = _CAMEL.findall(part)
            pieces += humps if len(humps) > 1 else []
    return [piece for piece in dict.fromkeys(pieces) if piece]


@dataclass(frozen=True, slots=True)
class TextMatches:
    scores: dict[int, float]
    terms: tuple[Term, ...]
    frequencies: dict[Term, int]
    notes: int


@dataclass(frozen=True, slots=True)
class RowFilter:
    """The rows to search: a table joined to `words`, conditions on it, and their values."""

    join: str = ""
    conditions: str = ""
    values: tuple[str | float, ...] = ()


@dataclass(frozen=True, slots=True)
class FullText:
    """The table `words` of a file: its columns, and the weight of a word in each."""

    columns: tuple[str, ...]
    weights: tuple[float, ...]

    def create(self, connection: sqlite3.Connection) -> None:
        # The words are already split and folded, so only spaces separate here.
        connection.execute(
            f"""CREATE VIRTUAL TABLE words USING fts5 ({", ".join(self.columns)},
                tokenize = "porter unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'")"""
        )

    def insert(self, connection: sqlite3.Connection, row: int, texts: Sequence[str]) -> None:
        marks = ", ".join("?" * len(self.columns))
        statement = f"INSERT INTO words (rowid, {', '.join(self.columns)}) VALUES (?, {marks})"  # noqa: S608 - fixed
        connection.execute(statement, (row, *map(index_text, texts)))

    def remove(self, connection: sqlite3.Connection, row: int) -> None:
        connection.execute("DELETE FROM words WHERE rowid = ?", (row,))

    def count(self, connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT count(*) FROM words_docsize").fetchone()[0])

    def search(
        self, connection: sqlite3.Connection, query: str, limit: int, rows: RowFilter, max_terms: int | None = None
    ) -> TextMatches:
        """Find the best rows for any of the query's words, or for its `max_terms` rarest ones."""
        total = self.count(connection)
        common = max(MIN_COMMON, total * COMMON_SHARE)
        # Rows are counted no further than it takes to call a term common.
        counting = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        frequencies = {
            term: int(connection.execute(counting, (_any_of([term]), int(common) + 1)).fetchone()[0])
            for term in query_terms(query, MAX_TERMS)
        }
        present = [term for term, frequency in frequencies.items() if frequency]
        rare = [term for term in present if frequencies[term] <= common] or present
        rarest = set(sorted(rare, key=frequencies.__getitem__)[:max_terms])
        terms = [term for term in rare if term in rarest]
        scores = self._best(connection, terms, limit, rows)
        if not scores and len(terms) < len(present):
            terms = present
            scores = self._best(connection, terms, limit, rows)
        named = [term for term in terms if is_name(term, frequencies[term])]
        others = self._best(connection, named, limit, rows).keys() - scores.keys()
        scores |= self.score_rows(connection, terms, others)
        return TextMatches(scores, tuple(terms), frequencies, total)

    def score_rows(
        self, connection: sqlite3.Connection, terms: Sequence[Term], rows: Collection[int]
    ) -> dict[int, float]:
        if not terms:
            return {}
        scores: dict[int, float] = {}
        for marks, some in split_values(list(rows)):
            # The plus keeps FTS5 from looking the terms up for every row: it walks their rows once.
            query = f"SELECT rowid, -{self._bm25} FROM words WHERE words MATCH ? AND +rowid IN ({marks})"  # noqa: S608
            scores.update(connection.execute(query, (_any_of(terms), *some)))
        return scores

    def matched_terms(
        self, connection: sqlite3.Connection, rows: Sequence[int], terms: Sequence[Term]
    ) -> dict[int, list[Term]]:
        matched: dict[int, list[Term]] = {row: [] for row in rows}
        for marks, some in split_values(rows):
            query = f"SELECT rowid FROM words WHERE words MATCH ? AND +rowid IN ({marks})"  # noqa: S608 - marks only
            for term in terms:
                for (row,) in connection.execute(query, (_any_of([term]), *some)):
                    matched[row].append(term)
        return matched

    def check_words(self, connection: sqlite3.Connection, rows: str) -> None:
        """Raise when the words are damaged, or do not belong to the rows that the query `rows` gives."""
        connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
        indexed = "SELECT rowid FROM words"
        for missing in (f"{rows} EXCEPT {indexed}", f"{indexed} EXCEPT {rows}"):
            if connection.execute(f"{missing} LIMIT 1").fetchone():
                raise sqlite3.DatabaseError("the words do not match the notes")

    def _best(
        self, connection: sqlite3.Connection, terms: Sequence[Term], limit: int, rows: RowFilter
    ) -> dict[int, float]:
        """Find the best rows, and those that tie with the last of them: chance does not choose among equals."""
        if not terms:
            return {}
        query = f"""SELECT words.rowid, {self._bm25} AS score FROM words {rows.join}
                WHERE words MATCH ?{rows.conditions} ORDER BY score LIMIT ?"""  # noqa: S608 - bound values
        best = connection.execute(query, (_any_of(terms), *rows.values, limit + MAX_TIES)).fetchall()
        return {row: -score for row, score in best if score <= best[:limit][-1][1]}

    @property
    def _bm25(self) -> str:
        return f"bm25(words, {', '.join(map(str, self.weights))})"


def _any_of(terms: Iterable[Term]) -> str:
    texts = ((text.replace('"', '""'), term) for term in terms for text in _spellings(term.text))
    return " OR ".join(f'"{text}"{"*" if term.prefix else ""}' for text, term in texts)


NOTES = FullText(("title", "keys", "body"), (3.0, 3.0, 1.0))  # `python -m bench ranking` compares other weights
