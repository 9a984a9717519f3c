/// The description of a command, and its only source: the parser's options, the help text, the
/// manual page and the completions are made from it.
struct CommandDescription: Sendable {
  /// One way to write the command.
  struct Form: Sendable {
    enum Part: Sendable {
      /// A word that is shown as it is, such as `[DIR]`.
      case operand(String)
      /// A required option, by its name.
      case required(String)
      /// Optional options, by their names.
      case optional([String])
      /// Options that exclude each other, by their names.
      case either([String])
      /// The options that another form names.
      case more
    }

    let parts: [Part]

    init(_ parts: Part...) { self.parts = parts }
  }

  /// A part of the description.
  enum Block: Sendable {
    /// Text that is wrapped when it is shown. Placeholders are upper-case; commands are quoted:
    /// 'peer app list'.
    case text(String)
    /// Lines that are shown unchanged.
    case lines(String)
  }

  /// The command in overviews, with its most important operands.
  let usage: String
  /// Its purpose, as a clause without a full stop.
  let summary: String
  let forms: [Form]
  /// The operands that it takes, in their order. The last one may repeat.
  var operands: [Operand] = []
  let blocks: [Block]
  var options: [Option] = []
  /// Command lines, without a prompt.
  var examples: [String] = []
  /// Nil for a command that only shows a text.
  var exitCodes: ExitCodes?
}

/// A word that a command takes beside its options.
struct Operand: Sendable {
  let value: ValueKind
  var isRepeatable = false
}

/// The kind of a value, which decides what a shell offers for it.
enum ValueKind: Equatable, Sendable {
  /// One of a few words.
  struct Choice: Equatable, Sendable {
    let word: String
    /// Its meaning, as a sentence.
    let text: String
  }

  /// A time, a name, a number: the shell offers nothing.
  case text
  case file
  case directory
  /// A file or a directory.
  case path
  case choice([Choice])
  /// Any word; the shell offers these.
  case word([Choice])
  /// The identifier of an app that is installed here.
  case app
  /// An owner of credentials.
  case owner
  /// The ID of an unfinished transfer.
  case transfer
  /// The address of a waiting device.
  case device
  /// The words of a command, as after `peer help`.
  case command
}
