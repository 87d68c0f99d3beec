"""A real sshd in every namespace, with keys, port and configuration of its own."""
import os
import shutil
import subprocess
import tempfile
import time

PORT = 2222


class Servers:
    """`with Servers(network) as servers:` gives the launcher's arguments.

    The hub's /etc/ssh is replaced, inside its namespace only, by one that knows
    the servers' key: the launcher uses its default, ssh, with -p and -i.
    """

    def __init__(self, network):
        self.network = network
        self.folder = tempfile.mkdtemp(prefix="rgsshd-")
        self.etc = "/etc/netns/" + network.hub.name
        self.servers = []

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_):
        self._stop()

    def arguments(self, slots):
        hosts = ",".join("%s:%d" % (host.ipv4, slots) for host in self.network.hosts)
        return ["-H", hosts, "-p", str(PORT), "-i", self._path("user_key")]

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _start(self):
        for name in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                            self._path(name)], check=True)
        shutil.copy(self._path("user_key.pub"), self._path("authorized_keys"))
        with open(self._path("host_key.pub")) as stream:
            key = " ".join(stream.read().split()[:2])
        with open(self._path("known_hosts"), "w") as out:
            for host in self.network.hosts:
                out.write("[%s]:%d %s\n" % (host.ipv4, PORT, key))
        with open(self._path("sshd_config"), "w") as out:
            out.write("HostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\n"
                      "StrictModes no\nPermitRootLogin prohibit-password\n"
                      "PasswordAuthentication no\n" % (
                          self._path("host_key"), self._path("authorized_keys")))
        os.makedirs(self.etc + "/ssh")
        with open(self.etc + "/ssh/ssh_config", "w") as out:
            out.write("Host *\n  UserKnownHostsFile %s\n  StrictHostKeyChecking yes\n"
                      "  BatchMode yes\n" % self._path("known_hosts"))
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        for host in self.network.hosts:
            self.servers.append(subprocess.Popen(host.command(
                ["/usr/sbin/sshd", "-D", "-e", "-f", self._path("sshd_config"), "-p", str(PORT)]),
                stderr=open(self._path(host.name + ".log"), "w")))
        deadline = time.monotonic() + 10
        while not all(any(port == PORT for _, port, _ in host.listeners())
                      for host in self.network.hosts):
            if time.monotonic() > deadline:
                raise RuntimeError("sshd does not listen")
            time.sleep(0.05)

    def _stop(self):
        for server in self.servers:
            server.kill()
            server.wait()
        shutil.rmtree(self.etc, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)
