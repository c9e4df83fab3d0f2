"""Close this process in, then become a command: started alone as `python -I -S`, with nothing of ogcode.

    landlock_exec.py [apart] [net] [KIND SOURCE TARGET]… [see PATH]… [change PATH]… chdir PATH run COMMAND…

KIND is write, read, empty, blank (as in `layout`) or link.

`apart` takes a mount namespace of its own, in which the mounts are made, and without `net` a network of its own.
`see` and `change` are what Landlock grants. Whatever can't be done ends it: nothing runs half closed in.
"""

# pathlib is slow to load
# ruff: noqa: PTH103, PTH112, PTH120, PTH123, PTH211

import ctypes
import os
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF, _MOUNT_SETATTR = 444, 445, 446, 442
_NEWNS, _NEWIPC, _NEWUSER, _NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x40000000
_BIND, _REC, _PRIVATE, _NOSUID_NODEV = 0x1000, 0x4000, 0x40000, 0x6
_AT_FDCWD, _AT_RECURSIVE, _READ_ONLY = -100, 0x8000, 1
_PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP, _LAST_CAPABILITY = 38, 24, 63
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL_DEV = 1, 2, 4, 8, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_KNOWN_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Bits by version; from 5 on there are 16."""

_IGNORED_BY_PYTHON = 13, 25
"""SIGPIPE and SIGXFSZ: a command is to begin with their defaults."""

_libc = ctypes.CDLL(None, use_errno=True)


def _done(result: int, what: str) -> int:
    if result < 0:
        sys.exit(f"sandbox: {what}: {os.strerror(ctypes.get_errno())}")
    return result


def _word(text: str) -> bytes:
    return os.fsencode(text)


def _apart(mounts: list[tuple[str, str, str]], *, network: bool) -> None:
    user, group = os.geteuid(), os.getegid()
    _done(_libc.unshare(_NEWUSER | _NEWNS | _NEWIPC | (0 if network else _NEWNET)), "namespaces")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    _done(_libc.mount(None, b"/", None, _REC | _PRIVATE, None), "mounts of our own")
    bound = [source if kind not in ("empty", "link") else "/" for kind, source, _ in mounts]
    opened = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in bound]  # before anything covers them
    _done(_set_attributes("/", on=_READ_ONLY), "all read-only")
    for (kind, source, target), place in zip(mounts, opened, strict=True):
        if kind == "link":
            os.symlink(source, target)
        else:
            _mount(kind, f"/proc/self/fd/{place}", target)
    if not network:
        _raise_loopback()


def _mount(kind: str, source: str, target: str) -> None:
    folder = kind == "empty" or os.path.isdir(source)
    if not os.path.lexists(target):  # below an empty folder
        os.makedirs(target if folder else os.path.dirname(target), exist_ok=True)
        if not folder:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    if kind == "empty":
        _done(_libc.mount(b"tmpfs", _word(target), b"tmpfs", _NOSUID_NODEV, b"mode=755"), target)
        return
    _done(_libc.mount(_word(source), _word(target), None, _BIND | _REC, None), target)
    if kind != "write":
        _done(_set_attributes(target, on=_READ_ONLY), target)
    elif _set_attributes(target, off=_READ_ONLY) < 0:  # a mount below it was read-only before
        _done(_set_attributes(target, off=_READ_ONLY, below=False), target)


def _set_attributes(target: str, *, on: int = 0, off: int = 0, below: bool = True) -> int:
    attributes = (ctypes.c_uint64 * 4)(on, off, 0, 0)
    flags = _AT_RECURSIVE if below else 0
    size = ctypes.sizeof(attributes)
    return int(_libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, _word(target), flags, attributes, size))


def _raise_loopback() -> None:
    request = b"lo".ljust(16, b"\0") + (1).to_bytes(2, sys.byteorder) + bytes(22)  # IFF_UP
    channel = _done(_libc.socket(2, 2 | 0o2000000, 0), "loopback")
    _done(_libc.ioctl(channel, 0x8914, ctypes.create_string_buffer(request)), "loopback")
    os.close(channel)


def _restrict(seen: list[str], changed: list[str], *, apart: bool, network: bool) -> None:
    version = _done(_libc.syscall(_CREATE_RULESET, None, 0, 1), "Landlock")
    rights = (1 << _KNOWN_FILE_RIGHTS.get(version, 16)) - 1
    connections = 0 if apart or network or version < 4 else 3
    scopes = 3 if version >= 6 else 0
    handled = (ctypes.c_uint64 * 3)(rights, connections, scopes)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _done(_libc.syscall(_CREATE_RULESET, handled, size, 0), "Landlock")
    for paths, granted in ((seen, _EXECUTE | _READ_FILE | _READ_DIR), (changed, rights)):
        for path in paths:
            _grant(ruleset, path, granted & rights)
    _done(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    for capability in range(_LAST_CAPABILITY + 1):  # root's, or those of a user namespace; nobody else has any to drop
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _done(_libc.syscall(_RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)


def _grant(ruleset: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # gone since it was listed
    if not os.path.isdir(path):
        rights &= _OF_FILES
    rule = ctypes.create_string_buffer(rights.to_bytes(8, sys.byteorder) + opened.to_bytes(4, sys.byteorder), 12)
    _done(_libc.syscall(_ADD_RULE, ruleset, 1, rule, 0), path)
    os.close(opened)


def main(words: list[str]) -> None:
    """Do as the words say."""
    apart, network, folder = False, False, "/"
    mounts, seen, changed = list[tuple[str, str, str]](), list[str](), list[str]()
    rest = iter(words)
    for word in rest:
        match word:
            case "apart":
                apart = True
            case "net":
                network = True
            case "write" | "read" | "empty" | "blank" | "link":
                mounts.append((word, next(rest), next(rest)))
            case "see":
                seen.append(next(rest))
            case "change":
                changed.append(next(rest))
            case "chdir":
                folder = next(rest)
            case "run":
                break
            case _:
                sys.exit(f"sandbox: unknown word {word}")
    command = list(rest)
    try:
        if apart:
            _apart(mounts, network=network)
        _restrict(seen, changed, apart=apart, network=network)
        os.chdir(folder)
        for number in _IGNORED_BY_PYTHON:
            _libc.signal(number, None)
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.exit(f"sandbox: {error.filename or 'it'} {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
