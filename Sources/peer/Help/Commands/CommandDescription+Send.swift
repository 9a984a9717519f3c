import MigrationHost

extension CommandDescription {
  static let send = CommandDescription(
    usage: "send PATH... [--to HOST]", summary: "send files and folders, on the old device",
    forms: [
      ["PATH...", "[--to HOST[:PORT]]", "[OPTION]..."],
      ["--app ID", "[--to HOST[:PORT]]", "[OPTION]..."],
      ["--everything", "[--to HOST[:PORT]]", "[--skip NAME]...", "[OPTION]..."],
    ],
    operands: [Operand(value: .path, isRepeatable: true)],
    blocks: [
      .text(
        """
        Sends files and folders to a device that runs 'peer receive'. First checks that the device is there, then asks
        for the code that it shows. Each item arrives under its last name: photos/2026 becomes 2026, and . becomes the name
        of the current folder. A link is sent as a link; with a slash at its end, as in Documents/, the folder behind it is
        sent. Nothing on this device is changed.
        """),
      .text(
        """
        Without --to, searches the network for three seconds for waiting devices. A single device is used; if there are
        several, the command asks which one, or fails without a terminal. An interrupted transfer resumes with its own
        device, at any address.
        """),
      .text(
        """
        Patterns exclude items by the rules of .gitignore files. *.o matches at any depth. A pattern with a slash at its
        start or in its middle, such as /build or a/b, is relative to the folder that is sent, whose own name is not part
        of it. The pattern build/ matches only directories; ** matches any directories; !keep.o includes again. The last pattern that
        matches decides. Items in an excluded directory cannot be included again.
        """),
      .text(
        """
        With --app, sends the data of an app that is installed here to a device that runs 'peer receive --app ID'. The
        app's migration extension exports the data; the app must not run meanwhile. The extension is started before the code
        is asked for; if it cannot export, the command fails at once. While the code is typed, the extension estimates the
        size of the data.
        """),
      .text(
        """
        With --everything, sends the folders of the home and the data of the apps as parts of one transfer; several apps,
        and apps beside paths, are parts too. A part that fails is named, and the others are sent. Exit code 8 then; the
        same commands on both devices try it again, without a code.
        """),
      .text(
        """
        A lost connection is restored automatically. Sending the same paths again to the same device resumes the
        unfinished transfer without a code, at any address of the device.
        """),
    ],
    options: sendOptions,
    examples: [
      "peer send Documents",
      "peer send Documents --to 192.0.2.7",
      "peer send ~/Documents ~/Pictures --to new-laptop.local:5000",
      "peer send Documents --via relay.example.org",
      "peer send project --exclude '*.o' --exclude /build/ --to 192.0.2.7",
      "peer send Videos --limit 20M --to 192.0.2.7",
      "peer send --to 192.0.2.7 -- -a-name-with-a-dash",
      "peer send --app org.example.notes --to 192.0.2.7",
      "peer send --app org.example.notes --as android --to 192.0.2.7",
      "peer send Documents --app org.example.notes --app org.example.drawings",
      "peer send --everything --skip Videos",
    ],
    exitCodes: .transfer)

  private static let sendOptions: [Option] = [
    .flag(
      "--everything",
      """
      Send what a new computer needs of this one: the folders and files of your home, and the data of your apps, as one
      transfer of several parts, to a device that runs 'peer receive --everything'. Shows a list; at a terminal, asks
      what to leave out. Names that begin with a dot move only if you add them, since programs run what some contain.
      """),
    .value(
      "--home", "DIR", .directory,
      "With --everything, another home on this device, such as that of a dead computer's disk."),
    .repeatable(
      "--skip", "NAME", .entry,
      "With --everything, leave out the folder, file or app of this name. May be repeated."),
    .flag("--dry-run", "With --everything, show the list, and send nothing."),
    .flag(
      "--wait",
      """
      With --everything, wait until an app that is in use is closed, and then send its data (default: at a terminal,
      wait; otherwise leave the app out). Apps that are in use come last.
      """),
    .flag(
      "--ask",
      """
      Ask on standard input. With --everything and --json: for each event 'question', the answer is one line, in the words
      that a person types at the terminal.
      """),
    .repeatable(
      "--app", "ID", .app,
      """
      Send the data of this app; 'peer app list' lists the installed apps. May be repeated, also beside paths, for a
      device that runs 'peer receive --everything': the folders and each app are sent in the order in which they are
      named.
      """),
    .value(
      "--as", "PLATFORM[,STORE]", .word(platforms),
      """
      The platform, and the store of the app, that the importer on the other device gets as the source of the data
      (default: as in the app's bundle, or linux). The default STORE is that of the platform, if it has one (googlePlay).
      Any sender may claim any source; the option is mainly for tests.
      """),
    .value(
      "--idle-limit", "TIME",
      """
      How long the app's exporter may append nothing before it is ended (default: 20s). Time while it is stopped does
      not count. With off, there is no limit, for debugging.
      """),
    .value(
      "--to", "HOST[:PORT]", .device,
      """
      The other device (default: a device that waits on this network). The default port is 47470. An IPv6 address with a
      port is written [HOST]:PORT.
      """),
    .value(
      "--via", "HOST[:PORT]",
      """
      Meet the other device, which has the same option, at this relay. The data goes through it where there is no other
      way. It sees addresses, times and amounts, and no data. PEER_RELAY names a relay for good, which is used if no
      device waits on this network. The default port is 47471.
      """),
    .viaTokenFile,
    .repeatable(
      "--exclude", "PATTERN",
      "Exclude the items that PATTERN matches. Quote it, so that the shell does not expand it. May be repeated."),
    .repeatable(
      "--exclude-from", "FILE", .file,
      "Exclude the items that match a pattern in FILE, one pattern per line; '-' is standard input. May be repeated."),
    .flag("--exclude-caches", "Send only the CACHEDIR.TAG of a directory that contains one."),
    .flag(
      "--one-file-system", "Send a directory where another file system begins without its contents."),
    .flag(
      "--owners",
      """
      Send the owners and groups, with their names and numbers. The receiver keeps them if 'peer receive --owners' runs
      as root.
      """),
    .value(
      "--compress", "WHEN", .choice(compression),
      "When to compress data in transit (default: auto). Both devices need libzstd; an app's exporter may forbid it."),
    .value(
      "--limit", "RATE",
      """
      Send at most this many bytes a second, as in 500k, 20M or 1.5G (k is 1000, M a million, G a billion). The limit
      counts bytes on the network, not bytes on the disk.
      """),
    .value(
      "--streams", "N",
      """
      Use this many connections, 1 to 64, and at most as many as the receiver accepts (default: the best number, found
      while sending).
      """),
    .value(
      "--code-file", "FILE", .file, "Read the code from the first line of FILE; '-' is standard input."),
    .flag(
      "--remember",
      """
      Keep the pairing, if 'peer receive' there has --remember too: later transfers to that device need no code. 'peer
      device' lists and forgets such devices.
      """),
    .flag(
      "--no-wait",
      """
      End with exit code 10 if the other device serves others first (default: wait in its line). Such a wait has no
      limit of its own: it lasts as long as the line.
      """),
    .value(
      "--give-up-after", "TIME",
      "How long to try to reconnect: seconds, or 90s, 10m, 2h (default: 10m)."),
    .value("--label", "TEXT", "The name of this device on the other device (default: the host name)."),
    .value(
      "--report", "FILE", .file,
      """
      List the items that are not sent, not stored or renamed in FILE; as JSON if its name ends in .json (default:
      PEER_HOME/last-send.txt, if there are more than 20).
      """),
    .json, .help,
  ]

  /// The values that the shell offers for `--as`; any other word is valid too.
  static let platforms = [
    ValueKind.Choice(word: SourceClaim.android.platform, text: "An edition for Android."),
    ValueKind.Choice(word: AppSource.platform, text: "An edition for Linux."),
  ]

  private static let compression = [
    ValueKind.Choice(
      word: "auto",
      text: """
        when it makes the transfer faster, and until that is known.
        """),
    ValueKind.Choice(word: "always", text: "all data that becomes smaller."),
    ValueKind.Choice(word: "never", text: "no data."),
  ]
}
