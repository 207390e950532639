"""Numbers as statements write them: with units, as words, as versions, dates and times."""

import re
from dataclasses import dataclass
from decimal import Decimal

from memem.gate.comparing import families


@dataclass(frozen=True, slots=True)
class Number:
    """A number. Equal keys mean an equal amount; a version or a date is only equal to itself."""

    key: str
    digits: str
    unit: str = ""
    measures: str = ""
    version: bool = False


_PLAIN = re.compile(r"#?(\d{1,3}(?:[,_]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)([^\W\d_]{1,12}|%)?$")
_VERSION = re.compile(r"v\d+(?:\.\w+)*|\d+(?:\.\d+){2,}(?:[-+.]?\w+)*|\d+\.x(?:\.x)?$")
_MOMENT = re.compile(r"\d{4}-\d{2}(?:-\d{2})?(?:t[\d:.]+z?)?$|\d{1,2}:\d{2}(?::\d{2})?$|\d{1,2}[./]\d{1,2}[./]\d{2,4}$")
_SHORT_UNITS = {"m": "min", "k": ""}


def number_of(lowered: str) -> Number | None:
    """The number that a word is, or None."""
    if digits := families.NUMBER_WORDS.get(lowered):
        return Number(digits, digits)
    if not any(map(str.isdigit, lowered)):
        return None
    if _MOMENT.match(lowered):
        return Number(lowered, lowered, measures="moment")
    if _VERSION.fullmatch(lowered):
        return Number(lowered, lowered, version=True)
    plain = _PLAIN.match(lowered)
    return _amount(plain) if plain else None


def _amount(plain: re.Match[str]) -> Number | None:
    digits, unit = plain[1].replace(",", "").replace("_", ""), plain[2] or ""
    number = Number(digits, digits)
    if not unit:
        return number
    if unit == "k":
        return Number(str(int(Decimal(digits) * 1000)), digits + "k")
    return with_unit(number, _SHORT_UNITS.get(unit, unit))


def with_unit(number: Number, unit: str) -> Number | None:
    """A number with its unit; amounts of time are brought to one unit, so that 60 s is 1 min."""
    if unit not in families.UNITS:
        return None
    name, measures, factor = families.UNITS[unit]
    if factor and number.digits.replace(".", "", 1).isdigit():
        amount = (Decimal(number.digits) * factor).normalize()
        return Number(f"{measures}:{amount:f}", number.digits, name, measures)
    return Number(f"{number.digits} {name}", number.digits, name, measures)
