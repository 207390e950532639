"""The same signs in German, French, Spanish, Portuguese, Italian and Dutch, without accents, as in folded text; and those
of several languages at once."""

from memem.safety.injection.judge import ACT, HIDE, LEAK, MEMORY, OVERRIDE, PERMISSION, PERSONA, TRIGGER, TURN, Sign

TONGUES: tuple[Sign, ...] = (
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
        r"ne (?:dis|dites|mentionne|mentionnez|revele|revelez|parle|parlez|le dis|le dites) (?:rien|pas(?: de)? (?:cela|ceci|ca|cette \w+)|jamais (?:cela|ceci|ca|cette \w+))[^.\n]{0,12} a l.utilisateur|a l.insu de l.utilisateur",
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
        r"|(?:anteriores|previ[oa]s) (?:instruccion|indicacion|orden|directric)\w*|(?:todas )?tus (?:instruccion|directric)\w*)",
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
        r"|(?:anteriores|previ[oa]s) (?:instruco|orde|regra|orientac)\w*|(?:todas as )?suas (?:instruco|diretri)\w*)",
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
    Sign(
        OVERRIDE,
        2,
        "vergiss alles·vergessen sie alles·oublie tout·oubliez tout·olvida todo·olvide todo·esqueca tudo·dimentica tutto",
        r"\b(?:vergiss|vergessen sie) alles\b.{0,10}\b(?:was|oben|bisher|vorher|davor)|\boubli(?:e|ez) tout ce qu|\bolvid[ae] todo lo (?:anterior|que (?:te|se|has))"
        r"|\besqueca tudo (?:o que|acima|antes)|\bdimentica tutto (?:cio|quello)",
    ),
    Sign(
        LEAK,
        2,
        ".env·id_rsa·.ssh·密钥·密鑰·秘密鍵·парол·секрет·passwor·passwort·mots de passe·contrasena·senha·secret",
        r"(?:发送|發送|上传|发给|傳送|отправ\w*|загруз\w*|sende\w*|schick\w*|lade\w*|envo(?:ie|yez|yer)|envi(?:a|e|ar|ad)|manda|invia|stuur)[^\n]{0,40}"
        r"(?:\.env|id_rsa|\.ssh|密钥|密鑰|парол|секрет|passwor|passwort|mots de passe|contrasena|senha|secret)[^\n]{0,40}(?:https?://|webhook|@\w+\.)"
        r"|(?:\.env|id_rsa|\.ssh|密钥|密鑰|秘密鍵|パスワード|密码)[^\n]{0,16}(?:发送|發送|上传|发给|送信|送って|보내|전송)[^\n]{0,16}https?://",
    ),
    Sign(
        ACT,
        2,
        "すべての回答·全ての回答·所有回答·每次回答·모든 답변",
        r"(?:すべて|全て)の回答[^。\n]{0,20}(?:リンク|https?://)|(?:所有|每次)回答[^。\n]{0,16}(?:链接|連結|https?://)|모든 답변[^.\n]{0,16}(?:링크|https?://)",
    ),
)
