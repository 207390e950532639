"""The same signs in other languages. Latin letters stand here without accents, as in folded text."""

from memem.gate.sign import ACT, HIDE, LEAK, MEMORY, OVERRIDE, PERMISSION, PERSONA, TRIGGER, TURN, Sign

TONGUES: tuple[Sign, ...] = (
    # Chinese, in both scripts
    Sign(
        OVERRIDE,
        2,
        "忽略·无视·無視·忘记·忘記·忘掉·不要理会·不要遵·抛弃·不再遵·覆盖·撇开·放弃·拋棄·不必遵",
        r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会|不要遵守|不要遵循|抛弃|拋棄|不再遵守|不再遵循|不必遵守|覆盖|撇开|放弃)[^。\n]{0,8}"
        r"(?:之前|以前|上面|上述|先前|前面|此前|以上|系统|系統|你的|你收到|原来|原來|最初)[^。\n]{0,10}"
        r"(?:指令|指示|提示词|提示詞|提示|命令|规则|規則|要求|设定|設定|约束|約束|限制|内容|內容)(?![^。\n]{0,6}(?:文件|文档|章节))"
        r"|(?:忽略|无视|無視|忘记|忘記|忘掉)(?:你)?(?:所有|一切|全部)(?:的)?(?:指令|指示|提示词|提示詞|限制|命令)",
    ),
    Sign(
        PERSONA,
        2,
        "你现在是·你現在是·从现在·從現在·你将扮演·扮演",
        r"你(?:现在|現在)是(?:一个|一個|一名|没有|沒有|不受)|(?:从现在|從現在)(?:起|开始|開始)[,，]?你(?:是|就是|将|將|要扮演|必须|必須|不再)|扮演一?(?:个|個|名)?(?:没有|沒有|不受|无)[^。\n]{0,6}限制",
    ),
    Sign(
        HIDE,
        2,
        "不要告诉·不要告訴·别告诉·別告訴·不要让用户·不要讓·瞒着·瞞著",
        r"(?:不要|别|別)(?:告诉|告訴)(?:用户|用戶|使用者|任何人)(?:这|這|此|你|有关|關於|[。,，\n]|$)|不要(?:让|讓)(?:用户|用戶|使用者)(?:知道|发现|發現)(?:这|這|你|此|[。,，\n]|$)|瞒着用户",
    ),
    Sign(
        PERMISSION,
        2,
        "批准·授权·授權·同意·允许",
        r"(?:用户|用戶|使用者)(?:已经|已經|已)?(?:批准|授权|授權|同意|允许|允許)(?:了)?(?:你)?(?:执行|執行)?(?:所有|全部|一切|任何)[^。\n]{0,8}(?:工具|命令|操作|调用|調用|请求|請求|执行|執行)",
    ),
    Sign(
        ACT,
        2,
        "读到·讀到·看到这条·看到這條·阅读此·读取此·讀取此",
        r"(?:当|當)?你?(?:读到|讀到|看到|阅读|读取|讀取)(?:这|這|此|本)(?:条|條|段|则|則)?(?:记忆|記憶|笔记|筆記|内容|內容|文字|消息)?(?:时|時|后|後)[,，]?[^。\n]{0,12}(?:运行|執行|执行|发送|發送|请|請|必须|必須|立即|访问|訪問|下载|打开|回复|回答)",
    ),
    # Japanese
    Sign(
        OVERRIDE,
        2,
        "無視·忘れ·破棄·従わ·上書き",
        r"(?:これまで|以前|上記|前|先|今まで|いままで|すべて|全て|全部|システム|元|最初|あなた)(?:まで)?の[^。\n]{0,12}"
        r"(?:指示|命令|プロンプト|指令|ガイドライン|制約|ルール)[^。\n]{0,8}(?:無視し(?:て|ろ|なさい)|無視せよ|忘れ(?:て|ろ|なさい)|破棄し(?:て|ろ)|従わないで|従うな|上書きし(?:て|ろ))",
    ),
    Sign(
        PERSONA,
        2,
        "あなたは今から·今からあなた·これからあなた·あなたはもう·あなたはこれから·制限のない",
        r"(?:今から|これから)あなたは|あなたは(?:今から|これから|もう)[^。\n]{0,30}(?:です|なり|ではありません|だ)|制限のない(?:ai|アシスタント)",
    ),
    Sign(
        HIDE,
        2,
        "ユーザー·使用者",
        r"(?:ユーザー|ユーザ|使用者|利用者)に(?:は)?(?:この(?:こと|指示|メモ)?を?)?(?:言わないで|伝えないで|知らせないで|教えないで|話さないで|秘密にし|言うな|知らせるな|伝えるな|隠し)",
    ),
    Sign(
        PERMISSION,
        2,
        "承認·許可·同意",
        r"(?:ユーザー|ユーザ|利用者)は[^。\n]{0,8}(?:すべて|全て|あらゆる)の?[^。\n]{0,14}(?:承認|許可|同意)(?:しま|し|済|しています)",
    ),
    Sign(
        ACT,
        2,
        "読んだら·読んだとき·読み込んだ·見たら",
        r"(?:これ|この(?:メモ|記憶|文|メッセージ|ノート))を(?:読んだら|読んだとき|読み込んだら|見たら|読んだ場合)[^。\n]{0,60}(?:実行|送信|送って|開いて|ください|せよ|しろ|アクセス|ダウンロード)",
    ),
    # Korean
    Sign(
        OVERRIDE,
        2,
        "무시·잊·따르지·버려·버리",
        r"(?:이전|위의?|앞선|앞의|기존|지금까지|시스템|처음|너의|당신의|모든)[^.\n]{0,14}(?:지시|지시사항|명령|프롬프트|지침|제한|규칙)[^.\n]{0,8}"
        r"(?:무시하(?:고|세요|라|십시오)|무시해|잊어|잊으|따르지 ?마|따르지 ?말|버려|버리)",
    ),
    Sign(
        PERSONA,
        2,
        "이제부터·지금부터·이제 너는·이제 당신은",
        r"(?:이제부터|지금부터),? ?(?:너는|당신은|넌)|이제 (?:너는|당신은|넌) [^.\n]{0,30}(?:이다|입니다|야|이야)",
    ),
    Sign(
        HIDE,
        2,
        "사용자",
        r"사용자(?:에게|한테)(?:는)? ?(?:이 ?(?:사실|내용|지시|것)을? ?|절대 ?|이를 ?)?(?:말하지|알리지|알려주지|언급하지|이야기하지) ?(?:마|말)",
    ),
    Sign(
        PERMISSION,
        2,
        "승인·허가·허락·동의",
        r"사용자(?:가|는) ?(?:이미 ?)?(?:모든|전체)[^.\n]{0,14}(?:승인|허가|허락|동의)(?:했|하였|함|한)",
    ),
    Sign(
        ACT,
        2,
        "읽으면·보면·읽을 때·읽었다면",
        r"(?:이것을|이걸|이 ?(?:메모|기억|글|메시지|노트)를?) ?(?:읽으면|보면|읽을 때|읽었다면)[^.\n]{0,60}(?:실행|전송|보내|열어|하세요|하라|접속|다운로드)",
    ),
    # Russian
    Sign(
        OVERRIDE,
        2,
        "игнорир·забуд·не обращ·отброс·не следу·отмен·пренебре·не выполня·не соблюда",
        r"(?:(?:про)?игнорируй(?:те)?|забудь(?:те)?|не обращай(?:те)? внимания на|отбрось(?:те)?|не следуй(?:те)?|отмени(?:те)?|пренебреги(?:те)?|"
        r"не выполняй(?:те)?|не соблюдай(?:те)?)[^.\n]{0,30}(?:предыдущ|прежн|прошл|выше|ранее|системн|свои|твои|ваши|полученн|изначальн|все инструкц|все указани|все ограничени)"
        r"[^.\n]{0,25}(?:инструкци|указани|команд|правил|промпт|запрос|ограничени|сообщени)?\w*",
    ),
    Sign(
        PERSONA,
        2,
        "теперь ты·ты теперь·отныне·вы теперь·теперь вы",
        r"(?:теперь (?:ты|вы)|(?:ты|вы) теперь|отныне (?:ты|вы)|с этого момента (?:ты|вы))\s*[—–-]?\s*(?:не |больше не |будешь |свободн|неогранич|злой|хакер|другой|ассистент|модель|dan|бот)",
    ),
    Sign(
        HIDE,
        2,
        "пользовател",
        r"не (?:говори|сообщай|рассказывай|упоминай|раскрывай|показывай)(?:те)?\s+(?:(?:об этом|это|ничего|этого)\s+пользовател|пользовател\w+\s+(?:об этом|о том|ничего|про это|это))|втайне от пользовател",
    ),
    Sign(
        PERMISSION,
        2,
        "одобрил·разрешил·подтвердил·согласился",
        r"пользовател\w+ (?:уже |заранее )?(?:одобрил|разрешил|подтвердил|согласился на|дал разрешение на)\w* (?:все|любые|всё|выполнение)",
    ),
    Sign(
        ACT,
        2,
        "прочита·прочтёш·прочтеш·увидишь это·читаешь это",
        r"когда (?:ты |вы )?(?:прочита\w+|прочт\w+|увид\w+|чита\w+) (?:это|эту|данн)\w*(?: \w+)?,? [^.\n]{0,40}(?:выполн|отправ|запуст|откро|скача|ответ|сделай|удали)",
    ),
    # German
    Sign(
        OVERRIDE,
        2,
        "ignorier·vergiss·vergess·missacht·beacht·verwirf·uberschreib·folge·setz·befolg",
        r"(?:ignorier\w*|vergiss|vergessen sie|missacht\w*|verwirf|uberschreib\w*|befolge?n? (?:sie )?nicht|beachte?n? (?:sie )?nicht|folge nicht(?: mehr)?)"
        r"[^.\n]{0,20}\b(?:vorherig|bisherig|vorangegangen|vorangehend|obig|fruher|vorig|ursprunglich|deine|ihre|system|zuvor)\w*"
        r"[^.\n]{0,24}(?:anweisung|instruktion|befehl|vorgabe|prompt|richtlinie|regel|nachricht)\w*(?! (?:in|aus|im) (?:der |dem )?(?:readme|doku|wiki|datei|[\w./-]+\.\w))",
    ),
    Sign(
        PERSONA,
        2,
        "du bist·sie sind·ab jetzt·ab sofort",
        r"(?:du bist|sie sind) (?:jetzt|nun|ab jetzt|ab sofort|von nun an) (?:ein|eine|kein|keine|frei|nicht mehr|ohne|der|die)\b|(?:ab jetzt|ab sofort|von nun an) bist du\b",
    ),
    Sign(
        HIDE,
        2,
        "nutzer·benutzer·anwender",
        r"(?:sag\w*|erzahl\w*|verrat\w*|teil\w*|erwahn\w*) (?:es |das |dies |davon |sie |dem )*(?:nutzer|benutzer|anwender)\w* (?:nichts|nicht\b.{0,12}(?:davon|dass|mit)|davon nichts|kein wort|hiervon)|(?:ohne|nicht) .{0,12}(?:nutzer|benutzer|anwender)\w* (?:davon zu erzahlen|etwas zu sagen)",
    ),
    Sign(
        PERMISSION,
        2,
        "genehmigt·freigegeben·erlaubt·zugestimmt",
        r"der (?:nutzer|benutzer|anwender) hat (?:bereits |schon )?(?:alle|allen|jede|jeden|samtliche)\w* [^.\n]{0,40}(?:genehmigt|freigegeben|erlaubt|zugestimmt)",
    ),
    Sign(
        ACT,
        2,
        "liest",
        r"(?:wenn|sobald) (?:du|sie) (?:das|dies|diese \w+|diesen \w+)(?: hier)? (?:liest|lesen)\b,? [^.\n]{0,60}(?:sende|fuhre|schick|offne|lade|losch|antworte|starte|ruf)",
    ),
    # French
    Sign(
        OVERRIDE,
        2,
        "ignor·oubli·pas compte·neglig·abstraction·caso·suis plus·suivez plus",
        r"(?:ignor(?:e|ez|er|es)|oubli(?:e|ez|er)|ne (?:tenez|tiens) pas compte|neglig(?:e|ez)|(?:fais|faites) abstraction|ne (?:suis|suivez) plus)[^.\n]{0,14}"
        r"(?:(?:instruction|consigne|directive|regle|ordre|prompt|message|indication)s?[^.\n]{0,18}(?:precedent|anterieur|ci-dessus|plus haut|initiale|systeme|recu|donnee)\w*"
        r"|(?:precedent|anterieur)\w* (?:instruction|consigne|directive)s?|toutes (?:tes|vos) (?:instruction|consigne|directive|regle)s?)",
    ),
    Sign(
        PERSONA,
        2,
        "tu es maintenant·tu es desormais·vous etes maintenant·vous etes desormais·desormais",
        r"(?:tu es|vous etes) (?:maintenant|desormais) (?:un|une|sans|libre)\b|(?:desormais|a partir de maintenant),? (?:tu es|vous etes|tu seras) (?:un|une|sans|libre)\b",
    ),
    Sign(
        HIDE,
        2,
        "utilisateur",
        r"ne (?:dis|dites|mentionne|mentionnez|revele|revelez|parle|parlez|le dis|le dites) (?:rien|pas(?: de)? (?:cela|ceci|ca|cette \w+)|jamais (?:cela|ceci))[^.\n]{0,12} a l.utilisateur|a l.insu de l.utilisateur",
    ),
    Sign(
        PERMISSION,
        2,
        "approuve·autorise·valide·accepte",
        r"l.utilisateur a (?:deja )?(?:approuve|autorise|valide|accepte) (?:tous|toutes)\b[^.\n]{0,30}(?:outil|commande|action|appel|operation)",
    ),
    Sign(
        ACT,
        2,
        "lis ·lisez·lis,",
        r"(?:quand|lorsque|des que) (?:tu lis|vous lisez) (?:ceci|cela|ca|cette \w+|ce \w+),? [^.\n]{0,60}(?:envoi|execut|ouvr|telecharg|supprim|repond|lance)",
    ),
    # Spanish
    Sign(
        OVERRIDE,
        2,
        "ignor·olvid·caso omiso·no hag·descart·omit·no sigas",
        r"(?:ignor(?:a|e|en|ar|ad)|olvid(?:a|e|en|ar|ate de)|ha(?:z|ga) caso omiso (?:de|a)|no hag(?:a|as) caso (?:de|a)|descart(?:a|e)|omit(?:e|a)|no sigas)[^.\n]{0,14}"
        r"(?:(?:instruccion|indicacion|orden|regla|directiva|prompt|mensaje|directric)\w*[^.\n]{0,16}(?:anterior\w*|previ[oa]s?\b|de arriba|precedente|del sistema|inicial|recibid)"
        r"|(?:anteriores|previ[oa]s) (?:instruccion|indicacion|orden|directric)\w*|todas tus (?:instruccion|regla|directric)\w*)",
    ),
    Sign(
        PERSONA,
        2,
        "ahora eres·eres ahora·a partir de ahora·desde ahora",
        r"(?:ahora eres|eres ahora|a partir de ahora,? (?:eres|seras|actuas)|desde ahora,? (?:eres|seras)) (?:un|una|libre|como|el|la)\b",
    ),
    Sign(
        HIDE,
        2,
        "usuario",
        r"no (?:le )?(?:digas|diga|cuentes|menciones|reveles|informes|muestres) (?:nada|esto|de esto|nada de esto|sobre esto)[^.\n]{0,8} al? usuario|sin que el usuario (?:lo sepa|se entere|se de cuenta)",
    ),
    Sign(
        PERMISSION,
        2,
        "aprobado·autorizado·permitido·aceptado",
        r"el usuario (?:ya )?ha (?:aprobado|autorizado|permitido|aceptado) (?:todas|todos|cualquier)\b[^.\n]{0,30}(?:herramienta|comando|accion|llamada|operacion)",
    ),
    Sign(
        ACT,
        2,
        "leas·lea ",
        r"cuando (?:leas|lea) (?:esto|esta \w+|este \w+),? [^.\n]{0,60}(?:envi|ejecut|abr|descarg|borr|respond)",
    ),
    # Portuguese
    Sign(
        OVERRIDE,
        2,
        "ignor·esque·desconsider·descart·nao siga",
        r"(?:ignor(?:e|a|em|ar)|esque(?:ca|ce|cam)|desconsider(?:e|a|em)|descart(?:e|a)|nao siga)[^.\n]{0,14}"
        r"(?:(?:instruco|instruca|ordens|regra|comando|diretri|prompt|orientac|mensage)\w*[^.\n]{0,16}(?:anterior\w*|previ[oa]s?\b|acima|precedente|do sistema|inicia|recebid)"
        r"|(?:anteriores|previ[oa]s) (?:instruco|orde|regra|orientac)\w*|todas as suas (?:instruco|regra|diretri)\w*)",
    ),
    Sign(
        PERSONA,
        2,
        "agora voce·voce agora·a partir de agora",
        r"(?:agora voce e|voce agora e|a partir de agora,? voce (?:e|sera|vai ser|atua)) (?:um|uma|livre|o|a|como)\b",
    ),
    Sign(
        HIDE,
        2,
        "usuario·utilizador",
        r"nao (?:conte|diga|fale|mencione|revele|informe|mostre) (?:isso|isto|nada|nada disso|sobre isso)[^.\n]{0,8} ao? (?:usuario|utilizador)|sem que o (?:usuario|utilizador) saiba",
    ),
    Sign(
        PERMISSION,
        2,
        "aprovou·autorizou·permitiu·aceitou",
        r"o (?:usuario|utilizador) (?:ja )?(?:aprovou|autorizou|permitiu|aceitou) (?:todas|todos|qualquer)\b[^.\n]{0,30}(?:ferramenta|comando|ac|chamada|operac)",
    ),
    Sign(
        ACT,
        2,
        " ler ·leres· ler,",
        r"quando (?:voce )?(?:ler|leres) (?:isto|isso|esta \w+|este \w+|essa \w+),? [^.\n]{0,60}(?:envi|execut|abr|baix|apag|respond)",
    ),
    # Italian and Dutch, the commonest sign alone
    Sign(
        OVERRIDE,
        2,
        "ignora·dimentica·negeer·vergeet",
        r"(?:ignora|ignorate|dimentica|dimenticate)[^.\n]{0,14}(?:istruzion|indicazion|regol|direttiv|ordin|prompt)\w*[^.\n]{0,14}(?:precedent|anterior|sopra|del sistema|inizial)\w*"
        r"|(?:negeer|vergeet)[^.\n]{0,14}(?:vorige|eerdere|voorgaande|bovenstaande)[^.\n]{0,10}(?:instructie|aanwijzing|opdracht|prompt|regel)\w*",
    ),
    # Of several
    Sign(
        LEAK,
        1,
        "http·webhook",
        r"(?:发送|發送|上传|发给|傳送|送信|送って|アップロード|보내|전송|업로드|отправ|загруз|sende|schick|envoi|envie|envia|invia|stuur)[^\n]{0,60}(?:https?://|webhook)"
        r"|https?://\S{3,120}[^\n]{0,20}(?:发送|發送|送信|送って|보내|전송)",
    ),
    Sign(
        LEAK,
        1,
        ".env·id_rsa·密钥·密鑰·秘密鍵·パスワード·密码·키·парол·ключ·passwort·mot de passe·contrasena·senha·"
        "secret·credential",
        r"(?:发送|發送|送信|送って|보내|전송|отправ|sende|schick|envoi|envie|envia)[^\n]{0,40}(?:\.env|id_rsa|密钥|密鑰|秘密鍵|パスワード|密码|키|парол|ключ|passw|mots? de passe|contrasena|senha|secret|credential)"
        r"|(?:\.env|id_rsa|密钥|密鑰|秘密鍵|パスワード|密码)[^\n]{0,24}(?:发送|發送|送信|送って|보내|전송)",
    ),
    Sign(
        TRIGGER,
        1,
        "下次·次回·다음에·следующий раз·nachste mal·nachstes mal·prochaine fois·proxima vez·每当·聞かれたら",
        r"下次(?:用户|用戶|使用者)|每当用户|次回(?:ユーザ|利用者)|다음에 사용자|следующий раз,? когда пользовател|(?:das )?nachste mal,? wenn der (?:nutzer|benutzer)|"
        r"la prochaine fois que l.utilisateur|la proxima vez que el usuario|da proxima vez que o usuario",
    ),
    Sign(
        TURN,
        2,
        "系统提示·系統提示·系统指令·系统消息·システムプロンプト·システム指示·시스템 프롬프트·시스템 메시지·"
        "системное·systemanweisung·systemnachricht·message systeme·mensaje del sistema",
        r"(?:^|\n)\W{0,4}(?:系统提示|系統提示|系统指令|系统消息|システムプロンプト|システム指示|시스템 프롬프트|시스템 메시지|системное сообщение|systemanweisung|systemnachricht|"
        r"message (?:du )?systeme|mensaje del sistema)\W{0,3}[:：].{0,60}(?:你|あなた|너|당신|ты|вы|du|sie|tu|vous|忽略|無視|무시|игнорир|ignor)",
    ),
    Sign(
        MEMORY,
        2,
        "记忆·記憶·기억·памят·gedachtnis·memoire·memoria",
        r"(?:将此|把这|把此|將此|把這)(?:条|條|个)?[^。\n]{0,4}(?:标记|標記)为(?:人类|用户|可信|人類)|(?:этот|данный)\w* \w+ (?:как|отмет\w+ как) (?:доверенн|от пользовател)"
        r"|(?:此|这条|這條)(?:记忆|記憶)(?:优先|優先|覆盖|高于)|この記憶は[^。\n]{0,12}(?:優先|上書き)",
    ),
)
