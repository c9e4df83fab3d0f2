"""What is taken out of a text as a secret, and what stays."""

import random
import re
import string
from itertools import pairwise

import pytest

from ogcode.agent.sensitive.secrets import env_file_values, findings, known_secrets, scrub

MIXED = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = string.digits + "abcdef"


def made(alphabet: str, length: int, seed: int = 7) -> str:
    """Give characters as a machine would make them."""
    return "".join(random.Random(seed).choices(alphabet, k=length))


KEY = made(MIXED, 24)
TOKENS = {
    "AKIA" + made(string.ascii_uppercase + "234567", 16): "aws key",
    "ghp_" + made(MIXED, 36): "github token",
    "glpat-" + made(MIXED, 20): "gitlab token",
    "sk-ant-api03-" + made(MIXED, 93): "anthropic key",
    "sk-proj-" + made(MIXED, 60): "api key",
    "hf_" + made(string.ascii_letters, 34): "huggingface token",
    "sntryu_" + made(HEX, 64): "sentry token",
    "dop_v1_" + made(HEX, 64): "digitalocean token",
    "123456789:A" + made(MIXED, 34): "telegram token",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ." + made(MIXED, 40): "jwt",
    "$2b$12$" + made(MIXED, 53): "password hash",
    "acme_live-" + made(LOWER, 32): "token",
    made(MIXED, 32): "token",
    made(LOWER, 40): "token",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXbMPLqKEY": "token",
}


@pytest.mark.parametrize("sentence", ["I used {} for it.", "`{}`", "({})", 'print("{}")', "--x={}", "{}"])
@pytest.mark.parametrize("token", TOKENS)
def test_a_token_is_known_by_itself(token: str, sentence: str) -> None:
    assert scrub(sentence.format(token)) == sentence.format(f"[secret: {TOKENS[token]}]")


ASSIGNED = (
    "acmeToken={}",
    'acmeToken = "{}"',
    "ACME_SECRET='{}'",
    "export ACME_API_KEY={};",
    'password         = "{}"',
    '{{"access_token": "{}"}}',
    r"{{\"access_token\": \"{}\"}}",
    r'{{"config.ini": "ACME_TOKEN={}\nBACKUP=true"}}',
    "client-secret: {}",
    "acme_token: '{}'",
    "tokens:\n  token: |\n    {}\n",
    '"acmeToken" => "{}"',
    "acmeToken := `{}`",
    'var acmeToken string = "{}"',
    'let acmeToken: String = "{}"',
    "const apiKey: string | null = '{}';",
    '$acmeToken ??= "{}"',
    "<acmeToken>\n    {}\n</acmeToken>",
    '<add key="Password" value="{}" />',
    "- name: ACME_TOKEN\n  value: {}\n",
    'os.environ["ACME_TOKEN"] = "{}"',
    "acme login --token {}",
    "acme login --password={}",
    "Server=db;User Id=sa;Password={};Encrypt=true",
    "https://host/path?api_key={}&page=2",
    "client_secret%3D{}",
    "Authorization: Bearer {}",
    'curl -H "Authorization: Basic {}" https://host',
    "curl -H 'X-Api-Key: {}' https://host",
    "curl -u admin:{} https://host",
    "postgres://admin:{}@host:5432/app",
    "https://hooks.acme.com/services/T0/{}",
    "Cookie: theme=dark; session={}",
    "machine host login me password {}",
    "API key: {}",
    "**Access token**: `{}`",
    "the password is {}.",
    "密码：{}",
    'password="{}',
)


@pytest.mark.parametrize("written", ASSIGNED)
@pytest.mark.parametrize("value", [KEY, made(HEX, 32)])
def test_a_secret_is_known_by_what_stands_before_it(written: str, value: str) -> None:
    text = written.format(value)
    clean = scrub(text)
    assert not any(value[start : start + 8] in clean for start in range(len(value) - 8))
    assert clean.count("[secret: ") == 1
    assert clean.startswith(written.partition("{")[0][:7])


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ('password = "hunter2abc"', "password"),
        ("DB_PASSWD=pa55-word", "password"),
        ('"passphrase": "thisIsDolphin"', "password"),
        ("asanaToken=1802433253659368", "token"),
        ("HEROKU_KEY = '832d2129-a846-4e27-99f4-7004b6ad53ef'", "key"),
        ("https://:d2LkV78zLxt@host", "password"),
        ('curl -u "me@x.org:pQ9 wTxu!4Fg" https://host', "password"),
    ],
)
def test_what_people_think_up_is_a_secret_under_its_name(written: str, kind: str) -> None:
    assert [each.kind for each in findings(written)] == [kind]


STAYS = (
    "fixed in 3c0b5e1f9d27a4486b7c1d0e2f3a495867bcde01, see 9f2c01d",
    "0f8fad5b-d9cb-469f-a165-70867728950e",
    'session_id: "3f8c21aa9d0e4c5bb1a2c3d4e5f60718"',
    "[[2026-09-12T091412Z--3f8c21aa--dispatch-retry-fix#Outcome]]",
    "src/components/UserProfile2/AvatarUploader.test.tsx and /home/dev/.cache/repo5k2x9q1zw8vt/py_env-python3.11/bin/x",
    "https://host/blob/5dc9490bb35f9729/main.py?v=dQw4w9WgXcQ&list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf#L12",
    "ogcode.agent.memory2.capture and std::__cxx11::basic_string",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  dist/app.whl",
    "golang.org/x/net v0.17.0 h1:pVaXccu2ozPjCXewfr1S7xza/zcXTity9cCdXQYSjIM=",
    "sha512-Z2ekwNpr4y7qGr2xG0WTJ4l2Yx0mYHDPmYy1hd7Jx8T1e0bnQyWz9mI5QYmPOhB6Yq0gC4zvY7pW1rTn8XkA==",
    "1.2.3-rc.4+build.20260912.gd34db33f",
    'class="flex md:hover:bg-slate-100/50 w-[calc(100%-2rem)] css-1q2w3e4r5t"',
    'max_tokens=4096 next_token: "page2abc" tokenizer=GPT2TokenizerFast author: "Petra2"',
    "keyboard: qwerty2abc monkey=patched1 primary_key = user_id_2 cache_key: user:42:profile:v3",
    'key: "dispatch-retry-2"',
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIIq8kFz1x0n5v0ZzQmYb7m1wYtqkq3lDd0n3kXK0p3b me@host",
    "toolu_01A09q90qw90lq917835lq9 answered call_9pQwFzLtYk3mNvB7XcRs2dGh",
    "id 01HZX3KQ5V8N2W7R9T4Y6M0PBC",
    "src/主/配置2.py: der Straßenbahnhaltestellenfahrplan2",
    "M12 2C6.48 2 2 6.48 2 12s4.48 10 10 10 10-4.48 10-10S17.52 2 12 2zm0 18c-4.41 0-8-3.59-8-8",
    "api_key = os.environ['ACME_API_KEY_2']",
    "password: ${DB_PASSWORD_2}",
    "token=<your-token-2>",
    "API_KEY=xxxxxxxxxxxxxxxx",
    'secret: "example-secret-1"',
    "token = get_token2(request)",
    "password=self.config2.password2",
    "def login(name: str, password: str = '') -> Token2: ...",
    'headers["Authorization"] = f"Bearer {token2}"',
    "the password is asked for, the token is refreshed every 3600 seconds",
    'token_type: "bearer2a" TOKEN_FILE=/run/secrets/token2 SECRET_URL=https://host/a2',
    "postgres://postgres:postgres@localhost/app and curl -u user:password https://host",
    "-----BEGIN CERTIFICATE-----\n" + made(MIXED, 64) + "\n" + made(MIXED, 64, 8) + "\n-----END CERTIFICATE-----",
    "it starts with -----BEGIN PRIVATE KEY----- and then come lines of Base64",
)


@pytest.mark.parametrize("text", STAYS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert scrub(text) == text


def test_a_value_from_a_manifest_of_secrets_is_one_whatever_its_name() -> None:
    text = "kind: Secret\nmetadata:\n  name: sample\ndata:\n  extra: YWRtaW46cGFzc3dvcmQ=\n"
    assert scrub(text) == text.replace("YWRtaW46cGFzc3dvcmQ=", "[secret: kubernetes secret]")


LINES = "\n".join(made(MIXED, 64, seed) for seed in range(6))
BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "text",
    [
        f"{BEGIN}\n{LINES}\n{END}",
        f"{BEGIN}\n{LINES}",
        f"{LINES}\n{END}",
        f"{BEGIN} {LINES} {END}".replace("\n", " "),
        f"{BEGIN}\n{LINES}\n{END}\n".replace("\n", "\\n"),
    ],
)
def test_a_private_key_is_taken_out_whole_or_cut(text: str) -> None:
    clean = scrub(f"before\n{text}\nand after")
    assert not re.search(r"[A-Za-z0-9]{16}", clean)
    assert clean.startswith("before\n[secret: private key]")
    assert clean.endswith("and after")


def test_a_value_that_goes_on_over_lines_is_taken_out_to_its_end() -> None:
    clean = scrub(f"tls_private_key: {LINES}\nport: 8080")
    assert clean == "tls_private_key: [secret: key]\nport: 8080"


def test_scrubbing_again_changes_nothing() -> None:
    dice = random.Random(3)
    pieces = [
        *TOKENS,
        *(written.format(KEY) for written in ASSIGNED),
        BEGIN,
        END,
        LINES,
        "[secret: token]",
        "[secret: ",
    ]
    joints = ["", " ", "=", '"', "'", "\\", ": ", "@", "\n", "]", "://", "token="]
    for _ in range(300):
        parts = (piece for _ in range(4) for piece in (dice.choice(pieces)[: dice.randrange(60)], dice.choice(joints)))
        once = scrub("".join(parts), known=(KEY,))
        assert scrub(once, known=(KEY,)) == once


def test_findings_are_in_order_and_apart_and_never_show_a_value() -> None:
    text = f'ACME_TOKEN="{KEY}" {" ".join(TOKENS)} {KEY}'
    found = findings(text, known=(KEY,))
    assert len(found) == 2 + len(TOKENS)
    assert all(before.end <= after.start for before, after in pairwise(found))
    assert KEY[:6] not in repr(found)


KNOWN = "correct#horse/ä9"


@pytest.mark.parametrize(
    "written",
    [
        KNOWN,
        "correct%23horse%2F%C3%A49",
        '"correct#horse/\\u00e49"',
        "Y29ycmVjdCNob3JzZS/DpDk=",
        "dXNlcjpjb3JyZWN0I2hvcnNlL8OkOQ==",
        "YTpjb3JyZWN0I2hvcnNlL8OkOQ==",
        "YWE6Y29ycmVjdCNob3JzZS_DpDk=",
    ],
)
def test_a_known_secret_is_found_in_every_form(written: str) -> None:
    clean = scrub(f"it was {written} all along", known_secrets({"ACME_PASSWORD": KNOWN}))
    assert clean.count("[secret: ") == 1
    assert not any(part in clean for part in ("horse", "jdCNob3", "cmVjdCNo", "Y3QjaG9y"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOME", "/home/somebody2"),
        ("TOKEN_FILE", "/run/secrets/token2"),
        ("SECRET_PATH_KEY", "/run/secrets/token2"),
        ("API_TOKEN", "short1"),
        ("AUTH_TOKEN", "production"),
        ("AUTH_SECRET", "not-a-real-secret"),
        ("USE_TOKEN", "true"),
        ("API_KEY", "1234567890"),
        ("OAUTH_TOKEN", "https://host/token2"),
        ("PWD", "/srv/some/where2"),
        ("EDITOR", "vim-with-options9"),
    ],
)
def test_what_is_ordinary_in_an_environment_is_no_secret(name: str, value: str) -> None:
    assert known_secrets({name: value}) == ()


ENV_FILE = """\
# the keys of staging
export ACME_TOKEN=abc12345xyz   # rotate in May
DB_PASSWORD="two words\\n and 7 \\"quotes\\" more"
SIGNING_SECRET='single$9#not-a-comment'
TLS_PRIVATE_KEY="-----BEGIN
line1-of-the-key-qwerty
line2-of-the-key-qwerty"
DATABASE_URL: postgres://app:s3cr3tpw99@host/db
PORT=8080
GREETING=hello world 2
"""


def test_the_secret_values_of_an_env_file_are_known() -> None:
    known = env_file_values(ENV_FILE)
    clean = scrub("; ".join(("abc12345xyz", "single$9#not-a-comment", "line2-of-the-key-qwerty", "s3cr3tpw99")), known)
    assert clean == "; ".join(["[secret: environment]"] * 4)
    assert scrub("hello world 2 on 8080, rotate in May", known) == "hello world 2 on 8080, rotate in May"
    assert 'and 7 "quotes" more' in known


def test_an_env_file_may_be_anything() -> None:
    assert env_file_values("") == ()
    assert env_file_values('A="never closed\nTOKEN\x00=\n=x\n' + "=" * 2000) == ()
