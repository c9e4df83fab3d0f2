"""Files that are run or obeyed later, when somebody does something ordinary: writing one is an act with a delay."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

_NAMES = re.compile(
    r"""(?ix)
      conftest\.py | (?:site|user)customize\.py | .+\.pth | setup\.py | noxfile\.py | tox\.ini | pytest\.ini
    | (?:gnu)?makefile | .+\.mk | justfile | taskfile\.ya?ml | rakefile | gulpfile\.[cm]?[jt]s | gruntfile\.[cm]?js
    | package\.json | \.npmrc | \.yarnrc(?:\.yml)? | \.pnpmfile\.[cm]?js | \.pnp\.c?js | bunfig\.toml
    | \.[a-z]+rc\.[cm]?[jt]s
    | (?:eslint|prettier|stylelint|babel|jest|vitest|vite|webpack|rollup|next|postcss|playwright)\.config\.[cm]?[jt]s
    | build\.rs | (?:build|settings|init)\.gradle(?:\.kts)? | .+\.sbt | gradlew | mvnw | mix\.exs
    | gemfile | vagrantfile | podfile | directory\.build\.(?:props|targets) | \.bazelrc
    | \.envrc | \.direnvrc | \.tool-versions | \.?mise(?:\.[a-z]+)?\.toml | \.mcp\.json | jenkinsfile
    | \.gitmodules | \.gitattributes | \.gitconfig
    | (?:\.pre-commit-config|\.?lefthook|\.overcommit|\.gitlab-ci|\.travis|azure-pipelines|bitbucket-pipelines)\.ya?ml
    | (?:\.drone|\.woodpecker|\.cirrus|\.build|\.?appveyor|cloudbuild|buildspec)\.ya?ml
    | \.bash(?:rc|_profile|_login|_logout|_aliases) | \.profile | \.z(?:shrc|shenv|profile|login|logout)
    | \.(?:k|c|tc)shrc | \.login | \.xinitrc | \.xprofile | \.inputrc
    | \.vimrc | \.exrc | \.nvimrc | \.nvim\.lua | \.emacs | \.tmux\.conf | \.dir-locals\.el
    | \.gdbinit | \.lldbinit | \.pdbrc | \.rprofile | \.irbrc | \.pryrc | \.rspec | \.ghci | \.iex\.exs
    | \.sqliterc | \.psqlrc
    | .+\.code-workspace | \.devcontainer\.json
    | (?:agents?|claude|gemini|qwen|warp)(?:\.local|\.override)?\.md | copilot-instructions\.md
    | \.(?:cursor|windsurf|cline)rules | \.goosehints | \.augment-guidelines | \.aider\.conf\.yml
    | opencode\.jsonc? | \.?crush\.json
    """
)
_FOLDERS = re.compile(
    r"""(?ix) (?:^|/) (?:
      \.github/(?:workflows|actions|instructions|prompts|agents|chatmodes) | \.(?:gitea|forgejo)/workflows
    | \.circleci | \.buildkite | \.woodpecker | \.semaphore | \.builds | \.gitlab
    | \.vscode | \.idea | \.zed | \.fleet | \.helix | \.devcontainer | \.vim | \.emacs\.d | \.ipython | \.jupyter
    | \.husky | \.githooks | \.hg | \.ssh | \.cargo | \.mvn | gradle/wrapper | \.yarn/(?:releases|plugins)
    | \.mise | \.config/(?:fish|mise|git|nvim|autostart|systemd) | \.local/bin
    | \.claude | \.cursor | \.codex | \.gemini | \.agents | \.opencode | \.windsurf | \.clinerules | \.roo | \.kiro
    | \.continue | \.junie | \.trae | \.augment | \.amp | \.?v?env/bin
    ) /"""
)


_WHERE = """. tests .github .github/workflows .vscode .idea .helix .circleci .husky .devcontainer .mise .claude .cursor
    .agents .opencode""".split()
_MOST = 5_000

Stamps = Mapping[str, tuple[int, int, int]]


def stamps(top: Path) -> Stamps:
    """Tell what lies where such files usually do, so that a change can be noticed."""
    found = dict[str, tuple[int, int, int]]()
    for folder in _WHERE:
        with suppress(OSError), os.scandir(top / folder) as scanned:
            for entry in islice(scanned, _MOST):
                name = entry.name if folder == "." else f"{folder}/{entry.name}"
                if runs_later(name) and not entry.is_dir():
                    state = entry.stat(follow_symlinks=False)
                    found[name] = state.st_ino, state.st_size, state.st_mtime_ns
    return found


def runs_later(path: str) -> bool:
    """Tell whether a file is what a shell, build, test run, editor, service or agent runs or obeys by itself."""
    name = path.rpartition("/")[2].rstrip(". ")
    return bool(_NAMES.fullmatch(name) or _FOLDERS.search(path))
