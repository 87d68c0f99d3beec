"""Hosts as network namespaces, joined by a bridge in a namespace of its own.

    with Network([Host(), Host(card="ens5")]) as network:
        network.hosts[0].name          # what reigenrun -H and {host} call it
        network.run_in_hub([...])      # the launcher's place: sees every host

Names are unique to the process, addresses exist only inside the namespaces, and
everything is gone on leaving, whatever happened. Needs root.
"""
import itertools
import os
import signal
import subprocess
import time

IPV4_NET = "10.77.0.%d"
IPV6_NET = "fd77::%x"
HUB_NUMBER = 254
HUB_CARD = "lan0"
# What Docker gives every host: the same address on each, leading nowhere.
DOCKER_ADDRESS = "172.17.0.1/16"

_counter = itertools.count()


def missing():
    """Why namespaces can't be made here, or None."""
    if os.geteuid() != 0:
        return "root is needed for network namespaces"
    name = "rgprobe%d" % os.getpid()
    try:
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    except FileNotFoundError:
        return "the program ip (iproute2) is missing"
    if made.returncode != 0:
        return "network namespaces: " + made.stderr.strip()
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


class Host:
    """One namespace; its fields are set by Network."""

    def __init__(self, card="eth0", docker=False):
        self.card = card
        self.docker = docker
        self.name = None
        self.ipv4 = None
        self.ipv6 = None

    def command(self, argv):
        return ["ip", "netns", "exec", self.name] + argv

    def pids(self):
        text = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True,
                              check=True).stdout
        return [int(word) for word in text.split()]

    def card_bytes(self, card=None):
        """Received and sent bytes of a card."""
        total = 0
        for direction in ("rx", "tx"):
            path = "/sys/class/net/%s/statistics/%s_bytes" % (card or self.card, direction)
            # /sys is that of the namespace it was mounted in: ip netns exec mounts it.
            total += int(subprocess.run(self.command(["cat", path]), capture_output=True,
                                        text=True, check=True).stdout)
        return total

    def listeners(self):
        """(address, port, line) of every listening TCP socket."""
        text = subprocess.run(self.command(["ss", "-ltnpH"]), capture_output=True, text=True,
                              check=True).stdout
        found = []
        for line in text.splitlines():
            address, _, port = line.split()[3].rpartition(":")
            address = address.strip("[]").partition("%")[0]
            # An IPv4 address, as a socket of both families shows it.
            found.append((address.removeprefix("::ffff:"), int(port), line))
        return found

    def lose(self, port):
        """Drops every TCP packet that arrives from or for this port, and no other."""
        # The table of local addresses comes first unless moved; nothing else changes.
        self._rules(["add pref 20 lookup local", "del pref 0"] +
                    ["add pref 10 iif %s ipproto tcp %s %d blackhole" % (self.card, end, port)
                     for end in ("sport", "dport")])

    def lose_nothing(self):
        self._rules(["del pref 10"] * 2)

    def _rules(self, rules):
        # One process: hosts lose at nearly the same moment, and as long as was meant.
        subprocess.run(["ip", "-n", self.name, "-batch", "-"], check=True, text=True,
                       input="".join("rule %s\n" % rule for rule in rules))


class Network:
    def __init__(self, hosts, ipv4=True, ipv6=False, hub_docker=False):
        self.prefix = "rg%dn%d" % (os.getpid(), next(_counter))
        self.hosts = hosts
        self.hub = Host(HUB_CARD, docker=hub_docker)
        self.ipv4, self.ipv6 = ipv4, ipv6

    def __enter__(self):
        try:
            self._make()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_):
        self._remove()

    def spaces(self):
        return [self.hub] + self.hosts

    def pids(self):
        return sorted(pid for space in self.spaces() for pid in space.pids())

    def host_list(self, slots):
        """The argument of -H."""
        return ",".join("%s:%d" % (host.name, slots) for host in self.hosts)

    def _make(self):
        self._add(self.hub, "hub", HUB_NUMBER)
        self._ip(self.hub, "link", "add", HUB_CARD, "type", "bridge")
        for number, host in enumerate(self.hosts):
            self._add(host, "h%d" % number, number + 1)
            port = "port%d" % number
            self._ip(self.hub, "link", "add", port, "type", "veth", "peer", "name", host.card,
                     "netns", host.name)
            self._ip(self.hub, "link", "set", port, "master", HUB_CARD, "up")
        for space in self.spaces():
            if space.docker:
                self._add_docker(space)
            if space.ipv4:
                self._ip(space, "addr", "add", space.ipv4 + "/24", "dev", space.card)
            if space.ipv6:
                self._ip(space, "addr", "add", space.ipv6 + "/64", "dev", space.card, "nodad")
            self._ip(space, "link", "set", space.card, "up")

    def _add(self, space, suffix, number):
        space.name = self.prefix + suffix
        space.ipv4 = IPV4_NET % number if self.ipv4 else None
        space.ipv6 = IPV6_NET % number if self.ipv6 else None
        subprocess.run(["ip", "netns", "add", space.name], check=True)
        self._ip(space, "link", "set", "lo", "up")

    def _add_docker(self, space):
        """docker0 with a container on it: up, with an address."""
        self._ip(space, "link", "add", "docker0", "type", "bridge")
        self._ip(space, "link", "add", "vethc0", "type", "veth", "peer", "name", "vethc1")
        self._ip(space, "link", "set", "vethc0", "master", "docker0", "up")
        self._ip(space, "link", "set", "vethc1", "up")
        self._ip(space, "addr", "add", DOCKER_ADDRESS, "dev", "docker0")
        self._ip(space, "link", "set", "docker0", "up")

    def _ip(self, space, *words):
        subprocess.run(["ip", "-n", space.name] + list(words), check=True)

    def _remove(self):
        """Kills what is left in the namespaces, which are ours alone, and deletes them."""
        made = [space for space in self.spaces() if space.name and
                os.path.exists("/run/netns/" + space.name)]
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            left = [pid for space in made for pid in space.pids()]
            if not left:
                break
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)
        for space in made:
            subprocess.run(["ip", "netns", "del", space.name], check=False)
