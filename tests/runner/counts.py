"""Counts of test cases, and the readers that make them from what suites leave."""
import json
import os
import re
import urllib.parse
import xml.etree.ElementTree


class Counts:
    """Cases of a stage. A suite that ran no case at all is itself a failure."""

    def __init__(self):
        self.passed = 0
        self.failures = []  # names, with the reason
        self.skips = []     # names, with what is missing

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips

    def refuse_skips(self, reasons, why):
        """Skips for one of these reasons are failures."""
        refused = [skip for skip in self.skips if any(reason in skip for reason in reasons)]
        self.skips = [skip for skip in self.skips if skip not in refused]
        self.failures += ["%s (%s)" % (skip, why) for skip in refused]

    def require_cases(self, suite):
        if not (self.passed or self.failures or self.skips):
            self.failures.append("%s: ran no case" % suite)

    def __str__(self):
        return "%d passed, %d failed, %d skipped" % (
            self.passed, len(self.failures), len(self.skips))


def from_lines(text):
    """From 'PASS name', 'FAIL name: reason' and 'SKIP name: reason' lines."""
    counts = Counts()
    for line in text.splitlines():
        match = re.match(r"(PASS|FAIL|SKIP) (\S.*)$", line)
        if not match:
            continue
        if match.group(1) == "PASS":
            counts.passed += 1
        elif match.group(1) == "FAIL":
            counts.failures.append(match.group(2))
        else:
            counts.skips.append(match.group(2))
    return counts


def _from_xml(label, path):
    counts = Counts()
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = "%s %s.%s" % (label, case.get("classname", ""), case.get("name", ""))
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            counts.failures.append(name)
        elif skipped is not None or case.get("result") in ("skipped", "suppressed"):
            reason = (skipped.get("message") or "") if skipped is not None else "disabled"
            counts.skips.append("%s: %s" % (name, " ".join(reason.split())))
        else:
            counts.passed += 1
    return counts


def from_build_events(path):
    """From the file of bazel test --build_event_json_file: only what this run did.

    A target whose program writes no cases (a shell script) counts as one; one
    that writes a list of no cases is a failure, and so is one without a result.
    """
    counts = Counts()
    with open(path) as stream:
        events = [json.loads(line) for line in stream]
    outputs, status = {}, {}
    for event in events:
        label = event.get("id", {}).get("testResult", {}).get("label")
        if label:
            result = event.get("testResult", {})
            status[label] = result.get("status", "NO_STATUS")
            for output in result.get("testActionOutput", []):
                if output["name"] == "test.xml":
                    outputs[label] = urllib.parse.unquote(
                        urllib.parse.urlparse(output["uri"]).path)
        summary = event.get("id", {}).get("testSummary", {}).get("label")
        if summary:
            status.setdefault(summary, event.get("testSummary", {}).get(
                "overallStatus", "NO_STATUS"))
    for label in sorted(status):
        one = Counts()
        if label in outputs and os.path.exists(outputs[label]):
            one = _from_xml(label, outputs[label])
        one.require_cases(label)
        if status[label] not in ("PASSED", "FLAKY") and not one.failures:
            one.failures.append("%s: %s" % (label, status[label]))
        counts.add(one)
    return counts
