import MigrationEngine
import MigrationHost
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// A finding of `peer app check`.
enum CheckFinding: Sendable {
  /// An error in the bundle.
  case fault(BundleFault)
  /// The bundle has no error, and its extension is tried with this data; nil without an extension.
  case bundle(AppBundle, CheckedData?)
  /// The extension's abilities.
  case abilities(ExtensionAbilities)
  /// The contents of the archive.
  case archive(DryExport)
  /// An item of an archive that is extracted.
  case item(ItemRecord)
  /// A fact worth knowing that is no error; a lower-case clause.
  case notice(String)
  /// A fact about this machine; a lower-case clause.
  case weakness(String)
  /// The extension wrote a line.
  case output(ExtensionOutput)
  /// The app has no error.
  case checked(String)
}

extension CheckFinding {
  /// How many names and refusals a person is shown.
  private static let shown = 20

  /// For a person.
  var text: Rendering {
    switch self {
    case .fault(let fault):
      let key = fault.key.map { " \($0):" } ?? ""
      return .result("\(VisibleText.listed(fault.file)):\(key) \(fault.reason)\n  \(fault.hint)")
    case .bundle(let bundle, let data):
      let name = bundle.displayName.map { " (\(VisibleText.of($0)))" } ?? ""
      return .result(
        "The bundle of \(bundle.identifier) \(VisibleText.of(bundle.version))\(name) is in order.\n"
          + (data.map { "Its extension is tried with \($0.words)." }
            ?? (bundle.role.words.map { "It is the \($0), and has no extension to try." }
              ?? "There is no extension to try."))
      )
    case .abilities(let abilities):
      switch (abilities.contains(.exports), abilities.contains(.imports)) {
      case (true, true): return .result("It can export and import.")
      case (true, false): return .result("It can export, but not import.")
      case (false, true): return .result("It can import, but not export.")
      case (false, false): return .result("It can neither export nor import.")
      }
    case .archive(let export): return .result(export.text(shown: Self.shown))
    case .item(let record): return .result("  " + record.listed)
    case .notice(let text), .weakness(let text): return Rendering(standardError: "peer: note: \(text)\n")
    case .output(let output):
      return Rendering(standardError: "extension: \(VisibleText.of(output.line))\n")
    case .checked(let identifier): return .result("There are no errors in \(identifier).")
    }
  }
}

extension Rendering {
  fileprivate static func result(_ text: String) -> Rendering { Rendering(standardOutput: text + "\n") }
}

extension CheckedData {
  fileprivate var words: String {
    switch self {
    case .installed: "the data of the installed app"
    case .directory(let path): VisibleText.quoted(path)
    case .empty: "an empty container, since the app is not installed"
    }
  }
}

extension DryExport {
  fileprivate func text(shown: Int) -> String {
    let compressible = isCompressible ? "may be compressed" : "must not be compressed"
    var lines = [
      "It says: version \(version.isEmpty ? "''" : VisibleText.of(version)); about \(Figures.size(estimate)); it \(compressible).",
      "Its archive: \(Figures.count(total.items, "item")), \(Figures.size(total.bytes)), in \(Figures.duration(seconds)).",
    ]
    let all = roots.all
    lines += all.prefix(shown).map { root in
      let name = VisibleText.listed(root.name) + (root.isDirectory ? "/" : "")
      return "  \(name): \(Figures.count(root.total.items, "item")), \(Figures.size(root.total.bytes))"
    }
    let more = max(0, all.count - shown)
    if more > 0 || roots.others > 0 {
      lines.append("  and more: \(Figures.count(UInt64(more), "name"))\(roots.others > 0 ? " and others" : "")")
    }
    return lines.joined(separator: "\n")
  }

  /// Notes for the author, as lower-case clauses. An empty container is not compared with the
  /// estimate.
  func notices(on data: CheckedData) -> [String] {
    var notices: [String] = []
    if isEstimateOff, data != .empty {
      notices.append(
        "resourcesSizeEstimate is off by more than half: \(Figures.size(estimate)), and the archive has "
          + Figures.size(total.bytes))
    }
    if refused.count > 0 {
      let first = refused.first.prefix(3).map(\.words).joined(separator: "; ")
      notices.append("\(Figures.count(refused.count, "append")) failed: \(first)")
    }
    if let leftSettings {
      notices.append(
        "the app's settings (UserDefaults.standard, \(leftSettings)) are not appended: the extension has other defaults, and "
          + "must read this file")
    }
    if unsent.count > 0 {
      let first = unsent.first.prefix(3).map { "\(VisibleText.quoted($0.path)) \($0.clause())" }
      notices.append(
        "\(Figures.count(unsent.count, "item")) \(Self.verb(unsent.count)) not appended: \(first.joined(separator: "; "))"
      )
    }
    if let first = encoded.first {
      notices.append(
        "\(Figures.count(UInt64(encoded.count), "name")) in the archive \(encoded.count == 1 ? "looks" : "look") "
          + "percent-encoded, and the container has the decoded name: \(VisibleText.quoted(first)); "
          + "URL.path() encodes, URL.path(percentEncoded: false) does not")
    }
    return notices
  }

  private static func verb(_ count: UInt64) -> String { count == 1 ? "was" : "were" }
}

extension CheckFinding {
  /// For a program: one object.
  var line: Rendering {
    switch self {
    case .fault(let fault):
      return .event(
        "fault",
        ["file": FileName(fault.file), "key": fault.key, "message": fault.reason, "hint": fault.hint])
    case .bundle(let bundle, let data):
      return .event(
        "bundle",
        [
          "id": bundle.identifier, "version": bundle.version,
          "name": bundle.displayName, "store": bundle.store,
          "data": data?.name,
        ] + bundle.role.members(hasExtension: bundle.migrationExtension != nil))
    case .abilities(let abilities):
      return .event(
        "abilities",
        [
          "exports": abilities.contains(.exports), "imports": abilities.contains(.imports),
        ])
    case .archive(let export): return .event("archive", export.members)
    case .item(let record): return .event("item", record.members)
    case .notice(let text), .weakness(let text): return .event("notice", ["message": text])
    case .output(let output):
      return .event("extensionOutput", JSONReport.members(isError: output.stream == .error, line: output.line))
    case .checked(let identifier): return .event("checked", ["id": identifier])
    }
  }
}

extension CheckedData {
  fileprivate var name: String {
    switch self {
    case .installed: "installed"
    case .directory: "directory"
    case .empty: "empty"
    }
  }
}

extension DryExport {
  fileprivate var members: JSONMembers {
    [
      "version": version, "estimate": estimate,
      "compressible": isCompressible, "items": total.items,
      "bytes": total.bytes, "seconds": (seconds * 1000).rounded() / 1000,
      "roots": roots.all.map(\.members), "otherItems": roots.others,
      "refused": refused.count,
      "refusals": refused.first.map(\.members),
      "unsent": unsent.count, "unsentItems": unsent.first.map { $0.members() },
      "scratchBytes": scratchBytes,
    ]
  }
}

extension DryExport.Roots.Root {
  fileprivate var members: JSONMembers {
    ["name": FileName(name), "directory": isDirectory, "items": total.items, "bytes": total.bytes]
  }
}

extension ItemRecord {
  /// A line of the list of an archive.
  fileprivate var listed: String {
    let name = VisibleText.listed(path.bytes)
    return switch body {
    case .directory: name + "/"
    case .file(let size), .metadata(let size): "\(name): \(Figures.size(size))"
    case .symbolicLink(let target): "\(name) -> \(VisibleText.listed(target))"
    case .hardLink(let target): "\(name) = \(VisibleText.listed(target.bytes))"
    }
  }

  fileprivate var members: JSONMembers {
    ["path": FileName(path.bytes), "kind": "\(kind)", "bytes": size, "target": target.map { FileName($0) }]
  }

  private var target: [UInt8]? {
    switch body {
    case .symbolicLink(let target): target
    case .hardLink(let target): target.bytes
    case .directory, .file, .metadata: nil
    }
  }
}
