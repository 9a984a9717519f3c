extension CommandDescription {
  static let relay = CommandDescription(
    usage: "relay --token-file FILE", summary: "join devices that cannot reach each other",
    forms: [
      Form(.required("--token-file"), .optional(["--listen", "--name", "--limit", "--daily", "--monthly", "--json"]))
    ],
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
        a minute, if they have changed. SIGTERM and Ctrl-C let the running transfers end, and the command ends with exit
        code 0; a second signal ends it at once.
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
      .json, .help,
    ],
    examples: [
      "peer relay --token-file relay.token",
      "peer relay --token-file relay.token --listen 443 --monthly 500G",
    ],
    exitCodes: ExitCodes(.init(number: 0, meaning: "ended by a signal"), .failed, .wrongCommand))
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
