/// The help text of `peer discover`.
extension Help {
  static let discover = """
    Usage:
      peer discover [--for TIME] [--json]

    Shows the devices on the networks of this one that wait with 'peer receive': the
    name of each, and the address that is the most likely to work. They are asked by
    multicast DNS, as printers are; names and addresses are what the devices say,
    and prove nothing: it is the code that does.

    Options:
      --for TIME  How long to look: seconds, or 90s, 10m, 2h. Without it: 3s.
      --json      Report to a program: one JSON object a line, on standard output,
                  with all addresses, the most useful first.
      -h, --help  Show this text.

    Exit codes: 0, also if there is none; 1 failed; 2 the command line is wrong;
    130 interrupted by Ctrl-C; 143 ended by SIGTERM.

    """
}
