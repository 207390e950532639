"""Secrets are redacted in place, whatever carries them; what only looks like one passes untouched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.safety.credentials.formats import FormatRule, load_rules
from memem.safety.credentials.redact import Redaction, find, marked, redact, without_marks

# Secret-looking strings are put together at run time, so that no scanner takes this file for a leak.
BODY = "a1B2" * 30
HEX = "0a1b" * 20
RANDOM = "Xk29vQ7bT4mLpR8sZw3N"
UUID = "3f2c9a1e-4b5d-4c7f-8a9b-0c1d2e3f4a5b"
PEM_LINE = "MIIEpAIBAAKCAQEA" + "x7Yz" * 12


def pem(name: str, body: str, end: bool = True) -> str:
    return f"-----BEGIN {name}-----\n{body}\n" + (f"-----END {name}-----" if end else "")


FORMATS = {
    "private key": [
        pem("RSA PRIVATE KEY", f"{PEM_LINE}\n{PEM_LINE}"),
        pem("PRIVATE KEY", PEM_LINE),
        pem("EC PRIVATE KEY", "short"),
        pem("OPENSSH PRIVATE KEY", PEM_LINE),
        pem("ENCRYPTED PRIVATE KEY", PEM_LINE),
        pem("RSA PRIVATE KEY", f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n{PEM_LINE}"),
        pem("PGP PRIVATE KEY BLOCK", f"Version: GnuPG v2\n\n{PEM_LINE}\n=abcd"),
        "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n" + PEM_LINE + "\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
        pem("PRIVATE KEY", PEM_LINE).replace("\n", "\\n"),
        "LS0tLS1CRUdJTiB" + "PUEVO" + BODY[:80],
        "AGE-SECRET-KEY-1" + "QPZRY9X8" * 7,
    ],
    "aws access key": ["AKIA" + "QWERTYUIOPASDFG7", "ASIA" + "QWERTYUIOPASDFG7"],
    "google api key": ["AIza" + "Sy" + BODY[:33]],
    "google oauth secret": ["GOCSPX-" + BODY[:28], "ya29." + BODY[:60], "1//0" + BODY[:50]],
    "azure client secret": ["abc" + "8Q~" + BODY[:34]],
    "github token": [
        *(f"gh{letter}_{BODY[:36]}" for letter in "pousr"),
        "github_pat_" + BODY[:22] + "_" + BODY[:59],
    ],
    "gitlab token": ["glpat-" + "ab_cD-12" * 3, "gldt-" + BODY[:20], "glrt-" + BODY[:20], "GR1348941" + BODY[:20]],
    "atlassian token": ["ATATT" + "3xFfGF0" + BODY[:80], "ATBB" + BODY[:32]],
    "slack token": ["xoxb-" + "123456789012-" + BODY[:24], "xoxp-" + "1-2-3-" + HEX[:32], "xapp-" + "1-A1-2-" + HEX],
    "stripe key": ["sk_live_" + BODY[:24], "rk_live_" + BODY[:24], "sk_test_" + BODY[:24], "whsec_" + BODY[:32]],
    "twilio key": ["SK" + HEX[:32]],
    "sendgrid key": ["SG." + BODY[:22] + "." + BODY[:43]],
    "mailgun key": ["key-" + HEX[:32]],
    "mailchimp key": [HEX[:32] + "-us14"],
    "npm token": ["npm_" + BODY[:36]],
    "pypi token": ["pypi-" + "AgEIcHlwaS5vcmc" + BODY[:100]],
    "hugging face token": ["hf_" + "abCD" * 8 + "ef"],
    "openai key": ["sk-" + BODY[:48], "sk-proj-" + BODY[:20] + "_" + BODY[:40] + "-x", "sk-or-v1-" + HEX[:64]],
    "anthropic key": ["sk-ant-" + "api03-" + BODY[:90] + "-AA"],
    "digitalocean token": ["dop_v1_" + HEX[:64]],
    "doppler token": ["dp.pt." + BODY[:43], "dp.st.dev_eu." + BODY[:43]],
    "vault token": ["hvs." + BODY[:24] + "_-", "hvb." + BODY[:90]],
    "telegram token": ["123456789:" + "AA" + BODY[:33]],
    "discord token": ["MTIz" + BODY[:20] + "." + "AbC-_f" + "." + BODY[:38]],
    "databricks token": ["dapi" + HEX[:32]],
    "shopify token": ["shpat_" + HEX[:32]],
    "docker token": ["dckr_pat_" + BODY[:27]],
    "grafana token": ["glsa_" + BODY[:32]],
    "api key": ["gsk_" + BODY[:52], "lin_api_" + BODY[:40], "figd_" + BODY[:40], "xai-" + BODY[:80]],
    "fly token": ["fo1_" + BODY[:43]],
    "airtable token": ["pat" + BODY[:14] + "." + HEX[:64]],
    "hubspot token": ["pat-na1-" + UUID],
    "plaid token": ["access-production-" + UUID],
    "braintree token": ["access_token$production$" + HEX[:16] + "$" + HEX[:32]],
    "mapbox token": ["sk.eyJ" + BODY[:60] + "." + BODY[:22]],
    "asana token": ["2/1201234567890123/1209876543210987:" + HEX[:32]],
    "sourcegraph token": ["sgp_" + HEX[:16] + "_" + HEX[:40]],
    "tencent key": ["AKID" + BODY[:32]],
    "azure devops token": [BODY[:76] + "AZDO" + "a1B2"],
    "new relic key": [HEX[:36] + "FFFFNRAL"],
    "jwt": [
        "eyJ" + BODY[:20] + ".eyJ" + BODY[:40] + "." + BODY[:43],
        "eyJ" + BODY[:20] + ".eyJ" + BODY[:40] + "todo" + BODY[:40] + "." + BODY[:43],
    ],
}


@pytest.mark.parametrize(("kind", "secret"), [(kind, secret) for kind, all_ in FORMATS.items() for secret in all_])
def test_secret_with_a_format_is_replaced_by_its_kind(kind: str, secret: str) -> None:
    assert redact(f"we used {secret} in staging.") == (f"we used [redacted: {kind}] in staging.", (kind,))
    assert redact(f"({secret})")[0] == f"([redacted: {kind}])"


# {} is where the secret stands; only that part goes.
CARRIERS = [
    ("postgres://app:{}@db:5432/shop", "hunter2", "password"),
    ("redis://:{}@cache:6379/0", "s3cret", "password"),
    ("amqp://guest:{}@mq", "p@ss.word", "password"),
    ("amqp://guest:{}@mq/shop?by=me@home", "Xk/9v+2q", "password"),
    ("mongodb+srv://app:{}@c0.mongodb.net/?retryWrites=true", "hunter2", "password"),
    ("https://x-access-token:{}@github.com/a/b.git", "0a1b2c3d", "password"),
    ("aws_secret_access_key = {}", "abcd1234/+" * 4, "aws secret key"),
    ('"SecretAccessKey": "{}"', "abcd1234/+" * 4, "aws secret key"),
    ("AccountName=shop;AccountKey={};EndpointSuffix=x", BODY[:86] + "==", "azure storage key"),
    ("https://shop.blob.core.windows.net/c?sv=2022&sig={}", BODY[:43] + "%3D", "azure signature"),
    ("https://hooks.slack.com/services/{}", "T0001/B0001/" + BODY[:24], "slack webhook"),
    ("https://discord.com/api/webhooks/{}", "123456789012345678/" + BODY[:68], "discord webhook"),
    ('"private_key": "{}\\n"', pem("PRIVATE KEY", PEM_LINE).replace("\n", "\\n"), "private key"),
    ("Private-Lines: 2{}\nPrivate-MAC: 00", f"\n{PEM_LINE}\n{PEM_LINE}", "private key"),
    ("Authorization: Basic {}", "dXNlcjpwYXNzd29yZA==", "authorization header"),
    ('curl -H "Authorization: Bearer {}" https://api', BODY[:24], "authorization header"),
    ("send it as Bearer {} with each call", BODY[:24], "bearer token"),
    ("curl -u admin:{} https://api", "hunter2", "password"),
    ("mysql -u root -p{} shop", "hunter2", "password"),
    ("sshpass -p {} ssh web1", "hunter2", "password"),
    ("machine example.org login me password {}", "hunter2", "password"),
    ('{{"auths": {{"r.io": {{"auth": "{}"}}}}}}', "dXNlcjpwYXNzd29yZA==", "password"),
    ("DB_PASSWORD={}", "hunter2", "password"),
    ("DB_PASSWORD={}", "swordfish", "password"),
    ("export API_KEY='{}'", BODY[:20], "api key"),
    ('docker run -e "PGPASSWORD={}" postgres', "hunter2", "password"),
    ("JWT_SECRET={}", "supersecret", "secret"),
    ("SECRET_KEY_BASE={}", HEX, "secret"),
    ("GITHUB_TOKEN={}", "ghp_" + BODY[:36], "github token"),
    ("db:\n  user: app\n  password: {}\n  host: db1\n", "hunter2", "password"),
    ("db:\n  password: {}\n  host: db1\n", "swordfish", "password"),
    ("environment:\n  POSTGRES_PASSWORD: {}\n", "swordfish", "password"),
    ("- name: DB_PASSWORD\n  value: {}", "hunter2", "password"),
    ('{{"user": "app", "password": "{}"}}', "swordfish", "password"),
    ('{{\\"password\\": \\"{}\\"}}', "hunter2", "password"),
    ('password = "{}"', "swordfish", "password"),
    ('password: str = "{}"', "hunter2", "password"),
    ('connect(host="db", password="{}", port=1)', "swordfish", "password"),
    ('os.environ["API_KEY"] = "{}"', BODY[:16], "api key"),
    ("'password' => '{}',", "hunter2", "password"),
    ("define('DB_PASSWORD', '{}');", "hunter2", "password"),
    ("client_secret: {}", BODY[:16], "secret"),
    ("secret = '{}'", "hunter2", "secret"),
    ("auth_token: {}", BODY[:20], "token"),
    ("x-api-key: {}", BODY[:20], "api key"),
    ("private_key = '{}'", BODY[:40], "private key"),
    ("Server=db;User Id=app;Password={};Encrypt=true", "hunter2", "password"),
    ("https://api/v1?token={}&page=2", BODY[:20], "token"),
    ("<password>{}</password>", "hunter2", "password"),
    ("psql --password {} --host db", "hunter2", "password"),
    ("tool --api-key {} run", BODY[:20], "api key"),
    ("tool --password={}", "hunter2", "password"),
    ("The password is {}.", "hunter2", "password"),
    ("the password is `{}`", "swordfish", "password"),
    ("the password for the staging db is {}, ask Ann", "hunter2", "password"),
    ("we changed the password to {} yesterday", "hunter2", "password"),
    ("log in as admin with password {}", "hunter2", "password"),
    ("{} is the admin password", "hunter2", "password"),
    ("staging login, user/password: admin/{}", "hunter2", "password"),
    ("**Password:** {}", "hunter2", "password"),
    ("`password`: `{}`", "hunter2", "password"),
    ("user: admin, password: {}, host: db1", "letmein99", "password"),
    ("SMTP_PASS={}", "hunter2", "password"),
    ("pwd: {}", "hunter2", "password"),
    ("pw: {}", "Tr0ub4dor&3", "password"),
    ('passphrase: "{}"', "correct horse battery staple", "password"),
    ("my api key is {}", BODY[:24], "api key"),
    ("the access token {} still works", BODY[:24], "token"),
    ("\u5bc6\u7801\u662f {}", "hunter2", "password"),
    ("HEROKU_API_KEY={}", UUID, "heroku api key"),
    ("heroku: {}", UUID, "heroku api key"),
    ("datadog = '{}'", "4d7e" + HEX[:36], "datadog access token"),
    ("Authorization: {}", RANDOM, "authorization header"),
    ("Authorization: SSWS {}", "00" + RANDOM, "authorization header"),
    ('h.Set("Authorization", "Bearer {}")', RANDOM, "authorization header"),
    ("Cookie: theme=dark; sessionid={}; lang=en", RANDOM, "session cookie"),
    ("Set-Cookie: sid={}; Path=/; HttpOnly", RANDOM, "session cookie"),
    ("docker login -u ci -p {} registry", "hunter2-9", "password"),
    ("redis-cli -h cache -a {} ping", "hunter2-9", "password"),
    ("openssl enc -pass {} -in f", "pass:hunter2", "password"),
    ('get(url, auth=("ci", "{}"))', "hunter2-9", "password"),
    ("jdbc:oracle:thin:scott/{}@//db:1521/X", "tiger99", "password"),
    ("CREATE USER 'app'@'%' IDENTIFIED BY '{}';", "hunter2-9", "password"),
    ("ALTER USER app IDENTIFIED WITH mysql_native_password BY '{}'", "hunter2-9", "password"),
    ("app:{}@tcp(db:3306)/shop", "hunter2", "password"),
    ("db:5432:shop:app:{}", "hunter2", "password"),
    ("//npm.internal/:_auth={}", "dXNlcjpwYXNzd29yZDEy", "password"),
    ("export GH_PAT={}", HEX[:40], "token"),
    ("creds: admin / {}", "hunter2-9", "password"),
    ("login: admin:{}", "hunter2-9", "password"),
    ("echo {} | docker login -u ci --password-stdin", "hunter2-9", "password"),
    ("gh secret set NPM_TOKEN --body {}", RANDOM, "secret"),
    ("keytool -storepass {} -list", "hunter2", "password"),
    ("htpasswd -b users ann {}", "hunter2", "password"),
    ("https://b.internal/o?Expires=1&Signature={}", RANDOM + "%3D", "signature"),
    ("2fa seed: {}", "JBSWY3DPEHPK3PXP", "otp seed"),
    ("mot de passe : {}", "Soleil24!", "password"),
    ("das Passwort lautet {}", "Sommer24!", "password"),
    ("otpauth://totp/Shop:ann?secret={}&issuer=Shop", "JBSWY3DPEHPK3PXP", "otp seed"),
    ("apiVersion: v1\nkind: Secret\ndata:\n  pin: {}\n", "c3dvcmRmaXNo", "kubernetes secret"),
    ('{{"kty": "EC", "x": "' + "a1B2" * 10 + '", "d": "{}"}}', RANDOM, "private key"),
    (
        "mnemonic: {}",
        "abandon velvet copper otter ladder ribbon planet mango tunnel oyster fabric zebra",
        "seed phrase",
    ),
    ("LICENSE_KEY: {}", RANDOM, "license key"),
    ("UPLOAD_KEY: {}", RANDOM, "key"),
    ("the credentials are in use: credential={}", RANDOM, "credential"),
    ("\u30d1\u30b9\u30ef\u30fc\u30c9: {}", "hunter2", "password"),
    ("\u043f\u0430\u0440\u043e\u043b\u044c: {}", "hunter2", "password"),
]


@pytest.mark.parametrize(("carrier", "secret", "kind"), CARRIERS)
def test_only_the_secret_is_redacted(carrier: str, secret: str, kind: str) -> None:
    assert redact(carrier.format(secret)) == (carrier.format(f"[redacted: {kind}]"), (kind,))


def test_a_key_block_without_its_end_goes_and_the_prose_after_it_stays() -> None:
    cut = pem("RSA PRIVATE KEY", f"{PEM_LINE}\n{PEM_LINE}", end=False)
    assert redact(f"{cut}\nAnd then it stopped.")[0] == "[redacted: private key]\n\nAnd then it stopped."


def test_a_long_value_goes_to_its_end() -> None:
    assert redact(f"TOKEN={BODY * 20} and more")[0] == "TOKEN=[redacted: token] and more"


def test_access_key_and_its_secret_are_both_redacted() -> None:
    pair = "AKIA" + "QWERTYUIOPASDFG7" + " / " + "abcd1234/+" * 4
    assert redact(pair)[0] == "[redacted: aws access key] / [redacted: aws secret key]"


HARMLESS = [
    "commit 3f2c9a1e4b5d6c7f8a9b0c1d2e3f4a5b6c7d8e9f broke it",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "integrity sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "add it to authorized_keys",
    "cat .env.example",
    "password: ${DB_PASSWORD}",
    "PASSWORD=${PASSWORD:-}",
    "TOKEN=$(cat token.txt)",
    'os.environ["API_KEY"]',
    'API_KEY=os.environ["API_KEY"]',
    "process.env.SECRET_TOKEN",
    "const token = process.env.SECRET_TOKEN;",
    "password = getpass()",
    "token = await getToken()",
    "connect(password=password, token=self.token)",
    "password: hashedPassword",
    "token: str",
    "token: string;",
    "def f(token: Optional[str] = None)",
    *(f"password: {value}" for value in ("null", "none", "None", "changeme", "<your-password>", "xxxx", "********")),
    *(f"password: {value}" for value in ("example", "REDACTED", "TODO", "required", '""', "''", "1Password")),
    *(f"PASSWORD={value}" for value in ("changeme", "password", "xxxx", "your-password-here", "test")),
    "the token expires after 15 minutes",
    "the token is valid for 30d",
    "the token is base64-encoded",
    "the token limit is 128k",
    "password hashing uses argon2",
    "the password is required",
    "the password is 12 characters",
    "password: 8 characters minimum",
    "the secret is sha256 hashed",
    "secret: see 1Password",
    "secret: db-creds-v2",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ" + "a1B2" * 10 + " me@host",
    pem("PUBLIC KEY", PEM_LINE),
    pem("CERTIFICATE", PEM_LINE),
    "it starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----",
    'START = b"-----BEGIN PRIVATE KEY-----"\nEND = b"-----END PRIVATE KEY-----"',
    "AKIAIOSFODNN7" + "EXAMPLE",
    "ghp_" + "x" * 36,
    "sk-...",
    "STRIPE_SECRET_KEY=sk_test_...",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer {token}",
    "Bearer authentication",
    "authorization: bearer authentication only",
    "{{ secrets.GITHUB_TOKEN }}",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "$TOKEN",
    "TOKEN=$TOKEN",
    "tokens: 4096",
    "max_tokens=1024",
    "token_count = 12345",
    "next_page_token: " + BODY[:24],
    'eos_token="<|endoftext|>"',
    "secret_name: my-app-secrets",
    "secretKeyRef",
    "mysql --password-file /run/secrets/db",
    "--password option",
    "--token <TOKEN>",
    "pwd=/home/me/project",
    "PWD=/home/me/project",
    "private_key: ~/.ssh/id_ed25519",
    "the api key is read from config.toml",
    "rotate the access key every 90 days",
    "postgres://user:password@localhost/db",
    "postgres://app:${PASS}@db/shop",
    "socks5h://<username>:<password>@proxy",
    "http://localhost:8080/a@b",
    "git@github.com:a/b.git",
    "--- PASS: TestLoad2 (0.01s)",
    "fastcgi_pass php:9000;",
    "token OPS-4821",
    "class _X448PrivateKey(X448PrivateKey):",
    "primary_key=True",
    "mutex key: lock:payments:invoice:20240612",
    "CREATE USER app IDENTIFIED BY '<password>'",
    "cache_key: Xk29vQ7bT4mLpR8sZw3N",
    "public_key: Xk29vQ7bT4mLpR8sZw3N",
    "key: 3f2c9a1e4b5d6c7f8a9b0c1d2e3f4a5b6c7d8e9f",
    "key: PKCS12PrivateKeyTypes",
    "key = user_profile_v2_settings",
    "heroku app id: 3f2c9a1e-4b5d-4c7f-8a9b-0c1d2e3f4a5b",
    '"sessionId": "3f2c9a1e-4b5d-4c7f-8a9b-0c1d2e3f4a5b"',
    "Xk29vQ7bT4mLpR8sZw3N alone says nothing",
    "cookie: SameSite=Lax",
    "the author = Xk29vQ7bT4mLpR8sZw3N",
    "s.calculatePromptAttribution(x)",
    "login: app:8080",
    "the login page / dashboard2 of the shop",
    "PATH_TO_PAT=docs",
    'METHODS = ("client_secret_post", "client_secret_basic")',
    "the seed phrase is what the wallet shows once and what nobody else should ever see",
    "kind: ConfigMap\ndata:\n  mode: productive\n",
    '"integrity": "sha512-' + "a1B2" * 21 + 'ab=="',
]


@pytest.mark.parametrize("text", HARMLESS)
def test_lookalikes_pass_unchanged(text: str) -> None:
    assert redact(text) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD=[redacted: password]",
        "postgres://app:[redacted: password]@db:5432/shop",
        "[redacted: github token]: hunter2abc9",
        "the password is [redacted: password] and 12 characters long",
    ],
)
def test_redacted_text_is_not_redacted_again(text: str) -> None:
    assert find(text) == []


def test_marked_lists_earlier_redactions() -> None:
    text, kinds = redact(f"password: hunter2 and {'ghp_' + BODY[:36]}")
    assert marked(text) == kinds == ("password", "github token")
    assert without_marks(text) == "password:  and "


def test_find_reports_places_of_secrets_in_order() -> None:
    text = f"password: hunter2, then {'ghp_' + BODY[:36]}"
    assert find(text) == [Redaction("password", 10, 17), Redaction("github token", 24, 64)]


TOKEN = "ghp_" + "a1B2" * 9
WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in TOKEN)


@pytest.mark.parametrize(
    "hidden",
    ["\u200b".join(TOKEN), TOKEN.replace("B", "B\u00ad"), TOKEN[:9] + "\U000e0041" + TOKEN[9:], WIDE],
    ids=["zero width", "soft hyphens", "tags", "full width"],
)
def test_invisible_characters_hide_no_secret(hidden: str) -> None:
    assert redact(f"we used {hidden} there \u2705\ufe0f") == (
        "we used [redacted: github token] there \u2705\ufe0f",
        ("github token",),
    )


@pytest.mark.parametrize("cut", [8, 20, 30])
@pytest.mark.parametrize("between", ["\n", "\r\n", " \\\n    ", "\n> "])
def test_wrapped_secret_is_redacted_as_one(cut: int, between: str) -> None:
    wrapped = f"we used {TOKEN[:cut]}{between}{TOKEN[cut:]} there"
    assert redact(wrapped)[0] == "we used [redacted: github token] there"


def test_unrelated_line_after_a_secret_stays() -> None:
    assert redact(f"{TOKEN}\nThen we went home")[0] == "[redacted: github token]\nThen we went home"
    assert redact(f"{TOKEN}\n- item 2b")[0] == "[redacted: github token]\n- item 2b"
    assert redact(f"{TOKEN}\nstep2 is next")[0] == "[redacted: github token]\nstep2 is next"
    key = "AKIA" + "QWERTYUIOPASDFG7"
    assert redact(f"{key[:9]}\n{key[9:]}\n3f2c9a1e4b5d\n")[0] == "[redacted: aws access key]\n3f2c9a1e4b5d\n"


def test_value_of_a_vague_name_has_to_look_random() -> None:
    assert redact(f"key: {RANDOM}")[1] == ("key",)
    assert redact("key: ABCDABCDABCDABCD1234")[1] == ()


def test_a_kind_found_twice_is_named_once() -> None:
    assert redact("password: hunter2\npassword: hunter3")[1] == ("password",)


def test_overlapping_matches_merge_under_the_earlier_kind() -> None:
    token = "ghp_" + BODY[:36]
    assert redact(f"TOKEN={token}/suffix9")[0] == "TOKEN=[redacted: token]"


@pytest.mark.parametrize(
    "rule",
    list(dict.fromkeys(rule for part in ("words", "phrases") for _, rule in load_rules(part))),
    ids=lambda rule: rule.kind,
)
def test_the_mark_of_every_kind_is_recognised_as_one(rule: FormatRule) -> None:
    assert find(f"password=[redacted: {rule.kind}]hunter2") == []


PIECES = st.sampled_from(
    [secret for secrets in FORMATS.values() for secret in secrets]
    + [carrier.format(secret) for carrier, secret, _ in CARRIERS]
    + [carrier for carrier, _, _ in CARRIERS]
    + HARMLESS
    + ["password", "token", "secret=", "api_key: ", " is ", "[redacted: password]", "[redacted: ", "]", "hunter2"]
    + list("'\"`=:,;&/@<>()[]{}\\ \n\t-_.$*")
)
TEXTS = st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=12).map("".join))


@given(TEXTS)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once, _ = redact(text)
    assert redact(once) == (once, ())


@given(TEXTS)
def test_finds_are_ordered_separate_and_not_empty(text: str) -> None:
    spans = find(text)
    edges = [edge for span in spans for edge in (span.start, span.end)]
    assert edges == sorted(edges)
    assert all(span.start < span.end for span in spans)
    assert all(0 <= edge <= len(text) for edge in edges)


@given(TEXTS)
def test_text_outside_the_finds_stays_as_it_was(text: str) -> None:
    expected, position = "", 0
    for span in find(text):
        expected += f"{text[position : span.start]}[redacted: {span.kind}]"
        position = span.end
    assert redact(text)[0] == expected + text[position:]
