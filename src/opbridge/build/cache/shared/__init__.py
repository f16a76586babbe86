"""A folder of results for many machines: a few write it, and the others copy results that they would otherwise build.

It may be on a network disk, where locks are unreliable and other users may write. So files are only added to
it and never changed. Nothing is executed from it: results are copied into the private cache, and the copies
are checked.

    ab/<first key>/<result key>.<random>/files/       the files of one result
    ab/<first key>/<result key>.<random>/seal         what it was made from, and the size and hash of each file
    ab/<first key>/<result key>.<random>/signature    of the seal, by the publisher's key, if there is one
    ab/<first key>/.<random>/                         a result that is being written

A result appears by one rename, under a name that no other has. If two machines publish the same result at
once, that only costs space. The hashes detect damage. Two measures protect against malice. First, the key that
signed the seal must be listed in OPBRIDGE_SHARED_CACHE_KEYS, if that names any. Second, only trusted users may
be able to write the seal and every folder on the path to it. This user, the administrator, and the users in
OPBRIDGE_SHARED_CACHE_TRUST are trusted. The path is opened one folder at a time and never through a link, so
the folders checked are the folders read.
"""

from __future__ import annotations

from opbridge.build.cache.shared.publisher_keys import SigningKey
from opbridge.build.cache.shared.results import SharedCache

__all__ = ["SharedCache", "SigningKey"]
