"""reigen for arrays, DLPack and buffers, in a job of size 1: layouts, dtypes,
errors, handles. What several ranks compute is in tests/ranks."""

import array
import gc
import os
import subprocess
import sys
import unittest
import unittest.mock

import numpy as np

import reigen
from reigen import _handles, _library, _start, _views


def setUpModule():
    os.environ.pop("REIGEN_SOCKET", None)
    reigen.init()


def tearDownModule():
    reigen.shutdown()


class Dlpack:
    """An object that has __dlpack__ and nothing else."""

    def __init__(self, inner):
        self.inner = inner

    def __dlpack__(self, **_):
        return self.inner.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


class LifeTest(unittest.TestCase):
    def test_a_job_without_daemons_is_of_size_one(self):
        self.assertTrue(reigen.is_initialized())
        self.assertEqual((reigen.rank(), reigen.size()), (0, 1))
        self.assertEqual((reigen.local_rank(), reigen.local_size()), (0, 1))
        self.assertEqual((reigen.cross_rank(), reigen.cross_size()), (0, 1))

    def test_without_init_numbers_are_value_errors_and_operations_internal(self):
        reigen.shutdown()
        try:
            with self.assertRaisesRegex(ValueError, "not initialised"):
                reigen.rank()
            with self.assertRaisesRegex(reigen.HorovodInternalError, "not initialised"):
                reigen.allreduce(np.ones(2))
        finally:
            reigen.init()

    def test_the_version_is_the_librarys(self):
        self.assertEqual(reigen.__version__, _library.lib.reigen_version().decode())

    def test_a_library_that_is_not_there_is_an_import_error_with_its_path(self):
        environment = dict(os.environ, REIGEN_LIBRARY="/nowhere/libreigen.so")
        ran = subprocess.run(
            [sys.executable, "-c", "import reigen"],
            env=dict(environment, PYTHONPATH=os.pathsep.join(sys.path)),
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(ran.returncode, 1)
        self.assertIn("/nowhere/libreigen.so", ran.stderr)


class AllreduceTest(unittest.TestCase):
    def test_every_dtype_comes_back(self):
        for name in _library.DTYPES:
            if name == "bfloat16":
                continue
            values = np.array([[0, 1], [1, 0]], dtype=name)
            op = reigen.Max if name == "bool" else reigen.Average
            result = reigen.allreduce(values, op=op)
            self.assertEqual(result.dtype, values.dtype)
            np.testing.assert_array_equal(result, values)
            self.assertIsNot(result, values)

    def test_shapes_are_kept(self):
        for shape in [(), (0,), (1, 0, 2), (3,), (2, 1, 2, 1, 2, 1, 2, 1, 2, 1)]:
            values = np.random.default_rng(1).random(shape)
            result = reigen.allreduce(values, op=reigen.Sum, prescale_factor=2.0)
            self.assertEqual(result.shape, shape)
            np.testing.assert_array_equal(result, values * 2)

    def test_views_are_written_and_nothing_beside_them(self):
        base = np.arange(64, dtype=np.float32).reshape(8, 8)
        views = {
            "column": lambda m: m[:, 3],
            "transposed": lambda m: m.T,
            "reversed": lambda m: m[::-1, ::-2],
            "block": lambda m: m[2:5, 1:7:3],
        }
        for name, view in views.items():
            memory = base.copy()
            expected = base.copy()
            view(expected)[...] *= 3
            out = view(memory)
            self.assertIs(reigen.allreduce_(out, op=reigen.Sum, postscale_factor=3.0), out, name)
            np.testing.assert_array_equal(memory, expected, name)

    def test_expanded_views_are_read_and_not_written(self):
        expanded = np.lib.stride_tricks.as_strided(np.ones(2), (3, 2), (0, 8))
        np.testing.assert_array_equal(reigen.allreduce(expanded), np.ones((3, 2)))
        with self.assertRaisesRegex(ValueError, "overlap"):
            reigen.allreduce_(expanded)

    def test_read_only_arrays_are_not_written(self):
        frozen = np.ones(3)
        frozen.flags.writeable = False
        reigen.allreduce(frozen)
        with self.assertRaisesRegex(ValueError, "read-only"):
            reigen.allreduce_(frozen)
        with self.assertRaisesRegex(ValueError, "read-only"):
            reigen.allreduce_(b"abc")

    def test_numbers_and_numpy_scalars_are_tensors_of_no_dimension(self):
        self.assertEqual(float(reigen.allreduce(2.5)), 2.5)
        self.assertEqual(reigen.allreduce(np.float32(3)).shape, ())

    def test_buffers_are_reduced_in_place(self):
        numbers = array.array("f", [1, 2, 3])
        self.assertIs(reigen.allreduce_(numbers, op=reigen.Sum, prescale_factor=2.0), numbers)
        self.assertEqual(list(numbers), [2, 4, 6])
        data = bytearray(b"\1\2\3\4")
        reigen.allreduce_(memoryview(data)[::2], op=reigen.Sum, prescale_factor=3.0)
        self.assertEqual(data, b"\3\2\x09\4")
        data.append(0)  # the buffer was let go

    def test_dlpack_objects_are_read_and_written(self):
        values = np.arange(6, dtype=np.int32).reshape(2, 3).T
        np.testing.assert_array_equal(reigen.allreduce(Dlpack(values)), values)
        reigen.allreduce_(Dlpack(values), op=reigen.Sum, prescale_factor=2.0)
        self.assertEqual(values[2, 1], 10)

    def test_what_is_no_tensor_is_a_type_error(self):
        with self.assertRaisesRegex(TypeError, "str is no tensor"):
            reigen.allreduce("abc")

    def test_unsupported_dtypes_and_ops_are_named(self):
        with self.assertRaisesRegex(ValueError, "complex128"):
            reigen.allreduce(np.ones(2, complex))
        with self.assertRaisesRegex(ValueError, "byte order"):
            reigen.allreduce(np.ones(2, ">f4"))
        with self.assertRaisesRegex(ValueError, "allreduce.flags: average of bool"):
            reigen.allreduce(np.ones(2, bool), name="flags")
        with self.assertRaisesRegex(ValueError, "unknown reduction"):
            reigen.allreduce(np.ones(2), op=2)

    def test_without_numpy_results_are_memoryviews(self):
        code = (
            "import sys; sys.modules['numpy'] = None\n"
            "import array, reigen\n"
            "reigen.init()\n"
            "out = reigen.allreduce(array.array('i', [1, 2]), op=reigen.Sum, prescale_factor=4)\n"
            "assert out.tolist() == [4, 8] and out.format == 'i', out\n"
            "m = memoryview(bytearray(6)).cast('B', [2, 3])\n"
            "assert reigen.allreduce(m).shape == (2, 3)\n"
            "assert reigen.broadcast_object({1: 2}) == {1: 2}\n"
        )
        subprocess.run(
            [sys.executable, "-c", code],
            env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
            check=True,
        )


class GroupTest(unittest.TestCase):
    def test_a_group_keeps_its_order(self):
        tensors = [np.full(i, i, np.float64) for i in range(5)]
        results = reigen.grouped_allreduce(tensors, name="g", op=reigen.Sum)
        for tensor, result in zip(tensors, results):
            np.testing.assert_array_equal(tensor, result)

    def test_an_empty_group_is_empty(self):
        self.assertEqual(reigen.grouped_allreduce([]), [])
        self.assertEqual(reigen.grouped_allreduce_([]), [])

    def test_in_place_returns_the_tensors(self):
        tensors = [np.ones(2), np.ones(3)]
        self.assertIs(reigen.grouped_allreduce_(tensors, postscale_factor=2.0), tensors)
        self.assertEqual(tensors[1][0], 2.0)
        handle = reigen.grouped_allreduce_async_(tensors)
        self.assertIs(reigen.synchronize(handle), tensors)


class BroadcastTest(unittest.TestCase):
    def test_all_forms(self):
        values = np.arange(4)
        np.testing.assert_array_equal(reigen.broadcast(values, 0), values)
        self.assertIs(reigen.broadcast_(values, 0, name="v"), values)
        handle = reigen.broadcast_async(values, 0)
        np.testing.assert_array_equal(reigen.synchronize(handle), values)

    def test_a_wrong_root_is_a_value_error(self):
        with self.assertRaisesRegex(ValueError, "root_rank 3"):
            reigen.broadcast(np.ones(1), 3)

    def test_objects(self):
        thing = {"a": [1, 2.5, None], "b": b"x" * 100}
        self.assertEqual(reigen.broadcast_object(thing, name="thing"), thing)
        with self.assertRaises(Exception):
            reigen.broadcast_object(lambda: 0 if os else sys)  # no pickle, maybe cloudpickle
            raise ValueError("cloudpickle took it")


class StreamTest(unittest.TestCase):
    @staticmethod
    def cuda_array(**stream):
        array = unittest.mock.Mock(spec=["__cuda_array_interface__"])
        array.__cuda_array_interface__ = {
            "shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3, **stream
        }
        return _views.view_of(array)

    def test_a_cuda_array_that_tells_no_stream_is_assumed_on_the_default_one(self):
        told = self.cuda_array(stream=7)
        self.assertEqual((told.stream, told.stream_assumed), (7, False))
        for silent in (self.cuda_array(), self.cuda_array(stream=None)):
            self.assertEqual((silent.stream, silent.stream_assumed), (1, True))

    def test_a_result_on_an_assumed_stream_is_waited_for_until_it_is_in_memory(self):
        real = _library.lib.reigen_wait_delivered
        for assumed in (False, True):
            view = _views.view_of(np.ones(3))
            view.stream_assumed = assumed
            with unittest.mock.patch.object(_library.lib, "reigen_wait_delivered") as delivered:
                delivered.side_effect = real
                handle = _start.start_allreduce(
                    None, [(view, view)], reigen.Sum, 1.0, 1.0, lambda: "done"
                )
                self.assertEqual(reigen.synchronize(handle), "done")
            self.assertEqual(delivered.called, assumed)


class HandleTest(unittest.TestCase):
    def test_a_handle_is_an_int_that_works_once(self):
        handle = reigen.allreduce_async(np.ones(2))
        self.assertIsInstance(handle, int)
        self.assertTrue(reigen.poll(handle))
        np.testing.assert_array_equal(reigen.synchronize(int(handle)), np.ones(2))
        self.assertIsNone(reigen.synchronize(handle))
        with self.assertRaisesRegex(ValueError, "unknown handle"):
            reigen.poll(handle)

    def test_dropped_handles_are_given_up(self):
        before = len(_handles._entries)
        for _ in range(100):
            reigen.allreduce_async(np.ones(1000))
        gc.collect()
        reigen.synchronize(reigen.allreduce_async(np.ones(1)))
        self.assertLessEqual(len(_handles._entries), before + 1)

    def test_barrier_returns(self):
        self.assertIsNone(reigen.barrier())


if __name__ == "__main__":
    unittest.main()
