"""The words of a GPU on the emulator: what they mean, and that a kernel which breaks their rules is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from catad.engine.cuda.intrinsics import Simt
from catad.errors import LawError
from catad.testing.emulator.device import EmulatedDevice

from .support import Written

THREADS, BLOCKS = 64, 7
SEEDS = range(6)


def store(simt: Simt, pointer: str, i: str, value: str, kind: str = "i64") -> None:
    w = simt.w
    w.do(f"store {kind} {value}, ptr {w.set(f'getelementptr {kind}, ptr {pointer}, i64 {i}')}")


def run(write: Any, *arrays: Any, seed: int = 0, blocks: int = BLOCKS, numbers: tuple[int, ...] = (0,)) -> None:
    Written(write, len(numbers), len(arrays), THREADS).run(EmulatedDevice(seed), blocks, numbers, *arrays)


def test_threads_know_who_they_are() -> None:
    def write(simt: Simt) -> None:
        mine, together = simt.everywhere()
        for k, value in enumerate([simt.thread(), simt.block(), simt.blocks(), simt.lane(), simt.warp(), together]):
            store(simt, f"%p{k}", mine, value)

    found = [np.zeros(THREADS * BLOCKS, np.int64) for _ in range(6)]
    run(write, *found)
    i = np.arange(THREADS * BLOCKS)
    want = [i % THREADS, i // THREADS, 0 * i + BLOCKS, i % 32, i % THREADS // 32, 0 * i + THREADS * BLOCKS]
    assert all(np.array_equal(a, b) for a, b in zip(found, want, strict=True))


KINDS = {
    "i1": bool,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "float": np.float32,
    "double": np.float64,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_shuffle_gives_the_number_of_another_lane(kind: str) -> None:
    x = np.random.default_rng(1).integers(-100, 100, THREADS * BLOCKS).astype(KINDS[kind])
    if x.dtype.kind == "f":
        x = (x * np.pi).astype(x.dtype)
    memory = "i8" if kind == "i1" else kind

    def write(simt: Simt) -> None:
        w = simt.w
        mine, _ = simt.everywhere()
        value = w.set(f"load {memory}, ptr {w.set(f'getelementptr {memory}, ptr %p0, i64 {mine}')}")
        if kind == "i1":
            value = w.set(f"trunc i8 {value} to i1")
        for _ in range(3):  # to the lane 5 + 3 * lane, again and again
            far = w.set(f"mul i64 {simt.lane()}, 3")
            lane = w.set(f"and i64 {w.set(f'add i64 {far}, 5')}, 31")
            value = simt.shuffle(value, kind, lane)
        store(simt, "%p1", mine, w.set(f"zext i1 {value} to i8") if kind == "i1" else value, memory)

    want = x.reshape(-1, 32)
    for _ in range(3):
        want = want[:, (np.arange(32) * 3 + 5) % 32]
    for seed in SEEDS:
        got = np.zeros_like(x)
        run(write, x, got, seed=seed)
        assert np.array_equal(got, want.ravel())


def test_atomics_add_up() -> None:
    def write(simt: Simt) -> None:
        w = simt.w
        ticket = simt.atomic("add", "%p0", "i64", "1")
        store(simt, "%p1", ticket, "1")
        simt.atomic("min", w.set("getelementptr i64, ptr %p0, i64 1"), "i64", w.set(f"sub i64 0, {ticket}"))

    for seed in SEEDS:
        words, taken = np.zeros(2, np.int64), np.zeros(THREADS * BLOCKS, np.int64)
        run(write, words, taken, seed=seed)
        n = THREADS * BLOCKS
        assert words[0] == n and words[1] == 1 - n and taken.all()


def reversed_block(simt: Simt, barrier: bool = True) -> None:
    """Each block reverses its numbers through shared memory, twice."""
    w = simt.w
    mine, _ = simt.everywhere()
    shared = simt.shared("i64", THREADS)
    value = w.set(f"load i64, ptr {w.set(f'getelementptr i64, ptr %p0, i64 {mine}')}")
    for turn in range(3):
        store(simt, shared, simt.thread(), value)
        if barrier or turn:
            simt.barrier()
        other = w.set(f"sub i64 {THREADS - 1}, {simt.thread()}")
        value = w.set(f"load i64, ptr {w.set(f'getelementptr i64, ptr {shared}, i64 {other}')}")
        simt.barrier()
    store(simt, "%p1", mine, value)


def test_shared_memory_behind_barriers() -> None:
    x = np.arange(THREADS * BLOCKS)
    for seed in SEEDS:
        got = np.zeros_like(x)
        run(reversed_block, x, got, seed=seed)
        assert np.array_equal(got, x.reshape(-1, THREADS)[:, ::-1].ravel())


def test_a_missing_barrier_is_found() -> None:
    x = np.arange(THREADS * BLOCKS)
    got = np.zeros_like(x)
    run(lambda simt: reversed_block(simt, False), x, got)
    assert not np.array_equal(got, x.reshape(-1, THREADS)[:, ::-1].ravel())


def some(simt: Simt, then: Any) -> None:
    w = simt.w
    w.when(w.set(f"icmp ult i64 {simt.thread()}, 40"), then)


def test_a_barrier_that_some_threads_miss_is_found() -> None:
    with pytest.raises(LawError, match="divergent barrier"):
        run(lambda simt: some(simt, simt.barrier))


def test_two_barriers_are_not_one() -> None:
    def write(simt: Simt) -> None:
        w = simt.w
        first = w.set(f"icmp ult i64 {simt.thread()}, 32")
        w.when(first, simt.barrier)
        w.when(w.set(f"xor i1 {first}, true"), simt.barrier)

    with pytest.raises(LawError, match="divergent barrier"):
        run(write)


def test_a_warp_that_parts_at_a_shuffle_is_found() -> None:
    with pytest.raises(LawError, match="divergent warp operation"):
        run(lambda simt: some(simt, lambda: simt.shuffle("1", "i64", "0")))


def chain(simt: Simt, flagged: bool = True, published: bool = True) -> None:
    """Block k waits for the word of block k - 1, and adds 1 to what that block has written before it."""
    w = simt.w
    mine = w.set(f"icmp eq i64 {simt.thread()}, 0")
    block = simt.block()

    def work() -> None:
        sum_ = w.slot("i64")
        w.do(f"store i64 0, ptr {sum_}")
        before = w.set(f"sub i64 {block}, 1")

        def wait() -> None:
            head, out = w.name("wait"), w.name("out")
            w.do(f"br label %{head}")
            w.label(head)
            word = simt.load_word(w.set(f"getelementptr i64, ptr %p0, i64 {before}"))
            w.do(f"br i1 {w.set(f'icmp ne i64 {word}, 0') if flagged else 'true'}, label %{out}, label %{head}")
            w.label(out)
            there = w.set(f"getelementptr i64, ptr %p1, i64 {before}")
            w.do(f"store i64 {w.set(f'load i64, ptr {there}')}, ptr {sum_}")

        w.when(w.set(f"icmp ne i64 {block}, 0"), wait)
        store(simt, "%p1", block, w.set(f"add i64 1, {w.set(f'load i64, ptr {sum_}')}"))
        if published:
            simt.store_word(w.set(f"getelementptr i64, ptr %p0, i64 {block}"), "1")

    w.when(mine, work)


def test_blocks_wait_for_words_of_others() -> None:
    for seed in SEEDS:
        words, sums = np.zeros((2, 30), np.int64)
        run(chain, words, sums, seed=seed, blocks=30)
        assert np.array_equal(sums, np.arange(1, 31))


def test_a_flag_that_is_not_asked_is_found() -> None:
    words, sums = np.zeros((2, 30), np.int64)
    run(lambda simt: chain(simt, flagged=False), words, sums, blocks=30)
    assert not np.array_equal(sums, np.arange(1, 31))


def test_a_word_that_nobody_writes_is_found() -> None:
    words, sums = np.zeros((2, 30), np.int64)
    with pytest.raises(LawError, match="hangs"):
        run(lambda simt: chain(simt, published=False), words, sums, blocks=30)


def test_shared_memory_that_nobody_has_set_is_noise() -> None:
    def write(simt: Simt) -> None:
        mine, _ = simt.everywhere()
        w, shared = simt.w, simt.shared("i64", THREADS)
        store(simt, "%p0", mine, w.set(f"load i64, ptr {w.set(f'getelementptr i64, ptr {shared}, i64 {simt.thread()}')}"))

    found = np.zeros((2, THREADS * BLOCKS), np.int64)
    for seed in range(2):
        run(write, found[seed], seed=seed)
    assert np.all(found[0] != found[1])


WORDS: dict[str, tuple[Any, int]] = {
    "load": (lambda w, simt, at: w.set(f"load i64, ptr {at}, align 8"), 8),
    "vector": (lambda w, simt, at: w.set(f"load <2 x i32>, ptr {at}, align 4"), 8),
    "store": (lambda w, simt, at: w.do(f"store i64 7, ptr {at}, align 8"), 8),
    "atomic": (lambda w, simt, at: simt.atomic("add", at, "i64", "1"), 8),
    "load_word": (lambda w, simt, at: simt.load_word(at), 8),
    "store_word": (lambda w, simt, at: simt.store_word(at, "1"), 8),
}


@pytest.mark.parametrize("word", WORDS)
def test_a_thread_that_goes_outside_of_an_array_is_stopped(word: str) -> None:
    """Whatever lies there: memory of others, or none, where the process would end."""
    use, size = WORDS[word]

    def write(simt: Simt) -> None:
        w = simt.w
        start = w.set("getelementptr i8, ptr %p1, i64 8")
        use(w, simt, w.set(f"getelementptr i8, ptr {start}, i64 {w.set('load i64, ptr %t')}"))

    for byte in (0, 40 - size):
        run(write, *np.zeros((2, 5), np.int64), numbers=(byte - 8,), blocks=1)
    for byte in (-(2**45), -size, -4, 44 - size, 40, 2**45):
        arrays = np.zeros((2, 5), np.int64)
        with pytest.raises(LawError, match=f"outside of its arrays: to byte {byte} of array 1, which has 40"):
            run(write, *arrays, numbers=(byte - 8,), blocks=1)
        assert not arrays.any()


def test_what_lies_between_the_ends_of_a_view_may_be_read() -> None:
    whole = np.arange(3 * THREADS).reshape(THREADS, 3)
    found = np.zeros(THREADS, np.int64)

    def write(simt: Simt) -> None:
        far = simt.w.set(f"mul i64 {simt.thread()}, -3")
        store(simt, "%p1", simt.thread(), simt.w.set(f"load i64, ptr {simt.w.set(f'getelementptr i64, ptr %p0, i64 {far}')}"))

    run(write, whole[::-1, 1], found, blocks=1)
    assert np.array_equal(found, whole[::-1, 1])
    with pytest.raises(LawError, match="outside of its arrays"):
        run(write, whole[:0:-1, 1], found, blocks=1)


def test_a_number_behind_the_table_is_found() -> None:
    def write(simt: Simt) -> None:
        w = simt.w
        store(simt, "%p0", "0", w.set(f"load i64, ptr {w.set('getelementptr i64, ptr %t, i64 1')}"))

    with pytest.raises(LawError, match="to byte 8 of the table of its numbers, which has 8"):
        run(write, np.zeros(1, np.int64))


def test_a_place_behind_what_a_block_shares_is_found() -> None:
    for byte in (-8, 8 * THREADS):
        with pytest.raises(LawError, match=f"outside of the memory that its block shares: to byte {byte} of {8 * THREADS}"):
            run(lambda simt, i=byte // 8: store(simt, [simt.shared("i64", n) for n in (9, THREADS, 9)][1], str(i), "1"))


def test_a_place_behind_the_numbers_of_a_thread_is_found() -> None:
    def write(simt: Simt) -> None:
        w = simt.w
        own, i = w.slot("i64", 6), w.set("load i64, ptr %t")
        for k in range(6):
            store(simt, own, str(k), str(10 * k))
        simt.barrier()
        store(simt, "%p0", simt.thread(), w.set(f"load i64, ptr {w.set(f'getelementptr i64, ptr {own}, i64 {i}')}"))

    found = np.zeros(THREADS, np.int64)
    run(write, found, numbers=(5,), blocks=1)
    assert np.all(found == 50)
    for i in (-1, 6):
        with pytest.raises(LawError, match=f"outside of the numbers that a thread has of its own: to byte {8 * i} of 48"):
            run(write, found, numbers=(i,), blocks=1)
