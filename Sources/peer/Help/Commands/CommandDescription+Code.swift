extension CommandDescription {
  static let code = CommandDescription(
    usage: codeNew.usage, summary: codeNew.summary,
    forms: [Form(.operand("new"))],
    blocks: [.text("A code that a script creates for both devices; see 'peer help code new'.")],
    options: [.help])

  static let codeNew = CommandDescription(
    usage: "code new", summary: "create a code for a script",
    forms: [Form(.optional(["--code-file"]))],
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
    examples: ["peer code new --code-file code", "ssh new-laptop 'umask 077; cat > code' < code"],
    exitCodes: ExitCodes(.done, .init(number: 1, meaning: "failed, also if FILE exists"), .wrongCommand))
}
