"""Two homes in network namespaces, behind routers that masquerade, and a server between them."""

import os
import subprocess

PATIENCE = 20


def ip(*words):
    subprocess.run(["ip", *words], check=True, timeout=PATIENCE)


ROUTER = """
table ip nat {
  chain out {
    type nat hook postrouting priority 100
    oifname "out" masquerade MANNER
  }
}
table inet filter {
  chain through {
    type filter hook forward priority 0
    policy drop
    iifname "home" accept
    ct state established accept
  }
  chain into {
    type filter hook input priority 0
    policy drop
    iifname "home" accept
    ct state established accept
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
  }
}
"""


class Homes:
    """A server, and two homes whose routers masquerade, each in its manner: "" keeps ports, "random"
    changes them for each connection. Neither lets connections in, by IPv6 either."""

    def __init__(self, undone, manners, has_ipv6=False):
        """`undone` is an ExitStack, which removes everything."""
        self.tag = f"peer-homes-{os.getpid()}"
        for name in ("server", "left", "right", "old", "new"):
            ip("netns", "add", self.space(name))
            undone.callback(ip, "netns", "del", self.space(name))
            ip("-n", self.space(name), "link", "set", "lo", "up")
        for number, (router, device, manner) in enumerate((("left", "old", manners[0]), ("right", "new", manners[1])), 2):
            self.cable("server", f"to-{router}", router, "out")
            self.cable(router, "home", device, "net")
            ip("-n", self.space("server"), "route", "add", f"198.51.100.{number}", "dev", f"to-{router}")
            self.address(router, "out", f"198.51.100.{number}/32")
            ip("-n", self.space(router), "route", "add", "198.51.100.1", "dev", "out")
            ip("-n", self.space(router), "route", "add", "default", "via", "198.51.100.1", "dev", "out", "onlink")
            self.address(router, "home", "10.0.0.1/24")
            self.address(device, "net", "10.0.0.2/24")
            ip("-n", self.space(device), "route", "add", "default", "via", "10.0.0.1")
            self.run(router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
            self.run(router, "nft", ROUTER.replace("MANNER", manner))
            if has_ipv6:
                self.give_ipv6(number, router, device)
        self.address("server", "lo", "198.51.100.1/32")
        self.run("server", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        if has_ipv6:
            self.run("server", "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding")

    def give_ipv6(self, number, router, device):
        """A network of the home's own, which the server routes."""
        prefix, link = f"2001:db8:{number}::", f"2001:db8:ff:{number}::"
        self.run(router, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding")
        for space, interface, address in (
                ("server", f"to-{router}", f"{link}1/64"), (router, "out", f"{link}2/64"), (router, "home", f"{prefix}1/64"),
                (device, "net", f"{prefix}2/64")):
            ip("-n", self.space(space), "addr", "add", address, "dev", interface, "nodad")
        ip("-n", self.space(router), "-6", "route", "add", "default", "via", f"{link}1")
        ip("-n", self.space(device), "-6", "route", "add", "default", "via", f"{prefix}1")
        ip("-n", self.space("server"), "-6", "route", "add", f"{prefix}/64", "via", f"{link}2")

    def space(self, name):
        return f"{self.tag}-{name}"

    def enter(self, name):
        return ["nsenter", f"--net=/run/netns/{self.space(name)}"]

    def cable(self, one, its, other, theirs):
        ip("-n", self.space(one), "link", "add", its, "type", "veth", "peer", "name", theirs, "netns", self.space(other))
        ip("-n", self.space(one), "link", "set", its, "up")
        ip("-n", self.space(other), "link", "set", theirs, "up")

    def address(self, name, interface, address):
        ip("-n", self.space(name), "addr", "add", address, "dev", interface)

    def run(self, name, *command):
        subprocess.run([*self.enter(name), *command], check=True, timeout=PATIENCE)
