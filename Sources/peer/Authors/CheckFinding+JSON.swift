import MigrationHost
import MigrationWire

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
    case .notice(let text): return .event("notice", ["message": text])
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
      "unsent": unsent.count, "unsentItems": unsent.first.map(\.members),
      "scratchBytes": scratchBytes,
    ]
  }
}

extension DryExport.Roots.Root {
  fileprivate var members: JSONMembers {
    ["name": FileName(name), "directory": isDirectory, "items": total.items, "bytes": total.bytes]
  }
}
