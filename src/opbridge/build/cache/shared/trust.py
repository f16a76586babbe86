"""Decide whose files and folders to trust in a shared cache."""

from __future__ import annotations

import functools
import os
import stat

from opbridge.base.errors import CacheError

TRUST = "OPBRIDGE_SHARED_CACHE_TRUST"


class Untrusted(Exception):
    """Raised if an untrusted user could have written a file or folder; the text names the user and the remedy."""


def expect_trusted(status: os.stat_result, what: str) -> None:
    """Raise Untrusted if an untrusted user or group may write the file or folder.

    `what` begins the message, for example "has a seal that is".
    """
    named = os.environ.get(TRUST, "")
    mode = stat.S_IMODE(status.st_mode)
    if not _trusted(status.st_uid, named):
        user = _user_name(status.st_uid)
        raise Untrusted(
            f"{what} user {user}'s, which is not used\n  if you would run what they compile: export {TRUST}={user}"
        )
    if mode & stat.S_IWOTH:
        raise Untrusted(f"{what} for everybody to write (mode {mode:o}), which is not used\n  close it: chmod o-w")
    if mode & stat.S_IWGRP and not _group_trusted(status.st_gid, named):
        group = _group_name(status.st_gid)
        raise Untrusted(
            f"{what} for the group {group} to write (mode {mode:o}), which is not used\n"
            f"  if you would run what its members compile: export {TRUST}=@{group}; else close it: chmod g-w"
        )


@functools.cache
def _trusted(user: int, named: str) -> bool:
    # The administrator could replace opbridge itself.
    return user in (os.geteuid(), 0) or any(_means(word, user) for word in _words(named))


@functools.cache
def _group_trusted(group: int, named: str) -> bool:
    return any(word.startswith("@") and _group_number(word) == group for word in _words(named))


def _words(named: str) -> list[str]:
    return named.replace(",", " ").split()


def _means(word: str, user: int) -> bool:
    """Return whether a word in the variable covers a user: a user name, a number, or @ and a group of that user."""
    import pwd

    if word.isdigit():
        return int(word) == user
    if not word.startswith("@"):
        try:
            return pwd.getpwnam(word).pw_uid == user
        except KeyError:
            raise _unknown(word) from None
    group = _group_number(word)
    try:
        account = pwd.getpwuid(user)
    except KeyError:
        return False
    return group in os.getgrouplist(account.pw_name, account.pw_gid)


def _group_number(word: str) -> int:
    import grp

    try:
        return grp.getgrnam(word[1:]).gr_gid
    except KeyError:
        raise _unknown(word) from None


def _unknown(word: str) -> CacheError:
    return CacheError(
        f"{TRUST} names {word!r}, who is not known here; expected users and @groups, as in `ci,@builders`"
    )


def _user_name(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _group_name(group: int) -> str:
    import grp

    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return str(group)
