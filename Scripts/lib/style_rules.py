"""The rules of docs/Style.md that a program can check, each a pattern over a passage of prose.

They look for habits, not for sentences: who acts is not named, a clause stands where a noun would
do, the subject comes late. """

import re
from dataclasses import dataclass

MOST_WORDS = 35

# A form of a verb that follows "what" or "whatever" as its subject.
VERB = (
    r"(?:is|are|was|were|has|have|had|can|cannot|could|may|might|must|will|would|should|does|did|do not|"
    r"comes?|came|goes|went|stays?|stands?|stood|arrives?|arrived|remains?|remained|exists?|existed|fits?|fails?|failed|"
    r"belongs?|changes?|changed|follows?|followed|needs?|makes?|made|takes?|took|gets?|got|ends?|ended|begins?|began|"
    r"keeps?|kept|lies|lay|lacks?|differs?|differed|matters?|counts?|costs?|holds?|held|sends?|says?|said|reads?|writes?)"
)


@dataclass(frozen=True)
class Rule:
    """A habit, and what to write instead."""

    name: str
    pattern: re.Pattern
    advice: str
    kinds: tuple = ()
    exempt: re.Pattern | None = None

    def found(self, passage):
        """The words that show the habit, if the passage has it."""
        if self.kinds and passage.kind not in self.kinds:
            return None
        text = self.exempt.sub("INDIRECT", passage.text) if self.exempt else passage.text
        match = self.pattern.search(text)
        return match.group(0).strip() if match else None


def rule(name, pattern, advice, kinds=(), flags=re.IGNORECASE, exempt=None):
    return Rule(name, re.compile(pattern, flags), advice, kinds, exempt)


INDIRECT_QUESTION = re.compile(
    r"\b(?:see|sees|show|shows|check|checks|learn|learns|explain|explains|describe|describes) what\b",
    re.IGNORECASE,
)
"""Verbs after which a clause with "what" is the plain way to say it."""

START = r"(?:^|[.!?:;] |\(|— |, (?:and|but|or|so) )"

RULES = [
    rule(
        "unnamed actor",
        r"\b(?:who(?:m|se|)(?:so)?ever|(?:some|any|every|no)body|someone|no one)\b(?!-)|"
        + START + r"One (?:does|may|can|cannot|must|should|would)\b",
        "name who acts: the user, the sender, a program, another process",
    ),
    rule(
        "unnamed thing",
        r"\b(?:whatever|whichever|whatsoever)\b",
        "name the thing: every file, any reason",
    ),
    rule(
        "clause as subject",
        START + r"(?:[Ww]hat (?!(?:to|about|if|happens|counts)\b)|[Ww]ho (?!is\b)|That (?:it|the|an?|this|there|they|its) )[^?]*$",
        "begin with a noun: the file that …, the reason for …",
        kinds=("paragraph", "cell", "comment", "message", "name"),
        flags=0,
    ),
    rule(
        "clause for a noun",
        r"\bwhat " + VERB + r"\b(?!\?)|\b(?:as|of|than|upon|behind|except) what\b(?! (?:to|if)\b)|\b(?:that|those) which\b",
        "use the noun: the rest, the remaining files, the result",
        exempt=INDIRECT_QUESTION,
    ),
    rule(
        "no subject",
        r"\bit (?:is|was|has been|had been|can be|must be) (?:not |never |also |only |then )?(?:said|told|known|named|asked|wanted|"
        r"shown|seen|found|found out|decided|clear|looked|noticed|written|expected) (?:that|whether|where|how|what|which|who|why|so|"
        r"for whom|at once more)\b|"
        r"\bit (?:is|was) (?:not |never )?(?:asked|looked|waited|listened) for\b|"
        r"\b(?:not|nothing|never|cannot|hard|easy) to be \w+",
        "say who says, knows or decides it",
    ),
    rule(
        "empty pronoun",
        r"\b(?:the|that) ones? (?:that|which|who|of|in|on|from)\b|\b(?:is|are) one too\b|\bsuch (?:a|an) one\b|\bthe (?:former|latter)\b",
        "repeat the noun",
    ),
    rule(
        "inverted sentence",
        START + r"(?:Of (?!course\b)|(?:Nor|Neither|So|Such|Thus|Hence|Thereof|Thereby|Therein|Nowhere|Never|Only then|Not until) "
        r"(?!(?:that|far|long|much|many|as)\b)(?:[a-z]+ ){0,5}?(?:is|are|was|were|does|do|did|has|have|can|may|must|goes|stays)\b)|"
        + START + r"(?:(?:To|For|By|From|With|In|Of) (?:whom|which)\b[^?]*$|Not (?:before|once|even|for)\b|"
        r"Only (?:where|when|if|after|by|then|in|with)\b[^.,;]* (?:does|do|did) |(?:Had|Were|Should) (?:it|he|she|they|the|an?|this|one)\b[^?]*$|"
        r"(?:No more|No less|No fewer|As many as are|As much as is) (?:is|are|was|were|[a-z]+ed)\b)|, (?:and )?should (?:it|they|the|an?|this) ",
        "begin with the subject, then the verb",
        flags=0,
    ),
    rule(
        "late verb",
        START + r"(?:(?:Where|How|When) (?:an?|the|it) [a-z]+ [a-z]+s (?:is|are)\b(?! not\b)[^,?]*$|"
        r"Whether [^.?]*, (?:only )?(?:the|its|an?|this|that) [a-z]+ (?:says?|tells?|decides?|knows?)\b|"
        r"No [a-z]+ [a-z]+s that (?:has|have|is|was|does))|"
        r"\b(?:is|are|was|were) of (?:an?|another|its|that|this|no) (?!kind\b)[a-z]+(?: [a-z]+)?\b",
        "say it with a subject, a verb and an object in this order",
    ),
    rule(
        "no verb's subject",
        r"(?:^|[:;] )(?:[Ii]s|[Ww]as|[Ww]ere|[Aa]re|[Hh]as been) (?:not |no |never )?[a-z]+(?:ed|en|wn|ld|de|nt)\b[^?]*$",
        "say who did it",
        kinds=("paragraph",),
        flags=0,
    ),
    rule(
        "but for except",
        r"\b(?:nothing|none|no|all|any(?:thing)?|everything|never|nowhere|each|every)\b[^.;:,()]{0,60}? but (?!also\b|not\b|it\b|is\b|was\b)",
        "write only, except or other than",
    ),
    rule(
        "hidden default",
        r"\bwithout (?:it|the option|this option|one)\s*:|\bunless (?:told|said|asked|chosen) otherwise\b|\bthis is what happens without\b|"
        r"\bif nothing is said\b|\bunless chosen\b",
        "write (default: 10m)",
    ),
    rule(
        "picture for a word",
        r"\b(?:mend(?:s|ed|ing)?|bears?|bore|gets? company|at sight|for ever|brings? about|comes? to nothing|"
        r"takes? (?:its|their|the) place|stands? (?:in|at|on|before|behind|beside|beneath|there|by itself)|"
        r"is over|beneath|has to do with)\b",
        "use the plain word: fix, keep, replace, below, is, ends",
    ),
    rule(
        "old word",
        r"\b(?:hence|whence|thereof|thereby|therein|thereto|whereby|wherein|whereupon|lest|albeit|save for|withal|at home|at fault|for want of)\b",
        "use a word of today: so, of it, in which, for fear that, except",
    ),
    rule(
        "empty continuation",
        r"\b(?:goes|go|going|went|gone) on\b(?! (?:to|the)\b)",
        "write continues, resumes or proceeds",
    ),
    rule(
        "passive with that",
        r"\b(?:is|are|was|were) (?:said|told|named|asked) (?:so|of|whether|how|what|that)\b",
        "say who tells whom: the sender names each file",
    ),
]


def long_sentences(text):
    """The sentences that have too many words."""
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`(]|peer )", text):
        if len(sentence.split()) > MOST_WORDS:
            yield sentence


def findings(passage):
    """What the rules find in a passage: pairs of a rule's name with its advice, and the words."""
    for each in RULES:
        words = each.found(passage)
        if words:
            yield each.name, each.advice, words
    if passage.kind not in ("cell", "name") and not passage.text.lower().startswith("usage:"):
        for sentence in long_sentences(passage.text):
            yield "long sentence", f"at most {MOST_WORDS} words", " ".join(sentence.split()[:6]) + " …"
