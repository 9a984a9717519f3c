"""The cases of Lab/network: the troubles of the network, of the devices and of their clocks
while data is sent."""

import dataclasses
import signal
import time
from collections.abc import Callable

from lab_network_trial import Trial
from outside import require

STEADY = "delay 5ms rate 1600kbit limit 150"
"""The base of cases in which something happens in the middle: 200 kB a second."""

DAY = 86_400


@dataclasses.dataclass(frozen=True)
class Case:
    """One case. Without `to`, the sender looks for the receiver; else it is a name, or the name of
    one of the place's addresses."""

    name: str
    place: str
    """`network`, `routed` (two networks) or `machines`."""
    netem: str | tuple[str, str] = ""
    """In both directions, or to the receiver and to the sender."""
    size: int = 4_000_000
    to: str = ""
    before: Callable[[Trial], None] | None = None
    """Happens before the sender starts."""
    during: Callable[[Trial], None] | None = None
    """Happens after the pairing."""
    limit: float = 120
    """Within how many seconds it must be done."""


# Links


def link_down(seconds):
    """The sender's cable has no carrier for so long."""
    def during(trial):
        trial.wait_for_bytes(0.2)
        trial.place.middle.shell("ip link set s down")
        trial.must_be_sending()
        time.sleep(seconds)
        trial.place.middle.shell("ip link set s up")
    return during


def silence(seconds):
    """Nothing gets through for so long, and neither device's interface knows."""
    def during(trial):
        trial.wait_for_bytes(0.2)
        trial.place.disturb("loss 100%")
        trial.must_be_sending()
        time.sleep(seconds)
        trial.place.disturb(STEADY)
    return during


def narrow(trial):
    trial.place.narrow(1280)


def narrow_without_a_word(trial):
    """Packets that do not fit vanish, and no message says so."""
    trial.place.filter("output", "icmp type destination-unreachable drop", "icmpv6 type packet-too-big drop")
    trial.place.narrow(1280)


def narrow_in_the_middle(trial):
    trial.wait_for_bytes(0.2)
    narrow_without_a_word(trial)
    trial.must_be_sending()


# Firewalls


def forget(which, verdict="drop"):
    """A device on the way forgets connections: their packets go nowhere, or are answered by a
    reset. New connections pass."""
    def during(trial):
        trial.wait_for_bytes(0.2)
        ports = trial.place.connections()
        require(len(ports) > 1, f"{len(ports)} connections in the middle")
        # The control connection is the first one.
        ports = {"every": ports, "control": ports[:1], "data": ports[1:]}[which]
        trial.place.filter("forward", *(f"tcp {end} {port} {verdict}" for port in ports for end in ("sport", "dport")))
        trial.must_be_sending()
    return during


# Addresses


def move(*names, network="10.99.0", first=11, pause=0.0):
    """These devices get other addresses, after a while without one."""
    def during(trial):
        trial.wait_for_bytes(0.2)
        devices = [getattr(trial.place, name) for name in names]
        for device in devices:
            device.shell("ip addr flush dev net")
        trial.must_be_sending()
        time.sleep(pause)
        for number, device in enumerate(devices, first):
            device.shell(f"ip addr add {network}.{number}/24 dev net; ip route replace default dev net")
    return during


def named(trial):
    trial.place.sender.hosts(**{"receiver.test": trial.place.addresses["receiver"]})


def named_elsewhere(trial):
    """The receiver moves, and some seconds later its name leads to its new address."""
    move("receiver")(trial)
    time.sleep(5)
    trial.place.sender.hosts(**{"receiver.test": "10.99.0.11"})


def again_with_another(trial):
    """The receiver moves; the sender's user ends the command, and gives it the new address."""
    move("receiver")(trial)
    time.sleep(2)
    trial.sender.signal(signal.SIGINT)
    trial.sender.wait(20)
    trial.send("--to", "10.99.0.11")


# Sleep and clocks


def standstill(name, seconds):
    """One machine stands still; its clocks do too."""
    def during(trial):
        trial.wait_for_bytes(0.2)
        with trial.place.control(getattr(trial.place, name)) as command:
            command("stop")
            trial.must_be_sending()
            time.sleep(seconds)
            command("cont")
    return during


def sleep(name, seconds):
    """One machine sleeps, as a laptop that is closed. Only the monotonic clock leaves that time
    out."""
    def during(trial):
        trial.wait_for_bytes(0.2)
        device = getattr(trial.place, name)
        with trial.place.control(device) as command:
            falling = device.begin("sh", "-ec", "echo mem >/sys/power/state")
            command.wait_for("SUSPEND")
            trial.must_be_sending()
            time.sleep(seconds)
            command("system_wakeup")
            falling.wait(60)
    return during


def jump(name, seconds):
    """The clock of one machine jumps."""
    def during(trial):
        trial.wait_for_bytes(0.2)
        shift(getattr(trial.place, name), seconds)
        trial.must_be_sending()
    return during


def shift(device, seconds):
    device.shell(f"date -s @$(($(date +%s) + {seconds}))")


def jump_before(name, seconds):
    """The clock jumps while the receiver waits for its code."""
    return lambda trial: shift(getattr(trial.place, name), seconds)


def links():
    yield Case("a good link", "network", "delay 1ms", 16_000_000)
    yield Case("1 % loss", "network", "delay 10ms loss 1%")
    yield Case("5 % loss", "network", "delay 10ms loss 5%", limit=180)
    yield Case("5 % loss, 100 ms there and back", "network", "delay 50ms loss 5%", limit=240)
    yield Case("200 ms with jitter", "network", "delay 200ms 40ms", limit=180)
    yield Case("reordering", "network", "delay 20ms reorder 75% 50%")
    yield Case("duplicates and damage", "network", "delay 5ms duplicate 2% corrupt 0.5%")
    yield Case("Wi-Fi: bursts of 3 % loss, 20 ms of jitter", "network", "delay 20ms 20ms loss gemodel 0.8% 25%", limit=180)
    yield Case("56 kB/s", "network", "rate 448kbit limit 60", 1_000_000)
    yield Case("56 kB/s, 300 ms, 1 % loss", "network", "rate 448kbit delay 150ms loss 1% limit 60", 1_000_000, limit=180)
    yield Case("a slow way back", "network", ("delay 20ms rate 20mbit limit 300", "delay 20ms rate 128kbit limit 50"))
    yield Case("the cable is out for 5 s", "network", STEADY, during=link_down(5))
    yield Case("the cable is out for 30 s", "network", STEADY, during=link_down(30), limit=180)
    yield Case("nothing gets through for 10 s", "network", STEADY, during=silence(10))
    yield Case("nothing gets through for 60 s", "network", STEADY, during=silence(60), limit=180)


def ways():
    for suffix, to in ("", "receiver"), (", IPv6", "receiver6"):
        yield Case(f"MTU 1280 on the way{suffix}", "routed", STEADY, to=to, before=narrow)
        yield Case(f"MTU 1280 on the way, no ICMP{suffix}", "routed", STEADY, to=to, before=narrow_without_a_word, limit=180)
    yield Case("MTU 1280 in the middle, no ICMP", "routed", STEADY, to="receiver", during=narrow_in_the_middle, limit=180)
    yield Case("a firewall forgets all connections", "routed", STEADY, to="receiver", during=forget("every"))
    yield Case("a firewall forgets the control connection", "routed", STEADY, to="receiver", during=forget("control"))
    yield Case("a firewall forgets the data connections", "routed", STEADY, to="receiver", during=forget("data"), limit=180)
    yield Case("a firewall resets all connections", "routed", STEADY, to="receiver", during=forget("every", "reject with tcp reset"))


def addresses():
    yield Case("another address, sender", "network", STEADY, during=move("sender"))
    yield Case("another address after 8 s, sender", "network", STEADY, during=move("sender", pause=8))
    yield Case("another address, receiver found again", "network", STEADY, during=move("receiver"))
    yield Case("another address after 8 s, receiver found again", "network", STEADY, during=move("receiver", pause=8))
    yield Case("another network, both", "network", STEADY, during=move("sender", "receiver", network="10.97.3", pause=4), limit=180)
    yield Case("another address, receiver by its name", "network", STEADY, to="receiver.test", before=named, during=named_elsewhere)
    yield Case("another address, receiver, the command again", "network", STEADY, to="receiver", during=again_with_another)


def machines():
    for name in "sender", "receiver":
        yield Case(f"standstill of 10 s, {name}", "machines", STEADY, during=standstill(name, 10))
        yield Case(f"standstill of 60 s, {name}", "machines", STEADY, during=standstill(name, 60), limit=180)
        yield Case(f"sleep of 8 s, {name}", "machines", STEADY, during=sleep(name, 8))
        yield Case(f"sleep of 45 s, {name}", "machines", STEADY, during=sleep(name, 45), limit=180)
    for name in "sender", "receiver":
        for words, seconds in ("forward", DAY), ("back", -DAY):
            yield Case(f"a day {words}, {name}", "machines", STEADY, during=jump(name, seconds))
    yield Case("a day forward while the code is open, receiver", "machines", STEADY, before=jump_before("receiver", DAY))
    yield Case("a day back while the code is open, receiver", "machines", STEADY, before=jump_before("receiver", -DAY))
    yield Case("a clock of 1970, receiver", "machines", STEADY, before=lambda trial: trial.place.receiver.shell("date -s 1970-02-01"))
    yield Case("a clock of 2100, sender", "machines", STEADY, before=lambda trial: trial.place.sender.shell("date -s 2100-01-01"))


def all_cases():
    return [*links(), *ways(), *addresses(), *machines()]
