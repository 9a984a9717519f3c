extension CommandDescription {
  static let code = CommandDescription(
    usage: codeNew.usage, summary: codeNew.summary,
    forms: [Form(.operand("new"))],
    blocks: [.text("A code that a script makes for both devices; 'peer help code new' says more.")],
    options: [.help])

  static let codeNew = CommandDescription(
    usage: "code new", summary: "a code for two devices and a script",
    forms: [Form(.optional(["--code-file"]))],
    blocks: [
      .text(
        """
        Makes a code for one transfer, for a script that starts both ends: each gets it by --code-file. It is written to
        FILE, a new file that only you can read, or to standard output. Never give it as an argument: those are visible to
        every user.
        """)
    ],
    options: [
      .value("--code-file", "FILE", .file, "The file to make. One that is there is left as it is."), .help,
    ],
    examples: ["peer code new --code-file code", "ssh new-laptop 'umask 077; cat > code' < code"],
    exitCodes: ExitCodes(.done, .init(number: 1, meaning: "failed, also where FILE is there"), .wrongCommand))
}
