import MigrationRelay

extension CommandDescription {
  static let discover = CommandDescription(
    usage: "discover", summary: "find waiting devices on the network",
    forms: [["[--for TIME]", "[--json]"]],
    blocks: [
      .text(
        """
        Lists the devices on this device's networks that run 'peer receive': the name of each, and the address that is most
        likely to work. The search uses multicast DNS, as for printers. Names and addresses are claims of the devices; only
        the code proves anything.
        """)
    ],
    options: [
      .value("--for", "TIME", "How long to search: seconds, or 90s, 10m, 2h (default: 3s)."),
      .flag(
        "--json",
        """
        Report in JSON on standard output, one object per line, with all addresses, the most useful first.
        """),
      .help,
    ])
}

extension CommandDescription {
  static let device = CommandDescription(
    usage: "device", summary: "the devices that need no code",
    forms: [],
    blocks: [
      .text(
        """
        A device is known after a transfer in which both commands were told to remember the other device. Then it needs
        no code: each command recognises the other device by its key. Whoever controls a known device can send again,
        within what the options of 'peer receive' allow, until it is forgotten here.

        After a computer has moved to another one, each is known to the other for thirty days: the same two commands need
        no code then, and no other command lets the other device in.
        """)
    ],
    options: [.help])

  static let deviceList = CommandDescription(
    usage: "device list", summary: "list the known devices",
    forms: [["[--json]"]],
    blocks: [
      .text(
        """
        Lists the known devices: an ID, the name, whether this device sends to it or receives from it, its last address,
        the number of transfers, the first and the last use, and for how long it is known.
        """)
    ],
    options: [.json, .help])

  static let deviceName = CommandDescription(
    usage: "device name DEVICE NAME", summary: "name a known device",
    forms: [["DEVICE", "NAME", "[--json]"]],
    operands: [Operand(value: .knownDevice), Operand(value: .text)],
    blocks: [
      .text(
        """
        Gives a known device a name of your own, in the place of its own claim. DEVICE is its name, or at least the first
        four digits of its ID.
        """)
    ],
    options: [.json, .help])

  static let deviceForget = CommandDescription(
    usage: "device forget DEVICE", summary: "forget a known device",
    forms: [["DEVICE", "[--json]"]],
    operands: [Operand(value: .knownDevice)],
    blocks: [
      .text(
        """
        Forgets a known device: it needs a code from now on. Its unfinished transfers end with it, and what has arrived
        of them is removed: a 'peer' that is at work on one ends it within two seconds.
        """)
    ],
    options: [.json, .help])

  static let resume = CommandDescription(
    usage: "resume list", summary: "list unfinished transfers",
    forms: [["list", "[--json]"]],
    operands: [Operand(value: .choice([ValueKind.Choice(word: "list", text: "list unfinished transfers")]))],
    blocks: [
      .text(
        """
        Lists the unfinished transfers of this device: an ID, the source or the destination, the other device, how much
        has arrived, and the time of the last connection. To resume a transfer, run its command again; it needs no
        code.
        """)
    ],
    options: [.json, .help])

  static let forget = CommandDescription(
    usage: "forget ID", summary: "forget an unfinished transfer",
    forms: [["ID", "[--json]"], ["--older-than TIME", "[--json]"]],
    operands: [Operand(value: .transfer)],
    blocks: [
      .text(
        """
        Forgets an unfinished transfer: the data received here and its keys are removed; sources are never touched. The
        other device keeps its part until the transfer is forgotten there. ID is an ID of 'peer resume list', or at least its first four digits.
        """)
    ],
    options: [
      .value(
        "--older-than", "TIME",
        "Forget every unfinished transfer without a connection for so long, as in 14d; not those in use."), .json,
      .help,
    ])
}

extension ExitCodeTable.Code {
  static let done = Self(number: 0, meaning: "done")
  static let failed = Self(number: 1, meaning: "failed")
  static let noSpaceLeft = Self(number: 6, meaning: "not enough space")
  static let interrupted = Self(number: 130, meaning: "interrupted by Ctrl-C")
  static let terminated = Self(number: 143, meaning: "terminated by SIGTERM")
}

extension CommandDescription {
  static let code = CommandDescription(
    usage: "code", summary: codeNew.summary,
    forms: [],
    blocks: [.text("A code that a script creates for both devices; see 'peer help code new'.")],
    options: [.help])

  static let codeNew = CommandDescription(
    usage: "code new", summary: "create a code for a script",
    forms: [["[--code-file FILE]"]],
    blocks: [
      .text(
        """
        Creates a code for one transfer, for a script that starts both ends and gives each the code with --code-file. The code
        is written to FILE, a new file that only you can read, or to standard output. Never pass a code as an argument: every
        user can see arguments.
        """)
    ],
    options: [
      .value("--code-file", "FILE", .file, "The file to create. An existing file is not changed."), .help,
    ],
    examples: ["peer code new --code-file code", "ssh new-laptop 'umask 077; cat > code' < code"])
}

extension CommandDescription {
  static let relay = CommandDescription(
    usage: "relay --token-file FILE", summary: "join devices that cannot reach each other",
    forms: [["--token-file FILE", "[OPTION]..."]],
    blocks: [
      .text(
        """
        Runs a relay for 'peer receive' and 'peer send', on a machine that both devices can reach. It passes on what they
        send each other, and can read nothing of it: they pair by the code, inside their own encryption. It sees their
        addresses, the times, and how much they send. Only devices that hold a token of FILE may use it; without
        that file, it is made, with a new token.
        """),
      .text(
        """
        One port serves all devices. The relay stores nothing, and its log names no device: it writes its counters once
        a minute, if they have changed. SIGTERM and Ctrl-C end it with exit code 0 once it passes on no transfer's data
        any more; a second signal ends it at once. SIGHUP has it read the tokens again.
        """),
    ],
    options: [
      .value(
        "--token-file", "FILE", .file,
        """
        The tokens, one on each line: each of 32 hexadecimal digits. Only you may have access to the file. Give a token
        to the users over a safe way; each has a volume of its own.
        """),
      .value("--listen", "[HOST:]PORT", "Listen on this port, and only on this address (default: 47471)."),
      .repeatable(
        "--name", "HOST[:PORT]",
        "Serve only devices that know the relay by this name (default: by every name). May be repeated."),
      .value("--limit", "RATE", "The most bytes a second for each token, as in 500k, 20M or 1.5G (default: no limit)."),
      .value(
        "--daily", "SIZE", "The most bytes for each token on a day of UTC, as in 20G (default: 100G)."),
      .value("--monthly", "SIZE", "The most bytes for each token in a month (default: 1T)."),
      .value(
        "--places", "N",
        "How many devices at one address may wait with the same token (default: \(RelayLimits.usualPlaces))."),
      .json, .help,
    ],
    examples: [
      "peer relay --token-file relay.token",
      "peer relay --token-file relay.token --listen 443 --monthly 500G",
    ],
    exitCodes: ExitCodeTable(
      .init(number: 0, meaning: "ended by a signal"), .failed, .init(number: 2, meaning: "invalid command line")))
}

extension Option {
  /// The token of a relay, for both ends.
  static let viaTokenFile = value(
    "--via-token-file", "FILE", .file,
    """
    The relay's token, in a file that only you can access (default: as this device remembers it for the relay; else it
    is asked for at the terminal). It is remembered.
    """)
}
