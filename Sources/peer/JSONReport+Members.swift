import MigrationEngine
import MigrationTransfer
import MigrationWire
import PeerTransfer

extension Offer {
  /// The JSON members of an offer.
  var members: [JSONValue.Member] {
    let contents: JSONValue.Member =
      switch contents {
      case .folders(let roots): .init("roots", .array(roots.map { .object($0.members) }))
      case .app(let app): .init("app", .object(app.members))
      }
    return [contents, .init("items", .integer(items)), .init("bytes", .integer(bytes))]
  }
}

extension Root {
  fileprivate var members: [JSONValue.Member] {
    let kind =
      switch kind {
      case .directory: "directory"
      case .file: "file"
      case .symbolicLink: "symbolicLink"
      case .hardLink: "hardLink"
      }
    return JSONValue.Member.name("name", name) + [.init("kind", .string(kind))]
  }
}

extension AppIdentity {
  fileprivate var members: [JSONValue.Member] {
    [
      .init("bundleIdentifier", .string(bundleIdentifier)), .init("store", .string(store)),
      .init("platform", .string(platform)), .init("version", .string(version)),
    ]
  }
}

extension GuessLimit.Count {
  /// The JSON members of a source of wrong codes.
  var members: [JSONValue.Member] { [.init("address", .string(network)), .init("count", .integer(UInt64(count)))] }
}

extension Unsent {
  /// The JSON members of an item that could not be sent.
  var members: [JSONValue.Member] {
    JSONValue.Member.name("path", path) + [
      .init("reason", .string(reason.name)), .init("message", message.map(JSONValue.string) ?? .null),
    ]
  }
}

extension TransferResult {
  /// The JSON members of a finished transfer.
  var members: [JSONValue.Member] {
    [
      .init("items", .integer(total.items)), .init("bytes", .integer(total.bytes)),
      .init("sentBytes", .integer(sentBytes)), .init("savedBytes", .integer(savedBytes)),
      .init("heldBytes", .integer(heldBytes)),
      .init("seconds", .number((seconds * 1000).rounded() / 1000)), .init("unsent", .integer(unsent)),
      .init("notStored", .integer(notStored)),
      .init(
        "losses",
        .array(losses.map { .object([.init("kind", .string($0.kind.name)), .init("count", .integer($0.count))]) })),
      .init("present", .integer(leftOut.present)), .init("differing", .integer(leftOut.differing)),
      .init(
        "leftBehind",
        .array(
          leftBehind.map { .object(JSONValue.Member.name("name", $0.name) + [.init("count", .integer($0.count))]) })),
    ] + (concludedAt.map { [.init("concluded", .string(CalendarTime.text($0)))] } ?? [])
  }
}

extension TransferFailure.Subject {
  /// The JSON members about an entry and about space, if the failure concerns them.
  var members: [JSONValue.Member] {
    let figures: [(String, UInt64?)] = [
      ("neededBytes", bytes?.needed), ("availableBytes", bytes?.available), ("neededItems", items?.needed),
      ("availableItems", items?.available),
    ]
    return (name.map { JSONValue.Member.name("name", $0) } ?? [])
      + figures.compactMap { key, figure in figure.map { .init(key, .integer($0)) } }
  }
}

extension Done.Loss.Kind {
  fileprivate var name: String {
    switch self {
    case .mode: "mode"
    case .time: "time"
    case .owner: "owner"
    case .attribute: "attribute"
    case .accessList: "accessList"
    case .hardLink: "hardLink"
    case .hole: "hole"
    case .setIDBit: "setIDBit"
    }
  }
}
