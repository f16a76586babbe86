"""What of a sanitizer's report is a finding of the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

import opbridge as ob
from opbridge.verify.check import check
from opbridge.verify.check.results import Status
from opbridge.verify.check.sanitizers import reports

KERNEL = """\
#include <opbridge/kernel.h>

#include <pthread.h>

// The C library gives back what one that has ended had of this library when another ends.
thread_local volatile double last = 0;

void* leave(void*) {
  last = 1;
  return nullptr;
}

void short_lived(ob::In<double> x, ob::Out<double> out) {
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  for (int i = 0; i < 12; ++i) pthread_create(&thread, &detached, leave, nullptr);
  pthread_attr_destroy(&detached);
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i];
}
OB_KERNEL(short_lived)
"""
MANIFEST = """\
namespace: leaving
ops:
  - {func: "short_lived(Tensor x) -> Tensor", out: x, kernels: {cpu: short_lived.cpp}}
"""
RACE_WITH_THE_LOADER = """\
WARNING: ThreadSanitizer: data race (pid=8367)
  Write of size 8 at 0x7b0400003a80 by thread T5:
    #0 free tsan_interceptors_posix.cpp:706 (libtsan.so+0x47e82)
    #1 __GI__dl_deallocate_tls ../elf/dl-tls.c:682 (ld-linux-x86-64.so.2+0x11785)

  Previous write of size 8 at 0x7b0400003a80 by thread T3:
    #0 short_lived {file}:1 (right.so+0x437a)

  Thread T3 (tid=8379, {state}) created by main thread at:
    #0 pthread_create tsan_interceptors_posix.cpp:1001 (libtsan.so+0x5e686)
"""


@pytest.mark.parametrize(("state", "findings"), [("finished", 0), ("running", 1)])
def test_a_thread_that_has_ended_is_not_in_a_race_about_its_own_variables(
    tmp_path: Path, state: str, findings: int
) -> None:
    source = tmp_path / "short_lived.cpp"
    source.write_text(KERNEL)
    assert len(reports(RACE_WITH_THE_LOADER.format(file=source, state=state))) == findings


@pytest.mark.matrix("test_a_thread_that_has_ended_is_not_in_a_race_about_its_own_variables")
def test_threads_may_end_together(tmp_path: Path) -> None:
    (tmp_path / "short_lived.cpp").write_text(KERNEL)
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    (row,) = check(ob.load(tmp_path / "ops.yaml").short_lived, checks=[], sanitize=["thread"])
    assert (row.status, row.message) == (Status.PASSED, "no report")
