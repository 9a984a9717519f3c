extension CommandDescription {
  static let help = CommandDescription(
    usage: "help [COMMAND]", summary: "the help text of a command",
    forms: [Form(.optional(["--man"]), .operand("[COMMAND]"))],
    operands: [Operand(value: .command)],
    blocks: [
      .text(
        """
        Shows the description of a command, as 'peer COMMAND --help' does; without one, which commands there are.
        """)
    ],
    options: [
      .flag(
        "--man",
        """
        Print the manual page that the command is in, for man(1). 'peer send', 'peer receive' and 'peer app' have pages of
        their own.
        """),
      .help,
    ],
    examples: ["peer help app install", "peer help --man send | man -l -"],
    exitCodes: ExitCodes(.done, .unwritten, .wrongCommand))
}
