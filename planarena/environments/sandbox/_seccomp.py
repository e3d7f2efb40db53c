"""The system calls that a sandboxed program is refused, as a filter for the kernel.

Namespaces and mounts matter most: in a user namespace of its own a program may mount memory beyond its limit.
The rest is kernel surface that no tool needs. A refused call fails with EPERM, or with ENOSYS where the C library
then falls back to an older call.
"""

from __future__ import annotations

import os
import platform
import struct

__all__ = ["filter_descriptor"]

_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06  # classic BPF, linux/bpf_common.h
_ALLOW, _EPERM, _ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026  # SECCOMP_RET_*
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data, little endian
_NEW_USER = 0x10000000  # CLONE_NEWUSER
_X32 = 0x40000000  # x86-64's second set of numbers for the same calls

# unshare, setns, mount, umount2, pivot_root, chroot, add_key, request_key, keyctl, ptrace, bpf, perf_event_open,
# userfaultfd, open_by_handle_at, process_vm_readv, process_vm_writev, open_tree, move_mount, fsopen, fsmount,
# mount_setattr
_REFUSED = {
    "x86_64": (
        272,
        308,
        165,
        166,
        155,
        161,
        248,
        249,
        250,
        101,
        321,
        298,
        323,
        304,
        310,
        311,
        428,
        429,
        430,
        432,
        442,
    ),
    "aarch64": (
        97,
        268,
        40,
        39,
        41,
        51,
        217,
        218,
        219,
        117,
        280,
        241,
        282,
        265,
        270,
        271,
        428,
        429,
        430,
        432,
        442,
    ),
}
_ABSENT = (
    435,
    425,
)  # clone3, whose flags a filter cannot read, and io_uring_setup; the same number everywhere
_CLONE = {"x86_64": 56, "aarch64": 220}
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def _program(machine: str) -> bytes:
    """Assemble the filter; each rule is a comparison with its verdict behind it, so no jump is long."""
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _AUDIT[machine]),
        (_RETURN, 0, 0, _EPERM),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _EPERM),
    ]
    for numbers, verdict in ((_REFUSED[machine], _EPERM), (_ABSENT, _ENOSYS)):
        for number in numbers:
            lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, verdict)]
    lines += [
        (_EQUAL, 0, 3, _CLONE[machine]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_ANY_BIT, 0, 1, _NEW_USER),
        (_RETURN, 0, 0, _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("<HBBI", *line) for line in lines)


def filter_descriptor() -> int | None:
    """Open the filter of this machine to be read once; None where there is none for its architecture.

    The caller closes the descriptor.
    """
    machine = platform.machine()
    if machine not in _REFUSED:
        return None
    descriptor = os.memfd_create("planarena-seccomp", 0)
    os.write(descriptor, _program(machine))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
