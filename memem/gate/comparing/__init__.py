"""What a new statement is to an old one, told from the two texts alone: pure, exact, and rather doubtful than wrong.

A changed digit, name, denial, direction or version is a change, however alike two texts look. Losing a correction is
the worst mistake, an extra note the mildest, a false contradiction stands between: every doubt is decided by that.

    a text      wording (words), numbers, naming (what is a name by its place), places (subject, value, scope, reason),
                claims (sentences: what they hold, deny, or say to be over)
    two of them pairing (words in common, and of one only), subjects (one thing or two), values and contradicting
                (in what they differ), covering (who says more), judging (two sentences), statements (two texts),
                rail (no word is lost)
    plain data  lexicon (small words), verbs, families (words that belong together)

What comes out is a `Comparison` of `gate/relation.py`.
"""

from memem.gate.comparing.statements import Statement, compare, titles_differ

__all__ = ["Statement", "compare", "titles_differ"]
