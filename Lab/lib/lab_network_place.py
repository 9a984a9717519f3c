"""The places of Lab/network: two devices with a network between them, in one machine or in
two.

In one machine, each device and the network between them is a network namespace. Its clock and its
sleep would be those of both devices; for these, each device is a machine.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import time

from lab_machine import Machine
from outside import require, tool

DATA = "/data"
"""A folder of each machine, on ext4 in its memory."""

TOOLS = "make-tree", "check-trees", "disk_trial.py", "lab_network_payload.py"
MODULES = ("ext4", "brd rd_nr=1 rd_size=460800", "sch_netem", "veth", "bridge", "nft_reject_inet")


class Device:
    """A device of a place: the commands that run there."""

    def __init__(self, machine, name, space=None):
        self.machine, self.name, self.space = machine, name, space
        self.enter = ("ip", "netns", "exec", space) if space else ()

    def begin(self, *words, **options):
        return self.machine.begin(*self.enter, *words, **options)

    def shell(self, script, seconds=300):
        return self.machine.run(*self.enter, "sh", "-ec", script, seconds=seconds)

    def hosts(self, **addresses):
        """Sets the addresses of names there."""
        lines = "\n".join(["127.0.0.1 localhost", *(f"{address} {name}" for name, address in addresses.items())])
        # Each `ip netns exec` mounts a namespace's own file over /etc/hosts, so the file must stay
        # the same.
        folder = f"/etc/netns/{self.space}" if self.space else "/etc"
        self.machine.run("sh", "-ec", f'mkdir -p "{folder}"; cat >"{folder}/hosts"', text=f"{lines}\n", seconds=300)


class Place:
    """Two devices, `sender` and `receiver`, and the machines in which they are."""

    def __init__(self, parts, work, binary):
        self.parts, self.work, self.binary = parts, work, binary
        self.machines = []

    def start(self, name, extra=(), can_sleep=False):
        """Starts a machine that has the program, the tools and a disk."""
        folder = f"{self.work}/{name}"
        os.makedirs(f"{folder}/tools")
        shutil.copy(self.binary, f"{folder}/peer")
        for name in TOOLS:
            shutil.copy(tool(name), f"{folder}/tools")
        machine = Machine(self.parts, folder, seconds=3600, extra=extra, can_sleep=can_sleep)
        self.machines.append(machine)
        machine.shell("; ".join(f"modprobe {module}" for module in MODULES))
        machine.shell(f"ip link set eth0 down; mkfs.ext4 -q -b 4096 /dev/ram0; mkdir {DATA}; mount -t ext4 /dev/ram0 {DATA}; cp -r /lab/peer /lab/tools {DATA}")
        if can_sleep:
            machine.shell("umount /lab; for one in /sys/bus/virtio/drivers/9pnet_virtio/virtio*; do echo ${one##*/} >${one%/*}/unbind; done")
        return machine

    def payload(self, size):
        """The path of a payload, which is made in each machine that does not have it."""
        path = f"{DATA}/payload-{size}"
        for machine in self.machines:
            machine.shell(f'[ -e "{path}" ] || python3 {DATA}/tools/lab_network_payload.py "{path}" {size}', 300)
        return path

    def end(self):
        for machine in self.machines:
            with contextlib.suppress(OSError):
                machine.end(is_in_order=False)


class Spaces(Place):
    """One machine with three namespaces: `sender`, `middle` and `receiver`, joined by two cables.

    The middle's ends of the cables are `s` and `r`, and the devices' ends are `net`.
    """

    def __init__(self, parts, work, binary):
        super().__init__(parts, work, binary)
        machine = self.start("machine")
        self.sender, self.middle, self.receiver = (Device(machine, name, name) for name in ("sender", "middle", "receiver"))

    def lay(self, is_routed=False):
        """Makes the three anew, without any trouble: a network, or two with a router between them.

        Only routed devices have IPv6: an address of one link would stay where others change.
        """
        script = [
            "for space in sender middle receiver; do ip netns del $space 2>/dev/null || :; ip netns add $space; ip -n $space link set lo up; done",
            "rm -rf /etc/netns",
            "ip link add s netns middle type veth peer name net netns sender",
            "ip link add r netns middle type veth peer name net netns receiver",
            # Packets on their way are no larger than on a real cable.
            "for one in 'middle s' 'middle r' 'sender net' 'receiver net'; do set -- $one; ip -n $1 link set $2 gso_max_segs 1; done",
        ]
        if is_routed:
            script += [
                "ip netns exec middle sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1",
            ]
            for network, (space, port) in enumerate((("sender", "s"), ("receiver", "r")), 1):
                script += [
                    f"ip -n middle addr add 10.98.{network}.1/24 dev {port}; ip -n middle addr add fd98:{network}::1/64 dev {port} nodad",
                    f"ip -n {space} addr add 10.98.{network}.2/24 dev net; ip -n {space} addr add fd98:{network}::2/64 dev net nodad",
                    f"ip -n middle link set {port} up; ip -n {space} link set net up",
                    f"ip -n {space} route add default via 10.98.{network}.1; ip -n {space} -6 route add default via fd98:{network}::1",
                ]
            self.addresses = {"sender": "10.98.1.2", "receiver": "10.98.2.2", "receiver6": "fd98:2::2"}
        else:
            script += [
                "for space in sender middle receiver; do ip netns exec $space sysctl -qw net.ipv6.conf.all.disable_ipv6=1; done",
                "ip -n middle link add switch type bridge forward_delay 0; ip -n middle link set switch up",
                "for port in s r; do ip -n middle link set $port master switch up; done",
                "ip -n sender addr add 10.99.0.1/24 dev net; ip -n sender link set net up; ip -n sender route add default dev net",
                "ip -n receiver addr add 10.99.0.2/24 dev net; ip -n receiver link set net up; ip -n receiver route add default dev net",
            ]
            self.addresses = {"sender": "10.99.0.1", "receiver": "10.99.0.2"}
        self.middle.machine.shell("\n".join(script))

    def disturb(self, to_receiver, to_sender=None):
        """Gives netem its words for each direction; without the second, both have the same. Empty
        words undo it."""
        for port, words in ("r", to_receiver), ("s", to_receiver if to_sender is None else to_sender):
            command = f"tc qdisc replace dev {port} root netem {words}" if words else f"tc qdisc del dev {port} root"
            self.middle.shell(command)

    def narrow(self, mtu):
        """The largest packet that fits the way between routed devices, in each direction."""
        for network, port in (1, "s"), (2, "r"):
            self.middle.shell(
                f"ip route replace 10.98.{network}.0/24 dev {port} mtu lock {mtu}; ip -6 route replace fd98:{network}::/64 dev {port} metric 100 mtu lock {mtu}")

    def connections(self):
        """The sender's ports of its connections to the receiver, the oldest first."""
        lines = self.sender.shell("ss -Htne state established").splitlines()
        # The kernel counts its sockets.
        age = {line.split()[2].rsplit(":", 1)[1]: int(re.search(r"\bino:(\d+)", line)[1]) for line in lines}
        return sorted(age, key=age.get)

    def filter(self, hook, *rules):
        """The rules for the packets that the middle forwards or sends itself, between routed
        devices."""
        self.middle.machine.run(
            *self.middle.enter, "nft", "-f", "-",
            text="\n".join(["table inet lab {", f"chain {hook} {{", f"type filter hook {hook} priority 0;", *rules, "}", "}", ""]))


class Machines(Place):
    """Two machines, with a cable between them, on which each has the interface eth1."""

    def __init__(self, parts, work, binary):
        super().__init__(parts, work, binary)
        ports = free_ports(2)
        machines = [
            self.start(name, [
                "-netdev", f"dgram,id=cable,local.type=inet,local.host=127.0.0.1,local.port={own},"
                f"remote.type=inet,remote.host=127.0.0.1,remote.port={other}",
                "-device", f"virtio-net-pci,netdev=cable,romfile=,mac=52:54:00:00:00:0{number}",
                "-qmp", "unix:qmp,server=on,wait=off"], can_sleep=True)
            for number, (name, own, other) in enumerate((("sender", *ports), ("receiver", *reversed(ports))), 1)]
        self.sender, self.receiver = Device(machines[0], "sender"), Device(machines[1], "receiver")
        self.addresses = {"sender": "10.99.0.1", "receiver": "10.99.0.2"}

    def lay(self):
        """Makes the cable and the clocks right."""
        for device in self.sender, self.receiver:
            device.shell(
                "sysctl -qw net.ipv6.conf.all.disable_ipv6=1; tc qdisc del dev eth1 root 2>/dev/null || :;"
                f"ip addr flush dev eth1; ip addr add {self.addresses[device.name]}/24 dev eth1; ip link set eth1 up;"
                f"ip route replace default dev eth1; date -s @{int(time.time())}")

    def disturb(self, words):
        """Gives netem its words for both directions."""
        for machine in self.machines:
            machine.shell(f"tc qdisc replace dev eth1 root netem {words}")

    @contextlib.contextmanager
    def control(self, device):
        """The emulator of a device, as long as a case needs it."""
        folder = os.open(device.machine.folder, os.O_PATH)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as plug:
                plug.settimeout(60)
                plug.connect(f"/proc/self/fd/{folder}/qmp")
                yield Control(plug)
        finally:
            os.close(folder)


class Control:
    """An emulator that takes commands (QMP)."""

    def __init__(self, plug):
        self.plug, self.answers = plug, plug.makefile("rb")
        self.answers.readline()
        self("qmp_capabilities")

    def __call__(self, command):
        self.plug.sendall(json.dumps({"execute": command}).encode())
        answer = self.next(lambda answer: "event" not in answer)
        require("return" in answer, f"{command}: {answer}")

    def wait_for(self, event):
        """Waits for an event of the emulator that comes after the last command's answer."""
        self.next(lambda answer: answer.get("event") == event)

    def next(self, wanted):
        while True:
            answer = json.loads(self.answers.readline())
            if wanted(answer):
                return answer


def free_ports(count):
    """Ports of datagrams that are free at this moment."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in sockets]
    require(len(set(ports)) == count, "no free ports")
    return ports
