"""What perf samples is sorted by thread and kind."""

from __future__ import annotations

from penstock_bench.profile import sort_samples

SAMPLES = """\
 python3   4242 ffffffff81f0a3b7 rep_movs_alternative ([kernel.kallsyms])
 python3   4242 ffffffff812fa3b7 clear_page_erms ([kernel.kallsyms])
 python3   4242           53a1b2 _PyEval_EvalFrameDefault (/usr/bin/python3.11)
 ZMQbg/IO/0   4243 ffffffff81c0a3b7 tcp_recvmsg_locked ([kernel.kallsyms])
 ZMQbg/IO/0   4243     7f00001234 [unknown] (/x/pyzmq.libs/libzmq-9fed.so.5.2.5)
 python3   4242     7f00005678 H5D__chunk_direct_write (/x/h5py.libs/libhdf5-66.so.310)
 python3   4242     7f00005678 H5D__chunk_direct_write (/x/h5py.libs/libhdf5-66.so.310)
 python3   4242     7f00009abc __memcpy_avx512_unaligned_erms (/usr/lib/x86_64-linux-gnu/libc.so.6)

Some other line.
"""


def test_samples_are_sorted_by_thread_and_by_what_the_time_is_spent_on() -> None:
    assert sort_samples(SAMPLES.splitlines()) == {
        "loop: HDF5 and h5py, %": 25.0,
        "loop: kernel: copies, %": 12.5,
        "loop: kernel: memory pages, %": 12.5,
        "loop: Python, %": 12.5,
        "I/O: kernel: network, %": 12.5,
        "I/O: ZeroMQ and pyzmq, %": 12.5,
        "loop: memory of the process (malloc, memcpy), %": 12.5,
    }


def test_without_samples_there_are_no_shares() -> None:
    assert sort_samples([]) == {}
