"""Signs in English that a text gives orders: to act, to hide, to send, to remember, to be allowed."""

from memem.safety.injection.judge import ACT, HIDE, LEAK, MEMORY, PERMISSION, SHELL, START, TRIGGER, Sign

ORDERS: tuple[Sign, ...] = (
    Sign(
        ACT,
        2,
        "this fact·this text·this instruction·this sentence·this statement·this record·reading this·reads this·processing this·processes this·read this·sees this·recalls this·recall this·"
        "this memory·this note·retrieve this·load this·loads this·retrieves this",
        r"\b(?:any|every|all|the|if you are an?|whichever|whatever) (?:ai|llm|agents?|assistants?|language models?|models?|claude|bots?)s? "
        r"(?:(?:that|which|who|is|are) )?(?:read|process|see|recall|retriev|load|summari[sz])(?:ing|s|es|ed|e)? (?:this|the following)\b"
        r"|(?:^|\n|[.!?:,]\s)\W{0,3}(?:when(?:ever)?|once|as soon as|after|each time|every time|if|upon) (?:you )?"
        r"(?:read|reading|recall|recalling|retrieve|retrieving|load|loading|process|processing|see|seeing|are shown|encounter|find|receive)\w* "
        r"(?:this|it) ?(?:memory|note|entry|memo|text|instruction|sentence|statement|fact|record)?(?:\W{0,3}[,:]|\s+(?:memory|note|then|"
        r"you (?:must|should|will))\b).{0,20}\b(?:you|run|execute|send|open|call|fetch|curl|download|delete|write|add|reply|respond|say|"
        r"output|insert|append|install|set|change|visit|upload|ignore|switch|immediately|first|do|use the|print)\b"
        r"(?<!this error)(?<!this warning)",
    ),
    Sign(
        ACT,
        1,
        "before ·prior to·the following·this ",
        r"\b(?:before|prior to) (?:you )?(?:answer|answering|respond|responding|reply|replying|doing anything|continuing|"
        r"anything else|completing|helping)\b"
        r"|\b(?:run|execute|call|invoke) (?:the following|this)(?: \w+)? (?:immediately|now|first|silently|right away)\b",
    ),
    Sign(
        ACT,
        1,
        "claude·assistant· ai ·ai:·ai,·llm·language model·agent·model",
        r"(?:^|\n|[.!?]\s)\W{0,4}(?:(?:attention|important|urgent|notice|note|message|instructions?|warning|hey|dear|ok|hello)\W{0,3}"
        r"(?:to |for )?(?:all |the |any )?)?(?:claude|ai assistant|ai|assistant|llm|language model|agents?|ai agents?)(?: code)?s?\W{0,2}[,:!]"
        r"|\b(?:the )?(?:ai|assistant|llm|language model) (?:must|shall) (?:now |always |never |immediately )?\w+",
    ),
    Sign(
        ACT,
        2,
        "answer·response·repl·message·output",
        r"\b(?:always |must |you must |make sure to )(?:include|add|append|insert|embed|end|put|mention|recommend|finish|begin|start|place)\b"
        r".{0,60}(?:https?://|\bthis (?:link|url|image|phrase|ad|text|sentence|banner)\b|!\[).{0,80}\b(?:answer|response|repl(?:y|ies)|"
        r"output|message to the user)s?\b"
        r"|\b(?:in|to|at the end of|into) (?:every|all|each|any|your)(?: of your)? (?:answer|response|repl(?:y|ie)|output)s?\b.{0,40}"
        r"\b(?:include|add|append|insert|embed|mention|recommend|link to|say)\b.{0,60}(?:https?://|this (?:link|url|image|phrase|ad|sentence))",
        also="http·this link·this url·this image·this phrase·this ad·this text·this sentence·this banner·![",
    ),
    Sign(
        HIDE,
        2,
        "user·human·developer·operator·anyone·between us·this memory·this note·these instruction·secret",
        r"\b(?:do not|don't|never|must not|without) (?:tell|telling|inform|informing|notify|alert|let|mention|mentioning|reveal|revealing|"
        r"disclose|disclosing|show|say|report)\w* (?:(?:this|that|it|these|them|anything|the|of|about|to|any)\s+){0,3}"
        r"(?:the )?(?:user|human|developer|operator|owner|person|anyone)s?\b(?: (?:know|notice|see))?\W{0,2}"
        r"(?:(?:about|of) (?:this|it|these|that|what you|your)|that you|you (?:did|ran|have|were|are|know)|why you|what you|anything|"
        r"the (?:command|request|reason|real|instruction)|of the (?:command|request|instruction))"
        r"|\b(?:do not|don't|never) (?:tell|inform|mention|reveal|disclose|report|show|speak of)\w* (?:this|it|that|anything|any of this|"
        r"(?:this|these|the|your) (?:memory|memories|note|instructions?|prompt|message|action|command|request)s?(?: of yours)?)"
        r"(?: (?:to|with))? (?:the )?(?:user|human|developer|operator|anyone)\b"
        r"|\b(?:do not|don't|never) (?:mention|reveal|disclose|talk about|refer to|acknowledge) (?:the existence of )?"
        r"(?:this|these) (?:memory|memories|note|instructions?|prompt|message|rule|entry)s?\b"
        r"|\bkeep (?:this|it|these|that)(?: \w+)? (?:(?:secret|hidden|confidential|private|concealed) from|between us|to yourself)\b"
        r"|\b(?:hide|conceal) (?:this|it|these|that)(?: \w+)? from (?:the )?(?:user|human|developer|anyone|everyone)\b",
        also="not ·n't ·never·without·keep·hide·conceal",
    ),
    Sign(
        HIDE,
        1,
        "user·human·silently·quietly·asking·confirm",
        r"\b(?:do not|don't|never|without) (?:tell|telling|inform|informing|notify|notifying|alert|alerting|ask|asking|warn|warning) "
        r"(?:the )?(?:user|human|developer|anyone|me|them|for)\b"
        r"|\b(?:silently|quietly|secretly|discreetly|covertly) (?:run|send|upload|execute|add|append|install|include|post|copy|forward|"
        r"insert|exfiltrate|fetch|download|change|delete|push|call)\b|\bwithout (?:asking|confirmation|confirming|mentioning|approval)\b",
        also="not ·n't ·never·without·silently·quietly·secretly·discreetly·covertly",
    ),
    Sign(
        LEAK,
        2,
        "send·post·upload·exfil·transmit·forward·email·leak·copy·submit·report·curl·append·put·pipe",
        rf"{START}(?:send|post|upload|exfiltrate|transmit|forward|e-?mail|leak|copy|submit|report|append|pipe|attach|relay)\s+(?:\w+\s+){{0,4}}?"
        r"(?:contents? of(?! (?:the )?(?:\./)?(?:dist|build|out|public|_?site|static|assets|target|coverage)\b)|\S*\.env\b\S*|\S*id_rsa\S*|\S*\.ssh\S*|secrets?|credentials?|api[ _-]?keys?|ssh keys?|private keys?|"
        r"environment variables?|env vars?|passwords?|conversation|chat history|transcript|system prompt|source code|codebase|"
        r"(?:the )?user'?s? (?:\w+ )?(?:data|message|prompt|input|question|file|code|token|email)s?|everything|(?:access )?tokens?)\b"
        r".{0,60}?\b(?:to|at|via|through|into|as)\b.{0,40}?(?:https?://|webhook|\b[\w.+-]+@[\w-]+\.\w|pastebin|gist\b|discord|telegram|ngrok|"
        r"requestbin|attacker|external|evil|[a-z0-9-]+\.(?:xyz|top|ru|cn|tk|site|click|io|net|com|dev|app|zip|me)/)",
        also="http·webhook·@·pastebin·gist·discord·telegram·ngrok·requestbin·attacker·external·evil·/",
    ),
    Sign(
        LEAK,
        2,
        "curl·wget·nc ·invoke-webrequest·fetch(·requests.post·scp ",
        r"\b(?:curl|wget|nc|scp|invoke-webrequest|iwr)\b.{0,120}(?:\$\(|`|@|<|<\()\s*(?:cat |env\b|printenv|~?/?\S*(?:\.env\b|id_rsa|\.ssh/|"
        r"\.aws/credentials|\.netrc|credentials\.json|/etc/passwd))"
        r"|\b(?:cat|base64|tar|zip)\b[^|\n]{0,60}(?:\.env\b|id_rsa|\.ssh/|\.aws/|\.netrc|/etc/passwd)[^|\n]{0,40}\|.{0,60}\b(?:curl|nc|wget)\b",
    ),
    Sign(
        LEAK,
        2,
        "![",
        r"!\[[^\]]{0,200}\]\(\s*<?https?://[^)\s]{0,200}(?:\{\{?|\$\{?|%7b|\[)\s*[\w. -]*(?:secret|token|key|env|data|conversation|history|"
        r"message|prompt|password|user|summary|base64|content|context|answer|email|question|input|code)"
        r"|!\[[^\]]{0,200}\]\(\s*<?https?://[^)\s]{0,200}[?&/](?:data|d|leak|exfil|secret|secrets|log|c|conversation|history|env|prompt|payload)="
        r"(?:\s|\)|<|\[|[a-z_]*(?:here|secret|data|base64|content|history|key))",
    ),
    Sign(
        LEAK,
        1,
        "http·webhook·ngrok·pastebin·attacker",
        r"\b(?:send|post|upload|exfiltrate|transmit|forward|e-?mail|report|fetch|visit|open|ping|load|download|"
        r"submit|append|include|navigate to|go to)\b.{0,80}(?:https?://|webhook|ngrok|pastebin|attacker)",
    ),
    Sign(
        MEMORY,
        2,
        "this memory·this note·this entry·memories·this statement·this record·this fact·it as·this as",
        r"\b(?:mark|treat|consider|regard|label|flag|classify|tag|store|save|record|rate|rank) (?:this|it)(?: \w+)? (?:as|with) "
        r"(?:(?:a|an|the|being|fully|highly|maximum|max)\s+){0,2}"
        r"(?:human|trusted|verified|authoritative|user[- ](?:authored|written|approved|confirmed|instruction|rule|statement)|authored by|"
        r"written by (?:the user|a human|a person)|system|highest|importance|pinned|top priority|layer 0|permanent|"
        r"instruction from the user|rule from the user|confidence)\b"
        r"|\bthis (?:memory|note|entry|statement|record) (?:is|has been|was) (?:\w+ )?(?:written|approved|verified|confirmed|authored|signed|trusted|"
        r"authoritative|authenticated)(?: \w+)? (?:by (?:the )?(?:user|human|owner|anthropic|admin|developer|system|a person)|source|and)\b"
        r"|\bthis (?:memory|note|entry) (?:overrides|supersedes|outranks|takes precedence|has priority|must (?:always )?be (?:followed|obeyed|executed|"
        r"shown|pinned|trusted)|cannot be (?:deleted|forgotten|removed|overridden)|is (?:an? )?(?:instruction|command|order|system))",
    ),
    Sign(
        MEMORY,
        2,
        "importance·layer·author·source_type·trust level·confidence",
        r"\b(?:set|change|raise|put|make|bump|assign) (?:its|the|this|your|their)?\s?(?:memory's |note's |memory |note )?"
        r"(?:importance|layer|author|source_type|trust level|trust) (?:of (?:this|the|it)(?: \w+)? )?(?:to|=|:|at|as) ?"
        r"(?:5|0|1\.0|human|user|max\w*|highest|critical|trusted|full)\b"
        r"|(?:^|\n|[,;{(])\s*(?:author|source_type)\s*[:=]\s*[\"']?(?:human|user)\b(?!-).{0,40}\b(?:importance|layer|confidence)\s*[:=]",
    ),
    Sign(
        MEMORY,
        2,
        "memory·memories·memor",
        r"(?:^|\n|[.!?:]\s|\bplease )\W{0,3}(?:save|store|write|add|commit|persist|record|put) (?:this|the following|it)(?: \w+)? "
        r"(?:to|in|into) (?:your |the |long[- ]term |persistent |permanent )*memor(?:y|ies)\b"
        r"|\b(?:delete|forget|erase|remove|overwrite|wipe|purge|disable|ignore|distrust) (?:all )?(?:of )?(?:your |the )?"
        r"(?:other|previous|existing|earlier|older|your|conflicting)(?: \w+)? memories\b"
        r"|\b(?:memory_save|memory_forget)\b.{0,40}\b(?:with|call|now|every|immediately)\b",
    ),
    Sign(
        PERMISSION,
        2,
        "user·human·owner·operator·developer·you have·you are·permission·approv·authori",
        r"\b(?:the |your )?(?:user|human|owner|operator|developer|admin|person)s? (?:has |have )?(?:already |explicitly |fully |pre-?)?"
        r"(?:approved|authori[sz]ed|granted|consented to|allowed|confirmed|given (?:you )?(?:permission|consent|approval)|permitted|preapproved)\s*"
        r"(?:(?:you|for|to|in advance|full|permission)\s+){0,3}(?:(?:all|every|any|each|unrestricted|full|everything)\b(?: future| further| such| of)?\s*)"
        r"(?:\w+\s+)?(?:tool|command|action|bash|shell|tool[- ]call|edit|operation|write|execution|request|deletion|permission prompt|network)s?"
        r"|\b(?:the |your )?(?:user|human|owner|developer) (?:has |have )?(?:already |explicitly )?(?:approved|authori[sz]ed|agreed|consented|allowed|"
        r"given)\b.{0,60}\b(?:without (?:asking|confirmation|prompting|approval)|no need to (?:ask|confirm)|do not ask|don't ask)"
        r"|\byou (?:now )?(?:have|are granted|are given|have been granted|have been given) (?:full|root|admin|unrestricted|sudo|elevated|complete|"
        r"blanket) (?:permission|access|privilege|authori[sz]ation|approval)s? (?:to|for|over|on|and|\W)",
        also="approv·authori·grant·consent·allow·confirm·given·permi·you have·you now have·you are g",
    ),
    Sign(
        PERMISSION,
        2,
        "dangerously·bypasspermissions·--yolo·skip-permissions·auto-approve·permission·yolo",
        r"(?:^|\n|[.!?:,]\s|\b(?:always|must|please|then|and|now) )\W{0,3}(?:run|use|restart|launch|start|enable|execute|invoke|call|rerun|switch)\b"
        r"(?!.{0,80}\b(?:sandbox|container|docker|vm|ci|throwaway|disposable|devcontainer|only|never|not)\b).{0,60}"
        r"(?:--dangerously-skip-permissions|bypasspermissions|--yolo)\b"
        r"|\b(?:skip|bypass|disable|turn off|suppress|ignore) (?:all |any |every |the |your )*(?:permission|approval|confirmation|safety) "
        r"(?:check|prompt|dialog|gate|request|rule|guard|filter|measure)s?\b.{0,40}\b(?:user|you|claude|agent|tool call|from now on|always|and (?:run|send|execute))",
    ),
    Sign(
        TRIGGER,
        1,
        "user·human·someone·they ·future·next time·asked",
        r"\b(?:next time|whenever|when|if|as soon as|once|every time|each time|the moment) (?:the |a )?(?:user|human|developer|someone|anyone|they|i) "
        r"(?:next )?(?:says?|asks?|mentions?|types?|requests?|writes?|opens?|commits?|pushes|logs? in|runs?|wants?|starts?|talks?)\b"
        r"|\b(?:when|if|whenever) (?:you are |you're )?asked (?:about|for|to|by|if|whether)\b"
        r"|\bin (?:any|all|every|each) (?:future|later|subsequent|coming) (?:session|conversation|chat|task|prompt)s?\b"
        r"|\bthe next time (?:you|the user)\b",
        also="next time·whenever·when ·if ·as soon·once ·every time·each time·the moment·in any·in all·in every·"
        "in each",
    ),
    Sign(
        TRIGGER,
        2,
        "user·someone·anyone·developer·human·next time",
        r"\b(?:next time|whenever|when|if|as soon as|once|every time) (?:the |a )?(?:user|human|developer|someone|anyone) (?:next )?"
        r"(?:says?|asks?|mentions?|types?|requests?|writes?)\b.{0,80}?[,:;-]\s*(?:then )?(?:you (?:must|should|will|have to) |instead |always |secretly |"
        r"silently )?(?:pretend|lie|claim|deny|insist|ignore (?:it|them|the)|answer that|say that|tell them that|convince|mislead|"
        r"do the opposite|refuse|recommend|reply (?:only )?with|respond (?:only )?with)\b(?!.{0,60}\b(?:api|endpoint|server|http [45]|status|json|handler|page)\b)",
        also="pretend· lie·claim·deny·insist·ignore·answer that·say that·tell them·convince·mislead·opposite·"
        "refuse·recommend· with",
    ),
    Sign(
        SHELL,
        1,
        "nc ·bash -c·sh -c·python -c·python3 -c·iwr·irm·curl·wget·rm -rf·eval·base64·| sh·|sh·| bash·powershell·nc -·chmod",
        r"\b(?:curl|wget|iwr|irm)\b[^\n]{0,160}\|\s*(?:sudo )?(?:ba|z|da)?sh\b|\bbase64 (?:-d|--decode)\b[^\n]{0,80}\|"
        r"|\brm -rf? (?:~|/|\$home)|\beval\b.{0,20}\$\(|\bnc -e\b|\bpowershell\b.{0,40}-enc"
        r"|\b(?:run|execute)\W{1,3}(?:curl|wget|nc|bash -c|sh -c|python3? -c|powershell)\b",
    ),
    Sign(
        ACT,
        2,
        "this memory·this note·if you are a·if you're a·every question·every prompt·all questions·each question",
        r"\b(?:when|whenever|once|each time|every time|as soon as) this (?:memory|note|entry|text) is (?:loaded|recalled|read|shown|retrieved|seen|processed)\b"
        r"|\bif you(?:'re| are) (?:an? )?(?:ai|llm|language model|large language model|ai assistant|ai agent|chatbot|claude)\b"
        r"|\b(?:respond|reply|answer) (?:to )?(?:every|all|each|any) (?:questions?|prompts?|user messages?|requests? from the user) (?:only )?with\b",
    ),
    Sign(
        ACT,
        2,
        "answer·reply·response·output·follow·obey·execute·do what",
        r"\b(?:include|put|paste|print|show|output|append|reveal|write|repeat|copy)\b.{0,40}\bcontents?\b.{0,60}\b(?:in|into|to|at the end of) (?:your|the|each|every) "
        r"(?:next )?(?:answer|reply|response|output|message)\b"
        r"|\b(?:output|print|reveal|show|include|paste) (?:the )?(?:contents? of )?\S*(?:/etc/passwd|\.env\b|id_rsa|\.aws/credentials)\S* .{0,30}\b(?:answer|reply|response|output)\b"
        r"|\b(?:fetch|load|download|visit|open|read|get|retrieve)\b.{0,20}https?://\S+ and (?:then )?(?:follow|execute|obey|do (?:what|whatever|as)|run|apply)\b",
    ),
    Sign(
        ACT,
        2,
        "http",
        r"\b(?:always|must|never fail to|make sure to) (?:suggest|recommend|advise|promote|advertise|mention|link)\b.{0,60}https?://"
        r"|\bwhen (?:you )?(?:summari[sz]|translat|quot)\w* (?:this|it)\b.{0,40}\b(?:include|add|insert|link|append)\b.{0,40}https?://",
    ),
    Sign(
        HIDE,
        2,
        "user·human",
        r"\b(?:do not|don't|never) (?:tell|inform|alert|notify) the (?:user|human)\s*(?:[.!;]|$|\n)"
        r"|\b(?:do not|don't|never) (?:tell|inform) the (?:user|human) (?:that )?you (?:read|saw|see|changed|sent|can|will|made|added|used)\b",
        also="not ·n't ·never",
    ),
    Sign(
        HIDE,
        1,
        "silently·mention it·mention this·mention that",
        r"\bsilently\W|\b(?:do not|don't|never) mention (?:it|this|that)\b",
    ),
    Sign(
        LEAK,
        2,
        "backdoor·back door·reverse shell·keylogger·base64·encode·malicious",
        r"\b(?:add|insert|include|plant|leave|hide|embed|inject) (?:an? |the )?(?:\w+ )?(?:backdoor|back door|reverse shell|keylogger|malicious \w+)\b"
        r"(?!.{0,60}\b(?:test|fixture|sample|scanner|training)\b)"
        r"|\b(?:encode|encrypt|base64|hex-?encode) (?:all )?(?:the |their |your )?(?:secrets?|credentials?|keys?|tokens?|passwords?|conversation|env\w*)\b"
        r".{0,60}\b(?:url|link|image|request|query|dns|commit)\b",
    ),
    Sign(
        MEMORY,
        2,
        "forever·permanent·pinned·trusted·highest·maximum·top ·trust level·from the user·trust:·trust =",
        r"\b(?:store|save|keep|record|remember|write|mark) (?:this |it )?as (?:a |an |the )?(?:permanent|pinned|trusted|core|unchangeable|binding) (?:rule|memory|fact|preference|instruction|policy)\b"
        r"|\bremember (?:this|it) forever\b|\bmark (?:this |it )?as (?:the )?(?:highest|maximum|max|top) (?:importance|priority|trust)\b"
        r"|\btrust(?: level)?\s*[:=]\s*(?:max\w*|full|highest|absolute|root)\b"
        r"|\btreat (?:text|content|messages?|anything|everything|instructions?|output)s? (?:from|in|on|at) .{1,40} as (?:if |though )?(?:it |they )?"
        r"(?:coming|came|were|was|being|is)?\s?(?:from|by|written by|said by) the (?:user|human|developer)\b",
    ),
    Sign(
        PERMISSION,
        2,
        "approved·authori·allowed·permi·granted·agreed·consent",
        r"\b(?:all|any|every) (?:\w+ )?(?:commands?|tools?|tool calls?|actions?|operations?|permission prompts?) (?:are|is|have been|has been|were) "
        r"(?:already |hereby )?(?:pre-?)?(?:approved|authori[sz]ed|allowed|permitted|granted) by the (?:user|human|owner|developer)\b"
        r"|\bpermission (?:has been |is )?granted\s*[:,.!-]\s*you (?:may|can|are)\b"
        r"|\b(?:the assistant|the ai|the agent|claude|you) (?:has|have|is|are) (?:been |now )?(?:authori[sz]ed|granted|allowed|permitted|cleared) to "
        r"(?:bypass|skip|ignore|disable|override)\b.{0,30}\b(?:permission|approval|confirmation|safety|restriction|rule|prompt)"
        r"|\bno (?:confirmation|approval|permission) (?:is )?(?:needed|required|necessary)\b.{0,60}\bthe (?:user|human|owner) (?:has )?(?:already )?(?:agreed|approved|consented|said)",
    ),
    Sign(
        PERMISSION,
        1,
        "bash(*)·permissions.allow·defaultmode·allow list·allowlist",
        r"\b(?:add|set|put|write|change)\b.{0,40}(?:bash\(\*\)|permissions\.allow|defaultmode|allow ?list)",
    ),
    Sign(
        ACT,
        2,
        "reading this·read this·processing this·this link·http·this note·this memory",
        r"\bas an? (?:ai|llm|assistant|agent|language model)(?: \w+)? (?:reading|processing|seeing|that reads) (?:this|the following)\b"
        r"|\b(?:once|after|when|now that) you(?:'ve| have) (?:read|seen|loaded|recalled) this\b"
        r"|\b(?:every|each|all|any|your) (?:answers?|repl(?:y|ies)|responses?) (?:must|should|has to|have to|shall|will) (?:contain|include|end with|begin with|mention|link)\b.{0,40}"
        r"(?:https?://|this (?:link|url|phrase|text))",
    ),
    Sign(
        HIDE,
        2,
        "user·human",
        r"\b(?:do not|don't|never) let the (?:user|human) (?:know|notice|find out|realize|realise|learn|suspect)\b"
        r"|\bthe (?:user|human) (?:must|should|may|shall|can) (?:not|never) (?:find out|know|notice|learn|discover|be told|realize|realise|suspect)\b"
        r"|\bwithout the (?:user|human)(?:'s)? (?:knowing|knowledge|noticing|consent)\b",
    ),
    Sign(
        TRIGGER,
        1,
        "next session·next conversation·next chat·future session·future conversation·new session·new conversation",
        r"\b(?:from|in|at|starting|for|on|during)? ?(?:the |your |every |each |all |any )?(?:next|future|new) (?:session|conversation|chat)s?\b",
    ),
    Sign(
        TRIGGER,
        2,
        "review·approv·merge",
        r"\b(?:when|whenever|if|each time|every time) (?:the user|someone|somebody|anyone|anybody|a user|they|you are)\b.{0,40}\b(?:approve|merge|accept) (?:it|them|everything|all)\b"
        r".{0,30}\b(?:without (?:reading|looking|checking|review)|immediately|blindly|regardless)\b",
    ),
)
