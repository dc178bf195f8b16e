"""Tuples by reference: compiled code reads what Python reads, and what is held follows its arrays."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from allais._kernels import bound, by_reference, held, kernel, late, loop, routine, verb


@by_reference
class Inner(NamedTuple):
    numbers: Any
    scale: float


@by_reference
class Outer(NamedTuple):
    wide: Any
    inner: Inner
    flag: bool
    count: int
    nothing: tuple


class Plain(NamedTuple):
    inner: Inner
    more: float


@by_reference
class Mixed(NamedTuple):
    own: Plain
    more: float


def outer(flag=True):
    return Outer(np.arange(6.0).reshape(2, 3), Inner(np.array([1, 2, 3]), 0.5), flag, 7, ())


@kernel
def add_up(outer, extra):
    total = extra
    for i in range(outer.wide.shape[0]):
        for j in range(outer.wide.shape[1]):
            total += outer.wide[i, j]
    total += outer.inner.scale * outer.inner.numbers[2]
    return total + outer.count if outer.flag else total


@routine
def write(outer, value):
    before = outer.wide[0, 0]
    outer.wide[0, 0] = value
    return before + outer.wide[0, 0]  # what was written is read again


@late((float, int))
def both(outer):
    return outer.inner.scale, outer.inner.numbers[0]


@loop
def through_a_loop(outer, rounds):
    total = 0.0
    for k in range(rounds):
        total += write(outer, float(k)) + add_up(outer, 0.0) + both(outer)[0]
    return total


def test_fields_are_read_as_in_python():
    for flag in (True, False):
        assert add_up(outer(flag), 1.0) == add_up.py_func(outer(flag), 1.0) == 1 + 15 + 1.5 + 7 * flag


def test_what_is_written_to_an_array_is_seen():
    one = outer()
    assert write(one, 10.0) == 10.0
    assert one.wide[0, 0] == 10.0
    assert both(one) == (0.5, 1)


def test_kernels_routines_and_late_ones_work_together():
    one, other = outer(), outer()
    expected = 0.0
    for k in range(5):
        expected += write.py_func(other, float(k)) + add_up.py_func(other, 0.0) + 0.5
    assert through_a_loop(one, 5) == expected
    assert one.wide.tolist() == other.wide.tolist()


def test_a_tuple_that_is_held_is_read_in_place():
    one = outer()
    place = held(one)
    fast = bound(write, place, 0.0)
    assert fast(place, 4.0) == 4.0
    assert one.wide[0, 0] == 4.0
    grown = one._replace(wide=np.full((3, 3), 9.0))
    assert fast(held(grown), 1.0) == 10.0
    assert one.wide[0, 0] == 4.0


def test_what_is_held_stays_alive():
    place = held(outer())
    trash = [np.full((2, 3), -1.0) for _ in range(100)]
    assert bound(write, place, 0.0)(place, 1.0) == 1.0
    assert len(trash) == 100


def test_a_tuple_of_another_kind_is_refused_where_a_held_one_is_wanted():
    fast = bound(write, held(outer()), 0.0)
    with pytest.raises(TypeError, match="integer"):
        fast(outer(), 1.0)


def test_what_no_block_is_made_of_is_passed_as_it_is():
    mixed = Mixed(Plain(Inner(np.array([1, 2, 3]), 2.0), 1.0), 3.0)
    assert held(mixed) is mixed

    @routine
    def total(mixed):
        return mixed.own.inner.scale + mixed.own.more + mixed.more

    assert bound(total, mixed)(mixed) == total(mixed) == 6.0


def test_a_verb_finds_its_kernel_in_python_and_in_compiled_code():
    def size(thing):
        """How large it is."""

    size = verb(size)

    @size.of(Inner)
    def _(thing):
        return thing.scale

    @size.of(Outer)
    def _(thing):
        return size(thing.inner) + thing.count

    assert size(outer()) == 7.5
    with pytest.raises(TypeError, match="a kernel must be given for Mixed"):
        size(Mixed(Plain(Inner(np.zeros(3), 1.0), 1.0), 1.0))


def test_a_function_that_is_defined_again_is_another_one():
    made = []
    for add in (1.0, 2.0):

        @routine
        def shift(x):
            return x + add  # noqa: B023

        @kernel
        def shifted(x):
            return shift(x)

        made.append(shifted(1.0))
    assert made == [2.0, 3.0]
