/// The description of a command, and the only place that has it: the parser's options, the help text, the manual page
/// and the completions are made of this.
struct CommandDescription: Sendable {
  /// One way to write the command.
  struct Form: Sendable {
    enum Part: Sendable {
      /// A word as it stands there, such as `[DIR]`.
      case operand(String)
      /// An option that must be there, by its name.
      case required(String)
      /// Options that may be there, by their names.
      case optional([String])
      /// Options of which one may be there.
      case either([String])
      /// Options that another form has named.
      case more
    }

    let parts: [Part]

    init(_ parts: Part...) { self.parts = parts }
  }

  /// A part of the description.
  enum Block: Sendable {
    /// Text, whose lines are broken anew. Placeholders are upper-case, commands in it stand in quotes: 'peer app list'.
    case text(String)
    /// Lines that stay as they are.
    case lines(String)
  }

  /// What overviews show of it: the command, and the operands that matter most.
  let usage: String
  /// What it is for, as a clause without a full stop.
  let summary: String
  let forms: [Form]
  /// What may stand behind it beside options, in that order. The last one may repeat.
  var operands: [Operand] = []
  let blocks: [Block]
  var options: [Option] = []
  /// Command lines, without a prompt.
  var examples: [String] = []
  /// Nil for one that only shows a text.
  var exitCodes: ExitCodes?
}

/// What may stand behind a command beside its options.
struct Operand: Sendable {
  let value: ValueKind
  var isRepeatable = false
}

/// What a value is: what a shell can offer for it.
enum ValueKind: Equatable, Sendable {
  /// One of a few words.
  struct Choice: Equatable, Sendable {
    let word: String
    /// What it means, as a sentence.
    let text: String
  }

  /// A time, a name, a number: nothing can be offered.
  case text
  case file
  case directory
  /// A file or a directory.
  case path
  case choice([Choice])
  /// Any word; these are some that it may be.
  case word([Choice])
  /// The identifier of an app that is installed here.
  case app
  /// Whose credentials there are.
  case owner
  /// The ID of an unfinished transfer.
  case transfer
  /// The address of a device that waits.
  case device
  /// The words of a command, as one behind `peer help`.
  case command
}
