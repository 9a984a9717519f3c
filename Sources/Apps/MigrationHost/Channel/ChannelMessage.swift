import MigrationSystem
package import MigrationWire

/// The messages of the host to an extension. docs/Apps.md describes the conversation.
package enum HostMessage: Equatable, Sendable {
  /// Asks for a description of the export.
  case describe
  /// Starts an export, for a platform and with options. Whether the host hears of appends that fail
  /// before they reach it: a host of an earlier edition does not.
  case export(platform: String, options: [AppRequest.Option], hearsFailures: Bool = false)
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
  /// An append has failed in the extension's process.
  case failedAppend(ReportedError)
  /// The export or the import has ended: nil for success.
  case ended(ReportedError?)
}

/// A notice for an extension's author, from the code that runs the extension.
package struct ExtensionNotice: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The import showed no progress until its end.
  package static let unmovedProgress = ExtensionNotice(rawValue: 1)
  /// An append has failed; its error comes with the notice.
  static let failedAppend = ExtensionNotice(rawValue: 2)

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
  /// The names of the options that it knows, in ascending order; nil if it does not tell them.
  package let options: [String]?

  package init(estimate: Int64, version: String, isCompressible: Bool, options: [String]? = nil) {
    self.options = options
    self.estimate = estimate
    // One byte too many is enough for the fault.
    self.version = String(decoding: version.utf8.prefix(Limits.identifier + 1), as: UTF8.self)
    self.isCompressible = isCompressible
  }

  /// The fault of the description, as a clause that can follow the extension's name; nil if there
  /// is none.
  package var fault: String? {
    if estimate < 0 { return "estimates its export at \(estimate) bytes, which is negative" }
    guard version.utf8.count > Limits.identifier else { return nil }
    return "names a version of its data (resourcesVersion) that is longer than "
      + Figures.count(UInt64(Limits.identifier), "byte")
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

/// Messages of the channel as bytes: a type, then fields as in Protocol §5.
extension HostMessage {
  private enum Kind: UInt8 {
    case describe = 1
    case export = 2
    case importItems = 3
    case appended = 4
    case cancel = 5
  }

  package var encoded: [UInt8] {
    var fields = Fields()
    let kind: Kind
    switch self {
    case .describe: kind = .describe
    case .export(let platform, let options, let hearsFailures):
      kind = .export
      let request = AppRequest(bundleIdentifier: "", platform: platform, options: options)
      fields.append(1, Array(platform.utf8))
      if !options.isEmpty { fields.append(2) { request.writeOptions(to: &$0) } }
      if hearsFailures { fields.append(3, [1]) }
    case .importItems(let directory, let app):
      kind = .importItems
      fields.append(1, directory)
      fields.append(2, Array(app.bundleIdentifier.utf8))
      fields.append(3, Array(app.store.utf8))
      fields.append(4, Array(app.platform.utf8))
      fields.append(5, Array(app.version.utf8))
    case .appended(let error):
      kind = .appended
      error?.write(to: &fields)
    case .cancel: kind = .cancel
    }
    return fields.message(kind.rawValue)
  }

  package init(_ bytes: [UInt8]) throws(Violation) {
    let subject = "a message of the host"
    let (kind, fields) = try Fields.message(bytes, subject)
    switch Kind(rawValue: kind) {
    case .describe: self = .describe
    case .export:
      self = .export(
        platform: try fields.text(1, limit: Limits.identifier, subject),
        options: try fields.read(2, subject, AppRequest.readOptions) ?? [],
        hearsFailures: try fields.number(3, subject) == 1 as UInt8?)
    case .importItems:
      self = .importItems(
        directory: try fields.required(1, subject),
        from: AppIdentity(
          bundleIdentifier: try fields.text(2, limit: Limits.identifier, subject),
          store: try fields.text(3, limit: Limits.identifier, subject),
          platform: try fields.text(4, limit: Limits.identifier, subject),
          version: try fields.text(5, limit: Limits.identifier, subject)))
    case .appended: self = .appended(try ReportedError(fields, subject))
    case .cancel: self = .cancel
    case nil: throw Violation(.unknown, subject)
    }
  }
}

extension ExtensionMessage {
  private enum Kind: UInt8 {
    case ready = 1
    case described = 2
    case append = 3
    case progress = 4
    case ended = 5
    case notice = 6
  }

  package var encoded: [UInt8] {
    var fields = Fields()
    let kind: Kind
    switch self {
    case .ready(let abilities):
      kind = .ready
      fields.append(1, [abilities.rawValue])
    case .described(let description):
      kind = .described
      fields.append(1) { $0.u64(UInt64(bitPattern: description.estimate)) }
      fields.append(2, Array(description.version.utf8))
      fields.append(3, [description.isCompressible ? 1 : 0])
      if let options = description.options { fields.append(4) { OptionNames.write(options, to: &$0) } }
    case .append(let item):
      kind = .append
      fields.append(1, item.path)
      if case .symbolicLink(let target, let modified) = item.content {
        fields.append(2, target)
        fields.append(3) { writer in
          writer.u64(UInt64(bitPattern: modified.seconds))
          writer.u32(modified.nanoseconds)
        }
      }
    case .progress(let millionths):
      kind = .progress
      fields.append(1) { $0.u32(millionths) }
    case .notice(let notice):
      kind = .notice
      fields.append(1, [notice.rawValue])
    case .failedAppend(let error):
      kind = .notice
      fields.append(1, [ExtensionNotice.failedAppend.rawValue])
      error.write(to: &fields)
    case .ended(let error):
      kind = .ended
      error?.write(to: &fields)
    }
    return fields.message(kind.rawValue)
  }

  package init(_ bytes: [UInt8]) throws(Violation) {
    let subject = "a message of the extension"
    let (kind, fields) = try Fields.message(bytes, subject)
    switch Kind(rawValue: kind) {
    case .ready: self = .ready(ExtensionAbilities(rawValue: try fields.requiredNumber(1, subject)))
    case .described:
      self = .described(
        ExportDescription(
          estimate: try fields.requiredNumber(1, subject),
          version: try fields.text(2, limit: Channel.longestMessage, subject),
          isCompressible: try fields.requiredNumber(3, subject) as UInt8 != 0,
          options: try fields.read(4, subject, OptionNames.read)))
    case .append: self = .append(try AppendedItem(fields, subject))
    case .progress: self = .progress(min(try fields.requiredNumber(1, subject), 1_000_000))
    case .ended: self = .ended(try ReportedError(fields, subject))
    case .notice:
      let notice = ExtensionNotice(rawValue: try fields.requiredNumber(1, subject))
      let error = notice == .failedAppend ? try ReportedError(fields, subject) : nil
      self = error.map { .failedAppend($0) } ?? .notice(notice)
    case nil: throw Violation(.unknown, subject)
    }
  }
}

extension AppendedItem {
  fileprivate init(_ fields: Fields, _ subject: String) throws(Violation) {
    path = try fields.required(1, subject)
    guard let target = fields.value(2) else {
      content = .descriptor
      return
    }
    let modified = try fields.readRequired(3, subject) { reader, bytes throws(Violation) in
      ItemTime(seconds: Int64(bitPattern: try reader.u64(bytes)), nanoseconds: try reader.u32(bytes))
    }
    guard target.count <= Limits.linkTarget, !target.isEmpty, !target.contains(0) else {
      throw Violation(.limit, subject)
    }
    guard modified.nanoseconds < 1_000_000_000 else { throw Violation(.value, subject) }
    content = .symbolicLink(target: target, modified: modified)
  }
}

extension ReportedError {
  fileprivate func write(to fields: inout Fields) {
    fields.append(10, Array(domain.utf8))
    fields.append(11) { $0.u64(UInt64(bitPattern: Int64(code))) }
    fields.append(12, Array(text.utf8))
    guard !userInfo.isEmpty else { return }
    fields.append(13) { writer in
      for (key, value) in userInfo.sorted(by: { $0.key < $1.key }) {
        for text in [key, value] {
          writer.u32(UInt32(text.utf8.count))
          writer.array(Array(text.utf8))
        }
      }
    }
  }

  /// Nil if the fields contain no error.
  fileprivate init?(_ fields: Fields, _ subject: String) throws(Violation) {
    guard let domain = try fields.optionalText(10, limit: Limits.identifier, subject) else { return nil }
    let code: Int64 = try fields.requiredNumber(11, subject)
    let info = try fields.read(13, subject) { reader, bytes throws(Violation) in
      var info: [String: String] = [:]
      while !reader.isAtEnd {
        let texts = (try Self.readText(&reader, bytes, subject), try Self.readText(&reader, bytes, subject))
        info[texts.0] = texts.1
      }
      return info
    }
    self.init(
      domain: domain, code: Int(code),
      text: try fields.text(12, limit: Channel.longestMessage, subject), userInfo: info ?? [:])
  }

  private static func readText(
    _ reader: inout ByteReader, _ bytes: Span<UInt8>, _ subject: String
  ) throws(Violation) -> String {
    let text = try reader.array(bytes, Int(try reader.u32(bytes)))
    guard let text = String(validating: text, as: UTF8.self) else { throw Violation(.value, subject) }
    return text
  }
}
