import MigrationHost

extension CommandDescription {
  static let send = CommandDescription(
    usage: "send PATH... [--to HOST]", summary: "send files and folders, on the old device",
    forms: [
      Form(
        .operand("PATH..."),
        .optional([
          "--to", "--exclude", "--exclude-from", "--exclude-caches", "--owners", "--compress", "--limit", "--streams",
          "--code-file", "--give-up-after", "--label", "--json",
        ])),
      Form(.required("--app"), .optional(["--to", "--as", "--idle-limit"]), .more),
    ],
    operands: [Operand(value: .path, isRepeatable: true)],
    blocks: [
      .text(
        """
        Sends files and folders to a device on which 'peer receive' is waiting: looks whether it is there, and asks for the
        code that it shows. Each arrives under its last name: photos/2026 becomes 2026. Nothing here is changed.
        """),
      .text(
        """
        Without --to it looks for three seconds which devices are waiting in this network, takes the only one, and asks
        which of several it is; without a terminal that is an error. A transfer that was interrupted goes on with the device that it
        was begun with, wherever it is.
        """),
      .text(
        """
        Patterns leave items out, by the rules of .gitignore files: *.o is about every such name, /build or a/b about what
        is at that place in a folder that is sent, whose own name is no part of it; build/ is about directories only, **
        stands for any directories, and !keep.o takes in again. The last pattern that matches decides. What is in a
        directory that is left out cannot be taken in again.
        """),
      .text(
        """
        With --app, sends the data of an app that is installed here, as its migration extension exports it, to a device on
        which 'peer receive --app ID' is waiting. The app must not run meanwhile. The extension is started before the code
        is asked for, and refused at once if it cannot export; while the code is typed, it says how much there is. The dots in the second form stand for
        those options of the first one that are not about files.
        """),
      .text(
        """
        A lost connection is made again by itself. Sending the same paths again to the same device goes on with the
        unfinished transfer, wherever that device is now, and asks for no code.
        """),
    ],
    options: sendOptions,
    examples: [
      "peer send Documents",
      "peer send Documents --to 192.0.2.7",
      "peer send ~/Documents ~/Pictures --to new-laptop.local:5000",
      "peer send project --exclude '*.o' --exclude /build/ --to 192.0.2.7",
      "peer send Videos --limit 20M --to 192.0.2.7",
      "peer send --to 192.0.2.7 -- -a-name-with-a-dash",
      "peer send --app org.example.notes --to 192.0.2.7",
      "peer send --app org.example.notes --as android --to 192.0.2.7",
    ],
    exitCodes: .transfer)

  private static let sendOptions: [Option] = [
    .value("--app", "ID", .app, "The app whose data is sent; 'peer app list' shows which are installed."),
    .value(
      "--as", "PLATFORM[,STORE]", .word(platforms),
      """
      The platform, and the store of the app, that the other device's importer is told the data comes from. Without a
      store: that of the platform, if it has one (googlePlay). Without the option: what the app's bundle says, or linux. It
      is a claim, for tests above all; any sender may claim anything.
      """),
    .value(
      "--idle-limit", "TIME",
      """
      How long the app's exporter may append nothing before it is ended; time in which it was stopped does not count. With
      off, for ever, for debugging. Without it: 20s.
      """),
    .flag(
      "--owners",
      "Send the numbers of owners and groups; they are kept where 'peer receive --owners' runs as root."),
    .value(
      "--to", "HOST[:PORT]", .device,
      """
      The other device. An IPv6 address with a port is written [HOST]:PORT. Without a port: 47470. Without the option:
      one that waits in this network.
      """),
    .repeatable(
      "--exclude", "PATTERN",
      "Leave out what the pattern matches. Quote it, so that the shell leaves it alone. May be repeated."),
    .repeatable(
      "--exclude-from", "FILE", .file,
      "Leave out what the patterns in a file match, one a line; '-' is standard input. May be repeated."),
    .flag("--exclude-caches", "Of a directory with a CACHEDIR.TAG, send that alone."),
    .value(
      "--compress", "WHEN", .choice(compression),
      "Compress data on its way. Both devices need libzstd for it, and an app's exporter may forbid it."),
    .value(
      "--limit", "RATE",
      """
      Send at most so many bytes a second, as in 500k, 20M or 1.5G (k is 1000, M a million, G a billion). It counts what
      goes over the network, whatever that becomes on the disk.
      """),
    .value(
      "--streams", "N",
      """
      Send over so many connections, 1 to 64, and no more than the other device takes. Without it: as many as help, found
      while sending.
      """),
    .value(
      "--code-file", "FILE", .file, "Read the code from the first line of a file; '-' is standard input."),
    .value(
      "--give-up-after", "TIME",
      "How long to try again when the connection is lost: seconds, or 90s, 10m, 2h. Without it: 10m."),
    .value("--label", "TEXT", "What the other device calls this one. Without it: the host name."),
    .json, .help,
  ]

  /// What `--as` may name; any other word will do as well.
  static let platforms = [
    ValueKind.Choice(word: SourceClaim.android.platform, text: "An edition for Android."),
    ValueKind.Choice(word: AppSource.platform, text: "An edition for Linux."),
  ]

  private static let compression = [
    ValueKind.Choice(
      word: "auto",
      text: """
        where that makes the transfer faster, and until it is known whether it does; this is what happens without the
        option.
        """),
    ValueKind.Choice(word: "always", text: "whatever becomes smaller."),
    ValueKind.Choice(word: "never", text: "nothing."),
  ]
}
