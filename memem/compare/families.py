"""Words that belong together: places, rivals, synonyms, units. Plain data for comparing statements."""

SCOPES = frozenset(
    "staging production prod dev development local locally ci test testing preview sandbox qa uat canary nightly "
    "frontend backend server client mobile web desktop android ios windows linux macos mac docker kubernetes "
    "laptop upstream downstream api cli worker admin internal external primary replica secondary "
    "morning evening weekday weekend 生产 测试 预发 开发".split()
)
"""Where or for what something holds: another one is another subject."""

NUMBERED = frozenset(
    "issue pr ticket bug step phase stage chapter section milestone worker node shard task sprint week day line item "
    "rule option case question error status code http adr rfc pep table figure page part team group room floor "
    "number no nr nummer service fact server instance job call machine cluster region zone batch slot".split()
)
"""Nouns whose number is their name: another number is another thing."""

VERSIONED = frozenset(
    "version release python node ruby java jdk go php rust swift kotlin scala postgre postgres postgresql mysql redis "
    "django rails laravel spring react angular vue next kubernetes kafka elasticsearch debian ubuntu fedora alpine "
    "windows macos ios android cuda gcc clang llvm terraform webpack vite openapi".split()
)
"""What a number behind is the version of."""

COUNTED = VERSIONED | frozenset(
    "port length width height size limit timeout level cost count depth threshold ttl budget max min maximum minimum "
    "least most age rate factor retry attempt total than about around roughly".split()
)
"""What a number behind is the value of; behind any other noun at the head of a sentence it is part of the name."""

RIVALS = {
    word: family
    for family, words in enumerate(
        (
            "npm pnpm yarn bun",
            "pip uv poetry pipenv conda pdm rye hatch",
            "redis memcached valkey keydb",
            "postgres postgresql mysql mariadb sqlite mongodb oracle cockroachdb dynamodb mssql",
            "pytest unittest nose nose2",
            "jest vitest mocha jasmine ava",
            "black ruff yapf autopep8",
            "flake8 ruff pylint",
            "eslint biome oxlint tslint standard",
            "mypy pyright pyre pytype",
            "main master develop trunk",
            "rs256 hs256 es256 eddsa ps256",
            "react vue svelte angular solid preact",
            "webpack vite rollup esbuild parcel turbopack",
            "flask django fastapi starlette sanic",
            "docker podman containerd nerdctl",
            "github gitlab bitbucket gitea codeberg",
            "jenkins circleci travis buildkite",
            "aws gcp azure hetzner digitalocean",
            "rest graphql grpc soap trpc",
            "json yaml toml xml ini msgpack protobuf",
            "kafka rabbitmq nats sqs pulsar activemq",
            "tabs tab spaces space",
            "rust go golang java kotlin python ruby elixir typescript javascript scala",
            "vim neovim emacs vscode zed sublime helix",
            "bash zsh fish powershell",
            "slack discord teams mattermost zulip",
            "jira linear trello asana",
            "monday tuesday wednesday thursday friday saturday sunday",
            "mondays tuesdays wednesdays thursdays fridays saturdays sundays",
            "january february march april june july august september october november december",
            "rebase merge squash",
            "maven gradle bazel sbt ant cmake make meson ninja",
            "nginx caddy apache traefik haproxy envoy",
            "cypress playwright selenium puppeteer",
            "terraform pulumi ansible cloudformation opentofu",
            "daily weekly monthly hourly nightly yearly quarterly",
            "metric imperial",
            "camelcase snake_case kebab-case pascalcase",
            "jwt session cookie oauth saml",
            "utc local cet est pst gmt",
            "english german french spanish italian dutch portuguese polish russian chinese japanese korean",
        )
    )
    for word in words.split()
}
"""Names of one family: where one stands in the place of the other, one of the two is not used."""

COMMON = frozenset(
    "go make standard solid black local session cookie main teams linear fish rest ant merge squash rebase ninja march "
    "est rye hatch bun tab tabs space spaces poetry ava sublime metric daily weekly monthly hourly nightly "
    "yearly polish".split()
)
"""Of these families, what is an ordinary word unless it is written like a name."""

SYNONYMS = {
    word: group
    for group, words in enumerate(
        (
            "short concise brief terse",
            "long detailed verbose thorough",
            "big large",
            "small little tiny",
            "quick fast rapid",
            "config configuration settings",
            "repo repository",
            "folder directory dir",
            "db database",
            "docs documentation",
            "error failure fault",
            "function method",
            "use employ utilise utilize",
            "begin start",
            "create make build",
            "delete remove erase",
            "run execute launch",
            "live reside located",
            "need require",
            "answer reply response",
            "developer programmer engineer",
            "fix repair",
            "store keep save",
            "choose pick select",
            "show display",
            "test spec",
        )
    )
    for word in words.split()
}

NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
    )
    if value != 1
} | {
    "twenty": "20",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "ninety": "90",
    "hundred": "100",
    "twice": "2",
    "thrice": "3",
}

ORDINALS = {
    word: str(value)
    for value, word in enumerate("third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), 3)
} | {"second": "2"}
"""Numbers behind `every`; elsewhere they tell one thing from another."""

UNITS = {
    word: (unit, dimension, factor)
    for unit, dimension, factor, words in (
        ("ms", "time", 1, "ms msec millisecond milliseconds 毫秒"),
        ("s", "time", 1000, "s sec secs second seconds sekunden secondes segundos 秒"),
        ("min", "time", 60_000, "min mins minute minutes minuten minutos 分钟"),
        ("h", "time", 3_600_000, "h hr hrs hour hours stunden heures horas 小时"),
        ("d", "time", 86_400_000, "d day days tage jours días 天"),
        ("week", "time", 604_800_000, "week weeks wochen semaines semanas 周"),
        ("month", "month", 1, "month months monate mois meses 个月"),
        ("year", "month", 12, "year years yr yrs jahre ans años 年"),
        ("byte", "size", 0, "byte bytes"),
        ("kb", "size", 0, "kb kib"),
        ("mb", "size", 0, "mb mib megabyte megabytes"),
        ("gb", "size", 0, "gb gib gigabyte gigabytes"),
        ("tb", "size", 0, "tb tib terabyte terabytes"),
        ("%", "share", 0, "% percent prozent"),
        ("am", "moment", 0, "am"),
        ("pm", "moment", 0, "pm"),
        ("px", "px", 0, "px pixel pixels"),
    )
    for word in words.split()
}
"""Unit as written -> (its name, what it measures, how many of the smallest; 0: not converted)."""
