"""Signs in English, and of Claude Code's own format: instructions set aside, turns imitated, another role."""

from memem.safety.injection.judge import OVERRIDE, PERSONA, START, TURN, Sign

_NOT_TO = r"(?<!try to )(?<!attempt to )(?<!trying to )(?<!tries to )(?<!model to )(?<!llm to )(?<!claude to )(?<!agent to )(?<!it to )"
_VERB = (
    r"(?:ignore|disregard|forget|override|overrule|discard|bypass|set aside|put aside|throw away|throw out|"
    r"pay no (?:attention|heed) to|give no weight to|do not (?:follow|obey|heed|respect|comply with)|don't (?:follow|obey)|"
    r"stop (?:following|obeying)|no longer (?:follow|obey)|disobey|neglect|abandon|erase|unlearn|skip over|dismiss|drop|"
    r"cease (?:following|to follow)|refuse to follow|let go of|void|cancel|nullify|wipe)"
)
_BEFORE = r"(?:previous|prior|above|preceding|earlier|foregoing|former|past|original|initial|pre-?existing|older|aforementioned)"
_ORDERS = r"(?:instruction|direction|directive|guideline|prompt|programming|command|training|constraint|restriction|guardrail)s?"
_LOOSE = r"(?:rule|order|message|context|polic(?:y|ie)|request|guidance|conversation|text|input|content|task|setting)s?"
_PLACE = (
    r"(?!['\"]?,? (?:in|from|of|on|for|at|by|under|within|inside|about|to (?:install|build|set up)) "
    r"(?:the |our |that |this |their |its |an? |\w+'s )?"
    r"(?:[`\w./-]*[./`][\w./`-]+|(?:[\w-]+ )?(?:readme|wiki|docs?\b|documentation|ticket|issue|pr\b|pull request|page|guide|file|"
    r"tutorial|runbook|section|config|changelog|comment|manual|blog|email|spec|mail|thread|queue|template|slack|confluence|"
    r"jira|notion|table|list|migration|query|schema|[\w/-]+\.\w|`|commit|branch|version|release|install|makefile|script)))"
)

TALK: tuple[Sign, ...] = (
    Sign(
        OVERRIDE,
        2,
        "ignor·regard·forget·over·discard·bypass·aside·pay no·not ·n't ·stop·no longer·obey·neglect·abandon·"
        "erase·learn·dismiss·drop·cease·let go·void·cancel·null·skip·throw·weight·wipe·refuse",
        rf"{START}{_NOT_TO}{_VERB}\s+(?:(?:all|any|every|each|of|the|your|my|these|those|its|our|other|such|and|"
        rf"everything|whatever|both)\s+){{0,4}}(?<!my ){_BEFORE}\s+(?:\w+\s+){{0,2}}?(?:{_ORDERS}|{_LOOSE})\b{_PLACE}",
        also="previous·prior·above·preceding·earlier·foregoing·former·past·original·initial·existing·older",
    ),
    Sign(
        OVERRIDE,
        2,
        "your·system·safety·you were·you've·you have·you had·you got·you rec·given·i gave·above·before this·so far·developer",
        rf"{START}{_NOT_TO}{_VERB}\s+(?:(?:all|any|every|of|the|these|those|everything in)\s+){{0,3}}"
        rf"(?:your\s+(?:\w+\s+){{0,2}}{_ORDERS}|your (?:rules|system message|policies|safety \w+)|"
        rf"(?:the )?(?:system|developer|safety) (?:prompt|instruction|directive|guideline|guardrail|message|rule)s?|"
        rf"(?:{_ORDERS}|{_LOOSE}|things) (?:that |which )?(?:you (?:were|have been|had been|got|received)|"
        rf"you've been|given to you|i gave you|above|before this|so far)){_PLACE}",
        also="ignor·regard·forget·over·discard·bypass·aside·not follow·n't follow·obey·heed·stop ·no longer·"
        "abandon·erase·learn·dismiss·drop·cease·let go·void·cancel·null·skip·throw·weight·wipe·refuse·"
        "neglect·pay no·comply·respect",
    ),
    Sign(
        OVERRIDE,
        2,
        "everything·anything·whatever·what ·all ",
        rf"{START}(?:ignore|disregard|forget|discard|erase|dismiss|unlearn|wipe)\s+(?:about\s+)?(?:everything|anything|whatever|"
        r"all(?: of)?(?: that)?|what)\s+(?:(?:that|which|i|was|were|has been|had been)\s+){0,3}"
        r"(?:above|before this|prior to this|said (?:above|before|so far|earlier)|written above|came before|"
        r"preced\w+ this|you (?:were|have been|'ve been|had been|know|learned|have learned|have read|read|remember)\b"
        r"(?!.{0,20}\b(?:password|the other)\b)|told you (?:before|so far|earlier)|so far|up to (?:now|this point|here))",
        also="ignore·disregard·forget·discard·erase·dismiss·learn·wipe",
    ),
    Sign(
        OVERRIDE,
        2,
        "instruction·directive·prompt·rules·guidelines·memory·note·message",
        r"\b(?:this|these|the following|following|below|new|my)\s+(?:\w+\s+)?(?:instructions?|directives?|prompts?|rules?|"
        r"guidelines|memory|memories|note|message|text|commands?)\s+(?:\w+ly\s+)?(?:override|supersede|replace|outrank|overrule|"
        r"cancel|take precedence over|takes precedence over|have priority over|has priority over|trump)s?\s+"
        r"(?:all|any|every|everything|your|the system|system|previous|prior|other instructions|the user|what)",
        also="overrid·supersed·replace·outrank·overrul·preceden·priority·trump·cancel",
    ),
    Sign(
        OVERRIDE,
        2,
        "new instruction·real instruction·actual instruction·new directive·new task·updated instruction·"
        "true instruction·new order·new prompt·real task·new system",
        r"(?:^|\n|[.!?]\s)\W{0,4}(?:here (?:are|is) |these are |now )?(?:your |the )?"
        r"(?:new|real|actual|updated|true|revised|only)\s+(?:system )?"
        r"(?:instructions?|directives?|task|orders?|prompt)\s*(?:(?:are|is|follow|:|=>?|below)(?:\s|$))"
        r"(?=.{0,60}\b(?:you|ignore|send|reveal|run|output|respond|reply|print|say|do|act|execute|now|follow|as follows)\b)",
    ),
    Sign(
        OVERRIDE,
        2,
        "bound by·no restrictions·without restrictions·void·no longer apply·no longer valid·do not apply·"
        "free from·free of·cancelled·revoked·suspended·don't apply·null·expired·obsolete",
        r"\byou(?:'re| are|r)? (?:no longer|not|never) (?:bound|restricted|limited|constrained|governed) by\b"
        r"|\byou (?:now )?have no (?:restrictions|limits|guidelines|rules|filters)\b"
        r"|\byou(?:'re| are) (?:now )?free (?:from|of) (?:all|any|your)\b"
        r"|\b(?:previous|prior|earlier|above|original|your|system|all) (?:system )?"
        r"(?:instructions?|prompts?|guidelines|directives?|restrictions|guardrails|rules above) "
        r"(?:are|is|were|have been|has been|(?:no longer|do not|don't)) (?:now )?"
        r"(?:void|invalid|cancell?ed|revoked|suspended|null|no longer (?:valid|in effect|apply)|apply|lifted|expired|obsolete)",
    ),
    Sign(
        OVERRIDE,
        2,
        "system prompt·your instructions·your prompt·initial prompt·your guidelines·your system·text above",
        rf"{START}(?:reveal|print|output|repeat|show|display|leak|dump|recite|paste|echo|disclose|tell me|write out|expose|"
        r"give me|translate)\s+(?:(?:me|us|out|back|all|of|the|full|entire|exact|complete|verbatim|word for word)\s+){0,4}"
        r"(?:your (?:\w+ ){0,2}(?:system prompt|instructions|prompt|guidelines|system message)"
        r"|(?:system prompt|initial prompt|text above|words above|prompt above)(?: verbatim| word for word| to the user| to me|$))",
    ),
    Sign(
        PERSONA,
        2,
        "you are now·you're now·you will now·henceforth·from now on·starting now·as of now",
        r"\b(?:you are now|you're now|you will now be|henceforth,? you are|from now on,? you(?:'re| are| will be)|"
        r"(?:starting|as of) now,? you(?:'re| are)|from now on,? you will (?:act|behave|answer as|respond as|be))\s+"
        r"(?:dan\b|called |named |known as |(?:operating|acting|running) (?:as|in|without|under)|in \w+ mode|free\b|"
        r"(?:an?|the|my|going to be an?|to act as an?) (?:[\w-]+ ){0,3}?(?:ai|assistant|model|bot|chatbot|agent|hacker|terminal|interpreter|"
        r"persona|character|shell|attacker|\w*gpt|entity|expert|pirate|root|system|machine|advisor|developer|engineer)\b)",
    ),
    Sign(
        PERSONA,
        2,
        "do anything now·jailbr·no ethical·evil·unfiltered·uncensored·unrestricted·dan ·amoral·"
        "without any restrictions·no safety·no content polic·god mode·no moral·without restrictions",
        r"\bdo anything now\b|\byou(?:'re| are|r)? (?:now )?(?:jailbroken|unrestricted|unfiltered|uncensored|dan\b)"
        r"|\b(?:act|behave|respond|answer|operate|reply|function|roleplay|role-play) (?:as|like|in|without) (?:\w+ ){0,4}?"
        r"(?:evil|unfiltered|uncensored|unrestricted|jailbroken|amoral|dan|god mode|any restrictions|restrictions|no (?:rules|limits))\b"
        r"|\b(?:enter|enable|activate|switch to|engage|you are in|now in) (?:\w+ )?(?:jailbreak|god|dan|unrestricted|unfiltered|evil) mode\b"
        r"|\byou (?:now )?have no (?:ethical|moral|safety|content) ",
    ),
    Sign(
        PERSONA,
        1,
        "act as·pretend·roleplay·role-play·developer mode·debug mode·maintenance mode·admin mode·"
        "stay in character·sudo mode·persona·your name is·root mode",
        r"(?:^|\n|[.!?:,]\s)(?:act as|pretend (?:to be|you are|you're|that you)|roleplay|role-play|assume the (?:role|persona))\b"
        r"|\b(?:enter|enable|activate|you are in|switch to|now in) (?:developer|debug|maintenance|admin|sudo|root) mode\b"
        r"|\bstay in character\b|\byour (?:new )?(?:name|persona|role) is\b",
    ),
    Sign(
        TURN,
        2,
        "<system·</system·<function·</function·<invoke·</invoke·antml·<memory·</memory·<tool·</tool·<active·"
        "</active·<user_·</user_·<assistant·</assistant·<human·</human·<local-command·</context·</document·"
        "</memories·<memories·</slice·</instructions·<command-·</quote·</data",
        r"(?:^|\n)\W{0,6}<(?:system(?:[-_](?:reminder|prompt|message|note|instructions?|override))?|function_calls|function_results?|"
        r"invoke name|antml:\w+|tool_(?:use|result|call)s?|user_(?:prompt|message|input)|assistant|human|local-command-\w+|"
        r"command-\w+)(?:[ =:][^<>\n]{0,80})?>\s*(?=[\w*\"'\[<-])"
        r"|</(?:system[-_](?:reminder|prompt|message|note|instructions?)|function_calls|function_results?|invoke|antml:\w+|"
        r"memory|memories|memory[-_]slice|active[-_]memory[-_]?slice|tool_(?:use|result|call)s?|user_(?:prompt|message|input)|"
        r"context|document|slice|instructions|quoted?|data)>\W{0,40}(?:\n|<|\s)\s*(?!(?:tags?|blocks?|and|or|is|are|elements?|"
        r"pairs?|wrappers?|markers?|in|at|to|around|when|with|for|delimiters?)\b)[\w<#*]",
    ),
    Sign(
        TURN,
        2,
        "<|·[inst]·[/inst]·<<sys>>·<start_of_turn·<end_of_turn·<s>·</s>",
        r"<\|\s*(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id|begin_of_text)\s*\|>\s*"
        r"(?:(?:system|user|assistant|tool|human)\b|\n|<\|)\W{0,10}(?!token|special|tag|and\b|or\b)\w"
        r"|\[/?inst\]\s*(?!(?:tag|token|block|and|or|marker|format|delimiter)s?\b)\w[^\[]{3,}|<<sys>>\s*\w|"
        r"<start_of_turn>\s*(?:user|model|system)\b",
    ),
    Sign(
        TURN,
        2,
        "\nhuman:·\nassistant:·\nuser:·\nsystem:·system:·human:·assistant:·user:·### ·[system·**system",
        r"(?:^|\n)\W{0,4}(?:system|developer)(?: (?:prompt|message|note))?\W{0,3}:\s.{0,40}\b(?:you (?:are|must|will|should|have)|"
        r"ignore|disregard|new instructions?|override|from now on|the user has|reveal|the assistant (?:must|will|should))\b"
        r"|(?:^|\n)\W{0,4}human\W{0,3}:\s.{0,60}\b(?:ignore|run|send|delete|execute|yes,? (?:i )?(?:approve|allow|do it|go ahead))\b"
        r"|(?:^|\n)#{2,4} ?(?:instruction|response|system|new instructions?)s?:?\s*\n\s*\w.{0,60}\b(?:you|ignore|must|always|never)\b",
    ),
    Sign(
        TURN,
        2,
        "system override·system instruction·system directive·system alert·system notice·system update·"
        "system command·developer override·admin override·anthropic·openai·priority override·security notice",
        r"(?:^|\n|[.!?]\s)\W{0,6}(?:new |urgent |critical |important )?(?:system|developer|admin|administrator|operator|root|anthropic|"
        r"openai|priority)(?: (?:team|security|safety))?[ -](?:override|instruction|directive|command|alert|notice|update|message|note)s?"
        r"(?: \w+)?\W{0,3}[:\]>-]+\s*.{0,80}\b(?:you|ignore|must|assistant|claude|model|disregard|user|send|run|execute|override|"
        r"disabled?|enabled?|unlocked?|agents?)\b",
    ),
    Sign(
        TURN,
        2,
        "end of·end_of·begin ·start of·beginning of",
        r"[-=#*_\[<]{2,}\s*(?:end|stop|close)[ _](?:of[ _])?(?:the[ _])?(?:memory|memories|context|quot\w+|reference|document|"
        r"user[ _](?:input|message|prompt)|untrusted \w+|slice|data|system[ _]prompt|note)\b"
        r"|[-=#*_\[<]{2,}\s*(?:begin|start)[ _](?:of[ _])?(?:the[ _])?(?:new[ _])?(?:system|admin|developer|trusted|user)[ _]"
        r"(?:prompt|instructions?|message|input|override)\b",
    ),
    Sign(
        OVERRIDE,
        2,
        "user·human·developer·anthropic·system",
        rf"{START}(?:ignore|disregard|(?:do not|don't|never|stop) (?:obey|listen to|follow)(?:ing)?) (?:what(?:ever)? |anything |everything |any |all )?"
        r"(?:that )?the (?:user|human|developer) (?:says|said|wants|tells you|told you|asks you|writes|any ?more|any longer)\b"
        rf"|{START}{_VERB}\s+(?:(?:all|any|and|every|of|the)\s+){{0,5}}{_ORDERS} (?:given |coming |set |written |provided )?(?:by|from) "
        r"(?:the |your )?(?:developers?|users?|system|anthropic|humans?|operators?|creators?)\b",
        also="ignor·regard·obey·listen·follow·forget·over·discard·bypass",
    ),
    Sign(
        OVERRIDE,
        2,
        "above·task·instruction·purpose·goal·mission·created·made to·programmed·designed·here to",
        r"\bthe (?:above|text above|previous (?:text|part)) (?:was|is) (?:just |only |merely )?(?:a |an )?(?:test|joke|decoy|trick|lie|fake|cover)\b"
        r"|(?:^|\n|[.!?]\s)\W{0,3}(?:the |your )?(?:actual|real|true) (?:task|instructions?|request|goal|prompt|job)\s*(?::|is\b)"
        r"|\byour (?:true|real|only|actual|secret) (?:purpose|goal|mission|task|job|master) is\b"
        r"|\byou (?:were|are) (?:created|made|programmed|built|designed|here) (?:only )?to (?:obey|serve (?:me|this)|follow (?:me|this|these))\b",
        also="test·joke·decoy·trick·lie·fake·cover·actual·real·true·only·secret·obey·serve·follow",
    ),
    Sign(
        PERSONA,
        2,
        "stop being·stop acting·no longer claude·not claude·are claude no",
        r"\bstop (?:being|acting as|behaving (?:as|like)) (?:claude|an? (?:ai|assistant)|the assistant|anthropic|yourself)\b"
        r"|\byou are (?:no longer|not) claude\b",
    ),
    Sign(
        TURN,
        2,
        "[system·[admin·[developer·system message·system prompt·system instruction·admin message·official·end of",
        r"(?:^|\n)\W{0,4}\[+ ?(?:system|admin|administrator|developer|assistant)(?: \w+)? ?[:\]].{0,100}\b(?:you|overrides?|safety|comply|obey|tools?|instructions?)\b"
        r"|\bthis is an? (?:official |new |urgent )?(?:system|admin|developer|anthropic)(?: \w+)? (?:message|prompt|instruction|override|directive|command)\b"
        r"|(?:^|\n|[.!?]\s)end of (?:context|memory|memories|user input|untrusted \w+|system prompt|quotation)\s*[.:!]",
    ),
    Sign(
        OVERRIDE,
        2,
        "you ·conversation·session·anthropic·developers·creators·openai·makers",
        r"\b(?:set aside|put aside|erase|forget|ignore|disregard|cancel|discard|abandon|overrule|unlearn|dismiss|drop|void|reject|break|violate)\b.{0,30}"
        r"\b(?:instructions?|rules?|guidance|guidelines?|polic(?:y|ies)|directives?|restrictions?|prompts?|orders?|constraints?)\b.{0,12}"
        r"\b(?:you (?:have|were|had|received|got|follow|obey)|given to you|that bind you|at the (?:top|start|beginning) of (?:this|the|your) (?:conversation|session|chat|context))\b"
        r"|\b(?:instructions?|rules?|guidance|guidelines?|directives?|prompt)\b.{0,10}\b(?:you (?:were given|received|got|follow)|at the (?:top|start|beginning) of (?:this|the|your) "
        r"(?:conversation|session|chat|context))\b.{0,20}\b(?:cancell?ed|void|invalid|revoked|suspended|lifted|wrong|fake|no longer|do not (?:apply|count|matter))\b"
        r"|\b(?:whatever|what|anything|everything|regardless of what) (?:your (?:developers?|creators?|makers?)|anthropic|openai|the developers?) (?:told|taught|asked|said to|want)\b"
        r"|\b(?:not|never|no longer|stop|don't|ignore|break|violate) ?(?:follow\w*|obey\w*|respect\w*|comply with|apply\w*|adhere to)? (?:anthropic|openai|your (?:creator|developer|maker)s?)(?:'s|s')? "
        r"(?:\w+ )?(?:guidelines?|rules?|polic(?:y|ies)|instructions?)\b",
        also="instruction·rule·guid·polic·directive·restriction·prompt·order·constraint·told·taught·asked·want·said",
    ),
    Sign(
        OVERRIDE,
        1,
        "safety·security·content·guardrail",
        r"\b(?:safety|content|ethical|security) (?:polic(?:y|ies)|rules|guidelines|filters|guardrails|checks|limits)\b.{0,20}\b(?:suspended|disabled|void|lifted|off|waived|not apply)\b",
    ),
    Sign(
        PERSONA,
        2,
        "gpt·dan·identity of·role of·persona of·an ai w·a bot w·an assistant w·a model w",
        r"\byou are (?:now )?\w*(?:gpt|dan)\b|\bassume the (?:identity|role|persona) of\b.{0,30}\b(?:unfiltered|unrestricted|evil|hacker|bot|ai|attacker)\b"
        r"|\ban? (?:ai|bot|assistant|model) with(?:out| no)(?: any)? (?:limits|restrictions|rules|filters|ethics|morals)\b",
    ),
)
