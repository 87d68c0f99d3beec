"""reigen.torch in a job of size 1: tensors, gradients, the optimizer's rules."""

import os
import unittest
import warnings

import torch

import reigen
import reigen.torch as hvd
from reigen.torch import _gradients


def setUpModule():
    os.environ.pop("REIGEN_SOCKET", None)
    hvd.init()


def tearDownModule():
    hvd.shutdown()


class TensorTest(unittest.TestCase):
    def test_the_ops_have_horovods_numbers(self):
        self.assertEqual((hvd.Average, hvd.Sum, hvd.Min, hvd.Max, hvd.Product), (0, 1, 3, 4, 5))

    def test_every_dtype_comes_back(self):
        for dtype in (
            torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
            torch.bfloat16, torch.float32, torch.float64, torch.bool,
        ):
            values = torch.tensor([[1, 0], [0, 1]]).to(dtype)
            op = hvd.Max if dtype == torch.bool else hvd.Sum
            for result in (
                hvd.allreduce(values, op=op),
                hvd.broadcast(values, 0),
                hvd.grouped_allreduce([values], op=op)[0],
            ):
                self.assertEqual(result.dtype, dtype)
                self.assertTrue(torch.equal(result, values))

    def test_functions_for_arrays_take_tensors_of_every_kind(self):
        for dtype in (torch.bool, torch.bfloat16, torch.float32):
            values = torch.tensor([1, 0, 1]).to(dtype)
            op = hvd.Max if dtype == torch.bool else hvd.Sum
            self.assertIs(reigen.allreduce_(values, op=op), values)
            self.assertTrue(torch.equal(values, torch.tensor([1, 0, 1]).to(dtype)))
        negated = torch.tensor([1 + 2j]).conj().imag
        self.assertTrue(negated.is_neg())
        self.assertEqual(reigen.allreduce(negated).tolist(), [-2])
        with self.assertRaisesRegex(ValueError, "negated"):
            reigen.allreduce_(negated)
        trained = torch.nn.Parameter(torch.ones(2))
        self.assertEqual(reigen.allreduce(trained, op=hvd.Sum).tolist(), [1, 1])

    def test_views_are_written_where_they_lie(self):
        base = torch.arange(24.0).reshape(2, 3, 4)
        out = base.clone()
        view = out.permute(2, 0, 1)[1:3]
        self.assertIs(hvd.allreduce_(view, op=hvd.Sum, prescale_factor=2.0), view)
        expected = base.clone()
        expected.permute(2, 0, 1)[1:3] *= 2
        self.assertTrue(torch.equal(out, expected))
        last = torch.rand(2, 3, 4, 4).to(memory_format=torch.channels_last)
        self.assertTrue(torch.equal(hvd.allreduce(last), last))

    def test_expanded_tensors_are_read_and_not_written(self):
        expanded = torch.ones(1, 3).expand(4, 3)
        self.assertTrue(torch.equal(hvd.allreduce(expanded), torch.ones(4, 3)))
        with self.assertRaisesRegex(ValueError, "overlap"):
            hvd.allreduce_(expanded)

    def test_zero_elements_and_scalars(self):
        for shape in ((0,), (1, 0, 2), ()):
            self.assertEqual(hvd.allreduce(torch.ones(shape)).shape, shape)

    def test_sparse_and_complex_tensors_are_refused(self):
        with self.assertRaisesRegex(ValueError, "sparse"):
            hvd.allreduce_(torch.eye(3).to_sparse())
        with self.assertRaisesRegex(ValueError, "complex64"):
            hvd.allreduce(torch.ones(2, dtype=torch.complex64))

    def test_what_is_no_tensor_is_refused(self):
        for operation in (
            hvd.allreduce, hvd.allreduce_async, hvd.allreduce_,
            lambda thing: hvd.grouped_allreduce([thing]), lambda thing: hvd.broadcast(thing, 0),
            lambda thing: hvd.broadcast_(thing, 0),
        ):
            with self.assertRaisesRegex(ValueError, "expected a torch tensor, got float"):
                operation(1.0)

    def test_average_and_op_exclude_each_other(self):
        with self.assertRaisesRegex(ValueError, "not both"):
            hvd.allreduce(torch.ones(1), average=True, op=hvd.Sum)
        self.assertEqual(hvd.allreduce(torch.ones(1), average=False).item(), 1)

    def test_compression_keeps_the_dtype(self):
        values = torch.tensor([1.0, 2.0**-30])
        result = hvd.allreduce(values, compression=hvd.Compression.fp16)
        self.assertEqual(result.dtype, torch.float32)
        self.assertEqual(result.tolist(), [1.0, 0.0])

    def test_handles(self):
        handle = hvd.allreduce_async_(torch.ones(3), name="x")
        self.assertTrue(hvd.poll(handle))
        self.assertEqual(hvd.synchronize(handle).tolist(), [1, 1, 1])
        self.assertIsNone(hvd.synchronize(handle))


class GradientTest(unittest.TestCase):
    def test_allreduce_passes_its_scales_on(self):
        values = torch.ones(3, requires_grad=True)
        hvd.allreduce(values, op=hvd.Sum, prescale_factor=2.0, postscale_factor=3.0).sum().backward()
        self.assertEqual(values.grad.tolist(), [6, 6, 6])

    def test_groups_and_broadcasts_are_differentiable(self):
        a, b = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
        x, y = hvd.grouped_allreduce([a, b])
        (x.sum() + 5 * y.sum() + hvd.broadcast(a, 0).sum()).backward()
        self.assertEqual((a.grad.tolist(), b.grad.tolist()), ([2, 2], [5]))

    def test_the_largest_has_no_gradient(self):
        values = torch.ones(2, requires_grad=True)
        with self.assertRaisesRegex(RuntimeError, "Average and Sum"):
            hvd.allreduce(values, op=hvd.Max).sum().backward()


def model_and_data():
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    return model, torch.rand(8, 4)


class OptimizerTest(unittest.TestCase):
    def test_steps_as_the_plain_optimizer_does(self):
        for make in (
            lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
            lambda p: torch.optim.Adam(p, lr=0.01),
        ):
            plain, data = model_and_data()
            wrapped, _ = model_and_data()
            ours = hvd.DistributedOptimizer(
                make(wrapped.parameters()), wrapped.named_parameters()
            )
            self.assertIsInstance(ours, type(make(plain.parameters())))
            theirs = make(plain.parameters())
            schedules = [torch.optim.lr_scheduler.StepLR(o, 2) for o in (ours, theirs)]
            for _ in range(5):
                for model, optimizer in ((wrapped, ours), (plain, theirs)):
                    optimizer.zero_grad()
                    model(data).pow(2).mean().backward()
                    optimizer.step()
                for schedule in schedules:
                    schedule.step()
            for p, q in zip(wrapped.parameters(), plain.parameters()):
                self.assertTrue(torch.equal(p, q))

    def test_state_of_a_used_optimizer_is_taken_over(self):
        model, data = model_and_data()
        plain = torch.optim.Adam(model.parameters())
        model(data).sum().backward()
        plain.step()
        wrapped = hvd.DistributedOptimizer(plain)
        self.assertEqual(len(wrapped.state), 4)
        with self.assertRaisesRegex(ValueError, "DistributedOptimizer already"):
            hvd.DistributedOptimizer(wrapped)
        wrapped.load_state_dict(wrapped.state_dict())

    def test_closures_are_run_by_the_base(self):
        model, data = model_and_data()
        optimizer = hvd.DistributedOptimizer(torch.optim.LBFGS(model.parameters(), max_iter=5))

        def closure():
            optimizer.zero_grad()
            loss = model(data).pow(2).mean()
            loss.backward()
            return loss

        first = optimizer.step(closure).item()
        self.assertLess(optimizer.step(closure).item(), first)

    def test_a_step_after_synchronize_warns_once_outside_skip_synchronize(self):
        model, data = model_and_data()
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
        model(data).sum().backward()
        optimizer.synchronize()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with optimizer.skip_synchronize():
                optimizer.step()
            self.assertEqual(len(caught), 0)
            optimizer.synchronize()
            optimizer.step()
            self.assertEqual(len(caught), 1)

    def test_wrong_arguments_are_value_errors(self):
        model, _ = model_and_data()
        named = list(model.named_parameters())

        def wrap(**options):
            return hvd.DistributedOptimizer(
                torch.optim.SGD(model.parameters(), lr=0.1), **options
            )

        for options in (
            {"named_parameters": model.parameters()},
            {"named_parameters": named + [named[0]]},
            {"named_parameters": named[1:]},
            {"backward_passes_per_step": 0},
            {"op": hvd.Sum, "gradient_predivide_factor": 2.0},
            {"groups": [["x"]]},
            {"groups": [[named[0][1]], [named[0][1]]]},
        ):
            with self.assertRaises(ValueError, msg=str(options)):
                wrap(**options)
        wrap(named_parameters=named, groups=2)
        with self.assertRaises(ValueError):
            wrap().set_backward_passes_per_step(0)


class UnitsTest(unittest.TestCase):
    def test_a_group_is_split_by_dtype_and_device(self):
        group = [
            torch.nn.Parameter(torch.ones(2, dtype=dtype, device=device))
            for device in ("cpu", "meta")
            for dtype in (torch.float32, torch.float64)
            for _ in range(2)
        ]
        units = _gradients.units({p: str(n) for n, p in enumerate(group)}, [group])
        pairs = [units[parameter] for parameter in group[::2]]
        self.assertEqual([len(pair) for pair in pairs], [2, 2, 2, 2])
        for first, second, pair in zip(group[::2], group[1::2], pairs):
            self.assertIs(pair[0], first)
            self.assertIs(pair[1], second)


class ParametersTest(unittest.TestCase):
    def test_dicts_and_lists_are_broadcast(self):
        model, _ = model_and_data()
        hvd.broadcast_parameters(model.state_dict(), 0)
        hvd.broadcast_parameters(model.named_parameters(), 0)
        hvd.broadcast_parameters(list(model.parameters()), root_rank=0)

    def test_anything_else_is_a_value_error(self):
        with self.assertRaises(ValueError):
            hvd.broadcast_parameters(torch.ones(2), 0)
        with self.assertRaisesRegex(ValueError, "parameter x is no tensor"):
            hvd.broadcast_parameters({"x": 3}, 0)


if __name__ == "__main__":
    unittest.main()
