"""Whole jobs of two workers over RDMA."""
import os
import re
import time

import jobs

# With loss a packet that was the last is sent again after a seventh of the retry budget.
LOSS_SCALE = 2
# A transport that was asked for and is not to be had ends the job on all ranks (C43, C47).
REFUSED_SECONDS = 10


class Jobs(jobs.Case):
    def test_c48_digits_are_learnt_over_rdma_while_trainers_fork(self):
        with jobs.Job([os.path.join(jobs.PROGRAMS, "digits"), jobs.DIGITS]) as job:
            output = job.succeed()
        self.assertRegex(output, r"link over rdma, .*anna \(rxe0:1 10\.77\.0\.1\) -> bert \(rxe1:1 "
                                 r"10\.77\.0\.2\)")
        self.assertRegex(output, "digits: 2 ranks, accuracy 0.[89]")
        self.assertIn("digits: forked children did no harm", output)

    def test_auto_takes_rdma_where_both_ends_can(self):
        with jobs.Job(jobs.perf(("1MiB", "1MiB"), 1, ["--check"]), transport="auto") as job:
            output = job.succeed()
        self.assertIn("link over rdma", output)
        self.assertRegex(output, r"links:\n +rank 0 \(anna\) - rank 1 \(bert\): rdma")
        for host, number in (("anna", 0), ("bert", 1)):
            chosen = re.findall(host + r": .*info: rdma: (rxe.*)", output)
            self.assertEqual(1, len(chosen), "once: which port and GID, and why")
            self.assertRegex(chosen[0], r"^rxe%d:1 gid \d+ 10\.77\.0\.%d \(RoCE v2, MTU \d+\).*"
                                        r"on the job's network" % (number, number + 1))
        self.assertIn("wrong elements on all ranks: 0", output)

    def expect_tcp_with_one_warning(self, output, reason):
        """The table of links names the hosts that have no RDMA, and why."""
        self.assertEqual(1, len(re.findall("warning: links ", output)))
        self.assertRegex(output, r"warning: links go over TCP, not RDMA.*\n"
                                 r" +rank 0 \(anna\) - rank 1 \(bert\): tcp; .*" + reason)
        self.assertIn("link over tcp", output)
        self.assertIn("wrong elements on all ranks: 0", output)

    def test_c43_memory_that_may_not_be_locked_is_said_and_tcp_goes_on(self):
        little = {"REIGEN_TEST_MEMLOCK_KIB": "64"}
        with jobs.Job(jobs.perf(("64KiB", "64KiB"), 2, ["--check"]), transport="auto",
                      environment=little) as job:
            output = job.succeed()
        self.expect_tcp_with_one_warning(
            output, r"anna: locked memory is limited to 64 KiB, RDMA needs about \d+ MiB; raise it")
        scale = jobs.machine_scale()
        with jobs.Job(jobs.perf(("64KiB", "64KiB"), 2), timeout_scale=scale,
                      environment=little) as job:
            code, output = job.wait()
            took = time.monotonic() - job.begin
        print("refused after %.1f s" % took, flush=True)
        self.assertNotEqual(0, code)
        self.assertRegex(output, "RDMA was asked for.*locked memory is limited to 64 KiB, RDMA "
                                 r"needs about \d+ MiB; raise it: `ulimit -l unlimited`")
        self.assertNotIn("algbw", output)
        self.assertLess(took, (REFUSED_SECONDS + jobs.SLACK_SECONDS) * scale)

    def test_c47_devices_that_one_host_cannot_open_make_it_tcp_and_are_named(self):
        hidden = {"REIGEN_TEST_WITHOUT_RDMA": "bert"}
        closed = r"RDMA device rxe\d is there and cannot be opened \(.*/dev/infiniband\)"
        with jobs.Job(jobs.perf(("64KiB", "64KiB"), 2, ["--check"]), transport="auto",
                      environment=hidden) as job:
            output = job.succeed()
        self.expect_tcp_with_one_warning(output, "bert: .*" + closed)
        scale = jobs.machine_scale()
        with jobs.Job(["sleep", "300"], timeout_scale=scale, environment=hidden) as job:
            code, output = job.wait()
            took = time.monotonic() - job.begin
        print("--transport rdma failed after %.1f s" % took, flush=True)
        self.assertEqual(jobs.HOST_LOST, code)
        self.assertLess(took, (REFUSED_SECONDS + jobs.SLACK_SECONDS) * scale)
        self.assertRegex(output, "RDMA was asked for, and bert has none: .*" + closed)
        self.assertEqual([], jobs.processes_with(hidden), "ranks and daemons")

    def test_c49_what_these_devices_do_not_take_from_gpus_is_staged_and_said(self):
        fake = {"LD_LIBRARY_PATH": jobs.PROGRAMS}
        rank = [os.path.join(jobs.LIBEXEC, "gpu_rank"), "--quick"]
        with jobs.Job(rank, environment=fake) as job:
            output = job.succeed()
        if "built without nvcc" in output:
            self.skipTest("built without nvcc")
        self.assertIn("link over rdma", output)
        for line in range(2):
            self.assertEqual(1, len(re.findall(
                r"rank=%d gpu=\S+ gpu-direct: staged \(rxe\d: it is not known how far they are "
                r"from each other\)" % line, output)))
        # Once on each host, as a warning: seen without --log-level info, too.
        self.assertEqual(2, len(re.findall(
            "warning: CUDA tensors go to and from RDMA links through page-locked memory.*; "
            "remedy: both must be PCI devices", output)))
        self.assertIn("ROW pass|ranks: every dtype and op|", output)
        with jobs.Job(rank, options=["--gpu-direct", "require"], environment=fake) as job:
            code, output = job.wait()
        self.assertNotEqual(0, code)
        self.assertRegex(output, r"reigenrun: .*gpu-direct.*staged")

    def test_c45_the_smaller_mtu_of_both_ends_counts(self):
        largest, factor = ("64MiB", "128") if jobs.LONG else ("16MiB", "64")
        try:
            jobs.check("ip link set rn1 mtu 1500")
            with jobs.Job(["reigen-perf", "--min", "4KiB", "--max", largest, "--factor", factor,
                           "--iters", "1", "--warmup", "0", "--check"]) as job:
                output = job.succeed()
            with jobs.Job(["true"], environment={"REIGEN_RDMA_MTU": "4096"}) as job:
                code, refused = job.wait()
            with jobs.Job(["true"], transport="auto",
                          environment={"REIGEN_RDMA_MTU": "4096"}) as job:
                code_of_auto, refused_by_auto = job.wait()
        finally:
            jobs.check("ip link set rn1 mtu 9000")
        self.assertRegex(output, "anna: .*path MTU 1024 .here 4096, there 1024; the smaller counts")
        self.assertRegex(output, "bert: .*path MTU 1024 .here 1024, there 4096; the smaller counts")
        self.assertIn("wrong elements on all ranks: 0", output)
        self.assertNotEqual(0, code)
        self.assertRegex(refused, "RDMA was asked for, and bert has none: .*"
                                  "a path MTU of 4096 .* 1024; ask for less")
        self.assertNotEqual(0, code_of_auto)
        self.assertRegex(refused_by_auto, "RDMA of bert: .*rxe1:1: a path MTU of 4096 was asked "
                                          "for, and the port's is 1024")

    def test_loss_and_delay_do_not_change_sums(self):
        for mtu in (1500, 9000):
            with self.subTest(mtu=mtu):
                lost = 0
                try:
                    for end in ("rn0", "rn1"):
                        jobs.check("ip link set %s mtu %d" % (end, mtu))
                        jobs.check("tc qdisc add dev %s root netem delay 10ms loss 1%%" % end)
                    with jobs.Job(jobs.perf(("256", "64KiB"), 10, ["--check"]),
                                  timeout_scale=LOSS_SCALE) as job:
                        output = job.succeed()
                finally:
                    for end in ("rn0", "rn1"):
                        lost += jobs.dropped(end)
                        jobs.run(["tc", "qdisc", "del", "dev", end, "root"])
                        jobs.check("ip link set %s mtu 9000" % end)
                print("lost %d packets" % lost, flush=True)
                self.assertGreater(lost, 0)
                self.assertIn("path MTU %d:" % (1024 if mtu == 1500 else 4096), output)
                self.assertIn("wrong elements on all ranks: 0", output)
