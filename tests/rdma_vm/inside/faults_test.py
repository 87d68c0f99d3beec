"""What goes wrong in the middle of a large all-reduce over RDMA."""
import re
import threading
import time

import jobs

BERT = 1001  # its user

# The launcher's verdict.
WORKER_LOST = r"reigenrun: host 1 \(bert\): worker lost: "


def path_lost(speaker, bert):
    """What it, or each rank, says of a path between anna's device and one of bert's."""
    end = r"(anna \(rxe0:1 10\.77\.0\.1\)|bert \(rxe%d:1 10\.77\.0\.%d\))" % (bert, bert + 1)
    return (speaker + r": .*?host \d \(\w+\) lost its link to host \d \(\w+\): " + end + " -> " +
            end + r" \(rdma\): ")


class Faults(jobs.Case):
    @classmethod
    def setUpClass(cls):
        """The first job reads the programs over the VM's file system, which takes seconds."""
        print("begin %s.the_first_job" % cls.__qualname__, flush=True)
        cls.small_job()

    @staticmethod
    def small_job():
        with jobs.Job(jobs.perf(("64KiB", "64KiB"), 1, ["--check"])) as job:
            return job.succeed()

    def setUp(self):
        super().setUp()
        self.scale = jobs.machine_scale()  # of limits

    def tearDown(self):
        jobs.mend()
        super().tearDown()

    def lose_rdma(self):
        """Everything that RDMA sends from bert, and nothing else."""
        for command in ("qdisc add dev rn1 root handle 1: prio bands 4 priomap " + "0 " * 16,
                        "qdisc add dev rn1 parent 1:4 handle 40: netem loss 100%",
                        "filter add dev rn1 parent 1: protocol ip u32 match ip protocol 17 0xff "
                        "match ip dport 4791 0xffff flowid 1:4"):
            jobs.check("tc " + command)

    def lost_packets(self):
        """What lose_rdma has dropped so far."""
        shown = jobs.check("tc -s qdisc show dev rn1")
        return int(re.search(r"qdisc netem 40:.*?dropped (\d+)", shown, re.DOTALL).group(1))

    def start(self, environment=None):
        """A job in the middle of all-reduces of 16 MiB."""
        return jobs.Job(jobs.perf(("16MiB", "16MiB"), 1000), timeout_scale=self.scale,
                        environment=environment)

    def expect_end(self, job, fault, verdict):
        """After the fault: the verdict, then the end, each within its limit."""
        job.wait_for_output("link over rdma", times=2)
        time.sleep(2)
        begin = time.time()
        fault()
        code, output = job.wait()
        ended = time.time()
        self.assertEqual(jobs.HOST_LOST, code)
        self.assertRegex(output, verdict)
        decided = self.time_of_verdict(output)
        told, end = decided - begin, ended - decided
        self.assertGreaterEqual(told, 0)
        self.assertNotRegex(output, r"check failed|Segmentation|terminate called")
        self.assertLess(told, (jobs.VERDICT_SECONDS + jobs.SLACK_SECONDS) * self.scale)
        self.assertLess(end, (jobs.END_SECONDS + jobs.SLACK_SECONDS) * self.scale)
        print("verdict after %.1f s, end %.1f s later: %s" % (told, end, self.last_words(output)),
              flush=True)
        return output

    def expect_both_ranks_said_it(self, output, bert):
        """Which ends, devices and ports lost each other: raised by the operation that waited."""
        found = re.findall(path_lost("reigen-perf", bert), output)
        self.assertEqual(2, len(found), output)
        for ends in found:
            self.assertNotEqual(ends[0], ends[1])

    @staticmethod
    def time_of_verdict(output):
        """By the coordinator's log: the launcher tells it together with the end."""
        line = re.search(r"(?m)^(\S+ \S+)\.(\d+) reigen-coordinator \w+: the job ends: ", output)
        if line is None:
            raise AssertionError("the coordinator did not say that the job ends")
        return time.mktime(time.strptime(line.group(1), "%Y-%m-%d %H:%M:%S")) + (
            int(line.group(2)) / 1000)

    @staticmethod
    def last_words(output):
        lines = [line for line in output.splitlines() if re.match(r"reigenrun|\[?reigen", line)]
        return lines[-1][:300] if lines else "(nothing)"

    def expect_next_job_works(self):
        self.assertIn("wrong elements on all ranks: 0", self.small_job())

    def test_a_killed_peer(self):
        with self.start() as job:
            # The coordinator sees its stream end, or its guard is first to say what happened.
            self.expect_end(job, lambda: jobs.kill(jobs.Job.worker_of(BERT)), WORKER_LOST +
                            r"|reigenrun: host 1 \(bert\): the worker ended: signal 9 ")
        self.expect_next_job_works()

    def test_a_stopped_peer(self):
        with self.start() as job:
            self.expect_end(job, lambda: jobs.stop(jobs.Job.worker_of(BERT)),
                            WORKER_LOST + r"|reigenrun: host 1 \(bert\): the worker has stopped: ")
        self.expect_next_job_works()

    def test_c46_a_link_that_goes_down(self):
        """That of the RDMA device alone: the coordinator still hears of bert."""
        with self.start({"REIGEN_TEST_RDMA_DEVICES_OF_BERT": "rxe2"}) as job:
            output = self.expect_end(job, lambda: jobs.check("ip link set rn2 down"),
                                     path_lost("reigenrun", 2))
            self.expect_both_ranks_said_it(output, 2)
        jobs.mend()
        self.expect_next_job_works()

    def test_c46_total_loss_for_eight_seconds(self):
        back = threading.Timer(8 * self.scale, jobs.mend)
        with self.start() as job:
            def fault():
                self.lose_rdma()
                back.start()
            output = self.expect_end(job, fault, path_lost("reigenrun", 1) +
                                     ".*(RETRY_EXC_ERR|has gone)")
            self.expect_both_ranks_said_it(output, 1)
        back.join()
        self.expect_next_job_works()

    def test_total_loss_for_two_seconds_is_survived(self):
        with jobs.Job(jobs.perf(("16MiB", "16MiB"), 6, ["--check"]),
                      timeout_scale=self.scale) as job:
            job.wait_for_output("link over rdma", times=2)
            time.sleep(1)
            self.lose_rdma()
            time.sleep(2 * self.scale)
            self.assertIsNone(job.process.poll(), "the job ended before the loss")
            self.assertGreater(self.lost_packets(), 0)
            jobs.mend()
            output = job.succeed()
        self.assertIn("wrong elements on all ranks: 0", output)
