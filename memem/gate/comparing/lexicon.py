"""The small words that comparing statements needs to know: what says nothing, what denies, limits, parts or opposes.

Plain data. A word that stands in no list is an ordinary one: it can be a subject or a value, and counts as itself.
"""

IGNORED = frozenset(
    "a an the please we our ours us i my me you your it its that this these those there just simply also really very "
    "actually basically currently now already indeed do does did "
    "der die das den dem ein eine einen einem einer wir unser unsere bitte "
    "le la les l un une des nous notre nos el los las uno una nosotros nuestro nuestra "
    "的 了 我 们 我们 请 地 得".split()
)
"""Says nothing about a fact: its presence or absence leaves a statement the same."""

PERSONS = {
    word: person
    for person, words in (("I", "i my me"), ("you", "you your"), ("we", "we our ours us wir unser unsere 我们"))
    for word in words.split()
}
"""Words that say who is meant: not always left out, as the other ignored ones are."""

BE = frozenset("is are be am been being = : est sont ist sind es está están ser 是 为".split())

FUNCTION = frozenset(
    "was were has have had having will would shall of for in on at to from with by as via through using into "
    "onto and or "
    "plus under over above below before after during when while if whether than then so because since until till "
    "unless "
    "except but not no nor never neither none without within inside outside between against about around roughly "
    "approximately near out up down off per he she they them their his her who which whose what where how why "
    "mit für auf im bei von zu und oder als nach vor durch über weil dass "
    "pour dans sur avec par et ou à au aux du de en para con por que qui wenn "
    "换成 改为 改成 替换为 切换到 迁移到 改用 不再 而不是 而非 取代 代替 替代 如果 除非 在 和 与 或 把 被 对 给 "
    "从 到 用 以 于 就 也 都 会 要".split()
)

NEGATORS = frozenset(
    "not no never without none neither nor cannot avoid nicht kein keine keinen keinem nie niemals ohne "
    "ne pas jamais sans aucun nunca jamás sin ningún ni "
    "不 没 没有 无 未 非 别 勿 不要 不得 不能 不可 不会 不应 禁止 无需 不用 不许".split()
)

CLAUSE_ENDS = frozenset(
    "but because since so although though while whereas which where unless except if when until till aber weil "
    "sondern mais car sino pero porque 但 但是 因为 所以 而是 而 且".split()
)

REASONS = frozenset("because since so although though which where weil car porque 因为 所以".split())

GROUNDS = REASONS - {"which", "where"}
"""Those that tell why: what is named behind them is what was left as often as what was chosen."""

CONDITIONS = frozenset("if unless except when until till without ohne sans sin wenn falls 如果 除非 当 ?".split())
"""A statement under one of these holds less than the same statement without it."""

EITHER = frozenset("or oder ou o 或 或者".split())

SCOPING = frozenset("for in at of during when while if under within inside für bei im pour dans para en 在".split())

DIRECTED = frozenset(
    "before after over above below under than to into onto -> <- from then by 到 切换到 迁移到".split()
)
"""What points from one thing to another: the same words round one of them say another thing."""

LIMITS = {
    word: group
    for group, words in (
        ("only", "only solely exclusively nur seulement solo sólo 只 仅 只能"),
        ("at least", "least minimum mindestens 至少"),
        ("at most", "most maximum höchstens 最多 至多"),
        ("more", "more"),
        ("less", "less fewer"),
        ("exactly", "exactly precisely"),
        ("some", "some sometimes occasionally partly partially rarely seldom few"),
        ("usually", "usually often mostly normally typically"),
        ("may", "may might can could optionally optional darf kann peut puede 可以 可能"),
        ("should", "should ought soll sollte 应该 应"),
        ("must", "must shall required mandatory muss müssen doit debe 必须"),
        ("always", "always immer toujours siempre 总是 始终 一直"),
        ("all", "all every each any everything alle tous todos 所有 每"),
    )
    for word in words.split()
}
"""How far a statement goes: `must` for `may` is a change."""

STRONG_LIMITS = frozenset(
    ("only", "at least", "at most", "more", "less", "exactly", "some", "usually", "may", "should")
)
"""Those that make two statements differ even when only one has them; `always` adds little."""

OPPOSITES = {
    word: (pair, side)
    for pair, both in enumerate(
        (
            ("on enabled enable active activated activate an aktiv activé 开启 启用 打开 开",
             "off disabled disable inactive deactivated deactivate aus deaktiviert désactivé 关闭 禁用 停用 关"),
            ("always immer toujours siempre 总是 始终", "never nie jamais nunca"),
            ("allowed allow permitted permit erlaubt autorisé permitido 允许",
             "forbidden forbid prohibited prohibit disallowed disallow denied deny banned ban verboten interdit "
             "prohibido 禁止"),
            ("true yes wahr vrai verdadero", "false falsch faux falso"),
            ("before vor avant antes 之前", "after nach après después 之后"),
            ("required mandatory obligatory 必须", "optional"),
            ("open opened", "closed"),
            ("public", "private"),
            ("include includes included including", "exclude excludes excluded excluding"),
            ("accept accepts accepted", "reject rejects rejected refuse refuses refused"),
            ("pass passes passed passing succeed succeeds green", "fail fails failed failing red broken"),
            ("ascending", "descending"),
            ("parallel concurrent concurrently", "sequential sequentially serial serially"),
            ("synchronous synchronously sync", "asynchronous asynchronously async"),
            ("more higher greater larger bigger faster", "less lower fewer smaller slower"),
            ("increase increases increased raise raises raised",
             "decrease decreases decreased reduce reduces reduced lower lowers lowered"),
            ("first", "last"),
            ("minimum min least", "maximum max most"),
            ("safe", "unsafe dangerous"),
            ("same equal", "different"),
            ("above", "below"),
            ("up", "down"),
            ("left", "right"),
            ("supported", "unsupported"),
            ("light", "dark"),
            ("strict", "lax lenient"),
            ("hot", "cold"),
            ("fast", "slow"),
            ("good recommended encouraged", "bad discouraged"),
            ("prefer prefers preferred like likes love loves want wants", "avoid avoids dislike dislikes hate hates"),
            ("keep keeps kept", "remove removes drop drops delete deletes"),
        )
    )
    for side, words in zip((1, -1), both, strict=True)
    for word in words.split()
}  # fmt: skip
"""Word -> (pair, side): two that stand on different sides of one pair deny each other."""

NEGATING_PREFIXES = ("un", "in", "im", "ir", "dis", "non", "non-", "de")
