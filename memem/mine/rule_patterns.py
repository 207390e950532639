"""The forms of sentences that say something lasting, and the forms that only seem to.

A form is matched at the beginning of a sentence, after greetings and fillers: what stands in its middle is mostly told,
asked or supposed. English has most of the forms; Chinese, Japanese and German have those that are sure. Sentences are
short, so matching is cheap whatever they hold.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """What a sentence of one of these forms is."""

    kind: str
    importance: int
    forms: re.Pattern[str]


def _any(*forms: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{form})" for form in forms), re.IGNORECASE)


def _one_of(phrases: str) -> str:
    return f"(?:{'|'.join(phrases.split(', '))})"


PLACE = _one_of("repo, repository, project, codebase, monorepo, workspace, team, company, org, service")
_HERE = rf"(?:in|on|at|for|across) (?:this|our) {PLACE}"
_WHEN = _one_of("if, when, whenever, before, after, for, in, on, every time, each time")
_LEAD = rf"(?:(?:{_HERE}|{_WHEN} [^,;?]{{2,90}}?),? )?"
_FROM_NOW_ON = r"(?:from now on|going forward|from here on(?: out)?)"
_NOT = r"(?:don'?t|do not)"
_PRONOUN = _one_of("it, this, that, these, those, they, them, he, she, there, you, we, i")
# "Use pnpm", not "use the second one": what has an article is mostly in front of the two who talk.
_NO_ARTICLE = r"(?!(?:the|an?|this|that|it|my|your|lines?|port)\b|-|\d)"
# "Always use", not "always fails", "never worked", "never mind", "always a pleasure".
_NO_ORDER = _one_of(
    "mind, been, had, was, were, is, are, am, got, did, went, seen, knew, known, thought, saw, heard, took, came, made,"
    " said, told, left, again, forget, the, a, an, my, your, this, that, too, so, in, on, at, for, have, know,"
    " understood, happen, ran, quite, really, nice, good, great, fun, happy, better, best, easy, hard,"
    " true, fine, there"
)
_ORDER = rf"(?!{_NO_ORDER}\b)(?![a-z]*[^\Ws]s\b)(?![a-z]*[^\We]ed\b)[a-z][a-z-]+\b"
_HABIT = _one_of(
    "use, allow, support, commit, write, mock, store, log, put, deploy, merge, push, ship, expose, rely, call, name,"
    " catch, return, import, hard-?code, release, publish, squash, rebase, edit, host, target, pin, tag, format, lint,"
    " follow, version, cache, test, run, keep, build, generate, vendor, sign, prefix, wrap, throw, raise, document,"
    " translate, track, convert, validate, review"
)
_FORBIDDEN = _one_of(
    "use, add, commit, write, mock, store, log, put, deploy, merge, push, import, hard-?code, edit, catch, swallow,"
    " create, call, name, run, touch, change, modify, rely, return, throw, print, leave, introduce, include, skip,"
    " disable, suppress, refactor, bump, mix, squash, rebase, amend, format, abbreviate, nest, explain, summari[sz]e,"
    " apologi[sz]e, generate, mention"
)
# A prohibition is a rule when it names a whole class of cases, or its reason; else it is about the task at hand.
_IN_GENERAL = (
    r"\b(?:ever|in any|anywhere|by hand|manually|unless|without|because|since)\b"
    r"|\bdirectly (?:to|on|in|into|from|against)\b"
    r"|\bin (?:the )?(?:\w+ )?(?:tests|prod|production|commits|commit messages|handlers|migrations|components|new code)"
    rf"\b|\b{_HERE}\b"
)
# What the rules of a codebase are about; "each section should" is mostly the outline of one text.
_WORK = _one_of(
    "prs?, commits?, migrations?, endpoints?, functions?, modules?, tests?, tables?, services?, quer(?:y|ies), logs?,"
    " strings?, components?, handlers?, class(?:es)?, methods?, files?, routes?, requests?, responses?, jobs?, dates?,"
    " branch(?:es)?, releases?, workers?, packages?, secrets?, dependenc(?:y|ies), variables?, timestamps?, errors?,"
    " exceptions?, imports?, features?, models?"
)
_REASON = r"\b(?:because|since|instead of|rather than|so that|over|in favou?r of|due to|as (?:it|we|the))\b"
# What has a name, a number, an address or a mark: "the database is Postgres 16", not "the database is slow".
_NAMED = r"(?-i:[^;,]{0,40}?(?:[A-Z]|\d|/|`|\w-\w|\w_\w))"
_PART = r"(?:(?:our|the|my|production|prod|staging|dev|test|local|main|default|api|web|internal|ci) ){0,3}" + _one_of(
    "database, db, prod, production, staging, ci, cache, queue, broker, backend, frontend, server, api, app, cluster,"
    " registry, branch, python, node, orm, linter, formatter, bundler, dashboard, wiki, tracker, bucket, runners?,"
    " pipeline, proxy, gateway, worker, scheduler, vpn, monitoring, docs, logs, site, host, cdn, domain, port, redis,"
    " timezone, postgres, kafka, nginx, manager"
)
_TROUBLE_NOUN = _one_of("bug, error, issue, problem, fix, change, typo, crash")
_NO_SUBJECT = rf"(?:{_PRONOUN}|since|because|if|when|as|by|after|before|so|(?:the )?{_TROUBLE_NOUN})"
_SUBJECT = rf"(?!{_NO_SUBJECT} )(?:[\w`./-]+ ){{1,5}}"
_STATE = r"(?!\w+ing\b|not\b|now\b|broken|down|slow|red\b|(?:at )?\d+ ?(?:%|[gmk]b|m?s\b|x\b|lines|times))"
_CHOOSE = _one_of("use, go with, stick with, stick to, switch to, move to, keep, adopt, drop, replace")

_LESSONS = (
    rf"(?!{_PRONOUN} )[^,;?]{{5,120}}\b(?:fails?|breaks?|crash(?:es)?|hangs?|times? out|runs? out of"
    r"|do(?:es)?n't work)\b.{0,80} unless .{5,}",
    rf"(?!{_PRONOUN} )[^,;?]{{3,80}} only (?:works?|builds?|starts?|passes|compiles?) (?:with|if|when|on|under) .+",
)
_DECISIONS = (
    rf"let'?s {_CHOOSE} {_NO_ARTICLE}\S.{{1,150}}?{_REASON}",
    rf"let'?s {_CHOOSE} (?:the|an?) .{{2,150}}? because ",
    r"we(?:'ve| have|'re| are)? (?:decided|chose|chosen|opted|agreed|settled on|standardi[sz]ed on) \S.{5,}",
    r"(?:we|i)(?:'ve| have)? (?:went with|gone with|ended up with|decided (?:to use|to go with|on|against))"
    rf" \S.{{5,}}{_REASON}",
    r"we(?:'ve| have)? (?:switched|moved|migrated) (?:[\w./-]+ ){0,3}?(?:to|from|off|away from|over to)"
    r" (?!the |another |main )\S.{3,}",
    r"we(?:'ve| have|'re| are)? (?:dropped|replaced|dropping|replacing|going with|moving to|moving away from"
    rf"|switching to) .{{3,}}{_REASON}",
    r"(?:the|our) decision (?:is|was) to .{5,}",
    r"(?:lasst? uns|wir nehmen|wir haben uns) .{3,150}\b(?:weil|statt|anstatt|anstelle|entschieden)\b",
    r"(?:我们)?(?:决定|改用|选择|换成).{2,100}(?:因为|而不是|代替)",
    r".{2,60}(?:ではなく|の代わりに).{2,60}(?:ことにし|採用)",
)
_PREFERENCES = (
    r"i (?:(?:really|strongly|generally|usually|always|personally|much|definitely) )?prefer (?![ab]\b|the |your ).{4,}",
    r"i(?:'d| would) (?:much )?(?:rather|prefer) .{3,} (?:than|over|instead of|always|never|in general)\b",
    r"i (?:really )?like .{3,80} (?:better|more) than .{2,}",
    rf"i (?:really )?(?:{_NOT} like|dislike|hate|can't stand) (?:(?:it )?when you |seeing |reading )?"
    rf"(?!{_PRONOUN}\b|the |how |what |when |your ).{{4,}}",
    r"my preference is .{4,}",
    r"(?:(?:when|if|for|in) [^,;]{2,60},? )?i (?:always|never) (?:want|use|work|write|squash|rebase|like) .{3,}",
    r"(?:in|across) (?:all|every|any) (?:of )?(?:my |our )?(?:projects?|repos?),? .{5,}",
    r"ich (?:bevorzuge|arbeite lieber|mag lieber) .{3,}",
    r"我(?:更|比较)?(?:喜欢|偏好|倾向|习惯).{2,}",
    r".{2,40}(?:方|ほう)が(?:好き|いい)(?:です)?$",
)
_CONVENTIONS = (
    rf"{_FROM_NOW_ON}\b.{{6,}}",
    rf"(?!i\b|we'll ).{{8,}} {_FROM_NOW_ON}[.!]?$",
    rf"{_LEAD}(?:(?:you|we|please|i want you to|make sure (?:to|you|we)|be sure to) )?"
    rf"(?:(?:must|should|have to|need to) )?(?:always|never|(?:{_NOT}|never) ever) {_ORDER}.{{3,}}",
    rf"(?!{_PRONOUN} |the )[\w`./-]+(?: [\w`./-]+){{0,4}} (?:must|should) (?:always|never) .{{3,}}",
    rf"{_HERE},? .{{8,}}",
    rf"{_SUBJECT}{_HERE} (?:follows?|uses?|must|should|go|goes|are|is|have|has) .{{3,}}",
    rf"we (?:{_NOT}|only|never|always) {_HABIT}\b.{{3,}}",
    r"we (?:must|may) (?:not|never) (?!forget\b).{6,}",
    rf"(?:all|every|any|no|new) (?:[\w`./-]+ ){{0,3}}?{_WORK} (?:\w+ ){{0,2}}?"
    r"(?:must|should|has to|have to|needs? to|may) .{3,}",
    rf"(?!{_PRONOUN} |the )[\w`-]+(?: [\w`-]+){{0,3}}(?<=s) must .{{3,}}",
    rf"{_LEAD}{_NOT} {_FORBIDDEN}\b.{{0,80}}?(?:{_IN_GENERAL})",
    rf"{_NOT} {_FORBIDDEN} {_NO_ARTICLE}[\w`-]+s,? (?:but )?use .{{3,}}",
    rf"stop \w+ing {_NO_ARTICLE}[\w`-]+(?: [\w`-]+)?s\b.*",
    r"(?:no|use|write|make|keep|put|run) .{3,80}, (?:always|ever|never)[.!]?$",
    r"(?:always )?prefer (?!the |it |this |that )[^,;]{2,60} (?:over|to|instead of) .{2,}",
    rf"(?:use|run|write) {_NO_ARTICLE}[^,;]{{1,50}}(?:,? not|,? never| instead of| rather than)"
    rf" {_NO_ARTICLE}\S.{{0,60}}$",
    rf"use {_NO_ARTICLE}[^,;]{{1,50}} (?:for|in) (?:all|every|everything|any)\b.{{0,60}}$",
    r"(?:whenever|every time|each time|any time) (?:you|we|someone) [^,]{4,90}, .{5,}",
    r"(?:ab (?:jetzt|sofort)|künftig|in zukunft|in diesem (?:repo|projekt)|immer|niemals|nie) .{6,}",
    r"(?:wir|bitte|tests|commits) .{0,60}\b(?:immer|niemals|grundsätzlich|ausschließlich) .{4,}",
    r"(?:以后|今后|从现在开始|从今以后).{0,20}(?:都|请|不要|别|一律|必须|要).{2,}",
    r"(?:总是|永远|始终|务必|一律|绝对不要|千万不要|千万别).{3,}",
    r"(?:在?这个(?:项目|仓库)|本项目|我们(?:项目|团队)?).{0,12}(?:不要|禁止|必须|一律|统一|只用|不允许).{2,}",
    r"不要在.{1,20}[里中上时].{2,}",
    r"(?:今後|これから|以後)は?、?.{3,}",
    r".{0,15}(?:必ず|絶対に|常に).{3,}",
)
_FACTS = (
    r"we (?:use|run|deploy|host|target|support|store|pin|publish|require|keep|follow|tag|name|version|review)\b"
    r"(?! into| (?:the|an?|it|this|that|these|those|them|\w+ing)\b).{3,}",
    rf"we(?:'re| are) (?:still )?on {_NAMED}",
    rf"{_SUBJECT}(?:runs?|listens?|lives?|sits|is hosted|(?:is|are) deployed|is served)"
    rf" (?:on|at|in|to|as|behind|under|from) {_NAMED}",
    rf"(?:{_PART}|our (?:[\w-]+ ){{0,2}}[\w-]+) (?:is|are|uses?) {_STATE}{_NAMED}",
    rf"{_SUBJECT}(?:goes|go|belongs?|(?:is|are) (?:stored|kept)) (?:in|under|at) {_NAMED}",
    rf"{_SUBJECT}(?:needs?|requires?|supports?|(?:is|are) pinned to) (?!to )[^.;]*\d",
    r"wir (?:verwenden|nutzen|benutzen|deployen|hosten) .{3,}",
    r"(?:我们|项目)(?:都|目前|现在)?(?:使用|用的是|用|部署在|跑在).{2,}",
    r"(?:数据库|测试环境|生产环境|预发环境|线上|后端|前端|CI).{0,6}(?:是|在|用的是|跑在|部署在).{0,30}[A-Za-z0-9].*",
    r"(?:本番|ステージング|データベース|DB|CI|API)(?:環境|サーバー)?は.{1,40}(?:です|動いて|使って|あります)",
)
_DENIED_FACTS = (
    rf"(?!{_PRONOUN}\b)[^,;]{{3,100}} (?:is|are|uses?|returns?|takes?|expects?) [^,;]{{1,100}},? not (?!sure|yet)\S.*",
    r"(?:wir|我们).{3,}",
)

RULES = (
    Rule("lesson", 3, _any(*_LESSONS)),
    Rule("decision", 3, _any(*_DECISIONS)),
    Rule("preference", 4, _any(*_PREFERENCES)),
    Rule("convention", 4, _any(*_CONVENTIONS)),
    Rule("fact", 3, _any(*_FACTS)),
)
"""What a person's sentence may be: the first that fits."""

NAMED = _any(
    rf"use {_NO_ARTICLE}(?!(?:both|either|all|another|option|version|what(?:ever)?|these|those|more|less|fewer|one)\b)"
    r"`?[\w@./+-]*[a-z][\w@./+-]*`?(?: (?:for|in|with) .{3,80})?[.!]?$"
)
"""In "no, use X": X has a name, so it says enough, however short it is."""
CORRECTED = (
    Rule("convention", 4, NAMED),
    Rule("convention", 4, _any(rf"we (?:(?:always|never|only|{_NOT}) )?{_HABIT}\b(?! into).{{3,}}")),
    Rule("fact", 4, _any(*_DENIED_FACTS)),
)
"""What it may be besides, when it denies what was said before: then it tells how things are."""

TOLD = Rule("fact", 3, _any(
    r".*\b(?:is|are|was|were|has|have|had|must|should|can|cannot|can't|may|will|needs?|uses?|runs?|lives?|goes|go|does|do"
    r"|don'?t|doesn't|never|always|only|supports?|requires?|expects?|returns?|takes?|keeps?|stores?|holds?|means?"
    r"|contains?|deploys?|belongs?|comes?|misses|fails?|breaks?|works?|starts?|ends?|sends?"
    r"|ist|sind|haben|hat|werden|müssen|lassen)\b",
    r".*[\u3040-\u30ff\u4e00-\u9fff]",
))  # fmt: skip
"""What it is when a person asks to remember it and no other rule fits: it has a verb, so it is not just a name."""

HABITUAL = _any(
    r"\b(?:always|never|every time|each time|whenever|when you)\b",
    r"\b(?:before|after|when) (?:\w+ing|(?:each|every|any) \w+)\b",
    r"每|都|总|immer",
)
"""In "remember to ...": to be done each time, not once."""

_GAP = r"(?:[,.:;!]+ *| +)"
_PAUSE = r"(?:[,.:;!]+| [-–—]) *"
OPENING = _any(
    rf"(?P<denial>no(?:pe)?(?:[,.!:;]+ *| +(?=(?:we|use|don'?t|never|always|our|it's) ))|actually{_GAP}"
    rf"|(?:that'?s|this is|that is) (?:wrong|incorrect|not (?:right|true|correct|how))[^,.;:!]{{0,20}}{_PAUSE}"
    rf"|(?:not quite|wrong|wrong way a?round|nein|falsch){_PAUSE}|不对[，,。！]? *|不是[，,。] *)",
    r"(?P<errand>(?:(?:remember|don'?t forget|do not forget) to |记得)(?=.))",
    r"(?P<explicit>(?:remember|note|keep in mind|bear in mind|(?:don'?t|do not|never) forget|make a note|take note)"
    r"(?: this)?(?: that |,? ?[:,–—-]+ *(?:that )?)"
    r"|(?:remember|keep in mind|don'?t forget) (?=(?:we|our|the|all|every|never|always) )"
    r"|for (?:future reference|the record|next time)[,:]? *(?:that )?"
    r"|(?:merke? dir|denke? daran|nicht vergessen)(?: bitte)?[,:]* *(?:dass )?|(?:请?记住|记一下)[：:，,]? *)",
    rf"(?P<filler>(?:ok(?:ay)?|yes|yeah|yep|and|but|also|oh|ah|hm+|btw|by the way|please|pls|bitte|fyi|hey){_GAP}"
    r"|(?:cool|great|nice|perfect|thanks|thank you|well|so|again|right|alright|good|just|looks good|sounds good"
    rf"|that works|lgtm|anyway|another thing|in general|generally){_PAUSE}"
    r"|(?:one (?:more )?thing(?: though)?|(?:quick |friendly )?reminder|heads up|important"
    r"|(?:as )?i (?:said|told you)[^,.:;?]{0,20}): *|so (?=(?:from now|always|never|let'?s|please) )|[请另外，。、]+)",
)
"""What a sentence begins with before it comes to the point."""

CLOSING = _any(
    r"(?:,? (?:ok(?:ay)?|please|pls|thanks|thx|got it|understood)| ?:\)| ?🙏)[.!?]*$",
    r"(?P<explicit>[,;.]? (?:please )?(?:keep (?:that|this) in mind|remember that|don'?t forget that)[.!]*$"
    r"|(?:ので|ことを|を|、)?覚えておいて(?:ください|ね)?[。！]?$)",
)
"""What it ends with after it has made its point."""

BECAUSE = _any(r"[,;]? \b(?:because|since|so that|otherwise|weil|damit|due to|as (?:it|we|the))\b", r"，?因为")
"""Where its reason begins."""

QUESTION = _any(
    r".*[?？][\"')*_ ]*$|.*,? (?:right|\w+n't (?:we|it|you|they))$",
    r"(?:why|what|where|which|who|whose|how|does|did|is|are|was|were|can|could|should|would|will|shall|has)\b",
    r"(?:do|have) (?:we|you|i|they|the)\b|(?:did|do|does|is|are|have|ca|was)n't (?:we|you|i|they|it|the)\b",
    r"when (?:do|does|did|is|are|was|will|should|can)\b|remember (?:when|how|what|why|me)\b",
    r"(?:verwenden|nutzen|benutzen|sollen|sollten|können|haben) wir\b|.*[吗呢么]$|.*ですか。?$",
)
UNRESOLVED = _any(
    rf"^(?:it|they|them|those|these|there|here|he|she|this(?! {PLACE}\b)|that)\b",
    r"^(?:\S+ ){1,3}(?:it|them|those|these)\b",
    r"^(?:\S+ ){1,3}(?:that|this)(?=$|[.,;!]| (?:instead|again|anymore|because|since|way|for|in|like|to|one|if)\b)",
    rf"\b(?:this|these) (?!{PLACE}\b|kind|sort|type)\w+",
    r"\b(?:that|those) (?:one|file|function|test|line|branch|class|method|way|thing|helper|page|part|version|code)\b",
    r"\b(?:here|above|below|the (?:other|former|latter|first|second|third|same|existing|previous|last)|(?:old|new) one"
    r"|option \w+|(?:with|use) [a-d1-9]|variant|approach|lines? \d+|other way|step \d+|the way you)\b",
    r"\b(?:diese[rsmn]?(?! (?:repo|projekt)\b)|zweite[nr]?|dort)\b|这个(?!项目|仓库)|那个|这里|这些|第[一二三]",
    r"この(?!プロジェクト|リポジトリ)|その|それ|これ(?!から)",
)
"""Points at something that nobody sees in the note."""

RECALLED = _any(
    r"^(?:i|you) (?!always|never|prefer|use|must|should)",
    r"^we (?:already|just|did|talked|discussed|tried|had|were|said)\b",
    r"\b(?:last time|i (?:told|said|asked|mentioned)|you (?:said|told|did))\b",
)
"""Said of the conversation itself."""

PASSING = _any(
    r"^(?:what if|suppose|imagine|assuming|in theory|let's say|ideally)\b",
    r"^if\b(?!.{2,90}, (?:always|never|don'?t|do not|you must|we))",
    r"\b(?:maybe|perhaps|might|could|would(?! rather| prefer)|i (?:think|guess|feel|suppose)|not sure|wonder)\b",
    r"\b(?:wondering|probably|possibly|seems?|looks like|shall we|thinking of|considering|vielleicht|eventuell)\b",
    r"\b(?:for now|right now|(?:at|for) the moment|temporarily|today|tonight|tomorrow|yesterday|currently|this time)\b",
    r"\b(?:just once|just this once|yet|later|until (?:i|you|it|this|that|then)|already|still|again)\b| now[.!]?$",
    r"\b(?:for|in|on|with|during) (?:this|that|the|my|your) (?:pr|mr|task|commit|change|session|branch|ticket|step)\b",
    r"\b(?:you'd|you'll|you would|i'll|i will|i'm going to|i'd(?! rather| prefer))\b",
    r"\bthe (?:users?|modal|button|page|screen|form|dialog|sidebar|header|footer|dropdown)\b",
    r"^you (?:always|never|keep|still|just|don't|should(?:n't)? have|should never have|forgot)\b",
    r"^(?:wow|ugh|argh|oh (?:sure|great)|because)\b|\b(?:lol|wtf|ffs|smh|lmao)\b",
    r"先(?:不|别|这样|用着)|暂时|今天|刚刚|可能|也许|或许|要不|とりあえず|今は|まだ|かもしれ",
    r"\b(?:noch nicht|erst ?mal|vorerst|heute|gerade)\b",
)
"""A thought, a complaint, or true of the task at hand only; said of what comes before the reason."""

TROUBLE = _any(
    r"\b(?:fail(?:s|ed|ing|ures?)?|errors?|crash(?:es|ed|ing)?|broken|breaks|exceptions?|timeouts?|time[sd]? out)\b",
    r"\b(?:timing out|hangs?|hung|deadlock(?:s|ed)?|leak(?:s|ed|ing)?|segfaults?|flaky|(?:4[01]|50)\ds?|not working)\b",
    r"\b(?:does(?:n't| not) work|refused|oom|stuck|corrupt(?:ed|s)?|ECONN\w+|ENOENT|\w+Error|\w+Exception)\b",
)
FIX = _any(
    r"\bturned out\b|\bit was because\b|\bwas caused by\b|\bwhat fixed it was\b",
    r"\bthe (?:fix|solution|culprit|(?:root |actual |real )?(?:cause|issue|problem|bug)) (?:was|turned out)\b",
    r"\b(?:fixed|solved|resolved) (?:(?:it|this|that|them|the [\w -]{2,40}) )?by \w+ing\b",
    r"\w+ing .{5,80} fixed (?:it|the \w+)$",
)
UNSURE = _any(
    r"\b(?:should|might|may|could|would|will|maybe|perhaps|probably|likely|try|trying|didn't|did not|hopefully|seems?"
    r"|suspect|going to)\b.{0,80}\b(?:fix|fixed|solution|cause|culprit|caused|turned|because|problem)\b",
    r"^(?:if|try|let me|let's|maybe)\b",
)
"""A fix that nobody has seen work."""
