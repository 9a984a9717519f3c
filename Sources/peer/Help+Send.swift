extension Help {
  static let send = """
    Usage:
      peer send PATH... [--to HOST[:PORT]] [--exclude PATTERN]...
                [--exclude-from FILE]... [--exclude-caches] [--owners]
                [--compress WHEN] [--limit RATE] [--streams N] [--code-file FILE]
                [--give-up-after TIME] [--label TEXT] [--json]
      peer send --app ID [--to HOST[:PORT]] [--idle-limit TIME] ...

    Sends files and folders to a device on which 'peer receive' is waiting: looks
    whether it is there, and asks for the code that it shows. Each arrives under its
    last name: photos/2026 becomes 2026. Nothing here is changed.

    Without --to it looks for three seconds which devices are waiting in this
    network, takes the only one, and asks which of several it is; without a terminal
    that is an error. What was interrupted goes on with the device that it was begun
    with, wherever it is.

    Patterns leave items out, by the rules of .gitignore files: *.o is about every
    such name, /build or a/b about what is at that place in a folder that is sent,
    whose own name is no part of it; build/ is about directories only, ** stands for
    any directories, and !keep.o takes in again. The last pattern that matches
    decides. What is in a directory that is left out cannot be taken in again.

    With --app, sends the data of an app that is installed here, as its migration
    extension exports it, to a device on which 'peer receive --app ID' is waiting.
    The app must not run meanwhile.

    A lost connection is made again by itself. Sending the same paths again to the
    same device goes on with what was interrupted, wherever it is now, and asks for
    no code.

    Options:
      --app ID              The app whose data is sent; 'peer app list' shows which
                            are installed.
      --idle-limit TIME     How long the app's exporter may append nothing before
                            it is ended. Without it: 30s.
      --owners              Send the numbers of owners and groups; they are kept
                            where 'peer receive --owners' runs as root.
      --to HOST[:PORT]      The other device. An IPv6 address with a port is
                            written [ADDRESS]:PORT. Without a port: 47470.
                            Without the option: one that waits in this network.
      --exclude PATTERN     Leave out what the pattern matches. Quote it, so that
                            the shell leaves it alone. May be repeated.
      --exclude-from FILE   Leave out what the patterns in a file match, one a line;
                            '-' is standard input. May be repeated.
      --exclude-caches      Of a directory with a CACHEDIR.TAG, send that alone.
      --compress WHEN       Compress data on its way: auto (where that makes the
                            transfer faster, and until it is known whether it
                            does), always (whatever becomes smaller) or never.
                            Both devices need libzstd for it, and an app's
                            exporter may forbid it. Without it: auto.
      --limit RATE          Send at most so many bytes a second, as in 500k, 20M or
                            1.5G (k is 1000, M a million, G a billion). It counts
                            what goes over the network, whatever that becomes on
                            the disk.
      --streams N           Send over so many connections, 1 to 64, and no more than
                            the other device takes. Without it: as many as help,
                            found while sending.
      --code-file FILE      Read the code from the first line of a file;
                            '-' is standard input.
      --give-up-after TIME  How long to try again when the connection is lost:
                            seconds, or 90s, 10m, 2h. Without it: 10m.
      --label TEXT          What the other device calls this one.
                            Without it: the host name.
      --json                Report to a program: one JSON object a line, on
                            standard output.
      -h, --help            Show this text.

    Examples:
      $ peer send Documents
      $ peer send Documents --to 192.0.2.7
      $ peer send ~/Documents ~/Pictures --to new-laptop.local:5000
      $ peer send project --exclude '*.o' --exclude /build/ --to 192.0.2.7
      $ peer send Videos --limit 20M --to 192.0.2.7
      $ peer send --to 192.0.2.7 -- -a-name-with-a-dash
      $ peer send --app org.example.notes --to 192.0.2.7

    """
}
