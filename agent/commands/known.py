"""The programs and git commands that only read, each with its known flags: a flag that is not here is not trusted.

A line is a name, what follows the flags, and the flags: letters and `--words`, alone or with what they take: `:` or `=`
text, `@` a path, `?` text that is part of the same word; `-#` is a number. A line that begins with a space goes on.
"""

from collections.abc import Mapping

PROGRAMS = """
cat paths -AbeEnstTuv --number --show-all --show-ends --show-tabs
tac paths -bs: --separator=
head paths -# -qvzn:c: --lines= --bytes= --quiet --verbose
tail paths -# -qvzn:c: --lines= --bytes= --quiet --verbose
wc paths -clmwL --lines --words --bytes --chars --max-line-length
nl paths -b:n:w:s:v:i:h:f:d:l:p --body-numbering= --number-width= --number-format=
rev paths
ls paths -1aAbBcCdfFgGhikKlmnNopqQrRsStuUvxXZI:w: --all --almost-all --human-readable --color? --sort= --time= --size
 --time-style= --full-time --group-directories-first --recursive --reverse --directory --classify? --hide= --ignore=
 --inode
stat paths -c:ft --format= --printf= --terse --file-system
file paths -bikh0 --brief --mime --mime-type --mime-encoding
du paths -abchkmsSx0d:t: --max-depth= --human-readable --summarize --all --apparent-size --exclude= --total --si
 --bytes
df paths -ahiHkPTlt:x: --human-readable --type= --total
tree paths -adfiFhpsugDvrtUCAnNSJXL:I:P: --noreport --dirsfirst --gitignore --prune --du --filelimit= --charset=
realpath paths -efmsqz --relative-to@ --relative-base@ --canonicalize-missing --canonicalize-existing
readlink paths -efmnqsvz --canonicalize
diff paths -abBdeEiNnpqstTuwyZcU:C:L:W:F: --unified? --brief --side-by-side --color? --label= --width= --minimal
 --suppress-common-lines --strip-trailing-cr --ignore-all-space --ignore-space-change --ignore-blank-lines
 --ignore-case
cmp paths -bslvn:i: --verbose --silent --quiet --bytes=
comm paths -123z --output-delimiter= --nocheck-order --total
paste paths -szd: --delimiters= --serial
column paths -txs:o:c: --table --separator= --output-separator=
fold paths -bsw: --width= --spaces
expand paths -it: --tabs= --initial
unexpand paths -at: --tabs= --all
fmt paths -uscw: --width=
cut paths -sznc:d:f:b: --delimiter= --fields= --characters= --bytes= --complement --output-delimiter= --only-delimited
sort paths -bdfghinMrRsuVcCzk:t: --key= --field-separator= --unique --reverse --numeric-sort --human-numeric-sort
 --version-sort --ignore-case --stable --general-numeric-sort --ignore-leading-blanks --check? --zero-terminated
uniq one -cdDiuzf:s:w: --count --repeated --unique --ignore-case --skip-fields= --skip-chars=
tr text -cCdst --delete --squeeze-repeats --complement
grep pattern -# -acEFGhHiILlnoPqrsTvwxyzZbUA:B:C:e:f@m: --include= --exclude= --exclude-dir= --exclude-from@ --color?
 --colour? --line-number --ignore-case --recursive --files-with-matches --files-without-match --count --invert-match
 --word-regexp --line-regexp --fixed-strings --extended-regexp --basic-regexp --perl-regexp --only-matching --text
 --no-messages --no-filename --with-filename --max-count= --context= --after-context= --before-context= --regexp=
 --file@ --quiet --silent --null --line-buffered --binary-files= --label= --byte-offset
rg pattern -acFhHiIlnNoPpqsSUuvwx0.A:B:C:e:f@g:t:T:m:M:d:r:E:j: --hidden --no-ignore --no-ignore-vcs --files
 --files-with-matches --files-without-match --count --count-matches --line-number --no-line-number --heading
 --no-heading --color= --colors= --max-depth= --max-count= --max-columns= --glob= --iglob= --type= --type-not=
 --type-list --context= --after-context= --before-context= --regexp= --file@ --ignore-case --smart-case
 --case-sensitive --fixed-strings --word-regexp --line-regexp --multiline --multiline-dotall --pcre2 --json --vimgrep
 --stats --sort= --sortr= --trim --only-matching --replace= --no-messages --no-config --ignore-file@ --max-filesize=
 --text --encoding= --threads= --column --passthru --invert-match --no-filename --with-filename --null --crlf --pretty
fd pattern -HIasipFgu0d:t:e:E:S: --hidden --no-ignore --type= --extension= --exclude= --max-depth= --glob
 --absolute-path --changed-within= --changed-before= --size= --full-path
jq pattern -rcneSsjaMC --raw-output --compact-output --null-input --exit-status --sort-keys --slurp --join-output
 --tab --monochrome-output --color-output --ascii-output
cksum paths
md5sum paths -btz --tag
sha1sum paths -btz --tag
sha224sum paths -btz --tag
sha256sum paths -btz --tag
sha384sum paths -btz --tag
sha512sum paths -btz --tag
b2sum paths -btz --tag
xxd one -pubiel:s:c:g:
hexdump paths -Cbcdovxn:s:
od paths -cxdobvA:t:j:N: --address-radix= --format= --read-bytes=
strings paths -# -an: --bytes= --all
seq text -# -ws:f: --equal-width --separator= --format=
basename text -azs: --multiple --suffix= --zero
dirname text -z --zero
printenv text -0
type text -aptPf
which text -as
whereis text -bms
id text -GgnruzZ --user --group --groups --name
groups text
uname none -amnprsvio --all
arch none
nproc none --all --ignore=
uptime none -ps
free none -bghkmtwl --human
lscpu none
hostname none -fIsid
tty none -s
whoami none
logname none
pwd none -LP
env none
true text
false text
docker-ps none -aqnls --all --quiet --no-trunc --size --format= --filter= -f:
docker-images text -aq --all --quiet --format= --digests
pip-list none -v --format= --user
pip-show text -fv --files
pip-freeze none
npm-ls text -lga --depth= --all --json --long --parseable --global
"""

_DIFF = """
-pusU:w b a z R M? C? S:G: --patch --no-patch --unified= --stat? --shortstat --numstat --name-only --name-status
--summary --raw --color? --no-color --word-diff? --word-diff-regex= --color-words? --color-moved? --ignore-all-space
--ignore-space-change --ignore-blank-lines --ignore-space-at-eol --ignore-cr-at-eol --minimal --patience --histogram
--diff-algorithm= --diff-filter= --check --exit-code --quiet --full-index --binary --abbrev? --find-renames?
--no-renames --find-copies? --dirstat? --compact-summary --function-context --text --no-prefix --relative?
--inter-hunk-context= --pickaxe-regex --pickaxe-all --no-ext-diff --no-textconv --cc --ws-error-highlight=
--stat-width= --stat-count= --find-object= --irreversible-delete --src-prefix= --dst-prefix=
"""
_LOG = f"""{_DIFF}
-# -cmgiEFPn:L:t --oneline --graph --all --branches? --tags? --remotes? --decorate? --no-decorate --format=
--pretty? --author= --committer= --since= --until= --after= --before= --grep= --all-match --invert-grep --follow
--merges --no-merges --reverse --date= --abbrev-commit --no-abbrev-commit --first-parent --max-count= --skip=
--topo-order --date-order --author-date-order --left-right --cherry-pick --cherry-mark --cherry --ancestry-path
--simplify-by-decoration --full-history --relative-date --regexp-ignore-case --fixed-strings --perl-regexp --source
--walk-reflogs --no-walk? --boundary --no-notes --min-parents= --max-parents= --children --parents --root
"""
GIT = """
status paths -sbuv u? --short --branch --porcelain? --long --untracked-files? --ignored? --show-stash -z --no-renames
 --ahead-behind --no-ahead-behind --find-renames? --verbose --column? --no-column
diff paths $DIFF --cached --staged --merge-base --base --ours --theirs -0123
log paths $LOG
show paths $LOG
reflog none $LOG
shortlog paths -snecw? --summary --numbered --email --all --since= --until= --after= --before= --no-merges --format=
 --group= --author=
rev-list paths $LOG --count --objects --left-only --right-only
blame paths -wtlsefpcL:M?C? --date= --porcelain --line-porcelain --since= --show-email --show-name --show-number
 --root --abbrev=
branch none -arvi --all --remotes --verbose --show-current --sort= --format= --color? --no-color --ignore-case
 --column? --no-column --abbrev=
branch-list paths -arvi --all --remotes --verbose --sort= --format= --color? --no-color --ignore-case --column?
 --no-column --abbrev= --list --contains? --no-contains? --merged? --no-merged? --points-at=
tag none -i --sort= --format= --column?
tag-list paths -iln? --list --sort= --format= --column? --contains? --no-contains? --merged? --no-merged? --points-at=
rev-parse paths -q --show-toplevel --abbrev-ref? --short? --verify --git-dir --git-common-dir --is-inside-work-tree
 --show-prefix --show-cdup --symbolic-full-name --quiet --absolute-git-dir --is-bare-repository --symbolic --all
 --branches? --tags? --remotes? --is-shallow-repository --show-object-format
ls-files paths -cmdoistuvzkfx: --cached --deleted --modified --others --ignored --stage --unmerged --killed
 --exclude-standard --exclude= --full-name --error-unmatch --directory --no-empty-directory --abbrev? --eol
 --deduplicate
ls-tree paths -drtlz --name-only --name-status --full-name --full-tree --long --abbrev?
describe paths --tags --all --long --always --dirty? --abbrev= --match= --exclude= --exact-match --first-parent
 --contains --candidates=
remote none -v --verbose
remote-get-url text --all --push
stash-list none $LOG
stash-show paths $DIFF --include-untracked
config-list none -lz --list --show-origin --show-scope --global --local --system --name-only
config-get text -z --get --get-all --get-regexp --show-origin --show-scope --global --local --system --default=
 --type= --bool --int --path --name-only
worktree-list none -vz --porcelain --verbose
cat-file text -ptse
merge-base text -a --all --octopus --is-ancestor --fork-point --independent
name-rev text --name-only --tags --always --all --refs=
for-each-ref text --count= --sort= --format= --contains= --no-contains= --merged= --no-merged= --points-at=
show-ref text -dsq --heads --tags --verify --hash? --head --abbrev? --dereference
count-objects none -vH --verbose --human-readable
check-ignore paths -vnqz --verbose --non-matching --quiet --no-index
grep pattern -# -aiInlLcvwxEFGPhHopqWzA:B:C:e:f@m: --cached --untracked --line-number --count --name-only --heading
 --break --files-with-matches --files-without-match --ignore-case --word-regexp --invert-match --fixed-strings
 --extended-regexp --perl-regexp --basic-regexp --color? --no-color --show-function --function-context --context=
 --after-context= --before-context= --max-depth= --and --or --not --all-match --full-name --null --only-matching
 --column
version none --build-options
""".replace("$LOG", " ".join(_LOG.split())).replace("$DIFF", " ".join(_DIFF.split()))

TELLS_VERSION = frozenset(
    """
    python python3 pip pip3 node npm gcc g++ cc clang make cmake ninja bash java ruby perl php docker rg jq curl
    wget tar git ssh psql sqlite3 go cargo rustc rustup ruff mypy uv gh terraform kubectl dotnet swift zig
    lua R ghc gradle mvn deno bun tmux vim less sed awk grep find tree bc openssl ffmpeg
    """.split()
)
SWAYED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("cargo", "rustc"), ("rust-toolchain", "rust-toolchain.toml")),
    "go": ("go.mod", "go.work"),
    "dotnet": ("global.json",),
    **dict.fromkeys(("mvn", "gradle"), (".mvn", "gradle.properties", "settings.gradle", "settings.gradle.kts")),
}
"""Which files of a folder choose the program that answers even to `--version`, or what it loads before it does."""
CHOOSERS = (
    ".tool-versions mise.toml .mise.toml .mise .config/mise .python-version .ruby-version .node-version .nvmrc "
    ".java-version .go-version .terraform-version .swift-version rust-toolchain rust-toolchain.toml"
).split()
"""Which files of a folder choose what a shim of a manager of versions runs; some name a path."""

BUILT_IN = frozenset(("cd", "command", "echo", "false", "printf", "pwd", "test", "true", "type"))
NAMES_ONLY = frozenset(
    "ls du df tree find fd stat pwd realpath readlink basename dirname which type whereis file".split()
)
"""They tell what there is, not what is in it."""
