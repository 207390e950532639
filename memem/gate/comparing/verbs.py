"""The verbs that comparing statements needs to know: what parts a subject from its value, or leaves one behind."""


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
