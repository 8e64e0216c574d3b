"""Pickles are read without running what they name."""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from ndcn.classify.datasets.pickled import UnsafePickle, read_pickle


class Payload:
    """A pickle of this calls ``function(*arguments)`` when it is read."""

    def __init__(self, function: object, *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple:
        return self.call


@pytest.mark.parametrize("protocol", [3, 4])  # in older ones Python 3 writes bytes as a call
def test_arrays_matrices_and_graphs_come_back(protocol: int) -> None:
    for array in (np.arange(6).reshape(2, 3), np.asfortranarray(np.ones((2, 3), np.float32)), np.zeros((0, 2), ">i4")):
        back = read_pickle(pickle.dumps(array, protocol))
        np.testing.assert_array_equal(back, array)
        assert back.dtype.isnative
    graph = defaultdict(list, {0: [1, 2], 1: [0]})
    assert read_pickle(pickle.dumps(graph, protocol)) == {0: [1, 2], 1: [0]}
    back = read_pickle(pickle.dumps(sparse.csr_matrix(np.eye(3)), protocol))
    np.testing.assert_array_equal(back.toarray(), np.eye(3))


def test_what_python_2_wrote() -> None:
    """Strings of bytes, as in the original files."""
    text = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01K\x02\x85cnumpy\ndtype\n"
    text += (
        b"U\x02i2K\x00K\x01\x87R(K\x03U\x01>NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x04\x00\x01\xff\xfetb."
    )
    assert read_pickle(text).tolist() == [1, -2]


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_would_write_a_file_does_not(protocol: int, tmp_path: Path) -> None:
    import os

    target = tmp_path / "written"
    evil = pickle.dumps(Payload(os.system, f"touch {target}"), protocol)
    with pytest.raises(UnsafePickle, match=r"asks for (posix|nt|os)\.system"):
        read_pickle(evil)
    with pytest.raises(UnsafePickle, match=r"asks for builtins\.exec|__builtin__\.exec"):
        read_pickle(pickle.dumps(Payload(exec, f"open({str(target)!r}, 'w')"), protocol))
    nested = pickle.dumps({0: [Payload(open, str(target), "w")]}, protocol)
    with pytest.raises(UnsafePickle, match="asks for"):
        read_pickle(nested)
    assert not target.exists()
    pickle.loads(evil)  # what the test would miss if the payload were harmless
    assert target.exists()


NAMES = [
    "numpy.load",
    "numpy.core.multiarray.scalar",
    "scipy.sparse._csr.csr_array",
    "builtins.getattr",
    "numpy.memmap",
]


@pytest.mark.parametrize("name", NAMES)
def test_other_names_of_numpy_and_python_are_refused(name: str) -> None:
    module, _, what = name.rpartition(".")
    with pytest.raises(UnsafePickle, match=f"asks for {name}, which arrays do not need"):
        read_pickle(f"c{module}\n{what}\n.".encode())


def test_what_is_not_an_array_or_a_graph_is_refused() -> None:
    for value in ("text", 3, {0: ["a"]}, {"a": [1]}, [1], {0: (1,)}):
        with pytest.raises(UnsafePickle, match="neither an array nor a graph"):
            read_pickle(pickle.dumps(value))
    with pytest.raises(UnsafePickle, match="no kind of plain number"):
        read_pickle(pickle.dumps(np.zeros(2, dtype="M8[s]"), 4))
    with pytest.raises(UnsafePickle, match=r"no kind of plain number|other things"):
        read_pickle(pickle.dumps(np.array([1, "a"], dtype=object), 4))


def test_damage_is_told() -> None:
    whole = pickle.dumps(np.arange(100), 4)
    for content in (b"", b"hello", whole[: len(whole) // 2], b"\x80\x02}q\x00", b"\x80\x02I1\nQ."):
        with pytest.raises(UnsafePickle):
            read_pickle(content)
    with pytest.raises(UnsafePickle, match="follows after its end"):
        read_pickle(whole + b"more")


def test_numbers_that_do_not_fit_are_refused() -> None:
    wrong = pickle.dumps(np.arange(100, dtype="<i8"), 3).replace(b"Kd\x85", b"Ke\x85")
    with pytest.raises(UnsafePickle, match=r"shape \(101,\) with 800 bytes"):
        read_pickle(wrong)
    for content, message in {
        b"cnumpy\nndarray\n)R.": "array without content",
        b"cscipy.sparse.csr\ncsr_matrix\n)\x81.": "sparse matrix without content",
        b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n)\x81}b.": "parts are not arrays",
    }.items():
        with pytest.raises(UnsafePickle, match=message):
            read_pickle(content)
    matrix = sparse.csr_matrix(np.eye(3))
    matrix.indices = np.array([0, 1, 7], dtype=np.int32)
    with pytest.raises(UnsafePickle, match="sparse matrix that is none"):
        read_pickle(pickle.dumps(matrix, 4))
    matrix = sparse.csr_matrix(np.eye(3))
    matrix.__dict__["_shape"] = (3.5, "a")
    with pytest.raises(UnsafePickle, match="sparse matrix of shape"):
        read_pickle(pickle.dumps(matrix, 4))


def test_the_reader_itself_cannot_be_changed() -> None:
    """BUILD can set attributes of what a name leads to; none of ours lets it."""
    for name in (b"numpy\nndarray", b"numpy\ndtype", b"scipy.sparse.csr\ncsr_matrix", b"collections\ndefaultdict"):
        with pytest.raises(UnsafePickle):
            read_pickle(b"\x80\x02c" + name + b"\nN}X\x05\x00\x00\x00valueK\x01s\x86b.")
    assert read_pickle(pickle.dumps(np.arange(2), 4)).tolist() == [0, 1]
