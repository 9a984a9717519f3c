extension CommandDescription {
  static let help = CommandDescription(
    usage: "help [COMMAND]", summary: "show the help of a command",
    forms: [Form(.optional(["--man"]), .operand("[COMMAND]"))],
    operands: [Operand(value: .command)],
    blocks: [
      .text(
        """
        Shows the help of a command, as 'peer COMMAND --help' does; without COMMAND, lists the commands.
        """)
    ],
    options: [
      .flag(
        "--man",
        """
        Print the manual page that describes the command, for man(1). 'peer send', 'peer receive' and 'peer app' have their
        own pages.
        """),
      .help,
    ],
    examples: ["peer help app install", "peer help --man send | man -l -"],
    exitCodes: ExitCodes(.done, .unwritten, .wrongCommand))
}
