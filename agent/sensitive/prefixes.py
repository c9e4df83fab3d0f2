"""The beginnings of tokens that their issuers made to be recognised."""

import re
from functools import cache

from ogcode.agent.sensitive.chance import surprise

_PREFIXES = {
    "aws key": r"""
        A(?:KIA|SIA|BIA|CCA|GPA|IDA|ROA|3T[A-Z0-9])(?=[A-Z0-9]{16}(?![A-Za-z0-9])) | ABSK(?=[A-Za-z0-9+/]{40})""",
    "github token": r"gh[oprsu]_ | github_pat_",
    "gitlab token": r"gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|rtr|soat|wt)- | GR1348941 | _gitlab_session=",
    "slack token": r"xox[a-z][.-] | xapp-",
    "google key": r"AIza(?=[\w-]{35}) | ya29\. | GOCSPX-",
    "stripe key": r"[prs]k_(?:live|test|prod)_ | whsec_",
    "anthropic key": r"sk-ant-",
    "api key": r"""
        [prs]k-(?:[a-z]{2,12}-){0,2} | pplx- | gsk_ | xai- | nvapi- | r8_ | pcsk_ | tgp_v1_ | lsv2_(?:pt|sk)_ | tvly-
        | jina_""",
    "huggingface token": r"hf_ | api_org_",
    "package registry token": r"""
        npm_ | pypi-AgE | rubygems_ | CLOJARS_ | oy2(?=[a-z0-9]{43}) | dckr_(?:oat|pat)_ | cio(?=[A-Za-z0-9]{32})
        | AKCp | cmVmd""",
    "digitalocean token": r"do[opr]_v1_",
    "atlassian token": r"AT(?:ATT|CTT)3 | ATBB",
    "grafana token": r"gl(?:c|sa)_ | eyJrIjoi",
    "hashicorp token": r"hv[brs]\. | (?:[A-Za-z0-9]{14}\.)?atlasv1\.",
    "shopify token": r"shp(?:at|ca|pa|ss|tka)_",
    "square token": r"sq0[a-z]{3}- | EAAAE",
    "facebook token": r"EAA(?=[A-Za-z0-9]{40})",
    "sentry token": r"sntr(?:ys|yu)_",
    "sendgrid key": r"SG\.(?=[\w=-]{16,}\.)",
    "mail key": r"""
        x(?:keysib|smtpsib)- | (?:pub)?key-(?=[0-9a-f]{32}) | re_(?=[A-Za-z0-9]{8}_)
        | [0-9a-f]{4}(?=[0-9a-f]{28}-us\d)""",
    "telegram token": r"(?:bot)?\d{8,10}:A(?=[\w-]{34}(?![\w-]))",
    "twilio key": r"SK(?=[0-9a-f]{32}(?![0-9a-f]))",
    "databricks token": r"dapi(?=[0-9a-f]{32})",
    "azure secret": r"[\w.~]{3}\dQ~",
    "age key": r"AGE-SECRET-KEY-1",
    "cloud key": r"""
        LTAI | AQVN | YC(?=[\w-]{38}(?![\w-])) | t1\.[\w-]+\. | v1\.0-(?=[0-9a-f]{24}-) | scw- | tskey- | HRKU-
        | sha256~ | fo1_ | fm[12][ar]?_ | pscale_[a-z]+_ | sb[pb]_""",
    "token": r"""
        PMAK- | pul- | pnu_ | tfp_ | lin_(?:api|oauth)_ | ntn_ | secret_ | figd_ | rdme_ | ico- | fio-u- | tk-us- | sgp_
        | slk_ | sm_[a-z]at_ | dnkey- | duffel_(?:live|test)_ | shippo_(?:live|test)_ | rzp_(?:live|test)_
        | (?:live|test)_(?:pub_)?(?=[0-9a-f]{31}) | FLW(?:PUBK|SECK) | EZ[AT]K | NR(?:AK|II|JS|RA)- | dp\.[a-z]+\.
        | ops_eyJ | A3- | s-s4t2(?:af|ud)- | CFPAT- | CCIPAT_ | bkua_ | access-(?:sandbox|development|production)-
        | p8e- | dt0[a-z]\d\d\. | API-(?=[A-Z0-9]{26}) | [ps]k\.(?=[\w-]{40}) | sl\.(?=[\w-]{100}) | waka_ | vc[pi]_
        | pat(?=[A-Za-z0-9]{14}\.) | 00(?=[\w=-]{40}(?![\w=-]))""",
}
"""By kind. Only what a rule for any token would miss, or could not name, has to stand here."""

_KINDS = tuple(_PREFIXES)
_TAIL = 300
_CHANCE = r"[0-9a-f]{12,}|(?=[A-Z]*[0-9])[A-Z0-9]{16,}"
_SAMPLE = r"(?i)x{6}|example|your|redacted"


def prefixed(token: str) -> tuple[str, int] | None:
    """Tell the kind of a token, and where in it the prefix stands."""
    for match in _rule().finditer(token):
        tail = token[match.end() : match.end() + _TAIL].partition("/")[0].rstrip(".:=%")
        if len(tail) >= 8 and _is_likely(tail):
            return _KINDS[(match.lastindex or 1) - 1], match.start()
    return None


@cache
def _rule() -> re.Pattern[str]:
    every = " | ".join(f"({shape})" for shape in _PREFIXES.values())
    return re.compile(f"(?<![A-Za-z0-9]) (?: {every} )", re.ASCII | re.VERBOSE)


def _is_likely(tail: str) -> bool:
    """Tell what an issuer made from words that begin by accident as it does."""
    if re.search(_SAMPLE, tail):
        return False
    return surprise(tail) >= 8 or any(len(set(part)) >= 6 for part in re.findall(_CHANCE, tail))
