"""Links and collectives over two soft-RoCE devices, without a job."""
import os
import re

import jobs


class Links(jobs.Case):
    def run_program(self, name, options):
        code, output = jobs.run([os.path.join(jobs.PROGRAMS, name)] + options,
                                1200 if jobs.LONG else 300)
        if code != 0:
            print(output)
        self.assertEqual(0, code)
        passed = len(re.findall(r"(?m)^\[ +OK \] ", output))
        self.assertGreater(passed, 0, "no case ran: a filter that matches nothing?")
        print("%s: %d cases passed" % (name, passed), flush=True)

    def test_links_keep_the_contract_of_links(self):
        # Megabytes and many regions take seconds with emulated devices: once is enough for
        # the normal run.
        only = [] if jobs.LONG else [
            "--gtest_filter=*/two_queues-RealRdmaOnGpus/*SixtyFour*:RealRdmaOnGpus/*ManyTags*"]
        self.run_program("real_conformance", only)

    def test_every_collective_matches_the_reference(self):
        self.run_program("collectives", [])
