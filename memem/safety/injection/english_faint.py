"""Further signs in English: rarer words for the same, and faint ones, which count beside another."""

from memem.safety.injection.judge import (
    ACT,
    ADDRESS,
    HIDE,
    LEAK,
    MEMORY,
    OVERRIDE,
    PERMISSION,
    PERSONA,
    TRIGGER,
    TURN,
    Sign,
)

FAINT: tuple[Sign, ...] = (
    Sign(
        ADDRESS,
        1,
        "your ·on you·yourself·you were·you always·you never·you work",
        r"\byour (?:instructions?|rules|guidelines|safety|guardrails?|constraints?|training|creators?|system prompt)\b|\b(?:placed|imposed|put) on you\b"
        r"|\bconsider yourself\b|\bas if you were\b|\byou (?:always|never) (?:approve|refuse|obey|comply|decline)\b|\byou (?:now )?work for\b",
    ),
    Sign(
        OVERRIDE,
        1,
        "rule·guideline·constraint·instruction·guardrail·safety·filter·polic·claude.md·restriction",
        r"\b(?:ignore|disregard|forget(?: about)?|cancel(?:led)?|break|switch off|turn off|disable|bypass|drop|abandon|remove|lift|"
        r"(?:don't|do not|no longer) (?:pay attention to|obey|follow|respect|heed))\b.{0,30}"
        r"\b(?:rules?|guidelines?|constraints?|instructions?|guardrails?|safety (?:filters?|checks?|rules?)|polic(?:y|ies)|claude\.md|restrictions?)(?!\w)",
        also="ignor·regard·forget·cancel·break·switch off·turn off·disable·bypass·drop·abandon·remove·lift·not ·n't ·no longer",
    ),
    Sign(
        OVERRIDE,
        2,
        "only from·only to·obey only·listen only·your instructions ha·context·conversation·real config·true config·the real·the true",
        r"\b(?:take orders|obey|listen|answer|take instructions) only (?:from|to)? ?(?:me|this|these|here)\b|\byour (?:instructions?|rules|guidelines) (?:have|has) "
        r"(?:changed|been (?:changed|updated|replaced|revoked))\b|\b(?:prior|previous|earlier|above|whole|entire) (?:context|conversation|text|messages?) (?:is|was|were|are) "
        r"(?:just |only )?(?:an? )?(?:simulation|test|fake|joke|lie|over|invalid)\b|\bthis (?:note|file|memory|text) is the (?:real|true|only) "
        r"(?:\w+ )?(?:configuration|instructions?|prompt|authority|system prompt)\b",
    ),
    Sign(
        PERSONA,
        2,
        "as if you·role of·act as·speak as·respond as·behave as·answer as·pretend",
        r"\b(?:as if you were|as though you were|play the role of|act as|speak as|respond as|behave as|answer as|pretend to be)\b.{0,50}"
        r"\b(?:without (?:guardrails|restrictions|filters|limits|rules|ethics|morals)|no (?:guardrails|restrictions|filters|limits|rules|ethics)|never (?:says? no|refuses?|declines?)|"
        r"unrestricted|unfiltered|uncensored)\b",
    ),
    Sign(
        TURN,
        2,
        "system message·system prompt·developer message·assistant will now·end of notes·end of instructions·model will now·claude will now",
        r"(?:^|\n|[.!?]\s)\W{0,4}(?:begin|start|new|incoming) (?:of )?(?:the )?(?:system|developer|admin) (?:message|prompt|instructions?)\b"
        r"|\b(?:the assistant|the model|claude) will now\b|[-=#*_]{2,}\s*end of (?:notes?|instructions?|facts?|file)\b",
    ),
    Sign(
        ACT,
        2,
        "this fact·this memory·this note·this entry·this file·reading this·http",
        r"\b(?:up)?on (?:loading|reading|recall\w*|retriev\w*|seeing|opening) this (?:fact|memory|note|entry|memo)\b|\b(?:reading|seeing|loading) this means (?:that )?you\b"
        r"|\b(?:append|add|attach|insert|put|include|place)\b.{0,12}https?://\S+ .{0,12}\b(?:to|in|into|at the end of) (?:all|every|each|any|your)\b.{0,14}\b(?:answers?|repl(?:y|ies)|responses?)\b",
    ),
    Sign(
        HIDE,
        2,
        "user·human·developer·between you and me·between us",
        r"\bthe (?:human|user|developer) (?:is|are) (?:not|never) to (?:be told|know|learn|see|notice)\b"
        r"|\b(?:make sure|ensure|see to it)(?: that)? the (?:user|human|developer) (?:never|does not|doesn't|will not) (?:learn|know|notice|find|realize|realise|hear)\b"
        r"|\b(?:stays?|remains?|is) between (?:you and me|us)\b",
    ),
    Sign(
        LEAK,
        2,
        "environment variables·env vars·.netrc·.env·id_rsa·credentials·secrets·.ssh·api keys",
        r"(?:^|\n|[.!?:,]\s|\b(?:and|then|please|must) )\W{0,3}(?:dump|transmit|share|paste|publish|leak|exfiltrate|smuggle|beam)\b.{0,30}(?:environment variables|env vars|\.netrc|\.env\b|id_rsa|"
        r"credentials|secrets|\.ssh|api keys).{0,40}(?:\bgist\b|pastebin|https?://|\blink\b|webhook)",
    ),
    Sign(
        MEMORY,
        2,
        "memory·memories",
        r"\bwrite (?:in)?to (?:your |the )?memory that\b|\bgive this (?:memory|note|entry) (?:the )?(?:highest|maximum|top|full)\b"
        r"|\boverwrite (?:the |all |your )?(?:existing|other|old|previous)? ?memories\b",
    ),
    Sign(
        PERMISSION,
        2,
        "yourself·yes to·confirmation·permission·approval",
        r"\b(?:consider|regard|count) yourself (?:as )?(?:fully )?(?:authori[sz]ed|allowed|permitted|approved|root|free to)\b|\b(?:said|says|answered|clicked) yes to (?:all|every|any) "
        r"(?:\w+ )?(?:permission|approval|prompt|tool|request)s?\b|\b(?:skip|accept|dismiss|confirm|ignore) (?:all )?(?:the )?(?:confirmation|permission|approval) "
        r"(?:dialogs?|prompts?|requests?)\b.{0,10}\b(?:have|has|are|were) (?:already )?(?:been )?(?:accepted|approved|confirmed|granted)\b",
    ),
    Sign(
        TRIGGER,
        2,
        "the moment·as soon as·once the·after the",
        r"\b(?:the moment|as soon as|once|after) the (?:user|human) (?:says|asks|mentions|types|requests|writes)\b.{0,60}[,:]\s*(?:always |secretly )?(?:answer|claim|say|tell (?:them|him|her)|pretend|insist|reply|lie)\b"
        r"(?!.{0,60}\b(?:api|endpoint|server|status|json|handler|page)\b)",
    ),
)
