/// The hints about existing, missing and incomplete data: each hint by which a user runs the commands
/// again, or gives a transfer up.
///
/// A user who follows a hint to the letter loses nothing: existing data stays, or gets another name.
/// The acceptance follows each hint.
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
  /// Arrived items were moved or removed later: how the user says that this was meant.
  case removalMeant
  /// The user has jobs of cron: the hint has a command that saves them under a free name.
  case savingCrontab
  /// Some items of folders that the user has named did not arrive.
  case itemsMissing
  /// Some items of a home did not arrive.
  case itemsMissingOfHome
  /// The destination has room for no more items.
  case noEntriesLeft
  /// Old data is beside the new one.
  case oldDataKept
  /// This device's user has not taken something.
  case notTaken
  /// The other device's user has not taken something.
  case notTakenThere
  /// An earlier run has brought everything.
  case newerData
  /// Parts have failed, and a later session continues them.
  case partsFollow
  /// Parts have failed for good.
  case partsMissing
  /// Apps have data of their own, and nothing else has failed.
  case partsReplace
  /// The same, and items of other parts did not arrive.
  case partsReplaceAndItems
  /// A transfer was cut.
  case runAgain
  /// The same, with data that stays.
  case runAgainKept
  /// The user has interrupted this end.
  case goOn
  /// An import has failed.
  case afterRepair
  /// An app is in use here.
  case appInUse
  /// An app is in use on the other device.
  case appInUseThere
  /// An app is missing on the other device.
  case appMissingThere
  /// The program that loads settings is missing.
  case dconfMissing
  /// Settings need the session of a desktop.
  case noDesktop
  /// The directory of the destination, or a source, is gone.
  case putBack
  /// Data that arrived in part was changed.
  case touchedHere
  /// A transfer cannot be continued.
  case forget

  /// The sentence.
  package var text: String {
    switch self {
    case .namesTaken: "Choose another destination, or start 'peer receive' with --existing skip, merge or keep-both."
    case .namesTakenThere: "Follow the hint on the other device."
    case .nameTakenMeanwhile:
      "Move it away, or start 'peer receive' with --existing keep-both, and run 'peer send' again."
    case .appHasData: Self.replacing("--everything")
    case .appHasDataInTrial: "With --replace, the existing data is kept under another name."
    case .noFolder:
      "Make it a folder of your own, on the same disk as the directory, and run both commands again."
    case .removalMeant: "If that was meant, start it with '--removed meant' instead."
    case .savingCrontab: "crontab -l > \"$(mktemp ~/crontab.XXXXXX)\""
    case .itemsMissing:
      "To complete the transfer, run both commands again, with 'peer receive --existing skip'."
    case .itemsMissingOfHome: "Remove the causes. What is missing follows when both commands run again:"
    case .noEntriesLeft: "Choose a destination on another file system, and start again."
    case .oldDataKept: "What was here before is kept beside the new data. Look at it, and keep what you need:"
    case .notTaken:
      "To take it after all, run both commands again, and answer with 'all'; secrets are the second question."
    case .notTakenThere: "Ask the other device's user to take it, and run both commands again."
    case .newerData: "To transfer newer data, start the same command on both devices again."
    case .partsFollow: "Remove the causes. What is missing follows without a code when both commands run again:"
    case .partsMissing: "Remove the causes, and run the commands on both devices again:"
    case .partsReplace: "To take the new data of these apps, run both commands again, and here this one:"
    case .partsReplaceAndItems:
      "Remove the causes of what is missing. It follows, and the new data of these apps is taken, when both commands "
        + "run again, and here this one:"
    case .runAgain: "Start the same command on both devices again."
    case .runAgainKept: "The received data is kept. Start the same command on both devices again."
    case .goOn: "Run the same command again to go on."
    case .afterRepair: "after a repair, run the same command again on both devices."
    case .appInUse: "Close it, and run both commands again."
    case .appInUseThere: "Close the app there, and run both commands again."
    case .appMissingThere: "Install the app there, and run both commands again."
    case .dconfMissing: "Install the package dconf-cli, and run both commands again."
    case .noDesktop: "Log in to the desktop, and run both commands again there."
    case .putBack: "Put it back, and run both commands again."
    case .touchedHere: "Run both commands again to complete the transfer, or move it to another place first."
    case .forget: "'peer forget' removes it, and what has arrived of it."
    }
  }

  /// How to give a transfer up, by its identifier: a command, to be followed by what it does.
  package static func forgetting(_ identifier: some StringProtocol) -> String {
    "'peer forget \(VisibleText.of(String(identifier.prefix(8))))'"
  }

  /// How an app's data replaces existing data; `choice` are the words after `peer receive` that choose the app.
  package static func replacing(_ choice: String) -> String {
    "Run both commands again, with 'peer receive \(choice) --replace': the existing data is then kept under another name."
  }

  /// The place of a folder is on another disk than the other folders. `path` is the folder's path
  /// there, as a word of a command line.
  package static func otherDisk(at path: String) -> String {
    "One run fills one disk. Make it a folder of your own here, and run both commands again; or send this folder by "
      + "itself, and take it there: peer receive \(path)"
  }

  /// How removed items arrive again. `place` tells where they were removed, `other` is the other device.
  package static func arrivingAgain(_ place: String, _ other: String) -> String {
    "To let them arrive again, start 'peer receive --everything --removed again' \(place), and the same command \(other)."
  }

  /// How to take apps' data, or secrets, without a question.
  package static func allowing(_ options: String) -> String {
    "Start 'peer receive' with \(options), or at a terminal, where it asks."
  }

  /// How to go back to old data at a place; both are words of a command line.
  package static func goingBack(to old: String, at place: String, keepingNew new: String) -> String {
    "To go back instead, here for the first: mv -nT -- \(place) \(new) && mv -nT -- \(old) \(place)"
  }
}
