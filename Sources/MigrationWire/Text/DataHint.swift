/// What the program advises where data is there already, or is missing: all of it is here.
///
/// A user who follows a hint to the letter loses nothing: what a device had stays, or gets another name.
/// The acceptance follows each of them.
package enum DataHint: CaseIterable, Sendable {
  /// Names of the destination are taken, and nothing arrives.
  case namesTaken
  /// The same on the other device, which alone knows what can be done there.
  case namesTakenThere
  /// A name was taken while data arrived.
  case nameTakenMeanwhile
  /// An app has data of its own.
  case appHasData
  /// The same for a trial on one device.
  case appHasDataInTrial
  /// The place of a folder is something else.
  case noFolder
  /// Some items did not arrive, of folders that a user has named.
  case itemsMissing
  /// Some items did not arrive, of a home.
  case itemsMissingOfHome
  /// The destination has room for no more items.
  case noEntriesLeft
  /// Old data is beside the new one.
  case oldDataKept

  /// The sentence.
  package var text: String {
    switch self {
    case .namesTaken: "Choose another destination, or start 'peer receive' with --existing skip, merge or keep-both."
    case .namesTakenThere: "Follow the hint on the other device."
    case .nameTakenMeanwhile:
      "Move it away, or start 'peer receive' with --existing keep-both, and run 'peer send' again."
    case .appHasData:
      "Run both commands again, with 'peer receive --replace': the existing data is then kept under another name."
    case .appHasDataInTrial: "With --replace, the existing data is kept under another name."
    case .noFolder:
      "Make it a folder of your own, on the same disk as the directory, and run both commands again."
    case .itemsMissing:
      "To complete the transfer, run both commands again, with 'peer receive --existing skip'."
    case .itemsMissingOfHome: "Remove the causes, and run both commands again: what is missing follows."
    case .noEntriesLeft: "Choose a destination on another file system, and start again."
    case .oldDataKept: "What was here before is kept beside the new data. Look at it, and keep what you need:"
    }
  }

  /// How to go back to old data at a place; both are words of a command line.
  package static func goingBack(to old: String, at place: String, keepingNew new: String) -> String {
    "To go back instead, here for the first: mv -nT -- \(place) \(new) && mv -nT -- \(old) \(place)"
  }
}
