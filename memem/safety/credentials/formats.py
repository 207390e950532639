"""What secrets look like: provider formats as a table of ours, and the phrases that carry a secret.

A new provider is a new line in `WORD_RULES`. Those that gitleaks knows and we do not are in `secret_table`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from memem.safety.credentials.names import (
    has_key_material,
    is_chosen,
    is_credential,
    is_generated,
    is_mixed,
    is_phrase,
    is_real,
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A secret known by its format: group 1 of the pattern, tried only where one of the hints is in the text.

    Patterns stay source until they are first needed: compiling them all would cost a tenth of a second. Possessive
    repeats are for single characters only: early releases of Python 3.11 go wrong on groups.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    holds: Callable[[str], bool] = is_real


def _prefixed(kind: str, prefixes: str, body: str) -> Rule:
    hints = tuple(prefixes.split())
    starts = "|".join(map(re.escape, hints))
    return Rule(kind, hints, rf"(?<![A-Za-z0-9])((?:{starts}){body})")


_ALNUM, _URLSAFE, _HEX = r"[A-Za-z0-9]{20,}", r"[\w-]{20,}", r"[0-9a-fA-F]{32,}"
_LONG = r"(?=[A-Za-z_.-]*\d)[\w.-]{16,}"
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_FORTY = r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
_ASSIGNED = r"[\"'`*\\\])]{0,4}\s{0,9}[:=]{1,2}>?\s{0,9}[\"'`\\]{0,3}"
_HEADER = r"[\"'`*\\\])]{0,4}\s{0,9}(?:[:=]{1,2}>?|,(?=\s?[\"'\\]))\s{0,9}[\"'`\\]{0,3}"
_SCHEMES = "basic|bearer|token|api-?key|key|digest|negotiate|ssws|bot|oauth|geniekey|splunk|jwt"
_GIVEN, _PASSED = r"[^\n|;]{0,200}?(?<=\s)", r"[\"']?([^\s\"'-][^\s\"']{3,})"
_PEM_NAME = r"(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}"

# Secrets that are one long word: looked for among the text's long words only.
WORD_RULES = (
    _prefixed("private key", "AGE-SECRET-KEY-1", _ALNUM),
    Rule("private key", ("LS0tLS1CRUdJTiB",), r"(LS0tLS1CRUdJTiB(?:QUklW|SU0Eg|PUEVO|FQyBQ|FTkNS)[\w+/=]{20,})"),
    Rule("aws access key", ("AKIA", "ASIA", "ABIA"), r"(?<![A-Za-z0-9])(A(?:KI|SI|BI)A[A-Z0-9]{16})(?![A-Za-z0-9])"),
    Rule("aws secret key", ("AKIA", "ASIA"), rf"A[KS]IA[A-Z0-9]{{16}}[\s,:;/|\"'`]{{1,9}}{_FORTY}"),
    _prefixed("google api key", "AIza", _URLSAFE),
    _prefixed("google oauth secret", "GOCSPX- ya29. 1//0", _URLSAFE),
    Rule("azure storage key", ("AccountKey=", "AccessKey="), r"(?:Account|Access)Key=([A-Za-z0-9+/]{20,}={0,2})"),
    Rule("azure signature", ("sig=",), r"[?&;]sig=([A-Za-z0-9%+/=]{20,})"),
    Rule("azure client secret", ("Q~",), r"(?<![\w~.])([\w~.]{3}\dQ~[\w~.-]{31,34})"),
    _prefixed("github token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\w{20,}"),
    _prefixed("gitlab token", "glpat- glrt-", r"[\w-]{20,}(?:\.[0-9a-z]{2}\.?[0-9a-z]{7,9})?"),
    _prefixed("gitlab token", "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- gloas- glagent- GR1348941", _URLSAFE),
    _prefixed("atlassian token", "ATATT ATCTT ATBB", r"[\w=+/.-]{20,}"),
    _prefixed("slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxc- xoxd- xoxe- xoxe. xapp-", r"[\w.%-]{10,}"),
    Rule("slack webhook", ("hooks.slack.com/",), r"hooks\.slack\.com/\w{7,10}/([\w/+-]{20,})"),
    Rule("discord webhook", ("/api/webhooks/",), r"/api/webhooks/(\d{15,}/[\w-]{30,})"),
    Rule("discord token", (".",), r"([MNO](?<![\w-].)[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40})(?![\w-])"),
    Rule("telegram token", (":AA",), r"(?<!\d)(\d{7,12}:AA[\w-]{30,})"),
    _prefixed("stripe key", "sk_live_ rk_live_ sk_test_ rk_test_ whsec_", r"[A-Za-z0-9+/=]{16,}"),
    Rule("twilio key", ("SK",), r"(?<!\w)(SK[0-9a-f]{32})(?!\w)"),
    Rule("sendgrid key", ("SG.",), r"(?<!\w)(SG\.[\w-]{16,}\.[\w-]{16,})"),
    Rule("mailgun key", ("key-",), r"(?<!\w)(key-[0-9a-f]{32})(?!\w)"),
    Rule("mailchimp key", ("-us",), r"(?<!\w)([0-9a-f]{32}-us\d{1,2})(?!\w)"),
    _prefixed("npm token", "npm_", _ALNUM),
    _prefixed("pypi token", "pypi-Ag", _URLSAFE),
    _prefixed("hugging face token", "hf_ api_org_", _ALNUM),
    _prefixed("anthropic key", "sk-ant-", _URLSAFE),
    _prefixed("openai key", "sk-proj- sk-svcacct- sk-admin- sk-or-v1-", _URLSAFE),
    _prefixed("openai key", "sk-", _ALNUM),
    _prefixed("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", _HEX),
    Rule("doppler token", ("dp.",), r"(?<!\w)(dp\.[a-z]{2,5}\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{30,})"),
    _prefixed("vault token", "hvs. hvb. hvr.", _URLSAFE),
    Rule("vault token", ("s.",), r"s\.(?<![\w.]s\.)([A-Za-z0-9]{24})(?!\w)", is_generated),
    _prefixed("databricks token", "dapi", _HEX),
    _prefixed("shopify token", "shpat_ shpca_ shppa_ shpss_", _HEX),
    _prefixed("docker token", "dckr_pat_ dckr_oat_", _URLSAFE),
    _prefixed("grafana token", "glsa_ glc_", _ALNUM),
    _prefixed("api key", "gsk_ lin_api_ sntrys_ sntryu_ sbp_ ntn_ NRAK- PMAK- pplx- xai- rubygems_", _ALNUM),
    _prefixed("api key", "figd_ tskey- pscale_tkn_ sb_secret_", _URLSAFE),
    _prefixed(
        "api key",
        "vcp_ vci_ vca_ vcr_ vck_ nfp_ nfc_ nfo_ nfu_ nfb_ napi_ rnd_ ucat_ r8_ fw_ csk- ddp_ gb_api_",
        _ALNUM,
    ),
    _prefixed("api key", "pnu_ pnb_ lin_oauth_ CCIPAT_ CCIPRJ_ bkua_ bkaj_ bkct_ hcaik_ tr_dev_ tr_prod_ npg_", _LONG),
    _prefixed(
        "api key", "cfut_ cfat_ tgp_v1_ pcsk_ jina_ tvly- nvapi- wandb_v1_ xkeysib- xsmtpsib- mlsn. CFPAT-", _LONG
    ),
    _prefixed(
        "api key", "phx_ phs_ mdb_sa_sk_ dbtc_ dbtu_ AVNS_ xnd_production_ pdl_live_apikey_ signkey-prod-", _LONG
    ),
    _prefixed(
        "api key", "lsv2_pt_ lsv2_sk_ APP_USR- NRII- NRIQ- NRRA- NRJS- figo_ snyk_uat. snyk_sat. FLWSECK-", _LONG
    ),
    _prefixed("api key", "squ_ sqp_ sqa_ sqb_ KGAT_ fc- dose pul- ATTA key_ sk_ cs_ ck_", _HEX),
    _prefixed("fly token", "fo1_ fm1a_ fm1r_ fm2_", r"[\w+/=,-]{40,}"),
    _prefixed("sourcegraph token", "sgp_", r"(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}"),
    _prefixed("api key", "cflt dG9rO", r"[A-Za-z0-9+/]{40,}={0,2}"),
    _prefixed("api key", "tfp_ dnkey-", r"[\w.=-]{40,}"),
    _prefixed("square token", "sq0csp- sq0atp-", _URLSAFE),
    _prefixed("bedrock key", "bedrock-api-key- ABSK", r"[\w+/=-]{40,}"),
    _prefixed("private key", "xprv yprv zprv tprv nsec1 suiprivkey1", r"[0-9A-Za-z]{50,}"),
    Rule("api key", ("sk-",), r"(?<![A-Za-z0-9])(sk-(?:[a-z0-9]{1,12}-){1,3}[\w-]{20,})", is_generated),
    Rule("api key", ("re_",), r"(re_(?<!\wre_)[A-Za-z0-9]{8}_[A-Za-z0-9]{20,})", is_generated),
    Rule("api key", ("pa-",), r"(?<![\w-])(pa-[\w-]{43,48})(?![\w-])", is_generated),
    Rule("api key", ("rzp_",), r"(?<!\w)(rzp_(?:live|test)_[A-Za-z0-9]{14,})"),
    Rule("new relic key", ("NRAL",), r"(?<!\w)([0-9a-f]{32,36}(?:FFFF|0000)?NRAL)(?!\w)"),
    Rule("dynatrace token", ("dt0",), r"(?<!\w)(dt0[a-z]\d\d\.[A-Z2-7]{20,}\.[A-Z2-7]{40,})"),
    Rule("braintree token", ("access_token$",), r"(access_token\$(?:production|sandbox)\$[0-9a-z]{10,}\$[0-9a-f]{32})"),
    Rule("facebook token", ("EAA",), r"(?<![\w+/-])(EAA[A-Za-z0-9]{40,})(?![\w+/=-])", is_generated),
    Rule("twitter token", ("A" * 20,), r"(?<![\w+/-])(A{20,24}[A-Za-z0-9%]{50,120})(?![\w+/=-])", is_generated),
    Rule("mapbox token", ("k.eyJ",), r"(?<!\w)([spt]k\.eyJ[\w-]{20,}\.[\w-]{16,})"),
    Rule("tencent key", ("AKID",), r"(?<!\w)(AKID[A-Za-z0-9]{28,36})(?!\w)", is_generated),
    Rule("alibaba key", ("LTAI",), r"(?<!\w)(LTAI[A-Za-z0-9]{12,26})(?!\w)", is_generated),
    Rule(
        "yandex token", ("AQVN", "y0_", "t1."), r"(?<![\w.])((?:AQVN|y0_|t1\.)[\w=-]{35,}(?:\.[\w=-]+)?)", is_generated
    ),
    Rule("airtable token", ("pat",), r"(pat(?<!\wpat)[A-Za-z0-9]{14}\.[0-9a-f]{64})"),
    Rule("hubspot token", ("pat-",), rf"(?<!\w)(pat-(?:na|eu|ap)\d-{_UUID})"),
    Rule("launchdarkly key", ("sdk-", "api-"), rf"(?<![\w-])((?:sdk|api)-{_UUID})"),
    Rule("langfuse key", ("sk-lf-",), rf"(?<!\w)(sk-lf-{_UUID})"),
    Rule("plaid token", ("access-",), rf"(?<!\w)(access-(?:sandbox|development|production)-{_UUID})"),
    Rule("wakatime key", ("waka_",), rf"(?<!\w)(waka_{_UUID})"),
    Rule("zoho token", ("1000.",), r"(?<![\w.])(1000\.[0-9a-f]{32}\.[0-9a-f]{32})(?!\w)"),
    Rule("api key", ("live_", "test_"), r"(?<!\w)((?:live|test)_[A-Za-z0-9]{30,})(?!\w)", is_generated),
    Rule("adyen key", ("AQE",), r"(?<![\w+/-])(AQE[A-Za-z0-9+/]{80,}={0,2})", is_generated),
    Rule("asana token", ("0/1", "1/1", "2/1"), r"(?<![\w/.])([012]/\d{12,}(?:/\d{12,})?:[0-9a-f]{32})(?!\w)"),
    Rule("notion token", ("secret_",), r"(?<!\w)(secret_[A-Za-z0-9]{40,50})(?!\w)", is_generated),
    Rule("clickup token", ("pk_",), r"(?<!\w)(pk_\d{6,}_[A-Z0-9]{30,})"),
    Rule("dropbox token", ("sl.",), r"(?<![\w.])(sl\.(?:u\.)?[\w-]{60,})"),
    Rule("salesforce token", ("00D",), r"(?<!\w)(00D[A-Za-z0-9]{12,15}![\w.]{60,})"),
    Rule("infisical token", ("st.",), r"(st\.(?<![\w.]st\.)[0-9a-f-]{24,36}\.[0-9a-f]{32}\.[0-9a-f]{32})"),
    Rule("nuget key", ("oy2",), r"(?<!\w)(oy2[a-z0-9]{43})(?!\w)", is_generated),
    Rule("crates token", ("cio",), r"(?<!\w)(cio[A-Za-z0-9]{32})(?!\w)", is_generated),
    Rule("twitch token", ("oauth:",), r"(?<!\w)oauth:([a-z0-9]{30})(?!\w)", is_generated),
    Rule("firebase key", (":APA91b",), r"(AAAA[\w-]{7}:APA91b[\w-]{60,})"),
    Rule("google hmac key", ("GOOG1E",), r"(?<!\w)(GOOG1E[A-Z0-9]{20,})"),
    Rule("azure devops token", ("AZDO",), r"(?<!\w)([A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4})(?!\w)"),
    Rule("azure key", ("JQQJ9",), r"(?<!\w)([A-Za-z0-9]{50,56}JQQJ9[A-Za-z0-9]{20,30})(?!\w)"),
    Rule(
        "azure key",
        ("+ASt", "AzFu", "AzSe", "+AMC", "AzCa", "+ABa", "+AEh", "+ASb", "+AIo", "ACDb", "ACRm", "AIoT"),
        r"(?<![\w+/])([A-Za-z0-9+/]{33,76}(?:\+ASt|AzFu|AzSe|\+AMC|AzCa|\+ABa|\+AEh|\+ASb|\+AIo|ACDb|ACRm|AIoT)"
        r"[A-Za-z0-9+/]{5,10}={0,2})(?![\w+/=])",
    ),
    Rule("aws key", ("amzn.mws.",), rf"(amzn\.mws\.{_UUID})"),
    Rule("discord token", ("mfa.",), r"(?<!\w)(mfa\.[\w-]{60,})"),
    Rule("jwt", ("eyJ",), r"(?<![\w-])(eyJ[\w-]{8,}+(?:\.[\w-]*+){2,4})"),
)

# Secrets known by the words around them: their hints are looked for in the whole text, in lower case.
PHRASE_RULES = (
    Rule(
        "private key",
        ("private key",),
        rf"(-{{4,5}} ?BEGIN {_PEM_NAME}(?:(?:(?!----)[\s\S])*-{{4,5}} ?END {_PEM_NAME}"
        r"|(?:(?:\\[nr]|[\s\"'+,>|])*(?:[A-Za-z]+-[A-Za-z]+: [^\n\\]{0,80}|[A-Za-z0-9+/=]{16,}))+))",
        has_key_material,
    ),
    Rule("private key", ("private-lines:",), r"Private-Lines: \d+((?:(?:\s|\\+[nr])+[A-Za-z0-9+/=]{4,}+(?![-:]))+)"),
    Rule("aws secret key", ("secret",), rf"(?i:secret[ _-]?access[ _-]?key){_ASSIGNED}{_FORTY}"),
    Rule(
        "password",
        ("://",),
        r"://[^\s/:@\"'`<>]{0,128}:(?!\d{1,5}[/?#])([^\s\"'`<>]{1,256}?)@(?=[\w.-]{1,255}+(?!@)|\[)",
    ),
    Rule(
        "authorization header",
        ("authorization",),
        rf"(?i:authorization){_HEADER}(?i:{_SCHEMES})\s{{1,9}}(?:token=)?[\"'\\]{{0,2}}([\w.~+/=:-]{{8,}})",
        is_credential,
    ),
    Rule(
        "authorization header",
        ("authorization",),
        rf"(?i:authorization){_HEADER}(?:[A-Za-z][\w-]{{1,20}}\s)?([\w.~+/=:-]{{12,}})",
        is_generated,
    ),
    Rule("bearer token", ("bearer ",), r"(?i:bearer) {1,9}([\w.~+/=-]{12,})", is_generated),
    Rule("password", ("curl ",), r"curl [^\n|;]{0,200}?(?<=\s)(?:-u|--user)[ =]?[\"']?[\w.@+-]{0,64}:([^\s\"']{3,})"),
    Rule("password", ("mysql", "mariadb"), r"(?:mysql\w{0,9}|mariadb) [^\n|;]{0,200}?(?<=\s)-p[\"']?(\w[^\s\"']{2,})"),
    Rule("password", ("identified ",), r"(?i:identified (?:with \S{1,64} )?by) {1,9}[\"']([^\"'\n]{3,128})[\"']"),
    Rule("password", ('"auth"',), r"\"auth\"\s*:\s*\"([A-Za-z0-9+/=]{12,})\""),
    Rule("password", ("securestring",), r"ConvertTo-SecureString (?:-String )?[\"']?([^\s\"']{4,})"),
    Rule(
        "password",
        ("password", "passphrase"),
        r"(?:^|[\s\"'`(])([^\s\"'`()]{5,64})[\"'`]?,?"
        r" (?:is|as) (?:(?:the|our|my|its|a) )?(?:\w{1,12} )?pass(?:word|phrase)",
        is_chosen,
    ),
    Rule("password", ("sshpass ",), r"sshpass -p ?[\"']?([^\s\"']{3,})"),
    Rule("password", ("machine ",), r"machine \S{1,99}\s+login \S{1,99}\s+password (\S{3,})"),
    Rule("password", (" login ",), rf" login {_GIVEN}-p[ =]?{_PASSED}", is_chosen),
    Rule(
        "password",
        ("redis-cli ", "mongosh ", "mongodump ", "sqlcmd ", "ldapsearch ", "smbclient ", "rabbitmqadmin "),
        rf"(?:redis-cli|mongo\w{{1,9}}|sqlcmd|ldapsearch|smbclient|rabbitmqadmin) {_GIVEN}"
        rf"(?:-[pPaw][ =]?|-U ?[\w.-]{{1,40}}%){_PASSED}",
        is_chosen,
    ),
    Rule("password", ("pass:",), r"-pass(?:in|out)?[ =][\"']?pass:([^\s\"']{3,})"),
    Rule(
        "password",
        ("auth=(", "auth = (", "auth("),
        r"(?i:auth)\w{0,9} ?[=(][ (]{0,3}\\{0,3}[\"'][^\"'\n]{1,64}[\"'], ?"
        r"\\{0,3}[\"']([^\s\"'\\]{4,64})\\{0,3}[\"'] ?\)",
        is_chosen,
    ),
    Rule("password", ("_auth",), r"(?<![A-Za-z])_auth[\"']?\s?[=:]\s?[\"']?([A-Za-z0-9+/]{8,}={0,2})", is_credential),
    Rule(
        "password", ("password",), r"(?i:key=\\?[\"']\w{0,20}password\\?[\"']\s{1,9}value=\\?[\"'])([^\"'\\\n]{3,128})"
    ),
    Rule("password", ("jdbc:oracle", "sqlplus"), r"(?:thin:|sqlplus (?:-\w )?)[\w$]{1,64}/([^\s@\"'/]{3,64})@"),
    Rule("password", ("@tcp(", "@unix("), r"(?<![\w/])[\w.-]{1,64}:([^\s\"'`:]{3,128})@(?:tcp|unix)\("),
    Rule(
        "password",
        (":5432:", ":*:"),
        r"(?<![^\s\"'`])[\w.*-]{1,99}:(?:5432|\*):[\w*-]{1,64}:[\w*-]{1,64}:([^\s\"'`:]{3,})",
    ),
    Rule(
        "password",
        ("creds", "credentials", "login:", "login is"),
        r"(?:(?i:login)(?: is|:)|(?i:creds|credentials)(?: are|:)?) [\"'`]?[\w.@+-]{2,40}(?::| / )([^\s\"'`]{6,64})",
        is_mixed,
    ),
    Rule("token", ("_pat",), r"_PAT[\"']?\s?[:=]\s?[\"']?([\w-]{20,})", is_generated),
    Rule("signature", ("signature=",), r"[?&](?:X-(?:Amz|Goog)-)?Signature=([\w%+/=-]{20,})", is_generated),
    Rule("secret", ("secret set ",), r"secret set [^\n|;]{0,80}?(?:--body|-b)[ =][\"']?([^\s\"']{6,})", is_generated),
    Rule("password", ("-stdin",), r"(?:echo|printf) [\"']?([^\s\"'|]{6,})[\"']? ?\|[^\n|]{0,99}password-stdin"),
    Rule("password", ("storepass ", "keypass "), r"-(?:store|key)pass [\"']?([^\s\"']{4,})"),
    Rule("password", ("htpasswd ",), r"htpasswd -\w{0,4}b\w{0,4} \S{1,99} \S{1,64} [\"']?([^\s\"']{4,})"),
    Rule(
        "otp seed",
        ("otp s", "otp_s", "otp k", "2fa", "mfa "),
        r"(?i:\bt?otp|2fa|mfa)[ _-]?(?i:secret|seed|key)[\"']?(?: is |\s?[:=]\s?| )[\"']?([A-Z2-7]{16,})",
    ),
    Rule(
        "otp seed", ("otpauth",), r"otpauth(?:-migration)?://[^\s\"'`]{0,200}?[?&](?:secret|data)=([A-Za-z0-9%+/=]{8,})"
    ),
    Rule(
        "seed phrase",
        ("mnemonic", "phrase", "seed words"),
        r"(?i:mnemonic|(?:seed|recovery|secret|backup|wallet) ?_?(?:phrase|words))[\w \t\"'`*\\()]{0,30}?[:=>-]?"
        r"\s{0,9}[\"'`*\\]{0,3}((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})(?![a-z])",
        is_phrase,
    ),
)


@dataclass(frozen=True, slots=True)
class BlockRule:
    """Secrets that only the whole around them gives away: each group 1 of `item` within group 1 of `block`."""

    kind: str
    hints: tuple[str, ...]
    block: str
    item: str
    holds: Callable[[str], bool] = is_real


BLOCK_RULES = (
    BlockRule(
        "session cookie",
        ("cookie",),
        r"(?i:cookie2?)[\"'`\\]{0,3}\s?[:=,][ \"'`\\]{0,4}([^\n]{1,4000})",
        r"(?<![^\s;\"'`\\])[\w.%$-]{1,64}=[\"']?([^\s;,\"'`\\]{12,})",
        is_generated,
    ),
    BlockRule(
        "kubernetes secret",
        ("kind: secret", "kind: 'secret'", 'kind: "secret"', '"kind": "secret"', '"kind":"secret"', '\\"secret\\"'),
        r"\b(?:data|stringData)[\"'\\]{0,2}:\s{0,4}(\{[^{}]{1,8000}\}|(?:(?:\n|\\n)[ \t]{1,20}[^\n\\]{1,4000})+)",
        r"[\w.-][\"'\\]{0,2}:[ \t]{0,4}[\"'\\]{0,2}([^\s\"'\\,{}|>][^\s\"'\\,{}]{3,})",
    ),
    BlockRule(
        "private key",
        ("kty",),
        r"\{([^{}]{0,4000}?[\"']kty\\{0,3}[\"'][^{}]{0,4000})\}",
        r"[\"'](?:d|p|q|dp|dq|qi|k)\\{0,3}[\"']\s{0,4}:\s{0,4}\\{0,3}[\"']([\w-]{16,}=*)",
    ),
)
