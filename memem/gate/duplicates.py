"""Whether two statements are the same text. Nothing fuzzy: one digit, one `not`, one swapped word is another fact."""

import unicodedata


def fingerprint(statement: str) -> str:
    """Equal for statements that differ in nothing but white space and Unicode form."""
    import hashlib

    text = " ".join(unicodedata.normalize("NFC", statement).split())
    return hashlib.sha256(text.encode()).hexdigest()[:32]
