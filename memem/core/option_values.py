"""Parsers for the text of a setting. Each raises ValueError with a hint at valid values."""

from collections.abc import Callable
from contextlib import suppress


def switch(text: str) -> bool:
    word = text.strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError("use 1 or 0")


def one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"use one of {', '.join(choices)}")
        return text

    return parse


def between(kind: Callable[[str], float], low: float, high: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        with suppress(ValueError):
            number = kind(text)
            if low <= number <= high:
                return number
        raise ValueError(f"use a number from {low} to {high}")

    return parse


def folder(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise ValueError("use the path of a folder")
    return text


def folder_if_any(text: str) -> str | None:
    return folder(text) if text else None


def folders(text: str) -> str:
    if "\0" in text:
        raise ValueError("use paths of folders")
    return text


def name(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("use a name")
    return text.strip()
