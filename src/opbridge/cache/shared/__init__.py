"""A folder of results for many machines: few write it, the others copy from it what they would have built.

It may lie on a network disk, where locks cannot be relied on and others may write.  So nothing in it is ever changed,
only added, and nothing is run from it: a result is copied into the private cache, and the copies are checked.

    ab/<first key>/<result key>.<random>/files/       the files of one result
    ab/<first key>/<result key>.<random>/seal         what it was made from, and the size and hash of each file
    ab/<first key>/<result key>.<random>/signature    of the seal, by the publisher's key, where they have one
    ab/<first key>/.<random>/                         one that is being written

A result appears by one rename, under a name that nobody else has; that two publish the same at once costs only space.
The hashes show damage.  Against malice there are two lines: the key that signed the seal must be one of those that
OPBRIDGE_SHARED_CACHE_KEYS names, where it names any; and the seal, with every folder on the way to it, must be what
only trusted users may write: this user, the administrator and whom OPBRIDGE_SHARED_CACHE_TRUST names.  The way is
gone from folder to open folder, never through a link, so that what was looked at is what is read.
"""

from __future__ import annotations

from opbridge.cache.shared.results import SharedCache
from opbridge.cache.shared.signing import SigningKey

__all__ = ["SharedCache", "SigningKey"]
