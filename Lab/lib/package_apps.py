"""The data of real programs moves from one Debian system to another, with one code, and the programs
find it there.

Usage: package_apps.py PACKAGE|FOLDER [APP...]
  PACKAGE|FOLDER  the package of peer, or a folder with bin/peer and share/peer
  APP             only these apps (default: all)

Runs as root in a mount namespace of its own. Prints a table: check | ok or FAILED | figure.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.append(f"{os.path.dirname(os.path.abspath(__file__))}/../../Scripts/lib")

from outside import Failure, remove, wait_for  # noqa: E402
from package_systems import Network, System, make_root_with  # noqa: E402
from package_transfers import Lines  # noqa: E402

PACKAGES = ["firefox-esr", "thunderbird", "chromium", "keepassxc", "libreoffice-writer-nogui", "gimp", "vim", "git", "openssh-client", "gnupg",
            "dconf-cli", "dbus", "flatpak", "nano", "tmux", "zsh", "fish", "neovim", "htop", "sqlite3"]
PREFIX = "/opt/peer"
PLACES = "\"$(find ~/.mozilla ~/.config/mozilla -name places.sqlite 2>/dev/null | head -n 1)\""
COOKIES = PLACES.replace("places", "cookies")
BOOKMARK = ("insert into moz_places(url, guid, url_hash) values('http://moved.example/', 'aaaaaaaaaaaa', 1); "
            "insert into moz_bookmarks(type, fk, parent, title, guid) values(1, last_insert_rowid(), 3, 'Moved', 'bbbbbbbbbbbb');")
COOKIE = ("insert into moz_cookies(name, value, host, path, expiry, lastAccessed, creationTime) "
          "values('moved', 'yes', 'moved.example', '/', 4102444800, 1, 1);")
FLATPAK = """set -e; cd /tmp; for kind in runtime app; do id=org.example.Moved; [ $kind = app ] || id=org.example.Platform
  mkdir -p $kind/files/bin $kind/usr/bin $kind/export; printf 'x' > $kind/files/bin/x
  if [ $kind = app ]; then printf "[Application]\\nname=$id\\nruntime=org.example.Platform/x86_64/1\\nsdk=org.example.Platform/x86_64/1\\ncommand=x\\n"
  else printf "[Runtime]\\nname=$id\\n"; fi > $kind/metadata
  flatpak build-export --disable-sandbox $([ $kind = app ] || echo --runtime --files=files) repo $kind $([ $kind = app ] && echo stable || echo 1); done
flatpak --user remote-add --if-not-exists --no-gpg-verify moved file:///tmp/repo
dbus-run-session -- flatpak --user install -y --noninteractive moved org.example.Moved >/dev/null"""

APPS = {
    # The app: what makes its data on the old system, and what shows it on the new one.
    "org.mozilla.firefox": (
        f"timeout 25 firefox-esr --headless >/dev/null 2>&1; sqlite3 {PLACES} \"{BOOKMARK}\" && "
        f"sqlite3 {COOKIES} \"{COOKIE}\"",
        f"timeout 25 firefox-esr --headless >/dev/null 2>&1 || true; test $(find ~/.mozilla ~/.config/mozilla -name places.sqlite 2>/dev/null | wc -l) = 1; "
        f"sqlite3 {PLACES} \"select title from moz_bookmarks where guid='bbbbbbbbbbbb'\" | grep -x Moved; "
        f"sqlite3 {COOKIES} \"select value from moz_cookies where host = 'moved.example'\" | grep -x yes"),
    "org.mozilla.Thunderbird": (
        "timeout 20 thunderbird --headless >/dev/null 2>&1; echo 'user_pref(\"moved.mark\", true);' >> $(ls -d ~/.thunderbird/*.default-* | tail -n 1)/user.js",
        "touch /tmp/before; sleep 1; timeout 60 thunderbird --headless >/dev/null 2>&1 || true; test $(ls -d ~/.thunderbird/*.default* | wc -l) = 2; "
        "cd $(dirname $(ls ~/.thunderbird/*.default*/user.js)); find . -newer /tmp/before -name '*.sqlite*' | grep -q ."),
    "org.chromium.Chromium": (
        "timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir=$HOME/.config/chromium --dump-dom about:blank >/dev/null 2>&1 && "
        "mkdir -p ~/.config/chromium/Default; echo moved > ~/.config/chromium/Default/moved-mark",
        "timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir=$HOME/.config/chromium --dump-dom about:blank 2>/dev/null | grep -q html; "
        "grep -x moved ~/.config/chromium/Default/moved-mark"),
    "org.keepassxc.KeePassXC": (
        "mkdir -p ~/.config/keepassxc ~/Documents; printf '[GUI]\\nLanguage=de\\n' > ~/.config/keepassxc/keepassxc.ini; "
        "printf 'secret\\nsecret\\n' | keepassxc-cli db-create -p ~/Documents/a.kdbx >/dev/null 2>&1; "
        "printf 'secret\\n' | keepassxc-cli mkdir ~/Documents/a.kdbx Moved >/dev/null 2>&1",
        "printf 'secret\\n' | keepassxc-cli ls ~/Documents/a.kdbx 2>/dev/null | grep -x Moved/; grep -q Language=de ~/.config/keepassxc/keepassxc.ini"),
    "org.libreoffice.LibreOffice": (
        "echo text > /tmp/t.txt; timeout 120 soffice --headless --convert-to pdf --outdir /tmp /tmp/t.txt >/dev/null 2>&1; "
        "echo moved > ~/.config/libreoffice/4/user/moved-mark; test -f ~/.config/libreoffice/4/user/registrymodifications.xcu",
        "rm -f /tmp/t.pdf; echo text > /tmp/t.txt; timeout 120 soffice --headless --convert-to pdf --outdir /tmp /tmp/t.txt >/dev/null 2>&1; test -s /tmp/t.pdf; "
        "grep -x moved ~/.config/libreoffice/4/user/moved-mark"),
    "org.gimp.GIMP": (
        "timeout 120 gimp-console -i -b '(gimp-quit 0)' >/dev/null 2>&1; echo '(save-session-info no)' >> ~/.config/GIMP/2.10/gimprc",
        "timeout 120 gimp-console -i -b '(gimp-quit 0)' >/dev/null 2>&1; grep -q 'save-session-info no' ~/.config/GIMP/2.10/gimprc"),
    "vim": ("echo 'let g:moved = 42' > ~/.vimrc", "vim -e -s -u ~/.vimrc -c 'call writefile([string(g:moved)], \"/tmp/vim\")' -c q; grep -x 42 /tmp/vim"),
    "git": ("git config --global user.name Moved", "git config --global user.name | grep -x Moved"),
    "openssh": ("mkdir -m 700 -p ~/.ssh; ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519; printf 'Host moved\\n  User me\\n' > ~/.ssh/config",
                "ssh-keygen -y -P '' -f ~/.ssh/id_ed25519 | grep -q ssh-ed25519; ssh -G moved | grep -x 'user me'; test $(stat -c %a ~/.ssh) = 700"),
    "gnupg": ("gpg --batch --quiet --passphrase '' --quick-generate-key moved@example.org default default never; gpgconf --kill all",
              "gpg --batch --quiet --list-secret-keys | grep -q moved@example.org; echo x | gpg --batch --quiet --yes --pinentry-mode loopback --passphrase '' "
              "--sign -o /tmp/x.gpg; gpg --batch --quiet --decrypt /tmp/x.gpg | grep -x x; gpgconf --kill all"),
    "bash": ("echo 'alias moved=true' >> ~/.bashrc", "bash -ic 'alias moved' 2>/dev/null | grep -q true"),
    "gnome-settings": ("dbus-run-session -- dconf write /org/gnome/desktop/interface/clock-format \"'24h'\"",
                       "dconf read /org/gnome/desktop/interface/clock-format | grep -x \"'24h'\""),
    "nano": ("echo 'set tabsize 3' > ~/.nanorc", "grep -x 'set tabsize 3' ~/.nanorc"),
    "tmux": ("echo 'set -g @moved yes' > ~/.tmux.conf", "tmux -L moved -f ~/.tmux.conf start-server ';' show -gv @moved | grep -x yes"),
    "zsh": ("echo 'moved=yes' > ~/.zshrc", "zsh -ic 'echo $moved' 2>/dev/null | grep -x yes"),
    "fish": ("mkdir -p ~/.config/fish; echo 'set -g moved yes' > ~/.config/fish/config.fish", "fish -c 'echo $moved' | grep -x yes"),
    "neovim": ("mkdir -p ~/.config/nvim; echo 'let g:moved = 7' > ~/.config/nvim/init.vim",
               "nvim --headless -c 'call writefile([string(g:moved)], \"/tmp/nvim\")' -c q 2>/dev/null; grep -x 7 /tmp/nvim"),
    "bookmarks": ("mkdir -p ~/.config/gtk-3.0 ~/Documents; echo file://$HOME/Documents > ~/.config/gtk-3.0/bookmarks",
                  "grep -x file://$HOME/Documents ~/.config/gtk-3.0/bookmarks"),
    "org.example.Moved": (f"{FLATPAK}; mkdir -p ~/.var/app/org.example.Moved/data ~/.var/app/org.example.Moved/cache; "
                          "echo moved > ~/.var/app/org.example.Moved/data/mark; echo x > ~/.var/app/org.example.Moved/cache/x",
                          "grep -x moved ~/.var/app/org.example.Moved/data/mark; test ! -e ~/.var/app/org.example.Moved/cache"),
}


class Home:
    """A user of a system."""

    def __init__(self, name, user, lower, work, peer):
        self.system, self.user = System(name, work, lower), user
        root = self.system.root
        # The systems share the kernel: processes of the other one are another user's.
        self.system.run("useradd", "--create-home", "--shell", "/bin/bash", "--uid", f"{2000 + ord(user[0])}", user)
        for folder in ("tmp", "dev/shm"):
            os.chmod(f"{root}/{folder}", 0o1777)
        run_folder = f"{root}/tmp/run-{user}"
        os.mkdir(run_folder, 0o700)
        number = int(self.system.run("id", "-u", user))
        os.chown(run_folder, number, number)
        if os.path.isdir(peer):
            shutil.copytree(peer, f"{root}{PREFIX}", symlinks=True)
        else:
            self.system.install(peer)

    def words(self, command, network=None):
        variables = [f"HOME=/home/{self.user}", f"USER={self.user}", f"XDG_RUNTIME_DIR=/tmp/run-{self.user}", "LANG=C.UTF-8", "TERM=xterm",
                     f"PATH={PREFIX}/bin:/usr/bin:/bin:/usr/games", f"LD_LIBRARY_PATH={PREFIX}/lib",
                     f"DBUS_SESSION_BUS_ADDRESS=unix:path=/tmp/run-{self.user}/bus"]
        return self.system.words(
            ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--init-groups", "env", "-i", *variables, "bash", "-c", f"cd; {command}"], network)

    def shell(self, command, seconds=300):
        """Runs a command; whether it succeeded, and its output."""
        found = subprocess.run(self.words(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               timeout=seconds, check=False)
        return found.returncode == 0, found.stdout.decode(errors="replace")


    def close(self):
        """Ends what its user's programs have left running."""
        number = os.stat(f"{self.system.root}/home/{self.user}").st_uid
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if name.isdigit() and os.stat(f"/proc/{name}").st_uid == number:
                    os.kill(int(name), signal.SIGTERM)


def row(name, is_fine, figure=""):
    print(f"{name:<50} | {'ok' if is_fine else 'FAILED':<7} | {figure}", flush=True)
    return is_fine


def events(lines, name):
    found = [json.loads(line) for line in lines.lines if line.startswith("{")]
    return [event for event in found if event["event"] == name]


def move(old, new, network, running):
    """Moves everything with one code; a program of the old system runs, and is ended when peer asks for it."""
    receiver = Lines(new.words("exec peer receive --everything --take-apps --take-secrets --replace --listen 127.0.0.1:0 --json --no-announce",
                               network.path))
    port = receiver.find("where it listens", lambda line: json.loads(line)["port"] if '"listening"' in line else None)
    code = receiver.find("the code", lambda line: json.loads(line)["code"] if '"event":"code"' in line else None)
    sender = Lines(old.words(f"echo {code} | exec peer send --everything --wait --to 127.0.0.1:{port} --code-file - --json", network.path))
    if running:
        try:
            asked = sender.find("a word about the running app", lambda line: line if "in use by" in line else None)
            row("a running Firefox is named", "process" in asked, json.loads(asked)["message"][:90])
        finally:
            running.process.terminate()
    codes = sender.wait(), receiver.wait()
    parts = events(sender, "part")
    for part in parts:
        if part["state"] != "done":
            row(f"part {part['part']}", False, part.get("message"))
    for event in events(receiver, "notice"):
        print(f"  {event['message'][:160]}")
    return row("everything moves with one code", codes == (0, 0), f"{len(parts)} parts, exit codes {codes}")


def main(peer, *only):
    work = tempfile.mkdtemp(prefix="peer-apps-")
    lower = make_root_with("bookworm", PACKAGES)
    network, homes, fine, background = Network(), [], True, []
    try:
        old, new = homes = [Home(name, user, lower, work, peer) for name, user in (("old", "anna"), ("new", "bert"))]
        # Flatpak asks the system's bus before it installs.
        os.makedirs(f"{old.system.root}/run/dbus", exist_ok=True)
        background.append(subprocess.Popen(old.system.words(["dbus-daemon", "--system", "--nofork", "--nopidfile"]), stderr=subprocess.DEVNULL))
        background.append(subprocess.Popen(new.words("exec dbus-daemon --session --nofork --nopidfile --address=$DBUS_SESSION_BUS_ADDRESS", network.path), stderr=subprocess.DEVNULL))
        apps = {name: steps for name, steps in APPS.items() if not only or name in only}
        made = {}
        for name, (fill, _) in apps.items():
            made[name], text = old.shell(fill)
            fine &= row(f"{name}: data on the old system", made[name], "" if made[name] else " ".join(text.split())[-120:])
        old.close()
        running = None
        if "org.mozilla.firefox" in apps:
            running = Lines(old.words("exec firefox-esr --headless >/dev/null 2>&1", network.path))
            wait_for("Firefox's lock", 60, lambda: "lock" in old.shell("find ~/.mozilla ~/.config/mozilla -name lock")[1])
        fine &= move(old, new, network, running)
        for name, (_, look) in apps.items():
            is_there, text = new.shell(f"set -e; {look}")
            fine &= row(f"{name}: found on the new system", is_there, "" if is_there else " ".join(text.split())[-120:])
        return 0 if fine else 1
    finally:
        for process in background:
            process.kill()
            process.wait()
        network.end()
        for home in homes:
            home.close()
            home.system.end()
        remove(work)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except Failure as failure:
        print(f"FAILED: {failure}")
        sys.exit(1)
