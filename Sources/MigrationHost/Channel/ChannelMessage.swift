package import MigrationWire

/// The messages of the host to an extension. docs/Apps.md describes the conversation.
package enum HostMessage: Equatable, Sendable {
  /// Asks for a description of the export.
  case describe
  /// Starts an export, for a platform and with options.
  case export(platform: String, options: [AppRequest.Option])
  /// Starts an import of the data in a directory, from the given app.
  case importItems(directory: [UInt8], from: AppIdentity)
  /// The answer to the oldest append without an answer: nil for success.
  case appended(ReportedError?)
  /// Asks the extension to end its task; all further appends are answered with a cancellation.
  case cancel
}

/// The messages of an extension to its host.
package enum ExtensionMessage: Equatable, Sendable {
  /// The extension has started and has these abilities.
  case ready(ExtensionAbilities)
  case described(ExportDescription)
  /// Appends an item. The descriptor of a file or directory comes with this message.
  case append(AppendedItem)
  /// The progress of the import, in millionths.
  case progress(UInt32)
  /// A notice for the author, which does not end the migration.
  case notice(ExtensionNotice)
  /// The export or the import has ended: nil for success.
  case ended(ReportedError?)
}

/// A notice for an extension's author, from the code that runs the extension.
package struct ExtensionNotice: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The import showed no progress until its end.
  package static let unmovedProgress = ExtensionNotice(rawValue: 1)

  /// A clause that can follow the extension's name; nil for a notice of a later edition.
  package var words: String? {
    switch self {
    case .unmovedProgress:
      "showed no progress of its import until the end: no Progress from resourcesImportProgress has advanced, and the "
        + "import created no Progress where it began (one that is created on the main actor is not seen)"
    default: nil
    }
  }
}

/// The protocols that an extension's type adopts.
package struct ExtensionAbilities: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let exports = ExtensionAbilities(rawValue: 1)
  package static let imports = ExtensionAbilities(rawValue: 2)
}

/// An extension's description of its export, given beforehand.
package struct ExportDescription: Equatable, Sendable {
  /// In bytes; a negative value is the author's mistake.
  package let estimate: Int64
  package let version: String
  package let isCompressible: Bool

  package init(estimate: Int64, version: String, isCompressible: Bool) {
    self.estimate = estimate
    self.version = version
    self.isCompressible = isCompressible
  }
}

/// One item that an extension appends.
package struct AppendedItem: Equatable, Sendable {
  package enum Content: Equatable, Sendable {
    /// A file or a directory, whose descriptor comes with the message.
    case descriptor
    /// A symbolic link, which has no descriptor.
    case symbolicLink(target: [UInt8], modified: ItemTime)
  }

  /// The author's path, unchecked.
  package let path: [UInt8]
  package let content: Content

  package init(path: [UInt8], content: Content) {
    self.path = path
    self.content = content
  }
}
