"""Words that comparing needs to know: function words, negations, limits, opposites, and verbs.

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


def _by_first_word(phrases: str) -> dict[str, list[tuple[str, ...]]]:
    table: dict[str, list[tuple[str, ...]]] = {}
    for phrase in phrases.split("; "):
        table.setdefault(phrase.split()[0], []).append(tuple(phrase.split()))
    return table


GONE_BEFORE = _by_first_word(
    "no longer; not any longer; nicht mehr; ya no; instead of; rather than; in place of; used to; "
    "stopped using; stop using; moved away from; moved off; got rid of; au lieu de; en lugar de; en vez de; "
    "replaces; replacing; replace; supersedes; formerly; previously; statt; anstelle; anstatt; plutôt que; 不再; "
    "而不是; 而非; 取代; 代替; 替代"
)
"""What follows these words, in the same clause, held once and holds no more."""

GONE_AFTER = _by_first_word(
    "gone; deprecated; obsolete; outdated; discontinued; replaced by; replaced with; superseded by; no more; "
    "anymore; ersetzt; remplacé; remplacée; reemplazado; reemplazada; 弃用; 废弃; 移除; 改为; 改成; 换成; 替换为"
)
"""What stands before these words, in the same clause, held once and holds no more."""

GONE_EITHER_WAY = frozenset("dropped retired removed abandoned ditched replaced superseded".split())
"""`We dropped X` and `X was dropped`: what follows, or after a form of `be`, what stands before."""

MOVES = frozenset(
    "switch switched switching move moved moving migrate migrated migrating change changed changing went go "
    "convert converted port ported rename renamed bump bumped raise raised lower lowered upgrade upgraded downgrade "
    "downgraded increase increased decrease decreased reduce reduced transition transitioned umgestellt gewechselt "
    "passé passés migré cambiamos migramos 切换 切换到 迁移 迁移到 改用 换 换成 改为 改成 改".split()
)
"""With one of these, `from X to Y` says that X is over; otherwise it is only a direction."""

COPULAS = frozenset("must should may might can could will shall cannot was were has have had".split())

STRONG_VERBS = frozenset(
    "uses lives needs requires listens depends supports expects returns takes contains owns prefers wants likes goes "
    "comes belongs means holds stays expires lasts defaults points happens gets makes keeps gives says knows sits "
    "allows forbids reads writes sends receives accepts rejects stores serves handles maintains approves leads "
    "calls imports extends wraps inherits implements blocks triggers provides generates produces consumes exposes "
    "replaces speaks costs equals denotes became becomes lies "
    "nutzt verwendet läuft benutzt utilise usa utiliza".split()
)
"""Forms that can hardly be anything but the verb of their sentence."""

VERBS = frozenset(
    "use need require listen depend support expect return take contain own prefer want like go come belong mean hold "
    "stay expire last default point happen get make keep give say know sit allow forbid read write send receive "
    "accept "
    "reject store serve handle maintain approve lead call import extend wrap inherit implement block trigger provide "
    "generate produce consume expose live run put set add remove delete install build deploy test start stop commit "
    "push pull merge rebase release publish ask avoid name format lint check cache log retry limit ship host review "
    "configure define create update open close wait sign sort validate parse render fetch load save load skip mount "
    "tag pin track follow schedule switch move migrate change replace cost equal work try treat bind connect encrypt "
    "compress rotate back ensure prefix indent wrap throw raise catch handle emit count exit boot "
    "talk end begin hire rebuild occur arrive finish fall grow shrink appear vary differ result refer relate "
    "link attach pay sample publish flash compile train compute measure exceed reach map route proxy stream "
    "print draw speak eat drink "
    "sleep drive travel teach study meet book visit sell buy ship bill charge refund index query scan crawl "
    "backup restore "
    "monitor alert notify email verify authenticate authorize hash mask redact encode decode convert transform "
    "copy sync "
    "replicate respawn spawn reset resume pause block unlock lock trust own rely assume ignore drop evict purge "
    "archive "
    "clean rank order group split join filter match apply affect enable disable turn show hide display report "
    "document "
    "fix break hit ping round drain feed poll watch signal escalate freeze concern list "
    "describe explain cover mention contact join leave report manage supervise plan design draft "
    "使用 运行 采用 部署 监听 需要 喜欢 位于".split()
)

GENERIC = frozenset(
    "use run have get make go take need keep put set work do want give prefer require live add call store 使用 "
    "运行 采用 需要 位于".split()
)
"""Verbs that go with anything: two statements that share one of them share nothing yet."""

PARTICIPLES = frozenset(
    "written built kept sent held run made done put set found bound split read taken given known".split()
)

NOUNS_TOO = frozenset(
    "test build deploy log cache release commit import format lint check name tag review change default support call "
    "limit host block trigger point load mount schedule work cost count port".split()
)

UNIQUE_AGENT = frozenset(
    "own maintain lead manage handle review approve contain hold host serve define generate provide sign store cache "
    "run use responsible charge".split()
)
"""What only one is thought to do: another subject for the same of these is another value."""

HEDGES = frozenset(
    "plan want try tried trying intend propose suggest hope consider think evaluate discuss maybe perhaps probably "
    "possibly likely soon someday eventually later almost idea proposal draft experiment supposedly allegedly "
    "apparently reportedly presumably".split()
)
"""What makes a fact a mere thought."""
