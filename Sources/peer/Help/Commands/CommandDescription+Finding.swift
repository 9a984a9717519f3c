extension CommandDescription {
  static let discover = CommandDescription(
    usage: "discover", summary: "devices on the network that wait",
    forms: [Form(.optional(["--for", "--json"]))],
    blocks: [
      .text(
        """
        Shows the devices on the networks of this one that wait with 'peer receive': the name of each, and the address that
        is the most likely to work. They are asked by multicast DNS, as printers are; names and addresses are what the
        devices say, and prove nothing: it is the code that does.
        """)
    ],
    options: [
      .value("--for", "TIME", "How long to look: seconds, or 90s, 10m, 2h. Without it: 3s."),
      .flag(
        "--json",
        """
        Report to a program: one JSON object a line, on standard output, with all addresses, the most useful first.
        """),
      .help,
    ],
    exitCodes: ExitCodes(
      .init(number: 0, meaning: "done, also if there is none"), .failed, .wrongCommand,
      .init(number: 130, meaning: "interrupted by Ctrl-C"), .init(number: 143, meaning: "ended by SIGTERM")))
}
