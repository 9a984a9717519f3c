extension CommandDescription {
  static let discover = CommandDescription(
    usage: "discover", summary: "find waiting devices on the network",
    forms: [Form(.optional(["--for", "--json"]))],
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
    ],
    exitCodes: ExitCodes(
      .init(number: 0, meaning: "done, also if the list is empty"), .failed, .wrongCommand,
      .init(number: 130, meaning: "interrupted by Ctrl-C"), .init(number: 143, meaning: "terminated by SIGTERM")))
}
