"""What reigenctl doctor says of the VM's two soft-RoCE devices."""
import json
import os

import jobs

TIMEOUT = ["--timeout", "120"]
AS_HOST = os.path.join(jobs.FOLDER, "as_host") + " {host} {command}"


class Doctor(jobs.Case):
    def look(self, arguments, environment=(), hosts="anna"):
        """(exit code, output) of a look at hosts, whose users are not root."""
        words = ["env"] + list(environment)
        return jobs.run(words + ["reigenctl", "doctor", "-H", hosts, "--rsh", AS_HOST] +
                        TIMEOUT + list(arguments), 200)

    def test_devices_ports_and_gids_are_listed(self):
        code, output = self.look([], hosts="anna,bert")
        self.assertEqual(0, code, output)
        for number in (0, 1):
            self.assertRegex(output, r"rxe%d:1 +active, RoCE, .*MTU 4096, rn%d, GIDs .*10\.77\.0\.%d "
                                     r"\(RoCE v2\)" % (number, number, number + 1))
        self.assertRegex(output, r"between hosts +rxe0:1 gid 1 10\.77\.0\.1 \(RoCE v2, MTU 4096\)")
        self.assertRegex(output, "locked memory +not limited")

        code, output = self.look(["--json", "--rdma-devices", "rxe1"])
        self.assertEqual(0, code, output)
        for host in json.loads(output)["hosts"]:
            self.assertEqual("rdma", host["transport"])
            self.assertEqual(4096, host["rdma_mtu_bytes"])
            self.assertIn("RoCE v2 over IPv4", host["rdma_kinds"])
            self.assertEqual(1, len(host["rdma_ports"]))
            self.assertTrue(host["rdma_ports"][0].startswith("rxe1:1 "), host["rdma_ports"])
            devices = {each["name"]: each for each in host["facts"]["rdma"]["devices"]}
            self.assertLessEqual({"rxe0", "rxe1"}, set(devices))
            for device in devices.values():
                self.assertFalse(device["registers_dmabuf"])
                self.assertEqual("", device["node_error"])

    def test_a_job_that_runs_is_neither_disturbed_nor_in_the_way(self):
        with jobs.Job(jobs.perf(("1MiB", "1MiB"), 100000)) as job:
            job.wait_for_output("link over rdma", times=2)
            code, output = self.look([], hosts="anna,bert")
            self.assertIsNone(job.process.poll(), "the job ended")
        self.assertEqual(0, code, output)
        self.assertIn("no problem", output)

    def test_little_locked_memory_is_a_problem_with_its_remedy(self):
        little = ["REIGEN_TEST_MEMLOCK_KIB=64"]
        code, output = self.look([], little)
        self.assertEqual(1, code, output)
        self.assertRegex(output, r"PROBLEM locked memory +locked memory is limited to 64 KiB, RDMA "
                                 r"needs about 66 MiB\n +remedy: raise it: `ulimit -l unlimited`")
        self.assertIn("links use TCP", output)
        code, output = self.look(["--transport", "tcp"], little)
        self.assertEqual(0, code, output)

    def test_a_wish_that_cannot_be_met_is_a_job_that_is_refused(self):
        code, output = self.look(["--json"], ["REIGEN_RDMA_DEVICES=rxe9"])
        self.assertEqual(1, code, output)
        host, = json.loads(output)["hosts"]
        self.assertEqual("none", host["transport"])
        problem, = [each for each in host["findings"] if each["level"] == "problem"]
        self.assertRegex(problem["text"], "there is no RDMA device rxe9 .*: a job with this wish is "
                                          "refused")
        code, output = self.look(["--transport", "tcp"], ["REIGEN_RDMA_DEVICES=rxe9"])
        self.assertEqual(0, code, output)

    def test_a_port_that_is_down_is_told(self):
        try:
            jobs.check("ip link set rn2 down")
            code, output = self.look(["--rdma-devices", "rxe2"])
            self.assertEqual(1, code, output)
            self.assertRegex(output, r"note +rxe2:1 +down")
            self.assertRegex(output, r"PROBLEM between hosts .*rxe2:1 is not active \(down\)")
        finally:
            jobs.mend()
